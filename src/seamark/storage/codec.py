r"""JSON bytes exactly as Kafka Connect's JsonConverter writes them without a schema.

Kafka Connect compares offset keys as bytes, so a key that reads the same but is spelt differently is another key to a
Java worker. What is special:

* Maps pass through a Java ``HashMap``: keys come out by the bucket of their hash.
* Control characters are ``\u001F`` with capitals, characters beyond the BMP two escaped surrogates; all else is UTF-8.
* Doubles are Java's ``Double.toString``: from JDK 19 on the shortest text that reads back. Older JDKs print some large
  numbers otherwise (1.0E23 as 9.999999999999999E22). Such a key of an old JDK is still met, because keys once seen are
  written again byte for byte.
* Byte arrays are base64 text. They read back as text.
"""

from __future__ import annotations

import base64
import functools
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from seamark.errors import DataError

_INT64: Final = 2**63
_INT32: Final = 2**31
_COUNT: Final = re.compile("[0-9]{1,10}")
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPES: Final = {code: _SHORT.get(chr(code), f"\\u{code:04X}") for code in (*range(0x20), ord('"'), ord("\\"))}


def dumps(value: Any) -> bytes:
    """The JSON bytes of a value made of maps with string keys, lists and primitives.

    Raises:
        DataError: a value or key that JSON, or a Java long, cannot hold, or values that are nested too deeply.
    """
    parts: list[str] = []
    try:
        _write(value, parts)
    except RecursionError as error:
        raise DataError("Values are nested too deeply to be written as JSON.") from error
    try:
        return "".join(parts).encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"A text holds half of a surrogate pair at position {error.start}; it cannot be written as UTF-8."
        ) from error


def loads(data: bytes) -> Any:
    """The value of JSON bytes; integers beyond 64 bits lose their upper bits, as in Java.

    Raises:
        DataError: not JSON, or nested too deeply.
    """
    try:
        text = data.decode("utf-8")
        if text.startswith("\ufeff"):
            raise ValueError("it begins with a byte order mark")
        return _DECODER.decode(text)
    except RecursionError as error:
        raise DataError("Not JSON that can be read: its values are nested too deeply") from error
    except (UnicodeDecodeError, ValueError) as error:
        raise DataError(f"Not JSON: {error}") from error


def is_count(text: str) -> bool:
    """Whether the text is that of a number from 0 that a Java int holds."""
    return _COUNT.fullmatch(text) is not None and int(text) < _INT32


def hash_map_order(names: Iterable[str]) -> list[str]:
    """The names in the order in which a Java HashMap, filled in the given order, yields them."""
    return list(_hash_map_order(tuple(dict.fromkeys(names))))


@functools.lru_cache(maxsize=4096)  # partitions and offsets of a connector have the same few names, over and over
def _hash_map_order(given: tuple[str, ...]) -> tuple[str, ...]:
    buckets = 16
    while len(given) > buckets * 3 // 4:
        buckets *= 2
    return tuple(sorted(given, key=lambda name: _spread(string_hash(name)) & (buckets - 1)))


def string_hash(text: str) -> int:
    """Java's String.hashCode, as an unsigned 32-bit number."""
    result = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(units), 2):
        result = (31 * result + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return result


def double_text(number: float) -> str:
    """Java's Double.toString."""
    if number == 0.0:
        return "-0.0" if math.copysign(1.0, number) < 0 else "0.0"
    mantissa, _, power = f"{number!r}".partition("e") if "e" in repr(number) else _scientific(number)
    sign = "-" if mantissa.startswith("-") else ""
    digits = mantissa.removeprefix("-").replace(".", "")
    exponent = int(power) + mantissa.removeprefix("-").index(".") - 1 if "." in mantissa else int(power)
    digits = digits.rstrip("0") or "0"
    if len(digits) == 1:
        # Java gives at least two digits, and then the two that are nearest: 4.9E-324 where Python says 5e-324.
        shown, _, power = f"{abs(number):.1e}".partition("e")
        digits, exponent = shown.replace(".", ""), int(power)
        digits = digits.rstrip("0") or "0"
    if -3 <= exponent < 7:
        if exponent < 0:
            return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
        whole = digits[: exponent + 1].ljust(exponent + 1, "0")
        return f"{sign}{whole}.{digits[exponent + 1 :] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _scientific(number: float) -> tuple[str, str, str]:
    digits = repr(number)
    negative = digits.startswith("-")
    whole, _, fraction = digits.removeprefix("-").partition(".")
    significant = (whole + fraction).lstrip("0")
    exponent = len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0")) + 1)
    mantissa = f"{significant[0]}.{significant[1:] or '0'}"
    return ("-" + mantissa if negative else mantissa, "e", str(exponent))


def _write(value: Any, parts: list[str]) -> None:
    if value is None:
        parts.append("null")
    elif value is True or value is False:
        parts.append("true" if value else "false")
    elif isinstance(value, str):
        parts.append(_quoted(value))
    elif isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise DataError(f"{value} does not fit into 64 bits.")
        parts.append(str(int(value)))
    elif isinstance(value, float):
        parts.append(_number(value))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        parts.append(f'"{base64.b64encode(bytes(value)).decode("ascii")}"')
    elif isinstance(value, Mapping):
        _write_map(value, parts)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            parts.append("," if index else "[")
            _write(item, parts)
        parts.append("]" if value else "[]")
    else:
        raise DataError(
            f"A {type(value).__name__} cannot be written as JSON; use text, numbers, booleans, bytes or null."
        )


def _write_map(value: Mapping[Any, Any], parts: list[str]) -> None:
    for name in value:
        if not isinstance(name, str):
            raise DataError(f"The key {name!r} of a map is no text.")
    for index, name in enumerate(_hash_map_order(tuple(value))):
        parts.append(("," if index else "{") + _quoted(name) + ":")
        _write(value[name], parts)
    parts.append("}" if value else "{}")


def _number(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return double_text(value)


def _quoted(text: str) -> str:
    escaped = text.translate(_ESCAPES)
    if not escaped.isascii() and max(escaped) > "\uffff":
        escaped = "".join(character if character <= "\uffff" else _surrogates(character) for character in escaped)
    return f'"{escaped}"'


def _surrogates(character: str) -> str:
    units = character.encode("utf-16-be")
    return f"\\u{units[:2].hex().upper()}\\u{units[2:].hex().upper()}"


def _spread(code: int) -> int:
    return code ^ (code >> 16)


def _long(text: str) -> int:
    number = int(text)
    if -_INT64 <= number < _INT64:
        return number
    return (number + _INT64) % (2 * _INT64) - _INT64


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


_DECODER: Final = json.JSONDecoder(parse_int=_long, parse_constant=_no_constant)
