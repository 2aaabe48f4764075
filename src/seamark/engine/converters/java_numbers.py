"""Numbers narrowed as Java narrows them."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

from seamark.connector.schema import Type

BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_LONGEST = 64


def wrap(number: int, bits: int) -> int:
    """The lowest bits of a number, with a sign."""
    half = 1 << (bits - 1)
    return number if -half <= number < half else (number + half) % (1 << bits) - half


def wrapped_decimal(number: Decimal, bits: int) -> int:
    """The lowest bits of the whole part of a decimal."""
    exponent = int(number.as_tuple().exponent)
    if exponent >= _LONGEST:
        return 0  # a multiple of 2^64; spelled out, it might have millions of digits
    return wrap(int(number), bits)


def pack_float(value: float) -> bytes:
    """The bits of the nearest 32-bit number; infinite beyond the largest one."""
    try:
        return struct.pack(">f", value)
    except OverflowError:
        return struct.pack(">f", math.copysign(math.inf, value))


def unpack_float(data: bytes) -> float:
    """The number of some bits."""
    return float(struct.unpack(">f", data)[0])


def to_float32(number: float | Decimal) -> float:
    """The nearest 32-bit number to a number of any precision."""
    try:
        near = float(number)
    except OverflowError:  # an integer
        near = math.inf if number > 0 else -math.inf
    if type(number) is not float and is_between_floats(near) and near != number:
        near = math.nextafter(near, math.inf if number > near else -math.inf)
    return unpack_float(pack_float(near))


def is_between_floats(value: float) -> bool:
    """Whether a double lies exactly between two 32-bit numbers.

    A decimal that was rounded to such a double must not be rounded from there again: which of the two is nearer to the
    decimal cannot be told any more.
    """
    if value == 0 or not math.isfinite(value):
        return False
    rounded = unpack_float(pack_float(value))
    if rounded in (value, math.inf, -math.inf):
        return False
    if rounded == 0:
        other = math.copysign(2.0**-149, value)
    else:
        bits: int = struct.unpack(">i", struct.pack(">f", rounded))[0]
        other = unpack_float(struct.pack(">i", bits + (1 if abs(value) > abs(rounded) else -1)))
    return value - rounded == other - value
