"""One schema for the members of an array or map that was read from text, and the members converted to it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from seamark.connector import logical
from seamark.connector.java_names import java_class
from seamark.connector.numbers import Float32, Int8, Int16, Int32
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import Schema, Type
from seamark.engine.converters.java_numbers import BITS, pack_float, unpack_float, wrap
from seamark.errors import DataError

_CLASSES: dict[Type, type[int]] = {Type.INT8: Int8, Type.INT16: Int16, Type.INT32: Int32}
_NUMERIC = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


def merge(found: Sequence[SchemaAndValue]) -> Schema | None:
    """A schema for all of them, None if there is none: numbers widen, everything else must have the same type."""
    common: Schema | None = None
    for schema in (item.schema for item in found):
        if schema is None:
            continue
        if common is None or schema.type is common.type:
            common = schema  # of several with the same type, the last one
        elif schema.type in _NUMERIC and common.type in _NUMERIC:
            common = max(common, schema, key=lambda candidate: _NUMERIC.index(candidate.type))
        else:
            return None
    return common


def align(schema: Schema, found: SchemaAndValue) -> Any:
    """A value as one of the schema; numbers keep their class, in case that schema gets lost in the end.

    Raises:
        DataError: null, or there is no such value.
    """
    value = found.value
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    if logical.is_logical(schema):
        return _logical(schema, value)
    if schema.type not in _NUMERIC:
        return value
    if logical.is_logical(found.schema):
        raise DataError(f"Unable to convert {value} (class {java_class(value)}) to a number")
    return narrow(schema.type, value)


def narrow(kind: Type, value: Any) -> Any:
    """A number of a type, with its class."""
    if kind in BITS:
        return _CLASSES.get(kind, int)(wrap(int(_number(value)), BITS[kind]))
    number = float(_number(value))
    return Float32(unpack_float(pack_float(number))) if kind is Type.FLOAT32 else number


def plain(schema: Schema | None, value: Any) -> Any:
    """The value without the classes of those numbers whose type the schema tells."""
    if schema is None or value is None:
        return value
    if schema.type is Type.ARRAY:
        return type(value)(plain(schema.value_schema, item) for item in value)
    if schema.type is Type.MAP:
        return {plain(schema.key_schema, key): plain(schema.value_schema, item) for key, item in value.items()}
    if schema.type is Type.FLOAT32 and type(value) is Float32:
        return float(value)
    return int(value) if type(value) is _CLASSES.get(schema.type) else value


def _number(value: Any) -> int | float | Decimal:
    if isinstance(value, (int, float, Decimal)):
        return value
    raise DataError(f"Unable to convert {value} (class {java_class(value)}) to a number")


def _logical(schema: Schema, value: Any) -> Any:
    if schema.name == logical.Decimal.LOGICAL_NAME:
        return value if isinstance(value, Decimal) else Decimal(str(float(_number(value))))
    if isinstance(value, (datetime.date, datetime.time)):
        return value
    return logical.to_logical(schema, wrap(int(_number(value)), BITS[schema.type]))
