"""Fields of a date in the order in which they were read, and the point in time that they make up.

Java's rules of what counts where fields contradict each other: of the day of the month, the day of the year and the
weeks with their weekdays, that which was set last; fields beyond their range count on.
"""

from __future__ import annotations

from seamark.engine.transforms.java_calendar import DAY_MS, day_of, day_of_week, week_start

SUNDAY = 1


class DateFields:
    """Parts of a date, as they are found.

    Names are those of pattern letters: ``M`` counts from 0, ``E`` is 1 on Sunday, ``G`` is 0 for BC, ``a`` 1 for PM,
    ``h`` 0 to 11, ``X`` the milliseconds east of Greenwich.
    """

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self._stamps: dict[str, int] = {}
        self._next_stamp = 1

    def set(self, field: str, value: int) -> None:
        """Note a field; the latest one counts."""
        self.values[field] = value
        self._stamps[field] = self._next_stamp
        self._next_stamp += 1

    def add_years(self, years: int) -> None:
        """Move the year, of either kind."""
        for field in "yY":
            if field in self.values:
                self.values[field] += years

    def millis(self) -> int:
        """The point in time."""
        get = self.values.get
        hours = get("H", 0) if self._uses_hour_of_day() else get("h", 0) + 12 * get("a", 0)
        seconds = (hours * 60 + get("m", 0)) * 60 + get("s", 0)
        return self._day() * DAY_MS + seconds * 1000 + get("S", 0) - get("X", 0)

    def _stamp(self, *fields: str) -> int:
        """When the last of these was set; 0 if one was not."""
        stamps = [self._stamps.get(field, 0) for field in fields]
        return max(stamps) if all(stamps) else 0

    def _uses_hour_of_day(self) -> bool:
        hour_of_day, half_day = self._stamp("H"), self._stamp("h", "a")
        latest = max(hour_of_day, half_day) or max(self._stamp("h"), self._stamp("a"))
        return latest == hour_of_day

    def _day(self) -> int:
        if self._stamp("Y") > self._stamp("y"):
            return self._day_of_week_year()
        year = self.values.get("y", 1970)
        if self.values.get("G") == 0:
            year = 1 - year
        month_day, month_week, nth_weekday = self._stamp("d"), self._stamp("W", "E"), self._stamp("F", "E")
        year_day, year_week = self._stamp("D"), self._stamp("w", "E")
        latest = max(month_day, month_week, nth_weekday, year_day, year_week)
        if latest == 0:  # no complete combination: whatever there is
            month_week, nth_weekday = self._stamp("W"), max(self._stamp("F"), self._stamp("E"))
            year_week = self._stamp("w")
            latest = max(month_week, nth_weekday, year_week)
            if latest == 0:
                latest = month_day = self._stamp("M")
        weeks_of_year = self._stamp("w")
        if latest == month_day:
            return day_of(year, self.values.get("M", 0) + 1, self.values.get("d", 1))
        if (latest == month_week and self._stamp("W") >= weeks_of_year) or (
            latest == nth_weekday and self._stamp("F") >= weeks_of_year
        ):
            is_month_week = self._stamp("W") >= self._stamp("F") if month_week == nth_weekday else latest == month_week
            return self._day_in_month(year, is_month_week)
        if latest == year_day:
            return day_of(year, 1, 1) + self.values["D"] - 1
        return self._in_week(week_start(year)) + 7 * (self.values.get("w", 0) - 1)

    def _day_of_week_year(self) -> int:
        week, weekday = self.values.get("w", 1), self.values.get("E", SUNDAY)
        return week_start(self.values["Y"]) + 7 * (week - 1) + weekday - 1

    def _in_week(self, sunday: int) -> int:
        return _weekday_before(sunday + 6, self.values["E"]) if "E" in self.values else sunday

    def _day_in_month(self, year: int, is_month_week: bool) -> int:
        month = self.values.get("M", 0) + 1
        first = day_of(year, month, 1)
        if is_month_week:
            return self._in_week(_weekday_before(first, SUNDAY)) + 7 * (self.values["W"] - 1)
        weekday, nth = self.values.get("E", SUNDAY), self.values.get("F", 1)
        if nth >= 0:
            return _weekday_before(first + 7 * nth - 1, weekday)
        length = day_of(year, month + 1, 1) - first
        return _weekday_before(first + length + 7 * (nth + 1) - 1, weekday)


def _weekday_before(day: int, weekday: int) -> int:
    """The last such weekday up to and including a day."""
    return day - (day_of_week(day) - weekday) % 7
