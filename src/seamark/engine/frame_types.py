"""Arrow types for Connect data: what columns the records of a batch have, once transforms have shaped them.

Records with a schema say so themselves. Of records without one the types are inferred, as Spark's JSON reader does:
maps are structs with all the fields that any record has, numbers become as wide as needed, and what fits nothing else
is text. Connect's Time has no equivalent in Spark and is a number of milliseconds.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from seamark.connector.logical import Date, Decimal, Time, Timestamp, is_logical, to_logical
from seamark.connector.schema import Schema, Struct, Type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

TIMESTAMP: Final = pa.timestamp("us", "UTC")
HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_DIGITS: Final = 38  # the most that Spark's decimals have
_PRIMITIVES: Final = {
    Type.BOOLEAN: pa.bool_(),
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}
_INT64: Final = 1 << 63
Shape = Callable[[Any], Any]


def type_of_schema(schema: Schema) -> pa.DataType:
    """The Arrow type of a Connect schema."""
    if is_logical(schema):
        if schema.name == Decimal.LOGICAL_NAME:
            return pa.decimal128(_DIGITS, max(0, Decimal.scale(schema)))
        return {Date.LOGICAL_NAME: pa.date32(), Time.LOGICAL_NAME: pa.int32(), Timestamp.LOGICAL_NAME: TIMESTAMP}[
            schema.name or ""
        ]
    if schema.type is Type.STRUCT:
        return pa.struct([(member.name, type_of_schema(member.schema)) for member in schema.fields])
    items = pa.null() if schema.value_schema is None else type_of_schema(schema.value_schema)
    if schema.type is Type.ARRAY:
        return pa.list_(items)
    if schema.type is Type.MAP:
        return pa.map_(pa.string() if schema.key_schema is None else type_of_schema(schema.key_schema), items)
    return _PRIMITIVES[schema.type]


def type_of_value(value: Any) -> pa.DataType:
    """The Arrow type of a value without a schema."""
    if value is None:
        return pa.null()
    if isinstance(value, Struct):
        return type_of_schema(value.schema)
    if isinstance(value, Mapping):
        return pa.struct([(str(name), type_of_value(member)) for name, member in value.items()])
    if isinstance(value, list | tuple):
        return pa.list_(merged(map(type_of_value, value)))
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        if -_INT64 <= value < _INT64:
            return pa.int64()
        return pa.decimal128(_DIGITS, 0) if abs(value) < 10**_DIGITS else pa.string()
    if isinstance(value, decimal.Decimal):
        return pa.decimal128(_DIGITS, min(_DIGITS, max(0, -int(value.as_tuple().exponent))))
    return _scalar(value)


def _scalar(value: Any) -> pa.DataType:
    kinds: tuple[tuple[type | tuple[type, ...], pa.DataType], ...] = (
        (float, pa.float64()),
        ((bytes, bytearray, memoryview), pa.binary()),
        (datetime.datetime, TIMESTAMP),
        (datetime.date, pa.date32()),
        (datetime.time, pa.int32()),
    )
    return next((found for kind, found in kinds if isinstance(value, kind)), pa.string())


def merged(types: Iterable[pa.DataType]) -> pa.DataType:
    """The type that holds values of all these types."""
    result = pa.null()
    for each in types:
        result = merge(result, each)
    return result


def merge(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds values of both types; text if nothing else does."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        members = {member.name: member.type for member in one}
        for member in other:
            members[member.name] = merge(members.get(member.name, pa.null()), member.type)
        return pa.struct(list(members.items()))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(merge(one.value_type, other.value_type))
    if pa.types.is_map(one) and pa.types.is_map(other):
        return pa.map_(merge(one.key_type, other.key_type), merge(one.item_type, other.item_type))
    if _is_number(one) and _is_number(other):
        return _wider(one, other)
    if {one, other} == {TIMESTAMP, pa.date32()}:
        return TIMESTAMP
    return pa.string()


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(one) or pa.types.is_floating(other):
        return pa.float64()
    decimals = [kind.scale for kind in (one, other) if pa.types.is_decimal(kind)]
    if decimals:
        return pa.decimal128(_DIGITS, max(decimals))
    return max(one, other, key=lambda kind: int(kind.bit_width))


def settled(kind: pa.DataType) -> pa.DataType:
    """The type with text wherever no record had a value: Spark cannot store what has no type."""
    if pa.types.is_struct(kind):
        return pa.struct([(member.name, settled(member.type)) for member in kind]) if len(kind) else pa.string()
    if pa.types.is_list(kind):
        return pa.list_(settled(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(settled(kind.key_type), settled(kind.item_type))
    return pa.string() if pa.types.is_null(kind) else kind


def shape_for(kind: pa.DataType) -> Shape:
    """What turns Connect data, or what Arrow gives back for it, into what Arrow stores in a column of this type."""
    shape = _shape(kind)
    return lambda value: None if value is None else shape(value)


def _shape(kind: pa.DataType) -> Shape:
    if pa.types.is_struct(kind):
        members = [(member.name, shape_for(member.type)) for member in kind]
        return lambda value: {name: shape(_member(value, name)) for name, shape in members}
    if pa.types.is_list(kind):
        item = shape_for(kind.value_type)
        return lambda value: [item(each) for each in value]
    if pa.types.is_map(kind):
        key, item = shape_for(kind.key_type), shape_for(kind.item_type)
        return lambda value: [(key(k), item(v)) for k, v in (value.items() if isinstance(value, Mapping) else value)]
    if pa.types.is_decimal(kind):
        return lambda value: _decimal(value, kind.scale)
    if pa.types.is_string(kind):
        return text_of
    if pa.types.is_floating(kind):
        return float
    if kind == TIMESTAMP:
        return _timestamp
    if kind == pa.int32():
        return lambda value: Time.from_logical(Time.SCHEMA, value) if isinstance(value, datetime.time) else value
    return lambda value: value


def _member(value: Any, name: str) -> Any:
    if isinstance(value, Struct):
        return value[name] if value.schema.field(name) is not None else None
    return value.get(name)


def _decimal(value: Any, scale: int) -> decimal.Decimal:
    if isinstance(value, bytes):
        value = to_logical(Decimal.schema(scale), value)
    return value if isinstance(value, decimal.Decimal) else decimal.Decimal(value)


def _timestamp(value: Any) -> Any:
    if isinstance(value, int):
        return value * 1000  # the encoded form: milliseconds
    if not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day, tzinfo=datetime.UTC)
    return value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)


def text_of(value: Any) -> str:
    """A value as text: strings as they are, anything else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(_plain(value), ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return value


def spark_schema(fields: Iterable[tuple[str, pa.DataType]]) -> StructType:
    """The Spark schema of Arrow columns."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema(list(fields)))
