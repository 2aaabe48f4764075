"""The forms of timestamps that TimestampConverter knows: to milliseconds since 1970, and from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seamark.connector import logical
from seamark.connector.java_names import java_class
from seamark.connector.schema import (
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from seamark.engine.transforms.date_parsing import SimpleDateFormat
from seamark.engine.transforms.errors import NullPointerError
from seamark.engine.transforms.java_calendar import DAY_MS
from seamark.errors import ConnectError, DataError

STRING, UNIX, DATE, TIME, TIMESTAMP = "string", "unix", "Date", "Time", "Timestamp"
TYPES = (STRING, UNIX, DATE, TIME, TIMESTAMP)
PRECISIONS = ("nanoseconds", "microseconds", "milliseconds", "seconds")
_LOGICAL = {
    logical.Timestamp.LOGICAL_NAME: TIMESTAMP,
    logical.Date.LOGICAL_NAME: DATE,
    logical.Time.LOGICAL_NAME: TIME,
}
_SCHEMAS = {
    STRING: (STRING_SCHEMA, OPTIONAL_STRING_SCHEMA),
    UNIX: (INT64_SCHEMA, OPTIONAL_INT64_SCHEMA),
    DATE: (logical.Date.SCHEMA, logical.Date.schema(optional=True)),
    TIME: (logical.Time.SCHEMA, logical.Time.schema(optional=True)),
    TIMESTAMP: (logical.Timestamp.SCHEMA, logical.Timestamp.schema(optional=True)),
}
_LONG_MAX = (1 << 63) - 1


def schema_of(type: str, *, optional: bool) -> Schema:
    """The schema of a form."""
    return _SCHEMAS[type][optional]


def type_of_schema(schema: Schema) -> str:
    """The form that a schema stands for.

    Raises:
        ConnectError: none.
    """
    found = _LOGICAL.get(schema.name or "")
    if found is not None:
        return found
    if schema.type is Type.STRING:
        return STRING
    if schema.type is Type.INT64:
        return UNIX
    raise ConnectError(f"Schema {schema} does not correspond to a known timestamp type format")


def type_of_value(value: Any) -> str:
    """The form of a value without a schema.

    Raises:
        DataError: none.
    """
    if type(value) is int:  # not one of the narrower numbers
        return UNIX
    if isinstance(value, str):
        return STRING
    if logical.to_millis(value) is not None:
        return TIMESTAMP
    raise DataError(f"TimestampConverter does not support class {java_class(value)} objects as timestamps")


def reader(type: str, format: SimpleDateFormat | None, precision: str, type_name: str | None) -> Callable[[Any], int]:
    """A function that gives the milliseconds of values of a form; it raises DataError.

    Args:
        type: The form.
        format: Of texts.
        precision: Of numbers.
        type_name: The type of the schema, if there is one, to tell what a value is that has another form.
    """
    if type == STRING:
        return _text_reader(format, type_name)
    if type == UNIX:
        return _unix_reader(precision, type_name)

    # A number is taken for the encoded form, unless Cast made a number of it and left the schema its name.
    is_encodable = type_name == ("INT64" if type == TIMESTAMP else "INT32")

    def read(value: Any) -> int:
        millis = logical.to_millis(value)
        if millis is None:
            if not is_encodable or not isinstance(value, int) or isinstance(value, bool):
                raise DataError(
                    f"Expected {type} to be a java.util.Date, but found class {java_class(value, type_name)}"
                )
            return value * DAY_MS if type == DATE else value  # in the encoded form
        return millis

    return read


def _text_reader(format: SimpleDateFormat | None, type_name: str | None) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if not isinstance(value, str):
            raise DataError(f"Expected string timestamp to be a String, but found class {java_class(value, type_name)}")
        if format is None:
            raise NullPointerError(
                'Cannot invoke "java.text.SimpleDateFormat.parse(String)" because "config.format" is null'
            )
        millis = format.parse(value)
        if millis is None:
            raise DataError(f"Could not parse timestamp: value ({value}) does not match pattern ({format.pattern})")
        return millis

    return read


def _unix_reader(precision: str, type_name: str | None) -> Callable[[Any], int]:
    divisor = {"microseconds": 1000, "nanoseconds": 1_000_000}.get(precision, 1)

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise DataError(f"Expected Unix timestamp to be a Long, but found class {java_class(value, type_name)}")
        if precision == "seconds":
            return _saturated(value * 1000)
        return _cut(value, divisor)

    return read


def writer(type: str, format: SimpleDateFormat | None, precision: str) -> Callable[[int], Any]:
    """A function that makes values of a form from milliseconds."""
    if type == STRING and format is not None:
        return format.format
    if type == UNIX:
        factor = {"microseconds": 1000, "nanoseconds": 1_000_000}.get(precision, 1)
        if precision == "seconds":
            return lambda millis: _cut(millis, 1000)
        return lambda millis: _saturated(millis * factor)
    if type == DATE:
        return lambda millis: logical.Date.to_logical(logical.Date.SCHEMA, millis // DAY_MS)
    if type == TIME:
        return lambda millis: logical.Time.to_logical(logical.Time.SCHEMA, millis % DAY_MS)
    return lambda millis: logical.Timestamp.to_logical(logical.Timestamp.SCHEMA, millis)


def _cut(number: int, divisor: int) -> int:
    """Division as in Java: towards zero."""
    return number // divisor if number >= 0 else -(-number // divisor)


def _saturated(number: int) -> int:
    return max(-_LONG_MAX - 1, min(number, _LONG_MAX))
