"""Metrics that the tasks of mirrors count themselves: bytes, ages and latencies, named as in `mirror_metrics`.

A task counts from zero when it starts anew. What it had counted at the last scrape is kept; what it counted between
that scrape and its end is not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seamark.mirror.figures import PARTITIONS

_PARTITION: Final = ["source", "target", "topic", "partition"]
_SUFFIXES: Final = ("", "_max", "_min", "_avg")
_SPREADS: Final = {
    "record_age_ms": "From the timestamp of records until they were read, in milliseconds",
    "replication_latency_ms": "From the timestamp of records until their copies were acknowledged, in milliseconds",
}

Row = tuple[str, str, str, dict[str, Any]]
"""Connector, source alias, target alias, and a row of `PartitionFigures`."""


@dataclass(slots=True)
class _Bytes:
    """Bytes of a partition, over all starts of its task."""

    last: int = 0
    total: int = 0
    at: float = 0.0
    rate: float = 0.0

    def take(self, counted: int, now: float) -> None:
        grown = counted - self.last if counted >= self.last else counted
        self.rate = grown / (now - self.at) if self.at and now > self.at else 0.0
        self.last, self.total, self.at = counted, self.total + grown, now


class MirrorTaskMetrics(Collector):
    """Collects what tasks have reported.

    Args:
        rows: of all partitions of the mirrors that run here.
        prefix: of the metrics' names.
    """

    def __init__(self, rows: Callable[[], Iterable[Row]], prefix: str) -> None:
        self._rows, self._prefix = rows, prefix
        self._lock = threading.Lock()
        self._bytes: dict[tuple[str, str, int], _Bytes] = {}

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        rows = list(self._rows())
        with self._lock:
            yield from self._counted(rows, time.monotonic())
        for name, text in _SPREADS.items():
            families = [
                GaugeMetricFamily(f"{self._prefix}_{name}{suffix}", f"{text}{_said(suffix)}.", labels=_PARTITION)
                for suffix in _SUFFIXES
            ]
            for _, source, target, row in rows:
                at = [source, target, row["topic"], str(row["partition"])]
                for family, value in zip(families, row[name], strict=True):
                    family.add_metric(at, value)
            yield from families

    def _counted(self, rows: Sequence[Row], now: float) -> Iterator[Metric]:
        count = GaugeMetricFamily(f"{self._prefix}_byte_count", "Bytes of values that were copied.", labels=_PARTITION)
        rate = GaugeMetricFamily(f"{self._prefix}_byte_rate", "The same per second.", labels=_PARTITION)
        for connector, source, target, row in rows:
            key = connector, row["topic"], row["partition"]
            seen = self._bytes.setdefault(key, _Bytes())
            seen.take(row["bytes"], now)
            at = [source, target, row["topic"], str(row["partition"])]
            count.add_metric(at, seen.total)
            rate.add_metric(at, seen.rate)
        yield from (count, rate)


def _said(suffix: str) -> str:
    return {"": ", of the last batch", "_max": ", the most", "_min": ", the least", "_avg": ", the mean"}[suffix]


def rows_of(connector: str, source: str, target: str, metrics: Iterable[dict[str, Any]]) -> Iterator[Row]:
    """The rows in the metrics of a connector's tasks."""
    for each in metrics:
        for row in each.get(PARTITIONS, ()):
            yield connector, source, target, row
