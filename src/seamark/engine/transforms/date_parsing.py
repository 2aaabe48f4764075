"""Java's ``SimpleDateFormat``: texts to points in time, as leniently as Java reads them.

Numbers may have fewer or more digits than the pattern has letters (unless another field follows at once), fields may be
out of range (February 30th is March 1st or 2nd), and what follows the last field is ignored.
"""

from __future__ import annotations

import decimal
import re
import time
from collections.abc import Iterable

from seamark.engine.transforms.date_fields import DateFields
from seamark.engine.transforms.date_format import MONTHS, WEEKDAYS, DateFormatter, Part, compile_pattern
from seamark.engine.transforms.java_calendar import DAY_MS, CalendarFields, date_of, day_of
from seamark.engine.transforms.java_numbers import narrowed

_NUMBER = re.compile(r"(-?\d+)(?:E(-?\d+))?")
_NAMES: dict[str, list[tuple[str, int]]] = {
    "G": [("BC", 0), ("AD", 1), ("Before Christ", 0), ("Anno Domini", 1)],
    "M": [(form, at) for at, name in enumerate(MONTHS) for form in (name, name[:3])],
    "E": [(form, at + 1) for at, name in enumerate(WEEKDAYS) for form in (name, name[:3])],
    "a": [("AM", 0), ("PM", 1)],
}
_ZONES = {
    "UTC": 0,
    "Coordinated Universal Time": 0,
    **{f"{zone}{kind}": hours + (kind == "DT") for zone, hours in zip("ECMP", (-5, -6, -7, -8), strict=True)
       for kind in ("ST", "DT")},
}  # fmt: skip
_PLAIN = "yMdHmsS"  # letters of patterns that a regular expression can read
_CENTURY_YEARS = 80  # a two-digit year is at most this long ago


class SimpleDateFormat:
    """A pattern, for reading and writing.

    Raises:
        IllegalArgumentError: it is not a pattern.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._parts = compile_pattern(pattern)
        self.format = DateFormatter(self._parts).format
        self._plain = _plain_expression(self._parts)
        now = CalendarFields(int(time.time() * 1000))
        self._century_day = day_of(now.year - _CENTURY_YEARS, now.month, now.day_of_month)
        self._century_ms = self._century_day * DAY_MS + now.time_of_day

    def parse(self, text: str) -> int | None:
        """The point in time; None if the text does not match the pattern."""
        if self._plain is not None and (match := self._plain.match(text)):
            found = match.groupdict()
            day = day_of(int(found.get("y", 1970)), int(found.get("M", 1)), int(found.get("d", 1)))
            minutes = int(found.get("H", 0)) * 60 + int(found.get("m", 0))
            return day * DAY_MS + (minutes * 60 + int(found.get("s", 0))) * 1000 + int(found.get("S", 0))
        return self._parse_leniently(text)

    def _parse_leniently(self, text: str) -> int | None:
        fields = DateFields()
        reader = _Reader(text, fields, date_of(self._century_day)[0])
        for index, part in enumerate(self._parts):
            if not part.letter:
                if not text.startswith(part.text, reader.at):
                    return None
                reader.at += len(part.text)
                continue
            is_abutting = index + 1 < len(self._parts) and bool(self._parts[index + 1].letter)
            if not reader.read(part, part.count if is_abutting else None):
                return None
        if reader.at == 0:
            return None
        millis = fields.millis()
        if reader.has_ambiguous_year and millis < self._century_ms:
            fields.add_years(100)
            millis = fields.millis()
        return narrowed(millis, 64)


class _Reader:
    """Reads one field after the other."""

    def __init__(self, text: str, fields: DateFields, century_year: int) -> None:
        self.at = 0
        self.has_ambiguous_year = False
        self._text, self._fields, self._century_year = text, fields, century_year

    def read(self, part: Part, width: int | None) -> bool:
        """Read a field, of exactly that width if there is one. False if it is not there."""
        begin = self.at
        while self._text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        if self.at >= len(self._text):
            return False
        letter = part.letter
        if letter in "zZX":
            offset = self._iso_zone(part.count) if letter == "X" else self._zone(begin)
            if offset is not None:
                self._fields.set("X", offset)
            return offset is not None
        if letter in "GEa" or (letter in "ML" and part.count > 2):
            self.at = begin  # Java skips blanks before numbers only
            found = self._name("M" if letter == "L" else letter, _NAMES["M" if letter == "L" else letter])
            return found
        return self._number(part, begin, width)

    def _name(self, field: str, names: Iterable[tuple[str, int]]) -> bool:
        best = 0
        for name, value in names:
            length = len(name)
            if length > best and self._text[self.at : self.at + length].lower() == name.lower():
                best = length
                self._fields.set(field, value)
        self.at += best
        return best > 0

    def _number(self, part: Part, begin: int, width: int | None) -> bool:
        end = len(self._text) if width is None else begin + width
        if end > len(self._text):
            return False
        start = self.at
        match = _NUMBER.match(self._text, start, end)
        if match is None:
            return False
        self.at = match.end()
        value = _int_value(match)
        letter = part.letter
        if letter in "yY" and part.count <= 2 and re.fullmatch(r"\d\d", self._text[start : self.at]):
            value = self._full_year(value)
        if letter in "ML":
            letter, value = "M", value - 1
        elif letter == "k":
            letter, value = "H", 0 if value == 24 else value
        elif letter == "h":
            value = 0 if value == 12 else value
        elif letter == "K":
            letter = "h"
        elif letter == "u":
            letter, value = "E", 1 if value == 7 else value + 1 if 0 < value < 7 else value
        self._fields.set(letter, value)
        return True

    def _full_year(self, value: int) -> int:
        pivot = self._century_year % 100
        self.has_ambiguous_year = value == pivot
        return value + self._century_year // 100 * 100 + (100 if value < pivot else 0)

    def _zone(self, begin: int) -> int | None:
        sign = {"+": 1, "-": -1}.get(self._text[self.at])
        if sign is not None:
            self.at += 1
            return self._offset(sign, 0, has_colon=False)
        if self._text[begin : begin + 3].upper() == "GMT":
            self.at = begin + 3
            sign = {"+": 1, "-": -1}.get(self._text[self.at : self.at + 1])
            if sign is None:
                return 0
            self.at += 1
            return self._offset(sign, 0, has_colon=True)
        for name, hours in sorted(_ZONES.items(), key=lambda zone: -len(zone[0])):
            if self._text[self.at : self.at + len(name)].lower() == name.lower():
                self.at += len(name)
                return hours * 3_600_000
        return None

    def _iso_zone(self, count: int) -> int | None:
        char = self._text[self.at]
        self.at += 1
        if char == "Z":
            return 0
        return self._offset(1 if char == "+" else -1, count, has_colon=count == 3) if char in "+-" else None

    def _offset(self, sign: int, count: int, *, has_colon: bool) -> int | None:
        """Hours and minutes; only hours if count is 1."""
        hours = "[0-9]{1,2}" if has_colon and count == 0 else "[0-9]{2}"
        minutes = "" if count == 1 else ":([0-9]{2})" if has_colon else "([0-9]{2})"
        match = re.compile(f"({hours}){minutes}").match(self._text, self.at)
        if match is None or int(match.group(1)) > 23 or (minutes and int(match.group(2)) > 59):
            return None
        self.at = match.end()
        return sign * (int(match.group(1)) * 60 + (int(match.group(2)) if minutes else 0)) * 60_000


def _int_value(match: re.Match[str]) -> int:
    number = int(decimal.Decimal(match.group(1)))  # a text of thousands of digits is no int
    if match.group(2) is None and number == narrowed(number, 64):
        return narrowed(number, 32)
    exponent = max(-400, min(int(decimal.Decimal(match.group(2) or 0)), 400))
    exact = number * 10**exponent if exponent >= 0 else abs(number) // 10**-exponent * (-1 if number < 0 else 1)
    return narrowed(exact, 32) if exact == narrowed(exact, 64) else (1 << 31) - 1 if exact > 0 else -(1 << 31)


def _plain_expression(parts: list[Part]) -> re.Pattern[str] | None:
    """A regular expression that reads what nearly all texts of a simple pattern look like; None if it is not simple."""
    letters = [part.letter for part in parts if part.letter]
    if not letters or len(set(letters)) < len(letters) or not set(letters) <= set(_PLAIN):
        return None
    text = ""
    for index, part in enumerate(parts):
        if not part.letter:
            if part.text.startswith("E"):
                return None
            text += re.escape(part.text)
            continue
        if (part.letter == "y" and part.count <= 2) or (part.letter == "M" and part.count > 2):
            return None
        is_abutting = index + 1 < len(parts) and bool(parts[index + 1].letter)
        digits = f"[0-9]{{{part.count}}}" if is_abutting else "[0-9]{1,9}(?![0-9E])"
        text += f"(?P<{part.letter}>{digits})"
    return re.compile(text)
