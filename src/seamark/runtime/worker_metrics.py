"""Metrics of the worker itself, its Spark and its place in the group, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from seamark.runtime.metrics import Metrics
from seamark.runtime.observed import ObservedHerder

SPARK_STATES: Final = ("running", "starting", "released", "failed")
_WORKER: Final = {
    "cpu_percent": "Processor time of the worker and the processes it has started; 100 for one core.",
    "memory_bytes": "Resident memory of the same processes.",
    "threads": "Threads of the worker's own process.",
    "records_per_second": "Records that its connectors read or write.",
    "is_leader": "1 if the worker leads its group.",
}
_SPARK: Final = {
    "executors": "Executors; in local mode 1.",
    "running_jobs": "Jobs that run.",
    "running_tasks": "Tasks that run.",
}


def register(metrics: Metrics, herder: ObservedHerder) -> None:
    """Add the worker itself to its metrics."""
    metrics.registry.register(WorkerMetrics(herder))


class WorkerMetrics(Collector):
    """Collects what `GET /worker` shows, and lags of whole connectors."""

    def __init__(self, herder: ObservedHerder) -> None:
        self._herder = herder

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        seen = self._herder.observation
        row = seen.worker()
        info = InfoMetricFamily("seamark_worker", "The worker.")
        info.add_metric([], {"id": row["id"], "version": row["version"]})
        yield info
        for name, text in _WORKER.items():
            yield GaugeMetricFamily(f"seamark_worker_{name}", text, value=float(row[name]))
        yield GaugeMetricFamily(
            "seamark_worker_idle_connectors", "Connectors that wait for work.", value=self._herder.worker.idle
        )
        yield from _spark(row["spark"])
        lag = GaugeMetricFamily(
            "seamark_connector_lag_records", "Records that a sink or mirror has yet to read.", labels=["connector"]
        )
        for name, behind in seen.lags.lags().items():
            lag.add_metric([name], behind)
        yield lag
        if self._herder.group_id is not None:
            group = InfoMetricFamily("kafka_connect_worker_rebalance", "Who leads the group, and how it agrees.")
            group.add_metric([], {"leader_name": seen.leader() or "", "connect_protocol": "cooperative-sticky"})
            yield group


def _spark(row: dict[str, Any]) -> Iterator[Metric]:
    state = GaugeMetricFamily("seamark_spark_state", "1 for the state that Spark is in.", labels=["state"])
    for each in SPARK_STATES:
        state.add_metric([each], row["state"] == each)
    yield state
    for name, text in _SPARK.items():
        if row[name] is not None:
            yield GaugeMetricFamily(f"seamark_spark_{name}", text, value=row[name])
