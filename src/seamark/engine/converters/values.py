"""Values as texts and back, as Connect's `Values` class does for headers.

Reading guesses: ``true`` is a boolean, ``12`` the smallest integer type that holds it, ``1.5`` a float, ``[1, 2]`` an
array, ``{"a": 1}`` a map, an ISO date, time or timestamp one of those, and whatever is none of these is a string.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from seamark.connector import logical
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
    Struct,
    Type,
)
from seamark.engine.converters.java_text import java_double, java_float
from seamark.errors import DataError

DATE_SCHEMA = Schema(Type.INT32, name=logical.Date.LOGICAL_NAME, version=1)
TIME_SCHEMA = Schema(Type.INT32, name=logical.Time.LOGICAL_NAME, version=1)
TIMESTAMP_SCHEMA = Schema(Type.INT64, name=logical.Timestamp.LOGICAL_NAME, version=1)

_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.|[^:,{}\[\]"\\]|\\$)+', re.DOTALL)
_NUMERIC = [Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64]
_TEMPORAL = {
    10: ("%Y-%m-%d", DATE_SCHEMA),
    13: ("%H:%M:%S.%fZ", TIME_SCHEMA),
    24: ("%Y-%m-%dT%H:%M:%S.%fZ", TIMESTAMP_SCHEMA),
}


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
        return java_float(value) if schema is not None and schema.type is Type.FLOAT32 else java_double(value)
    if isinstance(value, (int, Decimal)):
        return str(value)
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
    if isinstance(value, (date, time)):
        return _format_temporal(value)
    raise DataError(f"Failed to serialize unexpected value type {type(value).__name__}: {value}")


def _braces(members: Any) -> str:
    texts = (
        f"{format_value(key, key_schema, embedded=True)}:{format_value(value, value_schema, embedded=True)}"
        for key, value, key_schema, value_schema in members
    )
    return "{" + ",".join(texts) + "}"


def _format_temporal(value: date | time) -> str:
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
    if isinstance(value, time):
        return value.strftime("%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
    return value.isoformat()


def parse_value(text: str) -> SchemaAndValue:
    """The value that a text most likely stands for; never fails, since anything is a string."""
    stripped = text.strip()
    if not stripped:
        return SchemaAndValue(STRING_SCHEMA, text)
    if stripped == "null":
        return SchemaAndValue(None, None)
    if stripped in ("true", "false"):
        return SchemaAndValue(BOOLEAN_SCHEMA, stripped == "true")
    if stripped[0] in "[{":
        try:
            return _Parser(stripped).value()
        except DataError:
            return SchemaAndValue(STRING_SCHEMA, text)
    found_scalar = _temporal(stripped) or _number(stripped)
    return found_scalar or SchemaAndValue(STRING_SCHEMA, text)


class _Parser:
    """Arrays and maps."""

    def __init__(self, text: str) -> None:
        self._words = _TOKEN.findall(text)
        self._next = 0

    def value(self) -> SchemaAndValue:
        word = self._take().strip()
        if word == '"':
            return self._quoted()
        if word == "[":
            return self._array()
        if word == "{":
            return self._map()
        if word == "null":
            return SchemaAndValue(None, None)
        if word in ("true", "false"):
            return SchemaAndValue(BOOLEAN_SCHEMA, word == "true")
        found = self._unquoted_temporal(word) or _number(word)
        if found is None:
            raise DataError("Failed to parse embedded value")
        return found

    def _unquoted_temporal(self, word: str) -> SchemaAndValue | None:
        # The colons of a time are delimiters, so it comes as five words.
        found = _temporal(word + "".join(self._words[self._next : self._next + 4]))
        if found is not None:
            self._next += 4
        return found or _temporal(word)

    def _quoted(self) -> SchemaAndValue:
        parts = []
        while self._next < len(self._words):
            self._next += 1
            if self._words[self._next - 1] == '"':
                break
            parts.append(self._words[self._next - 1])
        text = "".join(parts)
        return _temporal(text.replace("\\:", ":")) or SchemaAndValue(STRING_SCHEMA, text)

    def _array(self) -> SchemaAndValue:
        items: list[SchemaAndValue] = []
        while not self._skip("]"):
            items.append(self.value())
            if not self._skip(",") and self._peek() != "]":
                raise DataError("Array elements missing ',' delimiter")
        schema = _common(items)
        return SchemaAndValue(Schema(Type.ARRAY, value_schema=schema), [_aligned(item.value, schema) for item in items])

    def _map(self) -> SchemaAndValue:
        keys: list[SchemaAndValue] = []
        values: list[SchemaAndValue] = []
        while not self._skip("}"):
            keys.append(self.value())
            if keys[-1].value is None or not self._skip(":"):
                raise DataError("Map entry may not have a null key, and needs a ':' after it")
            values.append(self.value())
            self._skip(",")
        key_schema, value_schema = _common(keys), _common(values)
        entries = {
            _aligned(key.value, key_schema): _aligned(value.value, value_schema)
            for key, value in zip(keys, values, strict=True)
        }
        return SchemaAndValue(Schema(Type.MAP, key_schema=key_schema, value_schema=value_schema), entries)

    def _peek(self) -> str:
        while self._next < len(self._words) and not self._words[self._next].strip():
            self._next += 1
        if self._next >= len(self._words):
            raise DataError("The array or map is not complete")
        return self._words[self._next].strip()

    def _take(self) -> str:
        if self._next >= len(self._words):
            raise DataError("The array or map is not complete")
        word = self._words[self._next]
        self._next += 1
        return word if word.strip() or self._next >= len(self._words) else self._take()

    def _skip(self, expected: str) -> bool:
        if self._peek() == expected:
            self._next += 1
            return True
        return False


def _temporal(text: str) -> SchemaAndValue | None:
    if len(text) not in _TEMPORAL or not text[0].isdigit():
        return None
    pattern, schema = _TEMPORAL[len(text)]
    try:
        found = datetime.strptime(text, pattern).replace(tzinfo=UTC)
    except ValueError:
        return None
    if schema is DATE_SCHEMA:
        return SchemaAndValue(schema, found.date())
    return SchemaAndValue(schema, found if schema is TIMESTAMP_SCHEMA else found.time())


def _number(text: str) -> SchemaAndValue | None:
    if not (text[0].isdigit() or text[0] in "+-") or "_" in text:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    if number == number.to_integral_value():
        whole = int(number)
        for schema, bits in ((INT8_SCHEMA, 8), (INT16_SCHEMA, 16), (INT32_SCHEMA, 32), (INT64_SCHEMA, 64)):
            if -(1 << (bits - 1)) <= whole < 1 << (bits - 1):
                return SchemaAndValue(schema, whole)
    scale = -int(number.as_tuple().exponent)
    if scale != 0:
        narrowed = _float32(float(number))
        if narrowed is not None:
            return SchemaAndValue(FLOAT32_SCHEMA, narrowed)
        if float(number) not in (float("inf"), float("-inf")):
            return SchemaAndValue(FLOAT64_SCHEMA, float(number))
    return SchemaAndValue(
        Schema(Type.BYTES, name=logical.Decimal.LOGICAL_NAME, version=1, parameters={"scale": str(scale)}), number
    )


def _float32(number: float) -> float | None:
    try:
        return float(struct.unpack(">f", struct.pack(">f", number))[0])
    except OverflowError:
        return None


def _common(found: list[SchemaAndValue]) -> Schema | None:
    """A schema for all of them: numbers widen, everything else must agree."""
    schemas = [item.schema for item in found if item.schema is not None]
    if not schemas:
        return None
    common = schemas[0]
    for schema in schemas[1:]:
        if schema.type is common.type:
            continue
        if schema.type not in _NUMERIC or common.type not in _NUMERIC:
            return None
        common = max(common, schema, key=lambda candidate: _NUMERIC.index(candidate.type))
    return common


def _aligned(value: Any, schema: Schema | None) -> Any:
    if schema is not None and schema.type in (Type.FLOAT32, Type.FLOAT64) and isinstance(value, int):
        return float(value)
    return value
