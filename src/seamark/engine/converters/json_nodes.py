"""Parsed JSON to Connect's data, by the rules of Java's converter."""

from __future__ import annotations

import base64
import binascii
import json
from collections import OrderedDict
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Generic, TypeVar

from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters import logical
from seamark.errors import DataError

BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}

Key = TypeVar("Key")
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """A bounded map that forgets what was not used for longest."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[Key, Value] = OrderedDict()

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def get(self, key: Key) -> Value | None:
        """The value, or None."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key: Key, value: Value) -> None:
        """Remember a value."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > max(self._size, 1):
            self._entries.popitem(last=False)


def _no_constants(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_PLAIN = json.JSONDecoder(parse_constant=_no_constants)
_EXACT = json.JSONDecoder(parse_constant=_no_constants, parse_float=Decimal)


def parse_json(data: bytes, *, exact: bool) -> Any:
    """The first JSON value of some bytes; None if they are blank. What follows it is ignored, as Jackson does.

    Args:
        data: UTF-8.
        exact: Whether numbers with a fraction become `Decimal` rather than float.

    Raises:
        DataError: it is not JSON.
    """
    try:
        text = data.decode("utf-8").lstrip()
        return (_EXACT if exact else _PLAIN).raw_decode(text)[0] if text else None
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"Converting byte[] to Kafka Connect data failed due to serialization error: {error}"
        ) from error


def type_of(value: Any) -> Type:
    """The type of a value that comes without a schema.

    Raises:
        DataError: Connect has no such type.
    """
    if isinstance(value, bool):
        return Type.BOOLEAN
    for kinds, found in _PYTHON_TYPES:
        if isinstance(value, kinds):
            return found
    raise DataError(f"Python class {type(value).__name__} does not have corresponding schema type.")


_PYTHON_TYPES: tuple[tuple[type | tuple[type, ...], Type], ...] = (
    (str, Type.STRING),
    (int, Type.INT64),
    (float, Type.FLOAT64),
    ((bytes, bytearray, memoryview), Type.BYTES),
    ((list, tuple), Type.ARRAY),
    (Struct, Type.STRUCT),
    (Mapping, Type.MAP),
)


def read_schemaless(node: Any) -> Any:
    """The value of JSON without a schema: whole numbers become 64-bit, others double."""
    if isinstance(node, dict):
        return {key: read_schemaless(value) for key, value in node.items()}
    if isinstance(node, list):
        return [read_schemaless(item) for item in node]
    if isinstance(node, int) and not isinstance(node, bool):
        return wrap(node, 64)
    return float(node) if isinstance(node, Decimal) else node


def read_logical(schema: Schema, node: Any) -> Any:
    """A Decimal, Date, Time or Timestamp."""
    if schema.name == logical.DECIMAL:
        if isinstance(node, Decimal):
            return node
        if is_number(node):
            return Decimal(str(node))
        if not isinstance(node, str):
            raise DataError(
                "Invalid type for Decimal, underlying representation should be numeric or bytes "
                f"but was {node_type(node)}"
            )
        try:
            return logical.decimal_from_bytes(schema, read_base64(node))
        except DataError as error:
            raise DataError(f"Invalid bytes for Decimal field: {error}") from error
    integral = isinstance(node, int) and not isinstance(node, bool)
    if not integral or (schema.name != logical.TIMESTAMP and wrap(node, 32) != node):
        kind = (schema.name or "").rpartition(".")[2]
        wanted = "integral" if schema.name == logical.TIMESTAMP else "integer"
        raise DataError(
            f"Invalid type for {kind}, underlying representation should be {wanted} but was {node_type(node)}"
        )
    return logical.from_number(schema, node)


def read_base64(text: str) -> bytes:
    """Bytes in JSON."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise DataError(f"Invalid bytes field: {error}") from error


def is_number(node: Any) -> bool:
    """Whether a JSON node is a number."""
    return isinstance(node, (int, float, Decimal)) and not isinstance(node, bool)


def wrap(number: int, bits: int) -> int:
    """The number as Java narrows it: the lowest bits, with a sign."""
    half = 1 << (bits - 1)
    return number if -half <= number < half else (number + half) % (1 << bits) - half


def node_type(node: Any) -> str:
    """Jackson's name for the kind of a JSON node."""
    kinds = {dict: "OBJECT", list: "ARRAY", str: "STRING", bool: "BOOLEAN", type(None): "NULL"}
    return kinds.get(type(node), "NUMBER")
