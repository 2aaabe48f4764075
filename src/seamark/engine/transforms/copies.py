"""Copies of records with something changed: what every transform ends with.

`dataclasses.replace`, and even the constructor of a frozen dataclass, costs several times what a simple transform
does. Here the slots are set one by one; nothing else may do that to a record that others can see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from seamark.connector.records import Headers, SinkRecord, SourceRecord, TimestampType
from seamark.connector.schema import Schema
from seamark.connector.transform import Record


def _slots(cls: type[Any]) -> list[Callable[[Any, Any], None]]:
    return [getattr(cls, member.name).__set__ for member in fields(cls)]


(
    _topic,
    _value,
    _key,
    _value_schema,
    _key_schema,
    _kafka_partition,
    _timestamp,
    _headers,
    _source_partition,
    _source_offset,
) = _slots(SourceRecord)
(_kafka_offset, _timestamp_type, _original_topic, _original_kafka_partition, _original_kafka_offset) = _slots(
    SinkRecord
)[8:]
_new = object.__new__


def consumed_record(
    place: tuple[str, int, int, int | None, str],
    timestamp_type: TimestampType,
    key_schema: Schema | None,
    key: Any,
    value_schema: Schema | None,
    value: Any,
) -> SinkRecord:
    """A record without headers as it came from a topic; `place` is what `seamark.kafka.consumer.places_of` gives."""
    made: Any = _new(SinkRecord)
    topic, partition, offset, timestamp, _ = place
    _topic(made, topic)
    _value(made, value)
    _key(made, key)
    _value_schema(made, value_schema)
    _key_schema(made, key_schema)
    _kafka_partition(made, partition)
    _timestamp(made, timestamp)
    _headers(made, ())
    _kafka_offset(made, offset)
    _timestamp_type(made, timestamp_type)
    _original_topic(made, topic)
    _original_kafka_partition(made, partition)
    _original_kafka_offset(made, offset)
    found: SinkRecord = made
    return found


def with_value(record: Record, schema: Schema | None, value: Any) -> Record:
    """The record with another value."""
    return _copy(record, record.topic, record.key_schema, record.key, schema, value, record.headers)


def with_key(record: Record, schema: Schema | None, key: Any) -> Record:
    """The record with another key."""
    return _copy(record, record.topic, schema, key, record.value_schema, record.value, record.headers)


def with_topic(record: Record, topic: str) -> Record:
    """The record on its way to another topic."""
    return _copy(record, topic, record.key_schema, record.key, record.value_schema, record.value, record.headers)


def with_headers(record: Record, headers: Headers) -> Record:
    """The record with other headers."""
    return _copy(record, record.topic, record.key_schema, record.key, record.value_schema, record.value, headers)


def with_part(record: Record, of_key: bool, schema: Schema | None, part: Any, headers: Headers | None = None) -> Record:
    """The record with another key or value, and perhaps other headers."""
    if headers is None:
        headers = record.headers
    if of_key:
        return _copy(record, record.topic, schema, part, record.value_schema, record.value, headers)
    return _copy(record, record.topic, record.key_schema, record.key, schema, part, headers)


def _copy(
    record: Record,
    topic: str,
    key_schema: Schema | None,
    key: Any,
    value_schema: Schema | None,
    value: Any,
    headers: Headers,
) -> Record:
    kind = type(record)
    if kind is not SourceRecord and kind is not SinkRecord:  # a subclass, which may have more in it
        return record.with_(
            topic=topic, key_schema=key_schema, key=key, value_schema=value_schema, value=value, headers=headers
        )
    made: Any = _new(kind)
    _topic(made, topic)
    _value(made, value)
    _key(made, key)
    _value_schema(made, value_schema)
    _key_schema(made, key_schema)
    _kafka_partition(made, record.kafka_partition)
    _timestamp(made, record.timestamp)
    _headers(made, headers)
    if isinstance(record, SourceRecord):
        _source_partition(made, record.source_partition)
        _source_offset(made, record.source_offset)
    else:
        _kafka_offset(made, record.kafka_offset)
        _timestamp_type(made, record.timestamp_type)
        _original_topic(made, record.original_topic)
        _original_kafka_partition(made, record.original_kafka_partition)
        _original_kafka_offset(made, record.original_kafka_offset)
    return made
