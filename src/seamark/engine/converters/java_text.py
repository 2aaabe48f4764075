"""Values as Java prints them: numbers, JSON strings, and `toString` of data."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from seamark.connector.schema import Schema, Struct, Type
from seamark.errors import DataError

_UNUSUAL = re.compile("[\x00-\x07\x0b\x0e-\x1f\ud800-\udfff\U00010000-\U0010ffff]")
_ESCAPED = re.compile('[\x00-\x1f"\\\\\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def java_double(value: float) -> str:
    """`Double.toString`: at least one digit after the point, exponents outside 10^-3 to 10^7."""
    return _java_number(value, repr(value))


def java_float(value: float) -> str:
    """`Float.toString` of the nearest 32-bit number: the fewest digits that tell it from its neighbours."""
    packed = _pack_float(value)
    narrowed: float = struct.unpack(">f", packed)[0]
    if math.isfinite(narrowed):
        for digits in range(1, 10):
            text = f"{narrowed:.{digits}g}"
            if _pack_float(float(text)) == packed:
                return _java_number(narrowed, text)
    return _java_number(narrowed, repr(narrowed))


def _pack_float(value: float) -> bytes:
    try:
        return struct.pack(">f", value)
    except OverflowError:  # Java makes it infinite
        return struct.pack(">f", math.copysign(math.inf, value))


def _java_number(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return sign + "0.0"
    _, digit_tuple, exponent = Decimal(shortest).as_tuple()
    if len(digit_tuple) == 1:  # Java shows at least two digits, and the nearest ones if there is a choice: 4.9E-324
        _, digit_tuple, exponent = Decimal(f"{value:.1e}").as_tuple()
    digits = "".join(map(str, digit_tuple)).rstrip("0") or "0"
    point = len(digit_tuple) + int(exponent)  # digits before the decimal point
    if -3 < point <= 7:
        whole = digits[:point].ljust(point, "0") if point > 0 else "0"
        fraction = digits[point:] if point > 0 else "0" * -point + digits
        return f"{sign}{whole}.{fraction or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def json_string(text: str) -> str:
    """A JSON string as Jackson writes it to UTF-8: upper-case hex, and escapes for what is beyond U+FFFF.

    Raises:
        DataError: half of a surrogate pair, which has no UTF-8 form.
    """
    if _UNUSUAL.search(text) is None:
        return encode_basestring(text)  # in C, and equal to Jackson's for everything else
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    if match.group() in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[match.group()]
    code = ord(match.group())
    if 0xD800 <= code <= 0xDFFF:
        raise DataError(f"Incomplete surrogate pair in a string: U+{code:04X}")
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"
    return f"\\u{code:04X}"


def to_java_string(value: Any, schema: Schema | None = None) -> str:
    """`String.valueOf(value)`.

    Raises:
        DataError: bytes, of which Java prints an address, not the content.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_float(value) if schema is not None and schema.type is Type.FLOAT32 else java_double(value)
    if isinstance(value, Struct):
        members = [
            f"{field.name}={to_java_string(value.get_without_default(field.name), field.schema)}"
            for field in value.schema.fields
            if value.get_without_default(field.name) is not None
        ]
        return "Struct{" + ",".join(members) + "}"
    if isinstance(value, Mapping):
        key_schema, value_schema = (schema.key_schema, schema.value_schema) if schema else (None, None)
        entries = [f"{to_java_string(k, key_schema)}={to_java_string(v, value_schema)}" for k, v in value.items()]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, (list, tuple)):
        item_schema = schema.value_schema if schema else None
        return "[" + ", ".join(to_java_string(item, item_schema) for item in value) + "]"
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise DataError("Bytes cannot be written as text; use org.apache.kafka.connect.converters.ByteArrayConverter")
    return str(value)
