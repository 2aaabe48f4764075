"""Texts of headers to values, with the guesses of Connect's `Values` class.

``true`` is a boolean, ``12`` the smallest integer type that holds it, ``1.5`` a float, ``[1, 2]`` an array,
``{"a": 1}`` a map, an ISO date, time or timestamp one of those, and whatever is none of these is a string. Java's
peculiarities are kept: what follows a number or a closing bracket is ignored (``12:34`` is 12), blanks alone between
quotes are lost, dates may roll over, and a null makes a string of the array or map that it is in.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from seamark.connector import logical
from seamark.connector.numbers import Float32
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from seamark.engine.converters.java_numbers import BITS, to_float32, wrap
from seamark.engine.converters.values_alignment import align, merge, narrow, plain
from seamark.engine.converters.values_temporal import parse_temporal
from seamark.errors import DataError

_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.|[^:,{}\[\]"\\]|\\\Z)+', re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?(\d+))?")
_BLANK = "".join(map(chr, range(0x21)))  # what Java's `trim` takes off
_FAR = 40
_MAX_EXPONENT = 2**31 - 1
_MOST_DIGITS = 10
_NULL = SchemaAndValue(None, None)


def parse_value(text: str) -> SchemaAndValue:
    """The value that a text most likely stands for, since anything is a string.

    Raises:
        DataError: arrays or maps are nested too deeply.
    """
    if not text:
        return SchemaAndValue(STRING_SCHEMA, text)
    try:
        found = _Parser(text).parse(embedded=False)
        return SchemaAndValue(found.schema, plain(found.schema, found.value))
    except RecursionError as error:
        raise DataError(f"Arrays or maps are nested too deeply: {text[:100]}...") from error


class _Parser:
    """Reads tokens: delimiters, and whatever is between them. The next one may have been looked at already."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._next: str | None = None
        self._previous: str | None = None

    # tokens

    def _mark(self) -> int:
        return self._position - len(self._next or "")

    def _rewind(self, position: int) -> None:
        self._position, self._next, self._previous = position, None, None

    def _has_next(self) -> bool:
        return self._next is not None or self._position < len(self._text)

    def _consume(self) -> str:
        match = _TOKEN.match(self._text, self._position)
        token = match.group() if match else ""
        self._position += len(token)
        return token

    def _take(self) -> str:
        self._previous, self._next = (self._consume() if self._next is None else self._next), None
        return self._previous

    def _take_text(self, tokens: int) -> str | None:
        """The text of some tokens; None, and back to where it was, if there are not as many."""
        start = self._mark()
        for _ in range(tokens):
            if not self._has_next():
                self._rewind(start)
                return None
            self._take()
        return self._text[start : self._position]

    def _skip(self, expected: str) -> bool:
        if self._next is None:
            if not self._has_next():
                return False
            self._next = self._consume()
        while not self._next.strip(_BLANK) and self._position < len(self._text):
            self._next = self._consume()
        if self._next.strip(_BLANK) != expected:
            return False
        self._next = None
        return True

    def _skip_literal(self, literal: str, embedded: bool) -> bool:
        start = self._mark()
        if self._skip(literal) and (embedded or not self._has_next()):
            return True
        self._rewind(start)
        return False

    # values

    def parse(self, *, embedded: bool) -> SchemaAndValue:
        if not self._has_next():
            return _NULL
        if embedded and self._skip('"'):
            return self._quoted()
        if self._skip_literal("null", embedded):
            return _NULL
        for literal in ("true", "false"):
            if self._skip_literal(literal, embedded):
                return SchemaAndValue(BOOLEAN_SCHEMA, literal == "true")
        start = self._mark()
        try:
            if self._skip("["):
                return self._array()
            if self._skip("{"):
                return self._map()
        except DataError:
            self._rewind(start)
        token = self._take()
        if not token.strip(_BLANK):
            return SchemaAndValue(STRING_SCHEMA, token)
        return self._scalar(token.strip(_BLANK), embedded)

    def _scalar(self, token: str, embedded: bool) -> SchemaAndValue:
        found = None
        if token[0].isdecimal():
            found = self._temporal(token) or parse_number(token)
        elif token[0] in "+-":
            found = parse_number(token)
        if found is not None:
            return found
        if embedded:
            raise DataError("Failed to parse embedded value")
        return SchemaAndValue(STRING_SCHEMA, self._text)

    def _temporal(self, token: str) -> SchemaAndValue | None:
        # The colons of a time are delimiters, so it comes as five tokens.
        start = self._mark()
        rest = self._take_text(4)
        found = None if rest is None else parse_temporal(token + rest)
        if found is None:
            self._rewind(start)
            found = parse_temporal(token)
        return found

    def _quoted(self) -> SchemaAndValue:
        parts = []
        while self._has_next() and not self._skip('"'):
            parts.append(self._take())
        text = "".join(parts)
        return parse_temporal(text) or SchemaAndValue(STRING_SCHEMA, text)

    def _array(self) -> SchemaAndValue:
        items: list[SchemaAndValue] = []
        while self._has_next():
            if self._skip("]"):
                schema = merge(items)
                values = [item.value if schema is None else align(schema, item) for item in items]
                return SchemaAndValue(Schema(Type.ARRAY, value_schema=schema), values)
            if self._skip(","):
                raise DataError(f"Unable to parse an empty array element: {self._text}")
            items.append(self.parse(embedded=True))
            position = self._mark()
            if self._skip("]"):
                self._rewind(position)
            elif not self._skip(","):
                raise DataError("Array elements missing ',' delimiter")
        raise DataError(f"Array is missing terminating ']': {self._text}")

    def _map(self) -> SchemaAndValue:
        keys: list[SchemaAndValue] = []
        values: list[SchemaAndValue] = []
        while self._has_next():
            if self._skip("}"):
                return _map_of(keys, values)
            if self._skip(","):
                raise DataError(f"Unable to parse a map entry with no key or value: {self._text}")
            key = self.parse(embedded=True)
            if key.value is None:
                raise DataError(f"Map entry may not have a null key: {self._text}")
            if not self._skip(":"):
                raise DataError(f"Map entry is missing ':' in {self._text}")
            keys.append(key)
            values.append(self.parse(embedded=True))
            self._skip(",")
        raise DataError(f"Map is missing terminating '}}': {self._text}")


def _map_of(keys: list[SchemaAndValue], values: list[SchemaAndValue]) -> SchemaAndValue:
    key_schema = merge(keys)
    value_schema = merge(values) if key_schema is not None else None
    found: dict[Any, tuple[SchemaAndValue, SchemaAndValue]] = {}
    for key, item in zip(keys, values, strict=True):
        found[_as_key(key.value)] = (key, item)
    entries = {
        _as_key(key.value if key_schema is None else align(key_schema, key)): (
            item.value if value_schema is None else align(value_schema, item)
        )
        for key, item in found.values()
    }
    return SchemaAndValue(Schema(Type.MAP, key_schema=key_schema, value_schema=value_schema), entries)


def _as_key(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_as_key, value))
    if isinstance(value, dict):
        raise DataError("A map cannot be a key")
    return value


def parse_number(text: str) -> SchemaAndValue | None:
    """The number of a text with the smallest type that holds it; None if it is no number."""
    match = _NUMBER.fullmatch(text)
    exponent = ((match and match[1]) or "").lstrip("0")
    if match is None or len(exponent) > _MOST_DIGITS or int(exponent or 0) > _MAX_EXPONENT:
        return None
    number = Decimal(text)
    whole = _whole(number)
    if whole is not None:
        for schema in (INT8_SCHEMA, INT16_SCHEMA, INT32_SCHEMA, INT64_SCHEMA):
            if wrap(whole, BITS[schema.type]) == whole:
                return SchemaAndValue(schema, narrow(schema.type, whole))
    scale = -int(number.as_tuple().exponent)
    if scale != 0:
        if abs(narrowed := to_float32(number)) != float("inf"):
            return SchemaAndValue(FLOAT32_SCHEMA, Float32(narrowed))
        if abs(double := float(number)) != float("inf"):
            return SchemaAndValue(FLOAT64_SCHEMA, double)
    return SchemaAndValue(logical.Decimal.schema(scale), number)


def _whole(number: Decimal) -> int | None:
    """The number if it has no fraction and can be a 64-bit one."""
    if number.is_zero():
        return 0
    if number.adjusted() > _FAR or number != number.to_integral_value():
        return None
    return int(number)
