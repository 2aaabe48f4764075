"""What transforms require of the values that they are given; the messages are Connect's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.connector.java_names import java_class, register
from seamark.connector.records import SinkRecord, SourceRecord
from seamark.connector.schema import Schema, Struct
from seamark.errors import DataError

register(SourceRecord, "org.apache.kafka.connect.source.SourceRecord")
register(SinkRecord, "org.apache.kafka.connect.sink.SinkRecord")


def require_map(value: Any, purpose: str) -> Mapping[Any, Any]:
    """The value, which must be a map."""
    if type(value) is dict:
        return value
    if not isinstance(value, Mapping) or isinstance(value, Struct):
        raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {java_class(value)}")
    return value


def require_struct(value: Any, purpose: str, schema: Schema | None = None) -> Struct:
    """The value, which must be a struct. The schema only helps to name what it is instead."""
    if not isinstance(value, Struct):
        found = java_class(value, schema.type.name if schema else None)
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {found}")
    return value


def require_struct_or_none(value: Any, purpose: str, schema: Schema | None = None) -> Struct | None:
    """The value, which must be a struct or None."""
    return None if value is None else require_struct(value, purpose, schema)


def require_sink_record(record: Any, purpose: str) -> SinkRecord:
    """The record, which must come from a topic."""
    if not isinstance(record, SinkRecord):
        raise DataError(f"Only SinkRecord supported for [{purpose}], found: {java_class(record)}")
    return record
