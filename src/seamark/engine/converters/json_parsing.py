"""JSON texts to Python objects, with Jackson's rules.

Jackson accepts a little more than JSON: zeros before a number, UTF-16 and UTF-32, and anything after the first value.
Plain JSON goes through orjson, which rounds numbers to doubles; the rest, and what must not be rounded, goes through
the standard library.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Final

import orjson

from seamark.errors import DataError


class Inexact(Exception):
    """A number was rounded that has to be known exactly: the text must be parsed again."""


class _Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What Jackson finds in a text without a value."""

_BLANKS = " \t\r\n"
_LEADING_ZEROS = re.compile(r'("(?:[^"\\]|\\.)*")|(?<![0-9.eE+\-])(-?)0+(?=[0-9])', re.DOTALL)
_AFTER_NUMBER = re.compile(r"[^ \t\r\n]")
_AFTER_WORD = re.compile(r"\w|\$")


def _no_constants(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_EXACT = json.JSONDecoder(parse_constant=_no_constants, parse_float=Decimal)


def parse(data: bytes) -> Any:
    """The first JSON value of some bytes, its fractions as floats, or `MISSING`.

    Very long whole numbers may come as floats, too.

    Raises:
        DataError: it is not JSON.
    """
    try:
        return orjson.loads(data)
    except ValueError:
        return parse_exact(data)


def parse_exact(data: bytes) -> Any:
    """The first JSON value of some bytes, its fractions as `Decimal`, or `MISSING`.

    Raises:
        DataError: it is not JSON.
    """
    try:
        text = data.decode(json.detect_encoding(data)).lstrip(_BLANKS)
        if not text:
            return MISSING
        try:
            return _first_value(text)
        except ValueError:
            return _first_value(_LEADING_ZEROS.sub(lambda match: match[1] or match[2], text))
    except (ValueError, ArithmeticError, RecursionError) as error:  # the second of numbers with enormous exponents
        raise DataError(
            f"Converting byte[] to Kafka Connect data failed due to serialization error: {error}"
        ) from error


def _first_value(text: str) -> Any:
    node, end = _EXACT.raw_decode(text)
    # Numbers and words must be followed by something that ends them, other values may be followed by anything.
    is_word = node is None or isinstance(node, bool)
    beyond = _AFTER_WORD if is_word else _AFTER_NUMBER if isinstance(node, (int, Decimal)) else None
    if beyond is not None and beyond.match(text, end) is not None:
        raise ValueError(f"Unexpected character {text[end]!r} after a value, at {end}")
    return node
