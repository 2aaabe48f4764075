"""Metrics of the mirrors that run on a worker, for Prometheus.

Names are those of MirrorMaker 2's JMX metrics as exporters write them: attribute ``record-count`` of
``type=MirrorSourceConnector`` is ``kafka_connect_mirror_mirrorsourceconnector_record_count``. What MirrorMaker 2 does
not tell begins with ``seamark_mirror_``. As there, ``topic`` is the name of the copy.

Clusters are asked at most every `LAG_REFRESH_S`, by a thread of its own: one that is away holds up no scrape.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seamark.connector.connector import Connector
from seamark.mirror.checkpoint import MirrorCheckpointConnector
from seamark.mirror.source import MirrorSourceConnector
from seamark.mirror.views import FlowView, PartitionView
from seamark.runtime.abstract_herder import AbstractHerder
from seamark.runtime.metrics import LAG_REFRESH_S, Metrics
from seamark.runtime.mirror_checkpoint_metrics import CheckpointMetrics, checkpoint_rows
from seamark.runtime.mirror_checkpoint_metrics import Row as CheckpointRow
from seamark.runtime.mirror_task_metrics import MirrorTaskMetrics, Row, rows_of
from seamark.runtime.mirror_views import connectors_of, flow_views, mirror_names

log = logging.getLogger(__name__)

WAIT_S: Final = 2.0  # what a scrape waits for news, before it takes what is known
PREFIX: Final = "kafka_connect_mirror_mirrorsourceconnector"
_FLOW: Final = ["connector", "source", "target"]
_PARTITION: Final = ["source", "target", "topic", "partition"]


def register(metrics: Metrics, herder: AbstractHerder) -> None:
    """Add the mirrors that run on this worker to its metrics."""
    metrics.registry.register(MirrorMetrics(lambda: flow_views(herder, mirror_names(herder, herder.local.names()))))
    metrics.registry.register(MirrorTaskMetrics(lambda: _task_rows(herder), PREFIX))
    metrics.registry.register(CheckpointMetrics(lambda: _checkpoint_rows(herder)))


def _task_rows(herder: AbstractHerder) -> Iterator[Row]:
    for name, source, target, figures in _figures(herder, MirrorSourceConnector):
        yield from rows_of(name, source, target, figures)


def _checkpoint_rows(herder: AbstractHerder) -> Iterator[CheckpointRow]:
    for _, source, target, figures in _figures(herder, MirrorCheckpointConnector):
        yield from checkpoint_rows(source, target, figures)


def _figures(herder: AbstractHerder, kind: type[Connector]) -> Iterator[tuple[str, str, str, list[dict[str, Any]]]]:
    """Name, aliases and what tasks report, of the connectors of a kind that run here."""
    for name in connectors_of(herder, kind, herder.local.names()):
        runner, config = herder.local.runner(name), herder.connector_config(name)
        if runner is not None:
            source, target = config.get("source.cluster.alias") or "", config.get("target.cluster.alias") or "target"
            yield name, source, target, [progress.metrics for progress in runner.progress()]


@dataclass(slots=True)
class _Growth:
    """How a position has moved since it was first seen."""

    position: int
    at: float
    count: int = 0
    rate: float = 0.0

    def move(self, position: int, at: float) -> None:
        # A position that was moved back counts from there.
        moved = max(0, position - self.position)
        self.rate = moved / (at - self.at) if at > self.at else 0.0
        self.count += moved
        self.position, self.at = position, at


class MirrorMetrics(Collector):
    """Collects the views of flows.

    Args:
        look: how far the flows are; called in a thread, at most every `refresh_s`.
        refresh_s: how old what is shown may be.
    """

    def __init__(self, look: Callable[[], Sequence[FlowView]], refresh_s: float = LAG_REFRESH_S) -> None:
        self._look, self._refresh_s = look, refresh_s
        self._lock = threading.Lock()
        self._views: Sequence[FlowView] = ()
        self._growth: dict[tuple[str, str, int], _Growth] = {}
        self._looked_at = float("-inf")
        self._thread: threading.Thread | None = None

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            is_due = time.monotonic() - self._looked_at >= self._refresh_s
            if is_due and self._thread is None:
                self._thread = threading.Thread(target=self._refresh, name="mirror-metrics", daemon=True)
                self._thread.start()
            thread = self._thread
        if thread is not None:
            thread.join(WAIT_S)
        with self._lock:
            views = list(self._views)
            growth = {key: (each.count, each.rate) for key, each in self._growth.items()}
        yield from _flows(views)
        yield from _partitions(views, growth)

    def _refresh(self) -> None:
        try:
            views = self._look()
            with self._lock:
                self._take(views)
        except Exception as error:
            log.warning("How far mirrors are cannot be told: %s", error)
        finally:
            with self._lock:
                self._looked_at, self._thread = time.monotonic(), None

    def _take(self, views: Sequence[FlowView]) -> None:
        now, present = time.monotonic(), set()
        self._views = views
        for view in views:
            for each in view.partitions:
                key = view.connector, each.topic, each.partition
                present.add(key)
                if each.position is not None:
                    self._growth.setdefault(key, _Growth(each.position, now)).move(each.position, now)
        # A source that is away for a while must not set its counters back.
        away = {view.connector for view in views if not view.partitions}
        self._growth = {key: each for key, each in self._growth.items() if key in present or key[0] in away}


def _flows(views: Sequence[FlowView]) -> Iterator[Metric]:
    up = GaugeMetricFamily(
        "seamark_mirror_reachable", "1 if both clusters told how far the flow is, 0 if not.", labels=_FLOW
    )
    for view in views:
        up.add_metric([view.connector, view.source, view.target], view.error is None)
    yield up


def _partitions(views: Sequence[FlowView], growth: dict[tuple[str, str, int], tuple[int, float]]) -> Iterator[Metric]:
    lag = GaugeMetricFamily(
        "seamark_mirror_lag_records", "Records that are not copied yet.", labels=["connector", *_PARTITION]
    )
    lag_ms = GaugeMetricFamily(
        "seamark_mirror_lag_ms",
        "Age of the first record that is not copied yet, in milliseconds.",
        labels=["connector", *_PARTITION],
    )
    count = GaugeMetricFamily(
        f"{PREFIX}_record_count", "Offsets that were copied since this worker runs the connector.", labels=_PARTITION
    )
    rate = GaugeMetricFamily(f"{PREFIX}_record_rate", "The same per second, over the last look.", labels=_PARTITION)
    for view in views:
        for each in view.partitions:
            at = _labels(view, each)
            if each.lag is not None:
                lag.add_metric([view.connector, *at], each.lag)
            if each.lag_ms is not None:
                lag_ms.add_metric([view.connector, *at], each.lag_ms)
            copied, per_second = growth.get((view.connector, each.topic, each.partition), (0, 0.0))
            count.add_metric(at, copied)
            rate.add_metric(at, per_second)
    yield from (lag, lag_ms, count, rate)


def _labels(view: FlowView, partition: PartitionView) -> list[str]:
    return [view.source, view.target, partition.remote_topic, str(partition.partition)]
