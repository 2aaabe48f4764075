"""Values as texts, as Connect's `Values` class writes them for headers; `values_parser` reads them."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from seamark.connector import logical
from seamark.connector.java_names import java_class
from seamark.connector.numbers import Float32
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.java_text import java_decimal, java_double, java_float
from seamark.engine.converters.values_parser import parse_value
from seamark.engine.transforms.java_calendar import DAY_MS, date_of
from seamark.errors import DataError

__all__ = ["format_value", "parse_value"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def format_value(value: Any, schema: Schema | None = None, *, embedded: bool = False) -> str:
    """The text of a value; texts within arrays and maps are quoted.

    Raises:
        DataError: a value of a type that Connect does not know.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if embedded else value
    if isinstance(value, float):
        is_single = isinstance(value, Float32) or (schema is not None and schema.type is Type.FLOAT32)
        return java_float(value) if is_single else java_double(value)
    if isinstance(value, Decimal):
        return java_decimal(value)
    if isinstance(value, (datetime.date, datetime.time)) or (isinstance(value, int) and _is_temporal(schema)):
        return _format_temporal(value, schema)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        text = base64.b64encode(value).decode()
        return f'"{text}"' if embedded else text
    if isinstance(value, (list, tuple)):
        items = schema.value_schema if schema else None
        return "[" + ",".join(format_value(item, items, embedded=True) for item in value) + "]"
    if isinstance(value, Struct):
        return _braces((field.name, value[field.name], None, field.schema) for field in value.schema.fields)
    if isinstance(value, Mapping):
        keys, values = (schema.key_schema, schema.value_schema) if schema else (None, None)
        return _braces((key, member, keys, values) for key, member in value.items())
    raise DataError(f"Failed to serialize unexpected value type {java_class(value)}: {value}")


def _braces(members: Iterable[tuple[Any, Any, Schema | None, Schema | None]]) -> str:
    texts = (
        f"{format_value(key, key_schema, embedded=True)}:{format_value(value, value_schema, embedded=True)}"
        for key, value, key_schema, value_schema in members
    )
    return "{" + ",".join(texts) + "}"


def _is_temporal(schema: Schema | None) -> bool:
    return logical.is_logical(schema) and schema is not None and schema.type is not Type.BYTES


def _format_temporal(value: Any, schema: Schema | None) -> str:
    """A time up to the end of 1 January 1970, later a date at midnight and both otherwise: Java goes by the value."""
    millis = logical.to_millis(value)
    if millis is None:
        is_date = schema is not None and schema.name == logical.Date.LOGICAL_NAME
        millis = int(value) * DAY_MS if is_date else int(value)
    day, of_day = divmod(millis, DAY_MS)
    clock = (_EPOCH + datetime.timedelta(milliseconds=of_day)).strftime("%H:%M:%S.") + f"{of_day % 1000:03d}Z"
    if millis < DAY_MS:
        return clock
    year, month, day_of_month = date_of(day)
    text = f"{year:04d}-{month:02d}-{day_of_month:02d}"
    return text if of_day == 0 else f"{text}T{clock}"
