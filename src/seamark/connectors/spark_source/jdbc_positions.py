"""Positions in a database table, and the SQL conditions between two of them; knows neither Spark nor a database.

Offsets are those of Confluent's JDBC source connector: ``{"incrementing": n}``, ``{"timestamp": ms, "timestamp_nanos":
n}`` or both. `timestamp_nanos` is the whole fraction of the second, of which `timestamp` has the milliseconds, too.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from seamark.connector.offsets import SourceOffset
from seamark.connectors.spark_source.reader import only_fields, whole_number
from seamark.errors import DataError

INCREMENTING, TIMESTAMP, NANOS = "incrementing", "timestamp", "timestamp_nanos"
_PER_SECOND: Final = 1_000_000_000
_PER_MS: Final = 1_000_000
_BEFORE_ALL_IDS: Final = -1  # what Confluent's connector takes if an offset has a timestamp alone


@dataclass(frozen=True, slots=True)
class Position:
    """The last row that was read: what its columns hold."""

    incrementing: int | None = None
    timestamp_ns: int | None = None
    """Nanoseconds since 1970."""

    @staticmethod
    def of(offset: Mapping[str, Any] | None) -> Position | None:
        """The position of an offset; None before the first row."""
        if not offset or not {INCREMENTING, TIMESTAMP} & offset.keys():
            return None
        timestamp, nanos = offset.get(TIMESTAMP), offset.get(NANOS)
        if timestamp is not None:
            is_exact = nanos is not None
            timestamp = timestamp // 1000 * _PER_SECOND + nanos if is_exact else timestamp * _PER_MS
        return Position(offset.get(INCREMENTING), timestamp)

    def offset(self) -> dict[str, int]:
        """As it is stored."""
        stored: dict[str, int] = {}
        if self.incrementing is not None:
            stored[INCREMENTING] = self.incrementing
        if self.timestamp_ns is not None:
            stored |= {TIMESTAMP: self.timestamp_ns // _PER_MS, NANOS: self.timestamp_ns % _PER_SECOND}
        return stored


@dataclass(frozen=True, slots=True)
class Order:
    """What rows are ordered by, as SQL: a timestamp, an incrementing number, or both, the timestamp first."""

    incrementing: str | None = None
    timestamp: str | None = None
    instant: Callable[[int], str] = str
    """How a time, in nanoseconds since 1970, is written to be compared with `timestamp`."""

    @property
    def columns(self) -> list[str]:
        """The expressions, the one that counts most first."""
        return [column for column in (self.timestamp, self.incrementing) if column is not None]

    def by(self, direction: str) -> str:
        """For ``ORDER BY``."""
        return ", ".join(f"{column} {direction}" for column in self.columns)

    def after(self, position: Position | None) -> str:
        """Rows behind a position; all that have one if there is none yet."""
        if position is None:
            return " AND ".join(f"{column} IS NOT NULL" for column in self.columns)
        if self.timestamp is None:
            return f"{self.incrementing} > {_number(position.incrementing)}"
        if position.timestamp_ns is None:
            return self.after(None)
        time = self.instant(position.timestamp_ns)
        if self.incrementing is None:
            return f"{self.timestamp} > {time}"
        number = _number(position.incrementing)
        return f"({self.timestamp} > {time} OR ({self.timestamp} = {time} AND {self.incrementing} > {number}))"

    def until(self, position: Position) -> str:
        """Rows up to a position, and at it."""
        if self.timestamp is None:
            return f"{self.incrementing} <= {_number(position.incrementing)}"
        time = self.instant(position.timestamp_ns or 0)
        if self.incrementing is None:
            return f"{self.timestamp} <= {time}"
        number = _number(position.incrementing)
        return f"({self.timestamp} < {time} OR ({self.timestamp} = {time} AND {self.incrementing} <= {number}))"

    def slices(self, low: int, high: int, parts: int) -> list[str]:
        """Conditions that cut the rows with a first column from `low` to `high` into about equal parts.

        Every row, also one outside or without a value, fulfils exactly one.
        """
        column = self.columns[0]
        write = str if self.timestamp is None else self.instant
        cuts = sorted({low + (high - low) * part // parts for part in range(1, parts)} - {high})
        if not cuts:
            return ["1 = 1"]
        between = [f"{column} > {write(one)} AND {column} <= {write(other)}" for one, other in itertools.pairwise(cuts)]
        return [f"({column} <= {write(cuts[0])} OR {column} IS NULL)", *between, f"{column} > {write(cuts[-1])}"]


def _number(incrementing: int | None) -> int:
    return _BEFORE_ALL_IDS if incrementing is None else incrementing


def text_of_instant(nanoseconds: int, zone: datetime.tzinfo) -> str:
    """A time as databases read it, in a time zone, without saying which."""
    seconds, fraction = divmod(nanoseconds, _PER_SECOND)
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=seconds)
    # No more digits than there are: a database that has fewer rounds, and the row itself would not be found.
    digits = f"{fraction:09d}".rstrip("0") or "0"
    return f"{moment.astimezone(zone).strftime('%Y-%m-%d %H:%M:%S')}.{digits}"


def check_offset(offset: SourceOffset, order: Order) -> Position:
    """The position of an offset that someone wants to set.

    Raises:
        DataError: it does not say where in such an order, or says it twice and differently.
    """
    fields = [INCREMENTING] if order.incrementing is not None else []
    fields += [TIMESTAMP, NANOS] if order.timestamp is not None else []
    only_fields(offset, *fields)
    if order.timestamp is None:
        whole_number(offset, INCREMENTING, least=-(2**63))
    else:
        milliseconds = whole_number(offset, TIMESTAMP)
        if offset.get(INCREMENTING) is not None:
            whole_number(offset, INCREMENTING, least=-(2**63))
        if offset.get(NANOS) is not None:
            _check_nanos(offset, milliseconds)
    return Position.of(offset) or Position()


def _check_nanos(offset: SourceOffset, milliseconds: int) -> None:
    nanos = whole_number(offset, NANOS)
    if nanos >= _PER_SECOND or nanos // _PER_MS != milliseconds % 1000:
        raise DataError(
            f"In the offset {dict(offset)}, {NANOS!r} must be the fraction of the second of {TIMESTAMP!r}, from "
            f"{milliseconds % 1000 * _PER_MS} to {milliseconds % 1000 * _PER_MS + _PER_MS - 1}; or leave it out."
        )
