"""Metrics of the checkpoints that a worker's tasks write, named as `mirror_metrics` says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seamark.mirror.figures import CHECKPOINTS

PREFIX: Final = "kafka_connect_mirror_mirrorcheckpointconnector"
_LABELS: Final = ["source", "target", "group", "topic", "partition"]
_SUFFIXES: Final = {"": ", of the last one", "_max": ", the most", "_min": ", the least", "_avg": ", the mean"}

Row = tuple[str, str, dict[str, Any]]
"""Source alias, target alias, and what a task reports of a partition of a group."""


class CheckpointMetrics(Collector):
    """Collects what tasks have reported.

    Args:
        rows: of all groups and partitions whose checkpoints are written here.
    """

    def __init__(self, rows: Callable[[], Iterable[Row]]) -> None:
        self._rows = rows

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        families = [
            GaugeMetricFamily(
                f"{PREFIX}_checkpoint_latency_ms{suffix}",
                f"From the look at a group until its checkpoint was acknowledged, in milliseconds{said}.",
                labels=_LABELS,
            )
            for suffix, said in _SUFFIXES.items()
        ]
        for source, target, row in self._rows():
            at = [source, target, row["group"], row["topic"], str(row["partition"])]
            for family, value in zip(families, row["checkpoint_latency_ms"], strict=True):
                family.add_metric(at, value)
        yield from families


def checkpoint_rows(source: str, target: str, metrics: Iterable[dict[str, Any]]) -> Iterator[Row]:
    """The rows in the metrics of a connector's tasks."""
    for each in metrics:
        for row in each.get(CHECKPOINTS, ()):
            yield source, target, row
