"""Frame flavour: connectors that work on Spark DataFrames, a planned range at a time.

A frame source says how far it could read (`latest`) and turns a range into a DataFrame (`read`); a frame sink writes
the DataFrame of a range of topics. The engine plans, runs the Spark job and commits; positions are the same source
offsets and consumer-group offsets as everywhere, never a Spark checkpoint.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from seamark.connector.connector import Connector
from seamark.connector.offsets import Offsets
from seamark.connector.sink import SinkConnector, TopicPartition
from seamark.connector.source import SourceConnector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class ReadLimit:
    """How much one batch may hold; None means no limit of that kind."""

    records: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SinkBatch:
    """The range that a DataFrame holds. The same `id` always means the same range, also after a crash."""

    connector: str
    id: int
    start: Mapping[TopicPartition, int] = field(default_factory=dict)
    end: Mapping[TopicPartition, int] = field(default_factory=dict)
    replay: bool = False
    """True if the batch may have been written, in part or whole, before a crash."""


class _FrameConnector(Connector):
    """Task configs of a frame connector are its writers: the parallelism of a batch."""

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self.config) for _ in range(max_tasks)]

    config: Mapping[str, str]

    def start(self, config: Mapping[str, str]) -> None:
        self.config = dict(config)


class FrameSource(_FrameConnector, SourceConnector):
    """A source that Spark reads.

    Rows of `read` have the columns ``value`` and optionally ``key``, ``topic``, ``partition``, ``timestamp``
    (milliseconds) and ``headers`` (array of ``struct<key: string, value: binary>``). ``key`` and ``value`` are
    strings or bytes, produced as they are, or any other Spark type, which goes through the connector's converter.
    """

    task_class: ClassVar[type[Any]] = object
    stable_partitions: ClassVar[bool] = False
    """True if `read` of the same range always gives the same rows in the same Spark partitions. If not, rows are
    repartitioned by content, so that a replayed batch gives each writer the same rows."""

    @abstractmethod
    def latest(self, start: Offsets, limit: ReadLimit) -> Offsets:
        """How far a batch that begins at `start` may reach.

        Equal to `start` if there is nothing new. Runs in the worker.
        """

    @abstractmethod
    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> DataFrame:
        """The rows between two positions. Lazy and replayable: the same arguments always give the same rows."""


class FrameSink(_FrameConnector, SinkConnector):
    """A sink that Spark writes.

    The DataFrame has the columns of Spark's Kafka source (``key``, ``value``, ``topic``, ``partition``, ``offset``,
    ``timestamp``, ``timestampType``, ``headers``) with key and value as bytes. If the connector has transforms, these
    are the bytes that its converters make of the transformed records.
    """

    task_class: ClassVar[type[Any]] = object
    idempotent: ClassVar[bool] = False
    """True if writing a batch again with the same `SinkBatch.id` leaves each record once.

    Otherwise the sink is at-least-once.
    """
    typed: ClassVar[bool] = False
    """True if `write` also takes keys and values of other types than bytes: the connector's transforms then give it
    structs, numbers and text as they are, instead of bytes."""
    converts: bool = False
    """True if a typed sink wants keys and values from the connector's converters even if it has no transforms. `start`
    may set it. Without it they are the bytes of the topics, which Spark reads faster."""

    reads_headers: bool = True
    """False if `write` does not look at the column ``headers``, which then may be missing: Spark makes an array for
    each record otherwise. `start` may set it. Transforms get headers in any case."""

    @abstractmethod
    def write(self, frame: DataFrame, batch: SinkBatch) -> None:
        """Write the batch; it is committed when this returns."""
