from __future__ import annotations

import math
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.engine.transforms import java_numbers


@pytest.mark.parametrize(
    ("number", "bits", "result"), [(300, 8, 44), (-129, 8, 127), (2**31, 32, -(2**31)), (5, 64, 5)]
)
def test_numbers_keep_their_lowest_bits(number: int, bits: int, result: int) -> None:
    assert java_numbers.narrowed(number, bits) == result


@pytest.mark.parametrize(
    ("number", "bits", "result"),
    [
        (1.9, 32, 1),
        (-1.9, 32, -1),
        (3e9, 32, 2**31 - 1),
        (-1e19, 64, -(2**63)),
        (math.nan, 64, 0),
        (math.inf, 64, 2**63 - 1),
    ],
)
def test_floats_are_cut_off_and_end_at_the_largest_number(number: float, bits: int, result: int) -> None:
    assert java_numbers.whole(number, bits) == result


@pytest.mark.parametrize(("text", "number"), [("1e100", 0), ("-3.7", -3), ("18446744073709551617", 1), ("0.9", 0)])
def test_decimals_keep_the_lowest_bits_of_their_whole_part(text: str, number: int) -> None:
    assert java_numbers.decimal_whole(Decimal(text)) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.5f", 1.5), (" 2d ", 2.0), ("0x1p3", 8.0), ("-Infinity", -math.inf), ("1e400", math.inf), (".5", 0.5)],
)
def test_texts_that_are_floats_to_java(text: str, number: float) -> None:
    assert java_numbers.parse_float(text, single=False) == number
    assert java_numbers.parse_float(text, single=True) == number


@pytest.mark.parametrize("text", ["", "1_0", "nan", "inf", "٣", "0x10", "1e", "--1"])
def test_texts_that_are_no_floats_to_java(text: str) -> None:
    assert java_numbers.parse_float(text, single=False) is None


@pytest.mark.parametrize("text", ["1_0", " 1", "1.0", "", "128"])
def test_texts_that_are_no_bytes_to_java(text: str) -> None:
    assert java_numbers.parse_whole(text, 8) is None


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_single_is_its_own_nearest(number: float) -> None:
    assert java_numbers.float32(Decimal(number)) == number
    assert java_numbers.float32(number) == number


@given(st.integers(-(2**63), 2**63 - 1))
def test_the_nearest_single_of_a_number_is_rounded_once(number: int) -> None:
    nearest = java_numbers.float32(number)
    neighbours = [nearest, _next(nearest, 1), _next(nearest, -1)]
    assert min(abs(int(other) - number) for other in neighbours) == abs(int(nearest) - number)


def _next(number: float, by: int) -> float:
    bits = struct.unpack(">i", struct.pack(">f", abs(number)))[0]
    moved: float = struct.unpack(">f", struct.pack(">i", max(0, bits + by)))[0]
    return math.copysign(moved, number)
