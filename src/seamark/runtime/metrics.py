"""Metrics of a worker, for Prometheus; those of connectors and tasks are in `seamark.runtime.task_metrics`.

Names are those of Kafka Connect's JMX metrics as dashboards for it know them: group ``source-task-metrics``, attribute
``source-record-poll-total`` is ``kafka_connect_source_task_source_record_poll_total``. What Connect has no metric for
begins with ``seamark_``.

What tasks do is read from their progress when metrics are collected, and whenever `Metrics.sample` is called in
between: a task that starts anew counts from zero, and what it had counted before must have been seen by then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seamark.engine.stage import TaskProgress
from seamark.errors import ConnectError
from seamark.runtime.herder import PartitionProgress
from seamark.runtime.series import Sums
from seamark.runtime.task_metrics import Key, connector_families, error_families, task_families
from seamark.runtime.task_totals import ConnectorView, StateTimes, Totals, sums

__all__ = ["CONTENT_TYPE", "LAG_REFRESH_S", "ConnectorView", "Metrics"]

log = logging.getLogger(__name__)

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
LAG_REFRESH_S: Final = 30.0  # the ends of all partitions are asked for no more often than this
_BUCKETS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 90.0)


class Metrics:
    """The metrics of a worker.

    Args:
        views: The connectors of this worker; called when metrics are collected.
        lags: Positions and lags of the partitions of a sink connector; asked for at most every `LAG_REFRESH_S`.
    """

    def __init__(
        self,
        views: Callable[[], Iterable[ConnectorView]],
        lags: Callable[[str], Iterable[PartitionProgress]] | None = None,
    ) -> None:
        self._views, self._lags = views, lags
        self._lock = threading.Lock()
        self._totals: dict[Key, Totals] = {}
        self._times: dict[Key, StateTimes] = {}
        self._seen_lags: dict[str, tuple[float, list[PartitionProgress]]] = {}
        self._rebalances: list[float] = []
        self._rebalanced_at: float | None = None
        self.registry = CollectorRegistry()
        self.registry.register(_Collected(self))
        self._define_events()

    def render(self) -> bytes:
        """All metrics, in Prometheus' text format."""
        return generate_latest(self.registry)

    def sample(self) -> None:
        """Take note of what tasks have reported; about once a second is often enough."""
        self._sample(list(self._views()))

    def sums(self) -> dict[str, Sums]:
        """What the connectors of this worker have done, by name, as of the last sample; those that have tasks."""
        by_name: dict[str, list[Totals]] = {}
        with self._lock:
            for (name, _), totals in self._totals.items():
                by_name.setdefault(name, []).append(totals)
            return {name: sums(each) for name, each in by_name.items()}

    # events

    def observe_request(self, method: str, path: str, status: int, seconds: float) -> None:
        """A REST request was answered; `path` with the names of its parameters, not their values."""
        self._requests.labels(method, path, str(status)).observe(seconds)

    def connector_started(self, *, ok: bool) -> None:
        """A connector was started, or failed to."""
        self._started("connector", ok)

    def task_started(self, *, ok: bool) -> None:
        """A task was started, or failed to."""
        self._started("task", ok)

    def _started(self, what: str, ok: bool) -> None:
        self._startups[what, ok].inc()
        self._attempts[what].inc()
        with self._lock:
            self._starts[what, ok] += 1
            counts = {each: self._starts[what, each] for each in (True, False)}
        for each, count in counts.items():
            self._percentages[what, each].set(count / sum(counts.values()))

    def rebalance_started(self) -> None:
        """The worker has begun to agree with the others on who runs what."""
        self._rebalancing.set(1)

    def rebalance_completed(self, seconds: float, *, epoch: int | None = None) -> None:
        """They have agreed."""
        with self._lock:
            self._rebalances.append(seconds)
            self._rebalanced_at = time.monotonic()
        self._rebalancing.set(0)
        self._rebalance_count.inc()
        if epoch is not None:
            self._epoch.set(epoch)

    def _define_events(self) -> None:
        registry = self.registry
        self._requests = Histogram(
            "seamark_rest_request_seconds",
            "Time to answer REST requests.",
            ["method", "path", "status"],
            registry=registry,
            buckets=_BUCKETS,
        )
        outcomes = {True: "success", False: "failure"}
        self._startups = {
            (what, ok): Counter(
                f"kafka_connect_worker_{what}_startup_{outcome}",
                f"Starts of a {what}: {outcome}.",
                registry=registry,
            )
            for what in ("connector", "task")
            for ok, outcome in outcomes.items()
        }
        self._attempts = {
            what: Counter(f"kafka_connect_worker_{what}_startup_attempts", f"Starts of a {what}.", registry=registry)
            for what in ("connector", "task")
        }
        self._percentages = {
            (what, ok): Gauge(
                f"kafka_connect_worker_{what}_startup_{outcome}_percentage",
                f"Part of the starts of a {what}, from 0 to 1: {outcome}.",
                registry=registry,
            )
            for what in ("connector", "task")
            for ok, outcome in outcomes.items()
        }
        self._starts = {(what, ok): 0 for what, ok in self._startups}
        prefix = "kafka_connect_worker_rebalance"
        self._rebalance_count = Counter(f"{prefix}_completed_rebalances", "Rebalances so far.", registry=registry)
        self._rebalancing = Gauge(f"{prefix}_rebalancing", "1 while a rebalance is under way.", registry=registry)
        self._epoch = Gauge(f"{prefix}_epoch", "Generation of the group of workers.", registry=registry)

    # collected when asked for

    def collect(self) -> Iterator[Metric]:
        """What is read from the connectors."""
        views = list(self._views())
        totals = self._sample(views)
        yield from self._worker(views)
        yield from self._rebalance_times()
        yield from connector_families(views)
        yield from task_families(views, totals, self._times, time.monotonic())
        yield from error_families(totals)
        yield from self._lag(views)

    def _sample(self, views: Sequence[ConnectorView]) -> dict[Key, Totals]:
        now = time.monotonic()
        with self._lock:
            present = {view.status.name for view in views}
            self._totals = {key: totals for key, totals in self._totals.items() if key[0] in present}
            times, self._times = self._times, {}
            for view in views:
                name = view.status.name
                for progress in view.progress:
                    key = name, progress.task
                    known = self._totals.get(key)
                    if known is None:
                        known = self._totals[key] = Totals(TaskProgress(progress.task))
                    known.add(progress, now)
                for task in view.status.tasks:
                    key, state = (name, task.id), task.state.value
                    spent = self._times[key] = times.get(key) or StateTimes.begun(state, now)
                    spent.take(state, now)
            return dict(self._totals)

    @staticmethod
    def _worker(views: Sequence[ConnectorView]) -> Iterator[Metric]:
        prefix = "kafka_connect_worker"
        yield GaugeMetricFamily(f"{prefix}_connector_count", "Connectors of this worker.", value=len(views))
        tasks = sum(len(view.status.tasks) for view in views)
        yield GaugeMetricFamily(f"{prefix}_task_count", "Tasks of this worker.", value=tasks)

    def _rebalance_times(self) -> Iterator[Metric]:
        with self._lock:
            times, at = list(self._rebalances), self._rebalanced_at
        prefix = "kafka_connect_worker_rebalance"
        if times and at is not None:
            average, longest = sum(times) / len(times) * 1000, max(times) * 1000
            since = (time.monotonic() - at) * 1000
            yield GaugeMetricFamily(f"{prefix}_rebalance_avg_time_ms", "Average time of rebalances.", value=average)
            yield GaugeMetricFamily(f"{prefix}_rebalance_max_time_ms", "Longest time of a rebalance.", value=longest)
            yield GaugeMetricFamily(f"{prefix}_time_since_last_rebalance_ms", "Time since the last one.", value=since)

    def _lag(self, views: Sequence[ConnectorView]) -> Iterator[Metric]:
        labels = ["connector", "topic", "partition"]
        family = GaugeMetricFamily("seamark_sink_record_lag", "Records that a sink has yet to read.", labels=labels)
        furthest = GaugeMetricFamily(
            "kafka_connect_sink_task_sink_record_lag_max", "The largest lag of a partition.", labels=["connector"]
        )
        for view in views:
            if view.type == "sink" and view.status.tasks:
                known = [found for found in self._partitions(view.status.name) if found.lag is not None]
                for found in known:
                    where = [str(found.partition.get(key, "")) for key in ("kafka_topic", "kafka_partition")]
                    family.add_metric([view.status.name, *where], found.lag or 0)
                if known:
                    furthest.add_metric([view.status.name], max(found.lag or 0 for found in known))
        yield family
        yield furthest

    def _partitions(self, name: str) -> list[PartitionProgress]:
        if self._lags is None:
            return []
        at, found = self._seen_lags.get(name, (float("-inf"), []))
        if time.monotonic() - at >= LAG_REFRESH_S:
            try:
                found = list(self._lags(name))
            except ConnectError as error:  # it has just been stopped, or Kafka is away
                log.debug("The lag of %s cannot be told: %s", name, error)
                found = []
            self._seen_lags[name] = time.monotonic(), found
        return found


class _Collected(Collector):
    """Lets the registry ask `Metrics` at the moment of collection."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return self._metrics.collect()

    def describe(self) -> Iterable[Metric]:
        return ()
