"""Texts to typed configuration values, by Kafka's rules.

Configurations arrive as texts, from a properties file or a REST body; values that are typed already are accepted
where Kafka accepts them. Classes stay names here: only `seamark.engine.plugins` knows what can be loaded.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from typing import Any

from seamark.config.validators import invalid

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)[fFdD]?)")
_MOST_DIGITS = 1_000  # of any number; Python refuses to read one of thousands
_JAVA_TYPES = {
    str: "java.lang.String",
    bool: "java.lang.Boolean",
    int: "java.lang.Integer",
    float: "java.lang.Double",
    list: "java.util.ArrayList",
    dict: "java.util.LinkedHashMap",
}


class Type(Enum):
    """The types of configuration values, with Kafka's names."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105 - the name of a type


class Password:
    """A text that does not show itself: `str` and `repr` give ``[hidden]``, `value` the text."""

    HIDDEN = "[hidden]"
    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return self.HIDDEN


_INTEGERS = {
    Type.SHORT: (16, "16-bit integer (short)"),
    Type.INT: (32, "32-bit integer"),
    Type.LONG: (64, "64-bit integer (long)"),
}


def parse_type(name: str, value: Any, kind: Type) -> Any:
    """The typed value of a key.

    Args:
        name: The key, for the message.
        value: A text, or a value of the right type; None stays None.
        kind: The key's type.

    Raises:
        ConfigError: the value is not of that type.
    """
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else None
    if kind in _INTEGERS:
        return _integer(name, value, text, kind)
    if kind is Type.BOOLEAN:
        if isinstance(value, bool):
            return value
        if text is not None and text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise invalid(name, value, "Expected value to be either true or false")
    if kind is Type.DOUBLE:
        return _double(name, value, text)
    if kind is Type.LIST:
        if isinstance(value, (list, tuple)):
            return list(value)
        if text is None:
            raise invalid(name, value, "Expected a comma separated list.")
        return [item.strip() for item in text.split(",")] if text else []
    if kind is Type.PASSWORD and isinstance(value, Password):
        return value
    if kind is Type.CLASS and isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if text is None:
        if kind is Type.CLASS:
            raise invalid(name, value, "Expected a Class instance or class name.")
        raise invalid(name, value, f"Expected value to be a string, but it was a {_java_type(value)}")
    return Password(text) if kind is Type.PASSWORD else text


def _integer(name: str, value: Any, text: str | None, kind: Type) -> int:
    bits, what = _INTEGERS[kind]
    if text is not None:
        if not _INTEGER.fullmatch(text) or len(text) > _MOST_DIGITS:
            raise invalid(name, value, f"Not a number of type {kind.value}")
        number = int(text)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        raise invalid(name, value, f"Expected value to be a {what}, but it was a {_java_type(value)}")
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise invalid(name, value, f"Not a number of type {kind.value}")
    return number


def _double(name: str, value: Any, text: str | None) -> float:
    if text is not None:
        if not _DOUBLE.fullmatch(text):
            raise invalid(name, value, "Not a number of type DOUBLE")
        return float(text if text.endswith(("NaN", "Infinity")) else text.rstrip("fFdD"))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise invalid(name, value, f"Expected value to be a double, but it was a {_java_type(value)}")


def _java_type(value: object) -> str:
    return _JAVA_TYPES.get(type(value), type(value).__name__)


def to_text(value: Any) -> str | None:
    """A typed value as a text that parses to it again; a password as itself, so never for display."""
    if value is None:
        return None
    if isinstance(value, Password):
        return value.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(to_text(item)) for item in value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value)
