"""Positions as users write them: where a connector shall go on, per partition, per topic or for all.

=======================  ==============================================================================
``earliest``             the first record that is still there
``latest``               behind the last record
``2026-05-01T12:00:00Z`` the first record of that time (RFC 3339) or later
``-2h``, ``-1d12h``      the first record of that time or later, counted back from now; units s, m, h, d, w
``+100``, ``-100``       that many offsets forward or back from where it is
``42``                   this offset
=======================  ==============================================================================

A number without a sign, also one in JSON, is an offset. What a position applies to is written in front of it:
``orders:3=-2h`` one partition, ``orders=-2h`` all partitions of a topic, ``-2h`` all partitions there are. The more
exact one wins. `seamark.config.position_plans` finds the offsets that they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from seamark.config.timestamps import parse_timestamp_ms
from seamark.errors import BadRequestError

EVERYTHING: Final = "*"
MAX_OFFSET: Final = 2**63 - 1
MAX_PARTITION: Final = 2**31 - 1
VALID: Final = (
    "'earliest', 'latest', a time like 2026-05-01T12:00:00Z, a time before now like -2h, -30m or -1d12h "
    "(units s, m, h, d, w), a shift like +100 or -100, or an offset like 42"
)
_MOST_DIGITS: Final = 100
_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_OFFSET: Final = re.compile(r"[0-9]+")
_SHIFT: Final = re.compile(r"[+-][0-9]+")
_AGO: Final = re.compile(r"([+-])((?:[0-9]+[smhdw])+)")
_PART: Final = re.compile(r"([0-9]+)([smhdw])")
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_LIKE_A_TIME: Final = re.compile(r"[0-9]{4}-[0-9]")


class PositionError(BadRequestError):
    """A position cannot be understood; the message says what can."""


@dataclass(frozen=True, slots=True)
class Earliest:
    """The first record that is still there."""

    def __str__(self) -> str:
        return "earliest"


@dataclass(frozen=True, slots=True)
class Latest:
    """Behind the last record."""

    def __str__(self) -> str:
        return "latest"


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record of a time or later."""

    timestamp_ms: int
    text: str

    def at_ms(self, now_ms: int) -> int:
        """The time."""
        return self.timestamp_ms

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class BeforeNow:
    """The first record that is at most so old."""

    age_ms: int
    text: str

    def at_ms(self, now_ms: int) -> int:
        """The time."""
        return now_ms - self.age_ms

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Shift:
    """Forward (positive) or back from the present position."""

    by: int

    def __str__(self) -> str:
        return f"{self.by:+d}"


@dataclass(frozen=True, slots=True)
class AtOffset:
    """An offset."""

    offset: int

    def __str__(self) -> str:
        return str(self.offset)


Position = Earliest | Latest | AtTime | BeforeNow | Shift | AtOffset


@dataclass(frozen=True, slots=True)
class Selector:
    """What a position applies to: a partition, a topic (no partition), or everything (no topic)."""

    topic: str | None = None
    partition: int | None = None

    @property
    def exactness(self) -> int:
        """The more exact one of two wins."""
        return (self.topic is not None) + (self.partition is not None)

    def selects(self, topic: str, partition: int) -> bool:
        """Whether it applies to a partition."""
        return self.topic in (None, topic) and self.partition in (None, partition)

    def __str__(self) -> str:
        if self.topic is None:
            return EVERYTHING
        return self.topic if self.partition is None else f"{self.topic}:{self.partition}"


@dataclass(frozen=True, slots=True)
class PositionRule:
    """A position, and what it applies to."""

    selector: Selector
    position: Position

    def __str__(self) -> str:
        return str(self.position) if self.selector.topic is None else f"{self.selector}={self.position}"


def parse_position(value: object) -> Position:
    """A position of a text, or of a number in JSON.

    Raises:
        PositionError: it is none; lists what is.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise PositionError(
                f"{value} is no position: offsets are not negative. To go back from where it is, write it as a text "
                f'with its sign: "{value}".'
            )
        return AtOffset(_limited(value, str(value)))
    if not isinstance(value, str):
        raise PositionError(f"{_shown(value)} is no position. Valid are {VALID}.")
    text = value.strip()
    word = text.lower()
    if word in ("earliest", "latest"):
        return Earliest() if word == "earliest" else Latest()
    if _OFFSET.fullmatch(text):
        return AtOffset(_limited(_number(text), text))
    if _SHIFT.fullmatch(text):
        by = _limited(_number(text[1:]), text)
        return Shift(-by if text.startswith("-") else by)
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return _before_now(text, *ago.groups())
    if _LIKE_A_TIME.match(text):
        try:
            return AtTime(parse_timestamp_ms(text), text)
        except ValueError as error:
            raise PositionError(f"{error} Valid positions are {VALID}.") from error
    raise PositionError(f"{_shown(value)} is no position. Valid are {VALID}.")


def parse_selector(text: str) -> Selector:
    """``*``, ``topic`` or ``topic:partition``.

    Raises:
        PositionError: it is none of these.
    """
    text = text.strip()
    if text == EVERYTHING:
        return Selector()
    topic, colon, partition = text.partition(":")
    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise PositionError(
            f"{_shown(text)} selects nothing: {_shown(topic)} is no name of a topic. Valid are TOPIC:PARTITION, TOPIC, "
            f"or {EVERYTHING} for everything."
        )
    if not colon:
        return Selector(topic)
    if not _OFFSET.fullmatch(partition) or _number(partition) > MAX_PARTITION:
        raise PositionError(
            f"{_shown(text)} selects nothing: {_shown(partition)} is no number of a partition. Valid is a number "
            f"from 0, as in {topic}:0, or the topic alone for all its partitions."
        )
    return Selector(topic, _number(partition))


def parse_rule(text: str) -> PositionRule:
    """``POSITION``, ``TOPIC=POSITION`` or ``TOPIC:PARTITION=POSITION``.

    Raises:
        PositionError: it is none of these.
    """
    selector, equals, position = text.partition("=")
    if not equals:
        return PositionRule(Selector(), parse_position(text))
    return PositionRule(parse_selector(selector), parse_position(position))


def parse_rules(value: object) -> tuple[PositionRule, ...]:
    """What a JSON body says: one position for everything, or an object of selectors and positions.

    Raises:
        PositionError: it cannot be understood, or says two things of the same.
    """
    if not isinstance(value, Mapping):
        return (PositionRule(Selector(), parse_position(value)),)
    if not value:
        raise PositionError(
            'There is no position. Expected is one for everything, as in "-2h", or an object, as in '
            '{"orders": "earliest", "orders:3": 42}.'
        )
    return unambiguous(
        PositionRule(parse_selector(str(selector)), parse_position(position)) for selector, position in value.items()
    )


def unambiguous(rules: Iterable[PositionRule]) -> tuple[PositionRule, ...]:
    """The rules, each selector once; the same position twice is no harm.

    Raises:
        PositionError: two rules for the same differ.
    """
    found: dict[Selector, PositionRule] = {}
    for rule in rules:
        known = found.setdefault(rule.selector, rule)
        if known.position != rule.position:
            raise PositionError(f"{rule.selector} is given two positions: {known.position} and {rule.position}.")
    return tuple(found.values())


def _before_now(text: str, sign: str, parts: str) -> BeforeNow:
    if sign == "+":
        raise PositionError(f"{_shown(text)} is in the future. A time before now begins with a minus: -{parts}.")
    age = sum(_number(number) * _UNITS_MS[unit] for number, unit in _PART.findall(parts))
    return BeforeNow(_limited(age, text), text)


def _number(digits: str) -> int:
    # Python refuses to read numbers of thousands of digits; these are too large for us in any case.
    return int(digits) if len(digits) <= _MOST_DIGITS else MAX_OFFSET + 1


def _limited(number: int, text: str) -> int:
    if number > MAX_OFFSET:
        raise PositionError(f"{_shown(text)} is too large: Kafka's offsets and times go to {MAX_OFFSET}.")
    return number


def _shown(value: object) -> str:
    """As it was given, shortened."""
    try:
        text = repr(value)
    except RecursionError:
        text = "A value that is nested very deeply"
    return text if len(text) <= 100 else f"{text[:97]}..."
