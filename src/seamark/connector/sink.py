"""Sink connectors: from Kafka to somewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from seamark.connector.connector import Connector
from seamark.connector.records import SinkRecord


class TopicPartition(NamedTuple):
    """A partition of a Kafka topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class ErrantRecordReporter(Protocol):
    """Takes records that a sink task could not deliver."""

    def report(self, record: SinkRecord, error: BaseException) -> None:
        """Handle the record by the connector's `errors.*` settings; raises if they do not tolerate it."""


class SinkTaskContext:
    """A sink task's way to talk to the runtime. One is set as `SinkTask.context` before `start`."""

    def __init__(self, connector: str, task: int, reporter: ErrantRecordReporter | None = None) -> None:
        self.connector, self.task = connector, task
        self.errant_record_reporter = reporter
        self.assignment: frozenset[TopicPartition] = frozenset()
        self._rewinds: dict[TopicPartition, int] = {}
        self._retry_after_ms: int | None = None
        self._commit_requested = False
        self._paused: set[TopicPartition] = set()

    def offset(self, partition: TopicPartition, offset: int) -> None:
        """Read this partition again from that offset, from the next `put` on."""
        self._rewinds[partition] = offset

    def timeout_ms(self, timeout_ms: int) -> None:
        """How long to wait before the records of a `put` that raised `RetriableError` come again."""
        self._retry_after_ms = timeout_ms

    def request_commit(self) -> None:
        """Commit offsets soon, not only at the next interval."""
        self._commit_requested = True

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop the flow of these partitions."""
        self._paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Let these partitions flow again."""
        self._paused.difference_update(partitions)

    def take_rewinds(self) -> dict[TopicPartition, int]:
        """What `offset` asked for; asking clears it. For the runtime."""
        rewinds, self._rewinds = self._rewinds, {}
        return rewinds

    def take_retry_after_ms(self) -> int | None:
        """What `timeout_ms` asked for; asking clears it. For the runtime."""
        delay, self._retry_after_ms = self._retry_after_ms, None
        return delay

    def take_commit_request(self) -> bool:
        """Whether `request_commit` was called; asking clears it. For the runtime."""
        requested, self._commit_requested = self._commit_requested, False
        return requested

    @property
    def paused(self) -> frozenset[TopicPartition]:
        """The partitions whose flow is stopped."""
        return frozenset(self._paused)


class SinkTask(ABC):
    """Writes records; runs inside a Spark task. Calls come from one thread."""

    context: SinkTaskContext

    @abstractmethod
    def start(self, config: Mapping[str, str]) -> None:
        """Connect to the target."""

    def open(self, partitions: Sequence[TopicPartition]) -> None:  # noqa: B027 - optional
        """These partitions are read from now on."""

    @abstractmethod
    def put(self, records: Sequence[SinkRecord]) -> None:
        """Take these records, in order per partition; may be empty.

        Raise `RetriableError` to get the same records again.
        """

    put_values: ClassVar[Callable[..., None] | None] = None
    """Optional fast path ``put_values(self, values: list[bytes | None])`` of a task that needs nothing but the raw
    values of records, in order. The engine calls it instead of `put` if the value converter keeps bytes and nothing
    else looks at records."""

    put_batches: ClassVar[Callable[..., None] | None] = None
    """Optional fast path ``put_batches(self, batches: list[ValueBatch])`` of a task that needs nothing but the values
    of records, in order, as converter and transforms leave them. The engine calls it instead of `put` where it can
    process many values at once; a task that has it implements `put` with the same result."""

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:  # noqa: B027 - optional
        """Make everything before these offsets durable; after it they are committed."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int] | None:
        """What is safe to commit now.

        By default `flush` is called and everything is; return fewer or lower ones if not.
        """
        self.flush(offsets)
        return offsets

    def close(self, partitions: Sequence[TopicPartition]) -> None:  # noqa: B027 - optional
        """These partitions are not read any more."""

    def stop(self) -> None:  # noqa: B027 - optional
        """Release what `start` acquired; no other call follows."""


class SinkConnector(Connector):
    """A connector whose tasks write to somewhere."""

    task_class: ClassVar[type[Any]]

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Check, before they are committed, offsets that an administrator wants (KIP-875); None resets a partition.

        Raise to refuse them, `NotImplementedError` if offsets of this connector can never be changed. Return True if
        the connector vouches for them. Called on an instance that was never started; may be called twice with the same
        arguments. It should not clear data in the systems that the connector reads or writes.
        """
        return False
