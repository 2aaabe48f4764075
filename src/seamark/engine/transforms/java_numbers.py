"""Numbers as Java narrows, widens and parses them."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from fractions import Fraction

_WHOLE = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?")
# Java's trim removes everything up to the space.
_SPACE = "".join(map(chr, range(0x21)))
_FLOATING = re.compile(r"([+-]?)(NaN|Infinity|(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?[fFdD]?)", re.ASCII)
_HEX = re.compile(r"([+-]?0[xX]([0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?")
_FAR = 400  # more digits than this before the point are beyond a double; so many zeros after it are zero
_KEPT_BITS = 64  # enough for correct rounding to 24 bits, with the rest folded into the last one


def narrowed(number: int, bits: int) -> int:
    """The lowest bits of a number, as a signed one."""
    half = 1 << (bits - 1)
    return number if -half <= number < half else (number + half) % (1 << bits) - half


def whole(number: float, bits: int) -> int:
    """A float as a whole number of 32 or 64 bits: cut off, and at most the largest there is."""
    if math.isnan(number):
        return 0
    limit = 1 << (bits - 1)
    if number >= limit:
        return limit - 1
    return -limit if number < -limit else int(number)


def decimal_whole(number: Decimal) -> int:
    """The whole part of a decimal, in its lowest 64 bits."""
    # A multiple of 2^64 has no lower bits, and it may have more digits than fit into memory.
    exponent = int(number.as_tuple().exponent)
    if exponent >= 64 or number.adjusted() < 0:
        return 0
    return narrowed(int(number), 64)


def parse_whole(text: str, bits: int) -> int | None:
    """What ``Integer.parseInt`` and its kin read; None if it is not a number, or too large for so many bits."""
    if _WHOLE.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number == narrowed(number, bits) else None


def parse_decimal(text: str) -> Decimal | None:
    """What ``new BigDecimal(text)`` reads; None if it is not a number."""
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def parse_float(text: str, *, single: bool) -> float | None:
    """What ``Double.parseDouble`` or ``Float.parseFloat`` read; None if it is not a number."""
    stripped = text.strip(_SPACE)
    if hexadecimal := _HEX.fullmatch(stripped):
        number = float.fromhex(hexadecimal.group(1))
        return float32(number) if single else number
    match = _FLOATING.fullmatch(stripped)
    if match is None:
        return None
    if match.group(3) is None:
        number = math.nan if match.group(2) == "NaN" else math.inf
        return -number if match.group(1) == "-" else number
    digits = stripped.rstrip("fFdD")
    return float32(Decimal(digits)) if single else float(digits)


def float32(number: int | float | Decimal) -> float:
    """The nearest single-precision number; infinite if there is none so large."""
    if isinstance(number, float):
        return _single(number)
    if isinstance(number, Decimal):
        if number.adjusted() > _FAR or number.adjusted() < -_FAR:
            return math.copysign(0.0 if number.adjusted() < 0 else math.inf, number)
        exact = Fraction(number)
        shift = _KEPT_BITS - exact.numerator.bit_length() + exact.denominator.bit_length()
        scaled = exact * Fraction(2) ** shift
        # Rounding twice, to a double and then to a single, could end beside the nearest. A bit that says "and a
        # little more" keeps the second rounding honest.
        kept = abs(scaled.numerator) // scaled.denominator
        has_rest = kept * scaled.denominator != abs(scaled.numerator)
        nearest = _single_of_bits(kept, has_rest, -shift)
        return -nearest if number.is_signed() else nearest
    nearest = _single_of_bits(abs(number), False, 0)
    return -nearest if number < 0 else nearest


def _single_of_bits(bits: int, has_rest: bool, exponent: int) -> float:
    """The nearest single to ``bits * 2^exponent`` and a little more if there is a rest."""
    excess = bits.bit_length() - 48
    if excess > 0:
        has_rest = has_rest or bits & ((1 << excess) - 1) != 0
        bits, exponent = bits >> excess, exponent + excess
    try:
        return _single(math.ldexp(bits << 1 | has_rest, exponent - 1))
    except OverflowError:
        return math.inf


def _single(number: float) -> float:
    try:
        return float(struct.unpack(">f", struct.pack(">f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)
