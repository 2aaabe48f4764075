"""Parsed JSON to Connect's data, by the rules of Java's converter.

A schema is compiled into a function once; reading a record is then a walk through closures. Reading is as lenient as
Java's: a member of the wrong JSON type reads as zero, false or null. Only a struct is strict about what is put into
it, and so refuses a null in a required field that way.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from seamark.connector import logical
from seamark.connector.schema import Schema, Struct, Type, validate_value
from seamark.engine.converters.java_maps import hash_map
from seamark.engine.converters.java_numbers import (
    BITS,
    is_between_floats,
    to_float32,
    wrap,
    wrapped_decimal,
)
from seamark.engine.converters.json_parsing import Inexact
from seamark.errors import DataError

Reader = Callable[[Any], Any]

_MAX = (1 << 63) - 1
_LARGE = 2.0**63
_BASE64_UNIT = re.compile(r"[\x00-\x20]*((?:[A-Za-z0-9+/]{4})+|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)")


def read_schemaless(node: Any) -> Any:
    """The value of JSON without a schema: whole numbers become 64-bit, others double.

    Objects and arrays are changed in place.

    Raises:
        Inexact: a number may be a whole one that was rounded.
    """
    kind = type(node)
    if kind is dict:
        for key, item in node.items():
            kind = type(item)
            if kind is str or item is None or kind is bool or (kind is int and -_MAX <= item <= _MAX):
                continue
            node[key] = read_schemaless(item)
        return hash_map(node)
    if kind is list:
        return [item if type(item) is str else read_schemaless(item) for item in node]
    if kind is int:
        return wrap(node, 64)
    if kind is float:
        if -_LARGE < node < _LARGE:
            return node if node else _zero(node)
        raise Inexact
    if kind is Decimal:
        return float(node) if node else 0.0
    return node if kind is str or kind is bool else None


def _zero(node: Any) -> float:
    """BigDecimal has no negative zero; but what looks like one may be a very small number, which becomes one."""
    if type(node) is float and math.copysign(1.0, node) < 0:
        raise Inexact
    return 0.0


class JsonReaders:
    """Compiles schemas into readers.

    Args:
        defaults_for_null: Whether a null reads as the schema's default, if it has one.
    """

    def __init__(self, *, defaults_for_null: bool) -> None:
        self._defaults_for_null = defaults_for_null
        self._unexpected = 0
        """How many values were read as null because they had the wrong type."""

    def read(self, schema: Schema, node: Any) -> Any:
        """Compile and read. Raises DataError or Inexact."""
        return self.compile(schema)(node)

    def compile(self, schema: Schema) -> Reader:
        """The function that reads values of a schema. It raises DataError, and Inexact as `read_schemaless` does."""
        read, null = self._plain(schema), self._null(schema)

        def read_null_too(node: Any) -> Any:
            if node is not None:
                return read(node)
            if null is DataError:
                raise _null_error(schema)
            return null

        return read_null_too

    def _null(self, schema: Schema) -> Any:
        """What null reads as; `DataError` if it is an error."""
        if schema.default is not None and self._defaults_for_null:
            return schema.default
        return None if schema.optional else DataError

    def _item(self, schema: Schema | None) -> Reader:
        return read_schemaless if schema is None else self.compile(schema)

    def _plain(self, schema: Schema) -> Reader:
        """The function that reads anything but null."""
        kind = schema.type
        if schema.name in logical.LOGICAL_NAMES:
            return _logical(schema)
        if kind in BITS:
            return _integer(BITS[kind])
        if kind is Type.STRUCT:
            return self._struct(schema)
        if kind is Type.ARRAY:
            return _array(_read_as_is(schema.value_schema), self._item(schema.value_schema))
        if kind is Type.MAP:
            return self._map(schema)
        return {
            Type.STRING: self._string,
            Type.BYTES: self._bytes,
            Type.FLOAT32: _float32,
            Type.FLOAT64: _float64,
            Type.BOOLEAN: _boolean,
        }[kind]

    def _string(self, node: Any) -> str | None:
        if type(node) is str:
            return node
        self._unexpected += 1
        return None

    def _bytes(self, node: Any) -> bytes | None:
        if type(node) is str:
            return read_base64(node)
        self._unexpected += 1
        return None

    def _struct(self, schema: Schema) -> Reader:
        plan = [
            (field.name, _read_as_is(field.schema), self._plain(field.schema), self._null(field.schema), field.schema)
            for field in schema.fields
        ]
        trusted = Struct.trusted

        def read(node: Any) -> Struct:
            if type(node) is not dict:
                raise DataError(f"Structs should be encoded as JSON objects, but found {node_type(node)}")
            get = node.get
            values: dict[str, Any] = {}
            unexpected = self._unexpected
            for name, kind, read_member, null, member_schema in plan:
                member = get(name)
                if type(member) is not kind:
                    if member is not None:
                        member = read_member(member)
                        if self._unexpected != unexpected:
                            validate_value(member_schema, member, name)
                            unexpected = self._unexpected
                    elif null is DataError:
                        raise _null_error(member_schema)
                    else:
                        member = null
                    if member is None:
                        continue
                values[name] = member
            return trusted(schema, values)

        return read

    def _map(self, schema: Schema) -> Reader:
        key_type = None if schema.key_schema is None else schema.key_schema.type
        read_key, read_value = self._item(schema.key_schema), self._item(schema.value_schema)

        def read_object(node: Any) -> dict[str, Any]:
            if type(node) is not dict:
                raise DataError(
                    f"Maps with string fields should be encoded as JSON objects, but found {node_type(node)}"
                )
            return hash_map({key: read_value(value) for key, value in node.items()})

        def read_pairs(node: Any) -> dict[Any, Any]:
            if type(node) is not list:
                raise DataError(
                    "Maps with non-string fields should be encoded as JSON array of tuples, "
                    f"but found {node_type(node)}"
                )
            entries = {}
            for entry in node:
                if type(entry) is not list:
                    raise DataError(f"Found invalid map entry instead of array tuple: {node_type(entry)}")
                if len(entry) != 2:
                    raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
                key = read_key(entry[0])
                # Java's lists and maps can be keys; here a list becomes a tuple, which is one just as well
                entries[_as_key(key)] = read_value(entry[1])
            return hash_map(entries, key_type)

        return read_object if key_type is Type.STRING else read_pairs


def _null_error(schema: Schema) -> DataError:
    return DataError(f"Invalid null value for required {schema.type.name} field")


def _logical(schema: Schema) -> Reader:
    name = schema.name or ""
    if name == logical.Decimal.LOGICAL_NAME:
        return lambda node: _decimal(schema, node)
    is_timestamp = name == logical.Timestamp.LOGICAL_NAME
    wanted = "integral" if is_timestamp else "integer"
    simple_name = name.rpartition(".")[2]

    def read(node: Any) -> Any:
        if type(node) is float:
            raise Inexact
        if type(node) is not int or (not is_timestamp and wrap(node, 32) != node):
            raise DataError(
                f"Invalid type for {simple_name}, underlying representation should be {wanted} "
                f"but was {node_type(node)}"
            )
        return logical.to_logical(schema, wrap(node, 64))

    return read


def _read_as_is(schema: Schema | None) -> type | None:
    """The class of JSON values that are values of the schema already."""
    if schema is None or schema.name in logical.LOGICAL_NAMES:
        return None
    return {Type.STRING: str, Type.BOOLEAN: bool}.get(schema.type)


def _as_key(key: Any) -> Any:
    if isinstance(key, list):
        return tuple(map(_as_key, key))
    if isinstance(key, dict):
        raise DataError("Maps whose keys are maps cannot be read: a map cannot be a key in Python")
    return key


def _integer(bits: int) -> Reader:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(node: Any) -> int:
        kind = type(node)
        if kind is int:
            return node if low <= node <= high else wrap(node, bits)
        if kind is float:
            raise Inexact
        return wrapped_decimal(node, bits) if kind is Decimal else 0

    return read


def _float32(node: Any) -> float:
    kind = type(node)
    if kind is float and is_between_floats(node):
        raise Inexact
    if kind not in (int, float, Decimal):
        return 0.0
    return to_float32(node) if node else _zero(node)


def _float64(node: Any) -> float:
    kind = type(node)
    if kind is float:
        return node if node else _zero(node)
    if kind is int:
        try:
            return float(node)
        except OverflowError:
            return float("inf") if node > 0 else float("-inf")
    return float(node) if kind is Decimal and node else 0.0


def _boolean(node: Any) -> bool:
    return node is True


def _array(kind: type | None, read_item: Reader) -> Reader:
    def read(node: Any) -> list[Any]:
        if type(node) is list:
            return [item if type(item) is kind else read_item(item) for item in node]
        # Jackson iterates over the members of an object, and over nothing in all other values
        return [read_item(item) for item in node.values()] if type(node) is dict else []

    return read


def _decimal(schema: Schema, node: Any) -> Decimal:
    kind = type(node)
    if kind is Decimal:
        return node.copy_abs() if node.is_zero() else node
    if kind is int:
        return Decimal(node)
    if kind is float:
        raise Inexact
    if kind is not str:
        raise DataError(
            f"Invalid type for Decimal, underlying representation should be numeric or bytes but was {node_type(node)}"
        )
    try:
        return logical.Decimal.to_logical(schema, read_base64(node))
    except DataError as error:
        raise DataError(f"Invalid bytes for Decimal field: {error}") from error


def read_base64(text: str) -> bytes:
    """Bytes in JSON.

    Raises:
        DataError: it is not base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return _read_spaced_base64(text)


def _read_spaced_base64(text: str) -> bytes:
    """Jackson also reads base64 with blanks between its units of four, and several pieces one after the other."""
    found, position = [], 0
    while (unit := _BASE64_UNIT.match(text, position)) is not None:
        found.append(base64.b64decode(unit[1]))
        position = unit.end()
    if text[position:].strip("".join(map(chr, range(33)))):
        raise DataError(
            f"Invalid bytes field: not base64 from character {position} on: {text[position : position + 20]!r}"
        )
    return b"".join(found)


def node_type(node: Any) -> str:
    """Jackson's name for the kind of a JSON node."""
    kinds: Mapping[type, str] = {dict: "OBJECT", list: "ARRAY", str: "STRING", bool: "BOOLEAN", type(None): "NULL"}
    if type(node) in (int, float, Decimal):
        return "NUMBER"
    return kinds.get(type(node), "MISSING")
