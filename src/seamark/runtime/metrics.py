"""Metrics of a worker, for Prometheus. Every metric name of Seamark is in this module.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from seamark.engine.stage import TaskProgress
from seamark.errors import ConnectError
from seamark.runtime.herder import PartitionProgress
from seamark.runtime.states import ConnectorStatus

log = logging.getLogger(__name__)

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
STATES: Final = ("unassigned", "running", "paused", "failed", "restarting", "stopped")
LAG_REFRESH_S: Final = 30.0  # the ends of all partitions are asked for no more often than this
_ERRORS: Final = {
    "total_record_failures": "Operations on records that failed.",
    "total_record_errors": "Records that could not be processed.",
    "total_records_skipped": "Records that were skipped because of errors.",
    "total_retries": "Operations that were tried again.",
    "total_errors_logged": "Errors that were logged.",
    "deadletterqueue_produce_requests": "Records sent to the dead-letter topic.",
    "deadletterqueue_produce_failures": "Records that could not be sent to the dead-letter topic.",
}
_BUCKETS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 90.0)


@dataclass(frozen=True, slots=True)
class ConnectorView:
    """A connector of this worker, as it is now."""

    status: ConnectorStatus
    type: str
    """``source``, ``sink`` or ``unknown``."""
    class_name: str = ""
    version: str | None = None
    progress: Sequence[TaskProgress] = ()


@dataclass(slots=True)
class _Totals:
    """What a task has done since the worker started, over all its starts."""

    last: TaskProgress
    records: int = 0
    bytes: int = 0
    commits: int = 0
    commit_ms: float = 0.0
    commit_max_ms: float = 0.0
    largest_batch: int = 0
    batches: int = 0
    batch_ms: float = 0.0
    batch_max_ms: float = 0.0
    errors: dict[str, int] = field(default_factory=dict)

    def add(self, progress: TaskProgress) -> None:
        """Count what is new since the last look."""
        last = self.last
        is_anew = any(
            getattr(progress, name) < getattr(last, name) for name in ("records", "bytes", "commits", "batches")
        )
        base = TaskProgress(progress.task) if is_anew else last
        records, commits = progress.records - base.records, progress.commits - base.commits
        self.records += records
        self.bytes += progress.bytes - base.bytes
        self.commits += commits
        if commits > 0:
            self.commit_ms += progress.commit_ms * commits
            self.commit_max_ms = max(self.commit_max_ms, progress.commit_ms)
            self.largest_batch = max(self.largest_batch, records // commits)
        self.batches += progress.batches - base.batches
        self.batch_ms += progress.batch_ms - base.batch_ms
        self.batch_max_ms = max(self.batch_max_ms, progress.batch_max_ms)
        for name, count in progress.errors.items():
            before = base.errors.get(name, 0)
            new = count if name == "last_error_timestamp" or count < before else count - before
            self.errors[name] = new if name == "last_error_timestamp" else self.errors.get(name, 0) + new
        self.last = _copy(progress)


def _copy(progress: TaskProgress) -> TaskProgress:
    """A task's progress is changed in place while it runs."""
    return TaskProgress(
        progress.task,
        records=progress.records,
        bytes=progress.bytes,
        commits=progress.commits,
        batches=progress.batches,
        batch_ms=progress.batch_ms,
        errors=dict(progress.errors),
    )


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
        self._totals: dict[tuple[str, int], _Totals] = {}
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

    # events

    def observe_request(self, method: str, path: str, status: int, seconds: float) -> None:
        """A REST request was answered; `path` with the names of its parameters, not their values."""
        self._requests.labels(method, path, str(status)).observe(seconds)

    def connector_started(self, *, ok: bool) -> None:
        """A connector was started, or failed to."""
        self._startups["connector", ok].inc()

    def task_started(self, *, ok: bool) -> None:
        """A task was started, or failed to."""
        self._startups["task", ok].inc()

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
        yield from _connectors(views)
        yield from _tasks(views, totals)
        yield from _errors(totals)
        yield from self._lag(views)

    def _sample(self, views: Sequence[ConnectorView]) -> dict[tuple[str, int], _Totals]:
        with self._lock:
            present = {view.status.name for view in views}
            self._totals = {key: totals for key, totals in self._totals.items() if key[0] in present}
            for view in views:
                for progress in view.progress:
                    key = view.status.name, progress.task
                    self._totals.setdefault(key, _Totals(TaskProgress(progress.task))).add(progress)
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


def _connectors(views: Sequence[ConnectorView]) -> Iterator[Metric]:
    prefix = "kafka_connect_connector"
    info = InfoMetricFamily(prefix, "Class, type and version of a connector.", labels=["connector"])
    status = GaugeMetricFamily(f"{prefix}_status", "1 for the state it is in.", labels=["connector", "status"])
    total = GaugeMetricFamily(
        "kafka_connect_worker_connector_total_task_count", "Tasks of a connector.", labels=["connector"]
    )
    counts = {
        state: GaugeMetricFamily(
            f"kafka_connect_worker_connector_{state}_task_count", f"Tasks that are {state}.", labels=["connector"]
        )
        for state in STATES
        if state != "stopped"
    }
    for view in views:
        name = view.status.name
        described = {"class": view.class_name, "type": view.type, "version": view.version or "undefined"}
        info.add_metric([name], described)
        for state in STATES:
            status.add_metric([name, state], view.status.state.value.lower() == state)
        total.add_metric([name], len(view.status.tasks))
        for state, family in counts.items():
            family.add_metric([name], sum(task.state.value.lower() == state for task in view.status.tasks))
    yield from (info, status, total, *counts.values())


def _tasks(views: Sequence[ConnectorView], totals: Mapping[tuple[str, int], _Totals]) -> Iterator[Metric]:
    labels = ["connector", "task"]
    prefix = "kafka_connect_connector_task"
    status = GaugeMetricFamily(f"{prefix}_status", "1 for the state it is in.", labels=[*labels, "status"])
    average = GaugeMetricFamily(f"{prefix}_offset_commit_avg_time_ms", "Average time of commits.", labels=labels)
    longest = GaugeMetricFamily(f"{prefix}_offset_commit_max_time_ms", "Longest time of a commit.", labels=labels)
    size = GaugeMetricFamily(f"{prefix}_batch_size_avg", "Average number of records per commit.", labels=labels)
    largest = GaugeMetricFamily(f"{prefix}_batch_size_max", "Largest number of records per commit.", labels=labels)
    commits = CounterMetricFamily("seamark_task_offset_commits", "Commits of offsets.", labels=labels)
    written = CounterMetricFamily("seamark_task_bytes", "Bytes of record values, read or written.", labels=labels)
    source, sink = "kafka_connect_source_task_source_record", "kafka_connect_sink_task_sink_record"
    times = {
        kind: [
            GaugeMetricFamily(f"kafka_connect_{kind}_task_{verb}_batch_{what}_time_ms", text, labels=labels)
            for what, text in (("avg", f"Average time of a {verb}."), ("max", f"Longest time of a {verb}."))
        ]
        for kind, verb in (("source", "poll"), ("sink", "put"))
    }
    polled = CounterMetricFamily(f"{source}_poll", "Records that tasks have produced.", labels=labels)
    sent = CounterMetricFamily(f"{source}_write", "Records that were written to Kafka.", labels=labels)
    read = CounterMetricFamily(f"{sink}_read", "Records that were read from Kafka.", labels=labels)
    put = CounterMetricFamily(f"{sink}_send", "Records that were given to tasks.", labels=labels)
    for view in views:
        for task in view.status.tasks:
            for state in STATES:
                status.add_metric([view.status.name, str(task.id), state], task.state.value.lower() == state)
        for progress in view.progress:
            at, done = [view.status.name, str(progress.task)], totals[view.status.name, progress.task]
            skipped = done.errors.get("total_records_skipped", 0)
            if view.type == "source":
                polled.add_metric(at, done.records + skipped)
                sent.add_metric(at, done.records)
            else:
                read.add_metric(at, done.records)
                put.add_metric(at, max(0, done.records - skipped))
            if done.batches:
                average_time, longest_time = times["source" if view.type == "source" else "sink"]
                average_time.add_metric(at, done.batch_ms / done.batches)
                longest_time.add_metric(at, done.batch_max_ms)
            commits.add_metric(at, done.commits)
            written.add_metric(at, done.bytes)
            if done.commits:
                average.add_metric(at, done.commit_ms / done.commits)
                longest.add_metric(at, done.commit_max_ms)
                size.add_metric(at, done.records / done.commits)
                largest.add_metric(at, done.largest_batch)
    yield from (status, average, longest, size, largest, commits, written, polled, sent, read, put)
    yield from (family for families in times.values() for family in families)


def _errors(totals: Mapping[tuple[str, int], _Totals]) -> Iterator[Metric]:
    labels, prefix = ["connector", "task"], "kafka_connect_task_error"
    for name, text in _ERRORS.items():
        # Connect's names; that they have no `_total` at the end is why they are no counters to Prometheus.
        family = GaugeMetricFamily(f"{prefix}_{name}", text, labels=labels)
        for (connector, task), done in totals.items():
            family.add_metric([connector, str(task)], done.errors.get(name, 0))
        yield family
    last = GaugeMetricFamily(
        f"{prefix}_last_error_timestamp", "When the last error was, in milliseconds since 1970.", labels=labels
    )
    for (connector, task), done in totals.items():
        last.add_metric([connector, str(task)], done.errors.get("last_error_timestamp", 0))
    yield last
