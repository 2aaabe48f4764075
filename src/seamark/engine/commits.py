"""How a source task's records and offsets are made durable: the two committers.

The loop of a source task hands over what `poll` returned and says when it has nothing; the committer decides when to
commit. `ExactlyOnceCommitter` puts records and offsets in one transaction. `AtLeastOnceCommitter` sends records as
they come and stores, every `offset.flush.interval.ms`, the offsets of what Kafka has acknowledged.
"""

from __future__ import annotations

import base64
import functools
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamark.connector.offsets import SourceOffset, SourcePartition
from seamark.connector.records import CopiedRecords, RecordBatch, RecordMetadata, SourceRecord
from seamark.connector.source import SourceTask
from seamark.engine.lease_client import LeaseClient
from seamark.engine.pipeline import SourcePipeline
from seamark.engine.stage import TaskProgress
from seamark.engine.topic_creator import TopicCreator
from seamark.engine.update_offsets import OffsetMap, overrides_hook, updated_offsets
from seamark.errors import connector_code
from seamark.kafka.producer import DeliveryReport, OnDelivery, RecordProducer

log = logging.getLogger(__name__)

Columns = tuple[list[Any], list[Any] | None]
MAX_REPORTED_POSITIONS = 1000  # a progress report stays small however many partitions a source has


@dataclass
class CommitterParts:
    """What both committers work with."""

    connector: str
    task: SourceTask
    make_producer: Callable[..., RecordProducer]
    """Takes `reports_successes` and `on_wait` of `RecordProducer`."""
    pipeline: SourcePipeline
    topics: TopicCreator
    lease: LeaseClient
    progress: TaskProgress
    raw_keys: Mapping[SourcePartition, bytes] = field(default_factory=dict)


class Placing:
    """Gathers where Kafka puts those records of a batch that the task asks about."""

    __slots__ = ("_last", "_on_last", "batch", "offsets")

    def __init__(self, batch: RecordBatch, on_last: Callable[[], None] | None = None) -> None:
        """`on_last` is called when the last of them is delivered, hence all before it in its Kafka partition."""
        self.batch, self._on_last = batch, on_last
        self._last = max(batch.places)
        self.offsets: dict[int, int] = {}

    def report(self, index: int) -> OnDelivery:
        """What to call when the record of this index is delivered."""
        return functools.partial(self.take, index)

    def take(self, index: int, report: DeliveryReport) -> None:
        """The record of this index is delivered, or failed."""
        if report.error is None:
            self.offsets[index] = report.offset
            if index == self._last and self._on_last is not None:
                self._on_last()


class Committer(ABC):
    """Common to both ways."""

    def __init__(self, parts: CommitterParts) -> None:
        self.parts = parts
        self.task = parts.task
        self.has_hook = overrides_hook(parts.task)
        self._wants_records = wants_commit_record(type(parts.task))
        self._positions: OffsetMap = {}

    @property
    @abstractmethod
    def producer(self) -> RecordProducer:
        """The task's producer."""

    def start(self) -> None:  # noqa: B027 - optional
        """The task has started; nothing was polled yet."""

    @abstractmethod
    def send(self, polled: Sequence[SourceRecord] | RecordBatch | CopiedRecords) -> None:
        """Hand the records of one `poll` to the producer."""

    @property
    @abstractmethod
    def has_pending(self) -> bool:
        """Whether the task is not idle although nothing comes: Kafka has yet to take what was sent. Any thread."""

    @abstractmethod
    def after_poll(self, had_records: bool) -> None:
        """The records of a `poll`, if any, were sent: commit if it is time to."""

    @abstractmethod
    def finish(self) -> None:
        """The task is told to stop: commit what is complete."""

    @abstractmethod
    def give_up(self, own_code_failed: bool) -> None:
        """The task failed or lost its lease. `own_code_failed` if neither sending nor committing is at fault."""

    def as_records(self, polled: Sequence[SourceRecord] | RecordBatch) -> Sequence[SourceRecord]:
        """The polled records as objects."""
        return polled.records() if isinstance(polled, RecordBatch) else polled

    def is_column_batch(self, polled: Sequence[SourceRecord] | RecordBatch) -> bool:
        """Whether the batch may be sent without making an object of each record."""
        return isinstance(polled, RecordBatch) and not self._wants_records and self.parts.pipeline.takes_batches

    def columns_of(self, polled: Sequence[SourceRecord] | RecordBatch) -> Columns | None:
        """What to send of a batch of columns; None if its records must be looked at one by one."""
        if isinstance(polled, RecordBatch) and self.is_column_batch(polled):
            if polled.headers is not None and not self.parts.pipeline.keeps_header_bytes:
                return None
            return self.parts.pipeline.convert_batch(polled)
        return None

    def send_columns(self, batch: RecordBatch, columns: Columns, placing: Placing | None = None) -> None:
        """Send a batch of columns."""
        values, keys = columns
        self.parts.topics.ensure(batch.topic)
        timestamps = batch.timestamps
        if isinstance(timestamps, int):
            timestamps = [timestamps] * len(values)
        self.producer.send_batch(
            batch.topic,
            values,
            keys,
            batch.kafka_partition,
            timestamps,
            batch.headers,
            reports=None if placing is None else {index: placing.report(index) for index in batch.places},
        )
        self.parts.progress.records += len(values)
        self.parts.progress.bytes += sum(len(value) for value in values if value is not None)

    def committed(self, offsets: Mapping[SourcePartition, SourceOffset | None], started: float) -> None:
        """Note a successful commit and tell the task."""
        progress = self.parts.progress
        progress.commits += 1
        progress.commit_ms = (time.monotonic() - started) * 1000
        for partition, offset in offsets.items():
            if offset is None:
                self._positions.pop(partition, None)
            elif partition in self._positions or len(self._positions) < MAX_REPORTED_POSITIONS:
                self._positions[partition] = offset
        progress.positions = [
            {"partition": _plain(partition), "offset": _plain(offset or {})}
            for partition, offset in self._positions.items()
        ]

    def tell_task(self) -> None:
        """Call the task's `commit`."""
        with connector_code(self.parts.connector, "commit"):
            self.task.commit()

    def tell_task_of(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Call the task's `commit_record`."""
        with connector_code(self.parts.connector, "commit_record"):
            self.task.commit_record(record, metadata)

    def tell_task_of_batch(self, placing: Placing) -> None:
        """Call the task's `commit_batch`."""
        with connector_code(self.parts.connector, "commit_batch"):
            self.task.commit_batch(placing.batch, placing.offsets)

    def hook(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> OffsetMap:
        """The offsets with what the task's KIP-910 hook makes of them."""
        return updated_offsets(self.task, self.parts.connector, offsets) if self.has_hook else dict(offsets)


def wants_reports(task_class: type[SourceTask]) -> bool:
    """Whether the task wants to hear of records, or batches, that Kafka has acknowledged."""
    method = getattr(task_class, "commit_batch", None)
    return wants_commit_record(task_class) or (method is not None and method is not SourceTask.commit_batch)


def wants_commit_record(task_class: type[SourceTask]) -> bool:
    """Whether the task wants to hear of each record that Kafka has acknowledged."""
    method = getattr(task_class, "commit_record", None)
    return method is not None and method is not SourceTask.commit_record


def metadata_of(report: DeliveryReport) -> RecordMetadata | None:
    """Where a delivered record is."""
    return RecordMetadata(report.topic, report.partition, report.offset) if report.error is None else None


def wire_offsets(offsets: Mapping[SourcePartition, SourceOffset | None]) -> list[dict[str, Any]]:
    """Offsets as they travel to the worker."""
    return [{"partition": _plain(p), "offset": None if o is None else _plain(o)} for p, o in offsets.items()]


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """The map as it reads back from the offsets topic: JSON has no bytes, Kafka Connect stores them as base64."""
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value for name, value in values.items()
    }
