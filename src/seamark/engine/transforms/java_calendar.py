"""Java's calendar in UTC: Gregorian from 15 October 1582 on, Julian before, weeks as in the United States.

Points in time are milliseconds since 1970, days are counted from 1970-01-01.
"""

from __future__ import annotations

from datetime import date

DAY_MS = 24 * 60 * 60 * 1000
_EPOCH = date(1970, 1, 1).toordinal()
_EPOCH_JULIAN_DAY = 2440588
_LAST_DAY = date.max.toordinal() - _EPOCH
CUTOVER = date(1582, 10, 15).toordinal() - _EPOCH


def day_of(year: int, month: int, day: int) -> int:
    """The day of a date; months and days beyond their range count on into the next or last one.

    Args:
        year: 0 is 1 BC, -1 is 2 BC.
        month: 1 is January.
        day: 1 is the first.
    """
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    gregorian = _gregorian_day(year, month) + day - 1
    return gregorian if gregorian >= CUTOVER else _julian_day(year, month) + day - 1


def _gregorian_day(year: int, month: int) -> int:
    """The first of a month."""
    shifted = year - (month <= 2)
    era, of_era = shifted // 400, shifted % 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + day_of_year - 719468


def _julian_day(year: int, month: int) -> int:
    before_march = month <= 2
    years, months = year + 4800 - before_march, month + 12 * before_march - 3
    return 1 + (153 * months + 2) // 5 + 365 * years + years // 4 - 32083 - _EPOCH_JULIAN_DAY


def date_of(day: int) -> tuple[int, int, int]:
    """Year, month and day of the month."""
    if CUTOVER <= day <= _LAST_DAY:
        found = date.fromordinal(day + _EPOCH)
        return found.year, found.month, found.day
    return _julian_date(day) if day < CUTOVER else _far_gregorian_date(day)


def _far_gregorian_date(day: int) -> tuple[int, int, int]:
    cycles, rest = divmod(day, 146097)  # 400 years repeat themselves
    found = date.fromordinal(rest + _EPOCH)
    return found.year + 400 * cycles, found.month, found.day


def _julian_date(day: int) -> tuple[int, int, int]:
    quarter_days = 4 * (day + _EPOCH_JULIAN_DAY + 1401) + 3
    fifths = 5 * (quarter_days % 1461 // 4) + 2
    month = (fifths // 153 + 2) % 12 + 1
    return quarter_days // 1461 - 4716 + (14 - month) // 12, month, fifths % 153 // 5 + 1


def day_of_week(day: int) -> int:
    """1 is Sunday."""
    return (day + 4) % 7 + 1


def _sunday_before(day: int) -> int:
    """The Sunday on or before a day."""
    return day - (day_of_week(day) - 1)


class CalendarFields:
    """The parts of a point in time."""

    __slots__ = ("day", "day_of_month", "month", "time_of_day", "year")

    def __init__(self, millis: int) -> None:
        self.day, self.time_of_day = divmod(millis, DAY_MS)
        self.year, self.month, self.day_of_month = date_of(self.day)

    @property
    def is_bc(self) -> bool:
        """Whether the year is before year 1."""
        return self.year <= 0

    @property
    def year_of_era(self) -> int:
        """The year as people count it."""
        return 1 - self.year if self.year <= 0 else self.year

    @property
    def day_of_year(self) -> int:
        """1 is the first of January."""
        return self.day - day_of(self.year, 1, 1) + 1

    @property
    def week(self) -> tuple[int, int]:
        """Year and number of the week; a week belongs to the year of its Saturday."""
        next_year = _sunday_before(day_of(self.year + 1, 1, 1))
        if self.day >= next_year:
            return self.year + 1, 1
        return self.year, (self.day - week_start(self.year)) // 7 + 1

    @property
    def week_of_month(self) -> int:
        """1 is the week of the first."""
        return (self.day - _sunday_before(day_of(self.year, self.month, 1))) // 7 + 1

    @property
    def hour(self) -> int:
        """0 to 23."""
        return self.time_of_day // 3_600_000


def week_start(year: int) -> int:
    """The first day of a year's first week."""
    return _sunday_before(day_of(year, 1, 1))
