"""Connect's data to JSON, as text: no spaces, members in their order, Jackson's escapes, Java's way to print numbers.

This is the whole definition of the bytes; `json_fast` is a shorter way to the same bytes for data that allows it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from seamark.connector import logical
from seamark.connector.java_names import java_class
from seamark.connector.numbers import Float32, Int8, Int16, Int32
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.java_numbers import BITS
from seamark.engine.converters.java_text import java_decimal, java_double, java_float, json_string
from seamark.engine.transforms.errors import NullPointerError
from seamark.errors import DataError

_PYTHON_TYPES: tuple[tuple[type | tuple[type, ...], Type], ...] = (
    (bool, Type.BOOLEAN),
    (str, Type.STRING),
    (Int8, Type.INT8),
    (Int16, Type.INT16),
    (Int32, Type.INT32),
    (int, Type.INT64),
    (Float32, Type.FLOAT32),
    (float, Type.FLOAT64),
    ((bytes, bytearray, memoryview), Type.BYTES),
    ((list, tuple), Type.ARRAY),
    (Struct, Type.STRUCT),
    (Mapping, Type.MAP),
)


def type_of(value: Any) -> Type:
    """The type of a value that comes without a schema.

    Raises:
        DataError: Connect has no such type.
    """
    for kinds, found in _PYTHON_TYPES:
        if isinstance(value, kinds):
            return found
    raise DataError(f"Java class class {java_class(value)} does not have corresponding schema type.")


class JsonWriter:
    """Writes values.

    Args:
        numeric_decimals: Whether decimals are numbers rather than base64.
        defaults_for_null: Whether null is written as the schema's default, if it has one.
    """

    def __init__(self, *, numeric_decimals: bool, defaults_for_null: bool) -> None:
        self.numeric_decimals, self.defaults_for_null = numeric_decimals, defaults_for_null

    def write(self, schema: Schema | None, value: Any) -> str:
        """The JSON of a value. Raises DataError."""
        if value is None:
            return self._null(schema)
        if schema is not None and schema.name in logical.LOGICAL_NAMES:
            return self._logical(schema, value)
        kind = type_of(value) if schema is None else schema.type
        text = self._container(kind, schema, value) or _scalar(kind, value)
        if text is None:
            label = "unknown schema" if schema is None else kind.name
            raise DataError(
                f"Invalid type for bytes type: class {java_class(value)}"
                if kind is Type.BYTES
                else f"Invalid type for {label}: class {java_class(value)}"
            )
        return text

    def _null(self, schema: Schema | None) -> str:
        if schema is None:
            return "null"
        if schema.default is not None and self.defaults_for_null:
            return self.write(schema, schema.default)
        if schema.optional:
            return "null"
        raise DataError("Conversion error: null value for field that is required and has no default value")

    def _container(self, kind: Type, schema: Schema | None, value: Any) -> str | None:
        if kind is Type.ARRAY and isinstance(value, (list, tuple)):
            items = None if schema is None else schema.value_schema
            return "[" + ",".join(self.write(items, item) for item in value) + "]"
        if kind is Type.STRUCT and isinstance(value, Struct):
            return self._struct(schema, value)
        if kind is Type.MAP and isinstance(value, Mapping) and not isinstance(value, Struct):
            return self._map(schema, value)
        return None

    def _struct(self, schema: Schema | None, value: Struct) -> str:
        if schema is None or (value.schema is not schema and value.schema != schema):
            raise DataError("Mismatching schema.")
        get = value.stored.get
        members = (f"{json_string(field.name)}:{self.write(field.schema, get(field.name))}" for field in schema.fields)
        return "{" + ",".join(members) + "}"

    def _map(self, schema: Schema | None, value: Mapping[Any, Any]) -> str:
        keys, values = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        if schema is not None and keys is None:  # as a header of different things is read
            raise NullPointerError(
                'Cannot invoke "org.apache.kafka.connect.data.Schema.type()" because the return value of '
                '"org.apache.kafka.connect.data.Schema.keySchema()" is null'
            )
        if keys.type is Type.STRING if keys is not None else all(isinstance(key, str) for key in value):
            # A null key is written as text, and then may meet another one: the later value wins.
            members = {_as_text(self.write(keys, key)): self.write(values, item) for key, item in value.items()}
            return "{" + ",".join(f"{key}:{item}" for key, item in members.items()) + "}"
        return "[" + ",".join(f"[{self.write(keys, k)},{self.write(values, v)}]" for k, v in value.items()) + "]"

    def _logical(self, schema: Schema, value: Any) -> str:
        if schema.name != logical.Decimal.LOGICAL_NAME:
            return str(logical.from_logical(schema, value))
        if self.numeric_decimals and isinstance(value, Decimal) and value.is_finite():
            return java_decimal(value)
        return f'"{base64.b64encode(logical.Decimal.from_logical(schema, value)).decode()}"'


def _as_text(key: str) -> str:
    return '"null"' if key == "null" else key


def _scalar(kind: Type, value: Any) -> str | None:
    """The JSON of a value of a primitive type, None if it is not of that type."""
    if kind is Type.BOOLEAN:
        return ("true" if value else "false") if isinstance(value, bool) else None
    if isinstance(value, bool):
        return None
    if kind is Type.STRING and isinstance(value, str):
        return json_string(value)
    if kind in BITS and isinstance(value, int):
        if not -(1 << (BITS[kind] - 1)) <= value < 1 << (BITS[kind] - 1):
            raise DataError(f"{value} is out of range for {kind.name}")
        return str(int(value))
    if kind in (Type.FLOAT32, Type.FLOAT64) and isinstance(value, (float, int)):
        return json_float(float(value), is_single=kind is Type.FLOAT32)
    if kind is Type.BYTES and isinstance(value, (bytes, bytearray, memoryview)):
        return f'"{base64.b64encode(value).decode()}"'
    return None


def json_float(value: float, *, is_single: bool) -> str:
    """The JSON of a float; Jackson quotes NaN and Infinity."""
    text = java_float(value) if is_single else java_double(value)
    return f'"{text}"' if text[-1] in "Ny" else text
