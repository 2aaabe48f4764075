"""Records as connectors see them: key, value, headers, timestamp, schemas, and where they come from.

`SourceRecord` and `SinkRecord` are one record each. `RecordBatch` is many records of one source partition as columns:
a source that returns batches spares the engine an object per record and is several times faster where no transform
needs to look inside. `ValueBatch` is the values of many records, for sinks that need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import repeat
from typing import Any

from seamark.connector.schema import BYTES_SCHEMA, OPTIONAL_BYTES_SCHEMA, Schema, Struct


@dataclass(frozen=True, slots=True)
class Header:
    """A record header: several may have the same key, and their order is kept."""

    key: str
    value: Any
    schema: Schema | None = None


Headers = tuple[Header, ...]
RawHeaders = Sequence[tuple[str, bytes | None]]


class TimestampType(Enum):
    """What a Kafka record's timestamp means; `value` is the name Connect shows."""

    NO_TIMESTAMP = "NoTimestampType"
    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True)
class ConnectRecord:
    """What source and sink records have in common."""

    topic: str
    value: Any = None
    key: Any = None
    value_schema: Schema | None = None
    key_schema: Schema | None = None
    kafka_partition: int | None = None
    timestamp: int | None = None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class SourceRecord(ConnectRecord):
    """A record on its way into Kafka, with the source position right after it.

    `source_offset` is where reading goes on once this record is committed; records with an equal `source_partition`
    must be returned in order. A record with neither is produced, but moves no position.
    """

    source_partition: Mapping[str, Any] | None = None
    source_offset: Mapping[str, Any] | None = None

    def with_(self, **changes: Any) -> SourceRecord:
        """A copy with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class SinkRecord(ConnectRecord):
    """A record on its way out of Kafka. The `original_*` fields keep where it really was, whatever transforms did."""

    kafka_offset: int = -1
    timestamp_type: TimestampType = TimestampType.NO_TIMESTAMP
    original_topic: str | None = None
    original_kafka_partition: int | None = None
    original_kafka_offset: int | None = None

    def with_(self, **changes: Any) -> SinkRecord:
        """A copy with some fields changed."""
        return replace(self, **changes)


@dataclass(slots=True)
class RecordBatch:
    """Records of one topic and one source partition, as columns.

    `source_offset` is the position after the *last* record: the batch is committed whole. `keys` and `timestamps` are
    None where no record has one. A source that must be able to commit within a batch returns `SourceRecord` objects
    or smaller batches.

    `headers` are bytes already: they go out as they are if the header converter lets bytes pass, else it converts them.

    `places` are the indexes of records of which the task wants to know where Kafka put them: see
    `SourceTask.commit_batch`.

    `offset_at`, if the source has it, tells the position after the record of an index. It is asked only when a record
    ends the task, so that those before it need not come again.
    """

    topic: str
    values: Sequence[Any]
    value_schema: Schema | None = None
    keys: Sequence[Any] | None = None
    key_schema: Schema | None = None
    timestamps: Sequence[int] | int | None = None
    kafka_partition: int | None = None
    source_partition: Mapping[str, Any] | None = None
    source_offset: Mapping[str, Any] | None = None
    offset_at: Callable[[int], Mapping[str, Any]] | None = None
    headers: Sequence[RawHeaders | None] | None = None
    places: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.values)

    def timestamp_of(self, index: int) -> int | None:
        """The timestamp of one record."""
        if self.timestamps is None or isinstance(self.timestamps, int):
            return self.timestamps
        return self.timestamps[index]

    def records(self) -> list[SourceRecord]:
        """The same records as objects. Only the last one carries the position, since only there it is known."""
        last = len(self.values) - 1
        return [
            SourceRecord(
                topic=self.topic,
                value=value,
                key=self.keys[index] if self.keys is not None else None,
                value_schema=self.value_schema,
                key_schema=self.key_schema,
                kafka_partition=self.kafka_partition,
                timestamp=self.timestamp_of(index),
                headers=self._headers_of(index),
                source_partition=self.source_partition if index == last else None,
                source_offset=self.source_offset if index == last else None,
            )
            for index, value in enumerate(self.values)
        ]

    def _headers_of(self, index: int) -> Headers:
        raw = None if self.headers is None else self.headers[index]
        return tuple(
            Header(name, value, OPTIONAL_BYTES_SCHEMA if value is None else BYTES_SCHEMA) for name, value in raw or ()
        )


@dataclass(frozen=True, slots=True)
class CopiedRecords:
    """Records that a task has brought to Kafka itself: acknowledged, so only their position is to be committed.

    Attributes:
        source_partition: where they come from.
        source_offset: of the last one.
        count: how many.
        size: how many bytes.
    """

    source_partition: Mapping[str, Any]
    source_offset: Mapping[str, Any]
    count: int
    size: int


class RecordBatches(tuple["RecordBatch | CopiedRecords", ...]):
    """What one `poll` found in several source partitions, in this order."""

    __slots__ = ()


class ValueBatch:
    """The values of many records, in order, all of one schema: as they are, or field by field.

    By field every value is a map without a schema, or a struct, and all have the same fields in the same order: then
    `fields` holds a list of values for each name, and what is done to a field of all records is done in one go. A
    batch of structs has all fields of the schema. Otherwise `fields` is None.
    """

    __slots__ = ("_rows", "count", "fields", "schema")

    def __init__(self, schema: Schema | None, rows: Sequence[Any]) -> None:
        self.schema, self.count = schema, len(rows)
        self._rows: Sequence[Any] | None = rows
        self.fields: Mapping[str, Sequence[Any]] | None = None

    @classmethod
    def by_field(cls, schema: Schema | None, fields: Mapping[str, Sequence[Any]]) -> ValueBatch:
        """A batch of maps or structs. There is at least one field, and all have equally many values."""
        made = cls.__new__(cls)
        made.schema, made.fields, made._rows = schema, fields, None  # noqa: SLF001 - its own
        made.count = len(next(iter(fields.values())))
        return made

    def __len__(self) -> int:
        return self.count

    @property
    def rows(self) -> Sequence[Any]:
        """The values one by one; by field, maps and structs are made anew each time."""
        if self._rows is not None:
            return self._rows
        fields = self.fields or {}
        maps = map(dict, map(zip, repeat(tuple(fields)), zip(*fields.values(), strict=True)))
        schema = self.schema
        return list(maps) if schema is None else [Struct.trusted(schema, values) for values in maps]


@dataclass(frozen=True, slots=True)
class SchemaAndValue:
    """A value together with its schema, which may be None."""

    schema: Schema | None
    value: Any


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """Where Kafka stored a record."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None = field(default=None)
