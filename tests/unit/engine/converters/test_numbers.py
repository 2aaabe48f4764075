from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.connector.numbers import Float32, Int32
from seamark.connector.schema import FLOAT32_SCHEMA, INT16_SCHEMA, INT32_SCHEMA, INT64_SCHEMA
from seamark.engine.converters.boolean import BooleanConverter
from seamark.engine.converters.java_numbers import to_float32, wrap, wrapped_decimal
from seamark.engine.converters.numbers import (
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from seamark.errors import DataError


def test_numbers_are_big_endian() -> None:
    assert ShortConverter().from_connect_data("t", INT16_SCHEMA, -2) == b"\xff\xfe"
    assert IntegerConverter().from_connect_data("t", INT32_SCHEMA, 1) == b"\x00\x00\x00\x01"
    assert LongConverter().from_connect_header("t", "h", INT64_SCHEMA, 258) == b"\x00\x00\x00\x00\x00\x00\x01\x02"
    assert FloatConverter().from_connect_data("t", FLOAT32_SCHEMA, 1.0) == b"\x3f\x80\x00\x00"
    assert DoubleConverter().from_connect_data("t", None, 1.0) == b"\x3f\xf0\x00\x00\x00\x00\x00\x00"
    assert BooleanConverter().from_connect_header("t", "h", None, True) == b"\x01"


def test_the_width_of_a_number_is_its_schemas() -> None:
    assert ShortConverter().from_connect_data("t", None, 7) == b"\x00\x07"
    with pytest.raises(DataError, match=r"Failed to serialize to short \(was class java.lang.Integer\)"):
        ShortConverter().from_connect_data("t", INT32_SCHEMA, 7)
    with pytest.raises(DataError, match=r"was class java.lang.Integer"):
        LongConverter().from_connect_data("t", None, Int32(7))
    with pytest.raises(DataError, match="70000 is out of range"):
        ShortConverter().from_connect_data("t", None, 70000)
    with pytest.raises(DataError, match=r"was class java.lang.Boolean"):
        LongConverter().from_connect_data("t", None, True)
    assert FloatConverter().from_connect_data("t", None, Float32(0.5)) == b"\x3f\x00\x00\x00"


@pytest.mark.parametrize("converter", [ShortConverter(), IntegerConverter(), LongConverter(), DoubleConverter()])
def test_bytes_must_have_the_length_of_the_number(converter: ShortConverter) -> None:
    assert converter.to_connect_data("t", None).value is None
    with pytest.raises(DataError, match="Size of data received by"):
        converter.to_connect_header("t", "h", b"\x00")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=30, min_value=-(10**20), max_value=10**20))
def test_decimals_become_the_nearest_32_bit_number(number: Decimal) -> None:
    found = to_float32(number)
    distance = abs(Fraction(found) - Fraction(number))
    for neighbour in (to_float32(found * (1 + 2**-23)), to_float32(found * (1 - 2**-23))):
        assert distance <= abs(Fraction(neighbour) - Fraction(number))


def test_a_number_is_not_rounded_twice() -> None:
    halfway = Fraction(1) + Fraction(1, 2**24)
    above = Decimal(halfway.numerator) / Decimal(halfway.denominator) + Decimal("1e-25")
    assert to_float32(float(halfway)) == 1.0
    assert to_float32(above) > 1.0
    assert to_float32(2**24 + 1) == 2.0**24
    assert to_float32(10**400) == float("inf")


@given(st.integers(-(2**200), 2**200), st.sampled_from([8, 16, 32, 64]))
def test_wrapping_keeps_the_lowest_bits(number: int, bits: int) -> None:
    wrapped = wrap(number, bits)
    assert -(2 ** (bits - 1)) <= wrapped < 2 ** (bits - 1)
    assert (wrapped - number) % 2**bits == 0


def test_numbers_with_millions_of_digits_are_not_spelled_out() -> None:
    assert wrapped_decimal(Decimal("1E+999999"), 64) == 0
    assert wrapped_decimal(Decimal("1E+20"), 64) == wrap(10**20, 64)
