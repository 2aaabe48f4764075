"""All metrics of a worker, put together."""

from __future__ import annotations

from seamark.runtime import mirror_metrics, plugin_metrics, worker_metrics
from seamark.runtime.abstract_herder import AbstractHerder
from seamark.runtime.metrics import Metrics


def monitor(herder: AbstractHerder) -> Metrics:
    """Let a herder that is not started yet count what it does; `Metrics.render` shows it."""
    metrics = herder.metrics = Metrics(herder.views, herder.observation.partition_lags)
    mirror_metrics.register(metrics, herder)
    worker_metrics.register(metrics, herder)
    plugin_metrics.register(metrics, herder)
    return metrics
