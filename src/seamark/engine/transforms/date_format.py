"""Java's ``SimpleDateFormat``, in English and in UTC: patterns, and points in time as texts.

`seamark.engine.transforms.date_parsing` reads texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seamark.engine.transforms.errors import IllegalArgumentError
from seamark.engine.transforms.java_calendar import DAY_MS, CalendarFields, day_of_week

LETTERS = "GyMdkHmsSEDFwWahKzZYuXL"
MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split()
_CACHED = 1024


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a pattern: a letter and how often it stands there, or a text to be taken as it is."""

    letter: str
    count: int
    text: str = ""


def compile_pattern(pattern: str) -> list[Part]:
    """The parts of a pattern.

    Raises:
        IllegalArgumentError: it is not one.
    """
    parts: list[Part] = []
    literal = ""
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "'":
            text, at = _quoted(pattern, at)
            literal += text
            continue
        end = at
        while end < len(pattern) and pattern[end] == char:
            end += 1
        if char.isascii() and char.isalpha():
            if char not in LETTERS:
                raise IllegalArgumentError(f"Illegal pattern character '{char}'")
            if char == "X" and end - at > 3:
                raise IllegalArgumentError(f"invalid ISO 8601 format: length={end - at}")
            if literal:
                parts.append(Part("", 0, literal))
                literal = ""
            parts.append(Part(char, end - at))
        else:
            literal += pattern[at:end]
        at = end
    if literal:
        parts.append(Part("", 0, literal))
    return parts


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at + 1 : at + 2] == "'":
        return "'", at + 2
    text = ""
    at += 1
    while at < len(pattern):
        if pattern[at] != "'":
            text += pattern[at]
        elif pattern[at + 1 : at + 2] == "'":
            text += "'"
            at += 1
        else:
            return text, at + 1
        at += 1
    raise IllegalArgumentError("Unterminated quote")


def _number(value: int, count: int) -> str:
    return str(value).rjust(count, "0") if value >= 0 else "-" + str(-value).rjust(count, "0")


def _year(year: int, count: int) -> str:
    return _number(year % 100, 2) if count == 2 else _number(year, count)


def _month(fields: CalendarFields, count: int) -> str:
    name = MONTHS[fields.month - 1]
    return _number(fields.month, count) if count < 3 else name if count > 3 else name[:3]


def _weekday(fields: CalendarFields, count: int) -> str:
    name = WEEKDAYS[day_of_week(fields.day) - 1]
    return name if count > 3 else name[:3]


_WRITERS: dict[str, Callable[[CalendarFields, int], str]] = {
    "G": lambda fields, count: "BC" if fields.is_bc else "AD",
    "y": lambda fields, count: _year(fields.year_of_era, count),
    "Y": lambda fields, count: _year(fields.week[0], count),
    "M": _month,
    "L": _month,
    "d": lambda fields, count: _number(fields.day_of_month, count),
    "D": lambda fields, count: _number(fields.day_of_year, count),
    "F": lambda fields, count: _number((fields.day_of_month - 1) // 7 + 1, count),
    "w": lambda fields, count: _number(fields.week[1], count),
    "W": lambda fields, count: _number(fields.week_of_month, count),
    "E": _weekday,
    "u": lambda fields, count: _number((day_of_week(fields.day) + 5) % 7 + 1, count),
    "a": lambda fields, count: "AM" if fields.hour < 12 else "PM",
    "H": lambda fields, count: _number(fields.hour, count),
    "k": lambda fields, count: _number(fields.hour or 24, count),
    "K": lambda fields, count: _number(fields.hour % 12, count),
    "h": lambda fields, count: _number(fields.hour % 12 or 12, count),
    "m": lambda fields, count: _number(fields.time_of_day // 60_000 % 60, count),
    "s": lambda fields, count: _number(fields.time_of_day // 1000 % 60, count),
    "S": lambda fields, count: _number(fields.time_of_day % 1000, count),
    "z": lambda fields, count: "Coordinated Universal Time" if count > 3 else "UTC",
    "Z": lambda fields, count: "+0000",
    "X": lambda fields, count: "Z",
}
_UNITS = {"S": 1, "s": 1000, "m": 60_000, **dict.fromkeys("HkKh", 3_600_000), "a": DAY_MS // 2}


class DateFormatter:
    """Writes points in time by a pattern."""

    def __init__(self, parts: list[Part]) -> None:
        self._writers = [
            (None, 0, part.text) if not part.letter else (_WRITERS[part.letter], part.count, "") for part in parts
        ]
        # Within one unit of the finest part the text does not change, and timestamps of records are close together.
        self._unit = min((_UNITS.get(part.letter, DAY_MS) for part in parts if part.letter), default=DAY_MS)
        self._cache: dict[int, str] = {}

    def format(self, millis: int) -> str:
        """The text of a point in time."""
        unit = millis // self._unit
        text = self._cache.get(unit)
        if text is None:
            if len(self._cache) >= _CACHED:
                self._cache.clear()
            fields = CalendarFields(millis)
            text = "".join(
                literal if write is None else write(fields, count) for write, count, literal in self._writers
            )
            self._cache[unit] = text
        return text
