"""Source connectors: from somewhere into Kafka.

A minimal source::

    from seamark.connector import SourceConnector, SourceRecord, SourceTask

    class CounterTask(SourceTask):
        def start(self, config, offsets):
            self.n = (offsets.get({"counter": "a"}) or {"n": 0})["n"]
        def poll(self):
            self.n += 1
            return [SourceRecord("numbers", self.n, source_partition={"counter": "a"}, source_offset={"n": self.n})]

    class Counter(SourceConnector):
        task_class = CounterTask
        def task_configs(self, max_tasks):
            return [{}]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar

from seamark.connector.connector import Connector
from seamark.connector.copying import Copying
from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.connector.positions import PositionLogs
from seamark.connector.records import RecordBatch, RecordBatches, RecordMetadata, SourceRecord
from seamark.connector.transactions import TransactionContext

OffsetUpdates = (
    Mapping[SourcePartition, SourceOffset | None] | Iterable[tuple[Mapping[str, Any], SourceOffset | None]] | None
)
Polled = Sequence[SourceRecord] | RecordBatch | RecordBatches | None


class ExactlyOnceSupport(Enum):
    """Whether a connector's records are neither lost nor repeated when the runtime's exactly-once support is on."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class ConnectorTransactionBoundaries(Enum):
    """Whether a connector can define transaction boundaries itself (`transaction.boundary=connector`)."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class SourceTaskContext:
    """A source task's way to talk to the runtime. One is set as `SourceTask.context` before `start`."""

    def __init__(
        self,
        connector: str,
        task: int,
        transaction: TransactionContext | None = None,
        copying: Copying | None = None,
    ) -> None:
        self.connector, self.task = connector, task
        self.transaction = transaction
        """Set only with exactly-once on and ``transaction.boundary=connector``."""
        self.copying = copying
        """Set if the task may bring bytes to Kafka itself (`CopiedRecords`)."""


class SourceTask(ABC):
    """Reads records; runs inside a Spark task.

    The resume position is handed to `start`: resuming is never the author's bookkeeping. Calls come from one thread,
    except that `commit_record` may come from the producer's. `stop` may never be called if the process dies.
    """

    context: SourceTaskContext
    copies: ClassVar[bool] = False
    """Whether the task may want to bring bytes to Kafka itself, see `SourceTaskContext.copying`."""

    @abstractmethod
    def start(self, config: Mapping[str, str], offsets: Offsets) -> None:
        """Begin reading after these committed offsets (of the whole connector; empty on a first start)."""

    @abstractmethod
    def poll(self) -> Polled:
        """The next records. None or empty if there are none now; may block for up to a second, not longer."""

    @property
    def has_pending(self) -> bool:
        """Whether the task is at work although `poll` returns nothing, or not yet: it is not idle then. Any thread."""
        return False

    def commit(self) -> None:  # noqa: B027 - optional
        """Offsets of everything polled up to the last flush are durable."""

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:  # noqa: B027 - optional
        """This record is acknowledged by Kafka, or was dropped (metadata None). Overriding it costs throughput."""

    def commit_batch(self, batch: RecordBatch, offsets: Mapping[int, int]) -> None:  # noqa: B027 - optional
        """This batch is acknowledged by Kafka: index -> offset in Kafka of those records that `RecordBatch.places`
        asked for and that were not dropped. With exactly-once, after the commit of their transaction.
        """

    def update_offsets(self, offsets: Offsets) -> OffsetUpdates:
        """Hook to change the offsets that are about to be committed (KIP-910).

        Called before each commit with the offset of the latest record of that commit, per source partition. What is
        returned is committed too: it can move a partition, add one, or remove one (offset None writes a tombstone).
        Partitions left out are committed as they are; None or nothing changes nothing. The argument must not be
        modified. An exception fails the task and nothing is committed.
        """
        return None

    def reconfigure(self, config: Mapping[str, str], offsets: Offsets) -> None:  # noqa: B027 - optional
        """Go on with another config, without a restart; between two polls, with the connector's committed offsets.

        Only called if it is overridden, when the connector has asked for a reconfiguration and its tasks are still as
        many. The connector must not give to one task what another one is still reading.
        """

    def drain(self) -> Polled:
        """Told to stop: what the task has brought to Kafka itself and not returned by `poll` yet. No poll follows."""
        return None

    def metrics(self) -> dict[str, Any]:
        """Figures of the task's own, as JSON has them; asked for about once a second, from another thread."""
        return {}

    def stop(self) -> None:  # noqa: B027 - optional
        """Release what `start` acquired; no other call follows."""


class SourceConnector(Connector):
    """A connector whose tasks read from somewhere."""

    task_class: ClassVar[type[SourceTask]]

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        """Check, before they are written, offsets that an administrator wants (KIP-875); None resets a partition.

        Raise to refuse them, `NotImplementedError` if offsets of this connector can never be changed. Return True if
        the connector vouches for them. Called on an instance that was never started; may be called twice with the same
        arguments. It should not clear data in the systems that the connector reads or writes.
        """
        return False

    def positions(self, config: Mapping[str, str]) -> PositionLogs | None:
        """The logs that it reads, so that users can move it to ``earliest``, ``latest`` or a time; None if it reads
        none. Called on an instance that was never started.
        """
        return None

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Whether this config allows exactly-once; None if the connector does not say."""
        return None

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Whether tasks use `TransactionContext` when asked to."""
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def has_work(self, config: Mapping[str, str], offsets: Offsets) -> bool | None:
        """A cheap look, from the worker, whether a task would find records past these offsets; None if that cannot be
        told.

        Lets an idle connector give its Spark slot back. Called about twice a second while idle, so it must not do
        much more than a ``stat``. A connector that returns None keeps its slot (see `seamark.idle.release`).
        """
        return None
