"""Names of Java's classes for Python's values, as Kafka Connect's messages show them."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from typing import Any

from seamark.connector.numbers import Float32, Int8, Int16, Int32

_names: dict[type, str] = {
    bool: "java.lang.Boolean",
    Int8: "java.lang.Byte",
    Int16: "java.lang.Short",
    Int32: "java.lang.Integer",
    int: "java.lang.Long",
    Float32: "java.lang.Float",
    float: "java.lang.Double",
    str: "java.lang.String",
    bytes: "[B",
    bytearray: "[B",
    memoryview: "[B",
    decimal.Decimal: "java.math.BigDecimal",
    datetime.datetime: "java.util.Date",
    datetime.date: "java.util.Date",
    datetime.time: "java.util.Date",
    dict: "java.util.HashMap",
    list: "java.util.ArrayList",
    tuple: "java.util.ArrayList",
}


def register(cls: type, java_name: str) -> None:
    """Say what a class of ours is called in Java."""
    _names[cls] = java_name


_NUMBERS = {
    "INT8": "java.lang.Byte",
    "INT16": "java.lang.Short",
    "INT32": "java.lang.Integer",
    "FLOAT32": "java.lang.Float",
}


def java_class(value: Any, type_name: str | None = None) -> str:
    """The name of the class that a value has in Java: ``java.lang.String``; its Python name if it has none there.

    Args:
        value: The value.
        type_name: The type of its schema, which says how wide a number is.
    """
    if value is None:
        return "null"
    if type_name in _NUMBERS and type(value) in (int, float):
        return _NUMBERS[type_name]
    for cls in type(value).__mro__:
        if cls in _names:
            return _names[cls]
    if isinstance(value, Mapping):
        return "java.util.HashMap"
    return f"{type(value).__module__}.{type(value).__qualname__}"
