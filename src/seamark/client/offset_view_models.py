"""Models of views of offsets, which only Seamark has: where a connector is in its logs, and what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class OffsetTableRow:
    """A partition of a connector; what only logs can tell is None where it reads none, or they did not answer."""

    partition: Mapping[str, Any]
    """The connector's own."""
    topic: str | None
    number: int | None
    position: int | None
    """The next offset to read; None if it has none yet."""
    start: int | None
    end: int | None
    """Behind the last record."""
    lag: int | None
    time: int | None
    """Of the record at the position, in ms since 1970; None at the end, and where it could not be read in time."""
    offset: Mapping[str, Any] | None
    """The connector's own."""
    problem: str | None = None
    """Why it cannot go on from its position as if nothing had happened."""


@dataclass(frozen=True, slots=True)
class OffsetTotals:
    """All partitions together, whatever page was asked for."""

    partitions: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class OffsetTable:
    """Where a connector is in each partition."""

    kind: str
    """``sink``, ``mirror`` or ``source``."""
    can_move: bool
    """Whether it can be moved by positions, such as times."""
    why_not: str | None
    partitions: Sequence[OffsetTableRow]
    total: OffsetTotals
    error: str | None
    """What could not be learnt, and why."""
    topics: Sequence[str] = ()
    """All topics, whatever page was asked for."""
    can_peek: bool = False
    """Whether its records may be looked at."""


@dataclass(frozen=True, slots=True)
class TimelineBucket:
    """How many records there are of a while."""

    from_ms: int = field(metadata={"json": "from"})
    to_ms: int = field(metadata={"json": "to"})
    records: int


@dataclass(frozen=True, slots=True)
class TimelinePosition:
    """Where a partition is on the time line."""

    partition: int
    time: int | None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class OffsetTimeline:
    """The records of a topic over time, and where the connector is."""

    topic: str
    from_ms: int | None = field(metadata={"json": "from"})
    """The time of the first record; None for a topic without records."""
    to_ms: int | None = field(metadata={"json": "to"})
    buckets: Sequence[TimelineBucket]
    partitions: int
    positions: Sequence[TimelinePosition]
    is_estimate: bool = False
    """Of a topic with very many partitions only some are counted, and stand for the others."""


@dataclass(frozen=True, slots=True)
class PeekedRecord:
    """A record, perhaps shortened."""

    offset: int
    timestamp: int | None
    key: str | None
    value: str | None
    headers: Sequence[Sequence[str | None]]
    """Names and values."""
    key_encoding: str | None
    """``utf8`` or ``base64``; None if there is no key."""
    value_encoding: str | None
    value_bytes: int
    """Of the whole value."""
    is_truncated: bool
    """Whether key, value or a header is longer than what is shown."""
    header_encodings: Sequence[str | None] = ()


@dataclass(frozen=True, slots=True)
class OffsetRecords:
    """The records around a place."""

    topic: str
    partition: int
    records: Sequence[PeekedRecord]
    start: int
    end: int
    is_complete: bool = True
    """False if not all could be read in time."""
