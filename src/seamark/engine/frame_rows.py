"""Between rows of a DataFrame and single records, as transforms see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from seamark.connector.records import Header, SinkRecord, SourceRecord, TimestampType
from seamark.connector.schema import OPTIONAL_BYTES_SCHEMA, Schema
from seamark.engine.arrow_records import TopicRows, connect_schema, headers_of, milliseconds, plain
from seamark.engine.pipeline import OutgoingRecord
from seamark.kafka.consumer import ConsumedRecord

TIMESTAMP_TYPES: Final = {0: TimestampType.CREATE_TIME, 1: TimestampType.LOG_APPEND_TIME}
_TYPE_NUMBERS: Final = {kind: number for number, kind in TIMESTAMP_TYPES.items()}


def source_records(batch: pa.RecordBatch, topic: str) -> Iterator[SourceRecord]:
    """The rows of a frame source; `topic` is where those go that name none."""
    columns, rows = _columns(batch), batch.num_rows
    keys, key_schema = _part(columns, "key", rows)
    values, value_schema = _part(columns, "value", rows)
    topics = plain(columns, "topic") or [topic] * rows
    partitions = plain(columns, "partition") or [None] * rows
    timestamps = milliseconds(columns) or [None] * rows
    headers = headers_of(columns) or [None] * rows
    for at in range(rows):
        yield SourceRecord(
            topics[at] or topic,
            values[at],
            keys[at],
            None if values[at] is None else value_schema,  # a null is a tombstone, whatever the column's type
            None if keys[at] is None else key_schema,
            partitions[at],
            timestamps[at],
            _raw_headers(headers[at]),
        )


def sink_rows(batch: pa.RecordBatch) -> Iterator[SinkRecord]:
    """The rows of a query; headers are still bytes."""
    columns, rows = _columns(batch), batch.num_rows
    keys, key_schema = _part(columns, "key", rows)
    values, value_schema = _part(columns, "value", rows)
    topics = plain(columns, "topic") or [None] * rows
    partitions = plain(columns, "partition") or [None] * rows
    offsets = plain(columns, "offset") or [None] * rows
    timestamps = milliseconds(columns) or [None] * rows
    kinds = plain(columns, "timestampType") or [None] * rows
    headers = headers_of(columns) or [None] * rows
    for at in range(rows):
        where, partition, offset = topics[at] or "", partitions[at], offsets[at]
        yield SinkRecord(
            where,
            values[at],
            keys[at],
            None if values[at] is None else value_schema,
            None if keys[at] is None else key_schema,
            partition,
            timestamps[at],
            _raw_headers(headers[at]),
            -1 if offset is None else offset,
            TIMESTAMP_TYPES.get(kinds[at], TimestampType.NO_TIMESTAMP),
            where,
            partition,
            offset,
        )


def consumed_records(batch: pa.RecordBatch) -> Iterator[ConsumedRecord]:
    """The rows of Spark's Kafka source."""
    columns = _columns(batch)
    names = ("topic", "partition", "offset", "key", "value", "timestampType")
    lists = [columns[name].to_pylist() for name in names]
    timestamps = milliseconds(columns) or [None] * batch.num_rows
    headers = headers_of(columns) or [None] * batch.num_rows
    for topic, partition, offset, key, value, kind, timestamp, pairs in zip(*lists, timestamps, headers, strict=True):
        known = TIMESTAMP_TYPES.get(kind)
        yield ConsumedRecord(
            topic,
            partition,
            offset,
            key,
            value,
            None if known is None else timestamp,
            (known or TimestampType.NO_TIMESTAMP).value,
            tuple(pairs or ()),
        )


def type_number(kind: TimestampType) -> int:
    """As Spark's Kafka source has it."""
    return _TYPE_NUMBERS.get(kind, -1)


def topic_rows(records: Iterable[OutgoingRecord]) -> Iterator[TopicRows]:
    """Records as columns: neighbours that go to the same topic together."""
    run: list[OutgoingRecord] = []
    for record in records:
        if run and run[-1].topic != record.topic:
            yield _run(run)
            run = []
        run.append(record)
    if run:
        yield _run(run)


def _run(records: list[OutgoingRecord]) -> TopicRows:
    return TopicRows(
        records[0].topic,
        [record.value for record in records],
        [record.key for record in records],
        [record.partition for record in records],
        [record.timestamp for record in records],
        [list(record.headers) for record in records],
    )


def _columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return {name: batch.column(name) for name in batch.schema.names}


def _part(columns: Mapping[str, pa.Array], name: str, rows: int) -> tuple[list[Any], Schema | None]:
    column = columns.get(name)
    if column is None or pa.types.is_null(column.type):
        return [None] * rows, None
    schema, to_connect = connect_schema(column.type, logical=True)
    return [None if item is None else to_connect(item) for item in column.to_pylist()], schema


def _raw_headers(pairs: list[tuple[str, bytes | None]] | None) -> tuple[Header, ...]:
    return tuple(Header(name, data, OPTIONAL_BYTES_SCHEMA) for name, data in pairs or ())
