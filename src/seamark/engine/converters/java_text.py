"""Values as Java prints them: numbers, JSON strings, and `toString` of data.

Numbers are printed as by Java 19 and later, which show the fewest digits that tell a number from its neighbours;
earlier ones show too many of some (``1.9999999999999998E23`` for ``2.0E23``).
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from seamark.connector import logical
from seamark.connector.numbers import Float32
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.java_numbers import pack_float, unpack_float
from seamark.errors import DataError

_UNUSUAL = re.compile("[\x00-\x07\x0b\x0e-\x1f\ud800-\udfff\U00010000-\U0010ffff]")
_ESCAPED = re.compile('[\x00-\x1f"\\\\\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SMALLEST_NORMAL_FLOAT = 2.0**-126

# numbers


def java_double(value: float) -> str:
    """`Double.toString`: at least one digit after the point, exponents outside 10^-3 to 10^7."""
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3 or value == 0:
        return repr(value)  # Python changes to exponents later, and agrees before
    return _java_number(value, repr(value))


def java_float(value: float) -> str:
    """`Float.toString` of the nearest 32-bit number: the fewest digits that tell it from its neighbours."""
    packed = pack_float(value)
    narrowed = unpack_float(packed)
    if math.isfinite(narrowed) and narrowed != 0:
        # Whatever needs six digits or fewer is found with six; only the numbers next to zero hold less than six.
        for digits in range(6 if abs(narrowed) >= _SMALLEST_NORMAL_FLOAT else 1, 10):
            text = f"{narrowed:.{digits}g}"
            if pack_float(float(text)) == packed:
                return _java_number(narrowed, text)
    return _java_number(narrowed, repr(narrowed))


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


def java_decimal(value: Decimal) -> str:
    """`BigDecimal.toString`, which knows no negative zero."""
    return str(value.copy_abs() if value.is_zero() else value)


# JSON strings


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
        raise DataError(
            "Converting Kafka Connect data to byte[] failed due to serialization error: "
            f"Incomplete surrogate pair in a string: U+{code:04X}"
        )
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"
    return f"\\u{code:04X}"


# toString


def to_java_string(value: Any, schema: Schema | None = None) -> str:
    """`String.valueOf(value)`.

    Raises:
        DataError: bytes, of which Java prints an address, not the content.
    """
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is int:
        return repr(value)
    if kind is dict and schema is None:
        return "{" + ", ".join([f"{to_java_string(key)}={to_java_string(item)}" for key, item in value.items()]) + "}"
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        is_single = isinstance(value, Float32) or (schema is not None and schema.type is Type.FLOAT32)
        return java_float(value) if is_single else java_double(value)
    if isinstance(value, Decimal):
        return java_decimal(value)
    if isinstance(value, Struct):
        return "Struct{" + ",".join(_members(value)) + "}"
    if isinstance(value, Mapping):
        key_schema, value_schema = (schema.key_schema, schema.value_schema) if schema else (None, None)
        entries = [f"{to_java_string(k, key_schema)}={to_java_string(v, value_schema)}" for k, v in value.items()]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, (list, tuple)):
        item_schema = schema.value_schema if schema else None
        return "[" + ", ".join(to_java_string(item, item_schema) for item in value) + "]"
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise DataError("Bytes cannot be written as text; use org.apache.kafka.connect.converters.ByteArrayConverter")
    if isinstance(value, (datetime.date, datetime.time)):
        return _java_date(logical.to_millis(value) or 0)
    return str(value)


def _members(value: Struct) -> list[str]:
    found = [(field, value.get_without_default(field.name)) for field in value.schema.fields]
    return [f"{field.name}={to_java_string(item, field.schema)}" for field, item in found if item is not None]


def _java_date(millis: int) -> str:
    """`Date.toString` in a JVM whose time zone is UTC."""
    when = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=millis)
    return f"{_DAYS[when.weekday()]} {_MONTHS[when.month - 1]} {when.day:02d} {when:%H:%M:%S} UTC {when.year}"
