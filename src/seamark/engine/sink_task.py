"""The loop of a sink task inside a Spark task: read, convert, put, and now and then commit.

Positions are committed by the worker, through the lease: a task that lost its lease can therefore commit nothing.
Partitions are assigned by the worker too, so that a start costs no rebalance and a retried Spark task goes on at
once.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from seamark.connector.sink import SinkTask, SinkTaskContext, TopicPartition
from seamark.engine.converters.batches import is_kept
from seamark.engine.errant_records import ErrantRecords
from seamark.engine.garbage import seldom_searched
from seamark.engine.lease_client import LeaseClient
from seamark.engine.pipeline import SinkPipeline
from seamark.engine.stage import TaskProgress
from seamark.errors import KafkaError, LeaseLostError, RetriableError, connector_code
from seamark.kafka.consumer import RecordConsumer, consumed, size_of
from seamark.kafka.errors import timeout_error

log = logging.getLogger(__name__)

DEFAULT_RETRY_S = 3.0  # between two tries of a `put` that raised RetriableError, unless the task says how long
READ_TIMEOUT_S = 0.1
# In one `put`, unless `max.poll.records` says otherwise: twice as fast as with fifty times as many, which would no
# longer fit into the processor's cache between being read and being written.
PUT_RECORDS = 2000


@dataclass(frozen=True, slots=True)
class SinkLimits:
    """How much is put at once, and how often offsets are committed."""

    records: int
    commit_interval_s: float
    patience_s: float = 60.0
    """How long Kafka may take to give a first sign of the partitions before the task fails."""


class SinkLoop:
    """Runs one sink task until its lease says stop."""

    def __init__(
        self,
        connector: str,
        task: SinkTask,
        consumer: RecordConsumer,
        pipeline: SinkPipeline,
        lease: LeaseClient,
        progress: TaskProgress,
        limits: SinkLimits,
        start: Mapping[TopicPartition, int],
        errant: ErrantRecords | None = None,
    ) -> None:
        self._connector, self._task, self._consumer, self._pipeline = connector, task, consumer, pipeline
        self._lease, self._progress, self._limits = lease, progress, limits
        self._context: SinkTaskContext = task.context
        self._errant = errant
        self._current: dict[TopicPartition, int] = {}
        self._committed = dict(start)  # where to go back to if the task cannot say what is safe
        self._unstored = set(start)  # not committed by this task yet: the group may not know them
        self._paused: frozenset[TopicPartition] = frozenset()
        self._topics = {partition.topic for partition in start}
        self._next_commit = time.monotonic() + limits.commit_interval_s
        self._takes_values = pipeline.keeps_value_bytes and _has(task, "put_values")
        self._takes_batches = pipeline.takes_batches and _has(task, "put_batches")
        self.last_record_at = time.monotonic()

    def run(self) -> None:
        """Work; returns when told to stop, everything delivered so far committed."""
        try:
            with seldom_searched():
                self._loop()
        except LeaseLostError:
            raise
        except Exception:
            self._commit_after_failure()
            raise
        self._lease.check()
        self.commit(closing=True)

    def _loop(self) -> None:
        began = time.monotonic()
        while not self._lease.should_end:
            self._apply_requests()
            messages = self._consumer.read(self._limits.records, READ_TIMEOUT_S)
            if messages:
                self.last_record_at = time.monotonic()
            if not self._deliver(messages):
                break
            if not self._current and time.monotonic() - began > self._limits.patience_s:
                # Each partition tells at least where its end is; silence means that no broker answers.
                partitions = ", ".join(map(str, sorted(self._context.assignment)))
                raise timeout_error(f"read {partitions}", self._consumer.brokers, self._limits.patience_s)
            if time.monotonic() >= self._next_commit or self._context.take_commit_request():
                self.commit()

    def _commit_after_failure(self) -> None:
        """As Java does: what the task has taken before need not come again. Its own failure is what must be told."""
        try:
            self._lease.check()
            self.commit(closing=True)
        except Exception as error:
            log.warning("[%s] Offsets were not committed after a failure: %s", self._connector, error)

    def _apply_requests(self) -> None:
        for partition, offset in self._context.take_rewinds().items():
            self._consumer.seek(partition, offset)
            self._current[partition] = offset
        wanted = self._context.paused & self._context.assignment
        if wanted != self._paused:
            self._consumer.pause(sorted(wanted - self._paused))
            self._consumer.resume(sorted(self._paused - wanted))
            self._paused = wanted

    def _deliver(self, messages: list[Any]) -> bool:
        """Put the records; False if the task was told to stop before they could be: they stay uncommitted."""
        if not messages and (self._takes_values or self._takes_batches):
            delivered = True
        else:
            delivered = self._put(self._put_of_values(messages) or self._put_of_records(messages))
        if delivered:
            self._current.update(self._consumer.positions())
        if messages and delivered:
            self._progress.records += len(messages)
            self._progress.bytes += size_of(messages)
            if len(self._progress.topics) < len(self._topics):
                self._progress.topics = sorted({*self._progress.topics, *(message.topic() for message in messages)})
        return delivered

    def _put_of_values(self, messages: list[Any]) -> Callable[[], None] | None:
        """What to call if the task is content with values; None if it is not, or if these records need a look."""
        task: Any = self._task
        values = self._pipeline.raw_values(messages) if self._takes_values else None
        if values is not None:
            return functools.partial(task.put_values, values)
        if self._takes_batches:
            return functools.partial(task.put_batches, self._pipeline.convert_values(messages))
        return None

    def _put_of_records(self, messages: list[Any]) -> Callable[[], None]:
        if self._errant is not None:
            self._errant.remember([consumed(message) for message in messages])
        return functools.partial(self._task.put, self._pipeline.convert_all(messages))

    def _put(self, put: Callable[[], None]) -> bool:
        while True:
            try:
                started = time.monotonic()
                with connector_code(self._connector, "put"):
                    put()
                self._progress.batch_took(time.monotonic() - started)
                return True
            except RetriableError as error:
                delay_ms = self._context.take_retry_after_ms()
                delay_s = DEFAULT_RETRY_S if delay_ms is None else delay_ms / 1000
                log.warning("[%s] put failed and is tried again in %.1f s: %s", self._connector, delay_s, error)
                self._progress.error = f"put failed and is tried again: {error}"
                self._wait(delay_s)
                if self._lease.should_end:
                    return False

    def _wait(self, delay_s: float) -> None:
        deadline = time.monotonic() + delay_s
        while not self._lease.should_end and time.monotonic() < deadline:
            time.sleep(min(0.05, max(0.0, deadline - time.monotonic())))

    def commit(self, closing: bool = False) -> None:
        """Commit what the task says is safe; if it cannot say so, go back to what was committed last."""
        started = time.monotonic()
        self._next_commit = started + self._limits.commit_interval_s
        current = dict(self._current)
        if not current:
            return
        try:
            with connector_code(self._connector, "pre_commit"):
                safe = dict(self._task.pre_commit(current) or {})
        except Exception as error:
            if closing:
                raise
            log.warning("[%s] pre_commit failed; reading again from the last commit: %s", self._connector, error)
            self._progress.error = str(error)
            self._rewind()
            return
        offsets = {p: o for p, o in safe.items() if self._is_committable(p, o, current)}
        changed = {p: o for p, o in offsets.items() if self._committed.get(p) != o}
        if changed or len(self._unstored) < len(self._committed):
            # As Java does: with the first record that was taken, partitions are committed that have none yet.
            changed |= {p: o for p, o in offsets.items() if p in self._unstored}
        if changed and self._store(changed):
            self._committed.update(changed)
            self._unstored.difference_update(changed)
            self._progress.commits += 1
            self._progress.commit_ms = (time.monotonic() - started) * 1000
            self._progress.error = None
        self._progress.positions = [
            {"topic": p.topic, "partition": p.partition, "offset": o} for p, o in sorted(self._committed.items())
        ]

    def _store(self, offsets: Mapping[TopicPartition, int]) -> bool:
        # A record that became a dead letter is done with only when that is written.
        self._pipeline.tolerance.flush()
        self._lease.check()
        try:
            self._lease.call("commit-sink", {"offsets": [[p.topic, p.partition, o] for p, o in offsets.items()]})
        except LeaseLostError:
            raise
        except KafkaError as error:
            if not error.retriable:
                raise
            log.warning("[%s] Offsets could not be committed and will be next time: %s", self._connector, error)
            self._progress.error = str(error)
            return False
        return True

    def _is_committable(self, partition: TopicPartition, offset: int, current: Mapping[TopicPartition, int]) -> bool:
        if partition not in self._context.assignment:
            log.warning(
                "[%s] Offset %d of %s is ignored: the partition is not assigned", self._connector, offset, partition
            )
            return False
        if partition not in current or offset > current[partition]:
            log.warning("[%s] Offset %d of %s is ignored: not yet consumed", self._connector, offset, partition)
            return False
        return True

    def _rewind(self) -> None:
        for partition in list(self._current):
            if partition in self._committed:
                self._consumer.seek(partition, self._committed[partition])
                self._current[partition] = self._committed[partition]


def _has(task: SinkTask, method: str) -> bool:
    """Whether the task has this in place of `put`: a subclass that has changed `put` alone wants that to be called."""
    return getattr(task, method, None) is not None and is_kept(type(task), "put", method)
