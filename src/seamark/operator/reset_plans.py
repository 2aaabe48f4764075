"""Which offsets a ResetOffset stands for, decided before anything is stopped.

A time is refused if it lies in the future, seen from when the resource was made, or before the oldest record that a
topic still has. A partition that has lost records is refused if its first record is younger than the time; one that has
lost none begins with its first record. A time after the last record, and an empty partition, mean the end of the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from seamark.config.position_plans import LogRange, Partition, TimedOffset, show_time
from seamark.errors import BadRequestError

EARLIEST, LATEST = "earliest", "latest"
BEGINNING, END = -2, -1
"""Old offsets of partitions that have none: where their consumer would begin."""
_FORM: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


class ResetRefusedError(BadRequestError):
    """The offsets cannot be moved there; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Logs:
    """What Kafka says of the partitions.

    Attributes:
        ranges: where they begin and end.
        first: their first record.
        at: the first record of the time that is asked for, or later.
    """

    ranges: Mapping[Partition, LogRange]
    first: Mapping[Partition, TimedOffset | None] = field(default_factory=dict)
    at: Mapping[Partition, TimedOffset | None] = field(default_factory=dict)

    @property
    def topics(self) -> list[str]:
        """Their topics."""
        return sorted({topic for topic, _ in self.ranges})


@dataclass(frozen=True, slots=True)
class Move:
    """Where a partition is, next to read, and where it goes; None if it has no offset."""

    topic: str
    partition: int
    old: int | None
    new: int

    def entry(self, beginning: int) -> dict[str, Any]:
        """For a status."""
        old = beginning if self.old is None else self.old
        return {"topic": self.topic, "partition": self.partition, "oldOffset": old, "newOffset": self.new}


def moves_of(entries: list[Mapping[str, Any]]) -> list[Move]:
    """What a status says was planned."""
    return [
        Move(
            str(e["topic"]),
            int(e["partition"]),
            int(e["oldOffset"]) if int(e["oldOffset"]) >= 0 else None,
            int(e["newOffset"]),
        )
        for e in entries
    ]


def parse_time(text: str) -> int | None:
    """Milliseconds since 1970, what is smaller cut off; None for the ends of the log.

    Raises:
        ResetRefusedError: it is no time.
    """
    if text in (EARLIEST, LATEST):
        return None
    try:
        if not _FORM.fullmatch(text):
            raise ValueError(text)
        return (datetime.fromisoformat(text) - _EPOCH) // _MS
    except (ValueError, OverflowError) as error:
        raise ResetRefusedError(
            f"invalid value: {text}: spec.offset: valid are {EARLIEST!r}, {LATEST!r} and a time as of RFC 3339, like "
            "2026-05-01T12:00:00Z"
        ) from error


def require_past(text: str, created: str) -> None:
    """Refuse a time that was in the future when the resource was made, so that waiting does not make it valid."""
    at_ms = parse_time(text)
    # The API server cuts off fractions of seconds.
    limit = datetime.fromisoformat(created) + timedelta(seconds=1)
    if at_ms is not None and at_ms >= (limit - _EPOCH) // _MS:
        raise ResetRefusedError(
            f"{text} is outside the retention window: it is in the future, seen from {created}, when the ResetOffset "
            "was made"
        )


def plan(text: str, logs: Logs, current: Mapping[Partition, int | None]) -> list[Move]:
    """Where every partition goes.

    Raises:
        ResetRefusedError: the time is outside what is still there.
    """
    at_ms = parse_time(text)
    if not logs.ranges:
        raise ResetRefusedError("there is no partition whose offset could be moved")
    if at_ms is not None:
        _require_window(text, at_ms, logs)
    moves = []
    for where, log in sorted(logs.ranges.items()):
        if at_ms is None:
            new = log.start if text == EARLIEST else log.end
        else:
            found = logs.at.get(where)
            new = log.end if found is None else found.offset
        moves.append(Move(*where, current.get(where), new))
    return moves


def with_old(moves: list[Move], current: Mapping[Partition, int | None]) -> list[Move]:
    """The same plan, from where the partitions are now."""
    return [Move(m.topic, m.partition, current.get((m.topic, m.partition)), m.new) for m in moves]


def _require_window(text: str, at_ms: int, logs: Logs) -> None:
    problems = []
    for topic in logs.topics:
        firsts = {w: first for w, first in logs.first.items() if w[0] == topic and first is not None}
        oldest = min((first.timestamp_ms for first in firsts.values()), default=None)
        if oldest is not None and at_ms < oldest:
            problems.append(f"the oldest record of topic {topic} is of {show_time(oldest)}")
            continue
        for where, first in sorted(firsts.items()):
            if logs.ranges[where].start > 0 and at_ms < first.timestamp_ms:
                age = show_time(first.timestamp_ms)
                problems.append(f"the oldest record of {topic}:{where[1]} is offset {first.offset} of {age}")
    if problems:
        raise ResetRefusedError(f"{text} is outside the retention window: {'; '.join(problems)}")
