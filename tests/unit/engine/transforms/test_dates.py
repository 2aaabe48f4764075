from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.engine.transforms.date_parsing import SimpleDateFormat
from seamark.engine.transforms.errors import IllegalArgumentError
from seamark.engine.transforms.java_calendar import DAY_MS, date_of, day_of

NOON = 1709210096789  # 2024-02-29T12:34:56.789Z


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-02-29T12:34:56.789Z"),
        ("EEEE d MMM yy G h a k K", "Thursday 29 Feb 24 AD 12 PM 12 0"),
        ("YYYY-'W'ww u D F W", "2024-W09 4 60 5 5"),
        ("'it''s' SSSSSS z", "it's 000789 UTC"),
        ("EEE, MMMM", "Thu, February"),
    ],
)
def test_points_in_time_are_written_by_the_pattern(pattern: str, text: str) -> None:
    assert SimpleDateFormat(pattern).format(NOON) == text


@pytest.mark.parametrize(
    ("pattern", "text", "millis"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-02-29T13:34:56.789+01:00", NOON),
        ("yyyyMMddHHmmssSSS", "20240229123456789", NOON),
        ("yyyy-MM-dd", "2024-02-30 and more", 1709251200000),
        ("d MMM yyyy", "29 february 2024", 1709164800000),
        ("D yyyy", "60 2024", 1709164800000),
        ("h:mm a", "12:30 am", 1800000),
        ("yyyy-MM-dd", "1582-10-04", -12219379200000),
        ("yyyy-MM-dd", "2024/02/29", None),
        ("HH", "", None),
        ("X", "+24", None),
    ],
)
def test_texts_are_read_as_leniently_as_java_does(pattern: str, text: str, millis: int | None) -> None:
    assert SimpleDateFormat(pattern).parse(text) == millis


@pytest.mark.parametrize("pattern", ["bad", "yyyy'", "XXXX"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(IllegalArgumentError):
        SimpleDateFormat(pattern)


@given(st.integers(-(10**15), 10**16))
def test_what_was_written_is_read_again(millis: int) -> None:
    format = SimpleDateFormat("yyyy G-MM-dd HH:mm:ss.SSS Z")
    assert format.parse(format.format(millis)) == millis


@given(st.dates(min_value=datetime.date(1583, 1, 1)))
def test_the_calendar_agrees_with_pythons(date: datetime.date) -> None:
    day = (date - datetime.date(1970, 1, 1)).days
    assert date_of(day) == (date.year, date.month, date.day)
    assert day_of(date.year, date.month, date.day) == day
    text = SimpleDateFormat("yyyy-MM-dd D").format(day * DAY_MS)
    assert text == f"{date.isoformat()} {date.timetuple().tm_yday}"


@given(st.integers(-(10**7), -141428))
def test_days_before_the_reform_are_julian(day: int) -> None:
    year, month, day_of_month = date_of(day)
    assert day_of(year, month, day_of_month) == day
