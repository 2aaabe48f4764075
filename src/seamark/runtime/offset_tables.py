"""Where a connector is in each partition, as rows: decided on values, whoever has asked for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamark.config.position_plans import LogRange, Partition
from seamark.connector.positions import PositionLogs
from seamark.runtime.offset_effects import located, reading_from
from seamark.runtime.offset_requests import Row


@dataclass(frozen=True, slots=True)
class TableRow:
    """A partition of a connector; what is not known is None."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None
    topic: str | None = None
    number: int | None = None
    position: int | None = None
    log: LogRange | None = None
    reads_from: int | None = None
    """The first offset that it would read."""
    time: int | None = None
    problem: str | None = None

    @property
    def lag(self) -> int | None:
        """Offsets from where it reads to the end."""
        if self.log is None:
            return None
        if self.position is not None and self.position > self.log.end:
            return 0
        return None if self.reads_from is None else self.log.end - self.reads_from

    @property
    def timed(self) -> tuple[Partition, int] | None:
        """The record whose time is that of the row; None if there is none."""
        if self.position is None or self.topic is None or self.number is None or not self.lag:
            return None
        return None if self.reads_from is None else ((self.topic, self.number), self.reads_from)

    def at(self, time: int | None) -> TableRow:
        """The row with its time."""
        return dataclasses.replace(self, time=time)

    def as_json(self) -> dict[str, Any]:
        """As REST shows it."""
        return {
            "partition": dict(self.partition),
            "topic": self.topic,
            "number": self.number,
            "position": self.position,
            "start": None if self.log is None else self.log.start,
            "end": None if self.log is None else self.log.end,
            "lag": self.lag,
            "time": self.time,
            "offset": None if self.offset is None else dict(self.offset),
            "problem": self.problem,
        }


def plain_rows(rows: Sequence[Row]) -> list[TableRow]:
    """The rows of a connector that reads no logs."""
    return [TableRow(row["partition"], row["offset"]) for row in rows]


def table_rows(rows: Sequence[Row], logs: PositionLogs, ranges: Mapping[Partition, LogRange] | None) -> list[TableRow]:
    """All partitions of the logs and all offsets of the connector, in the order of topics and partitions.

    Args:
        rows: the connector's offsets.
        logs: what it reads.
        ranges: of the logs; None if they did not answer.
    """
    places = located(rows, logs)
    begins_at = logs.begins_at()
    known = ranges or {}
    found = []
    for where in sorted({*known, *places}):
        position, row = places.get(where, (None, None))
        log = known.get(where)
        found.append(
            TableRow(
                # As it is written already: another order of its keys would be another partition to some.
                row["partition"] if row is not None else logs.partition(*where),
                row["offset"] if row is not None else None,
                *where,
                position,
                log,
                None if log is None else reading_from(position, log, begins_at),
                problem=None if ranges is None or position is None else _problem(position, log),
            )
        )
    shown = {id(row) for _, row in places.values()}
    return [*found, *plain_rows([row for row in rows if id(row) not in shown])]


def _problem(position: int, log: LogRange | None) -> str | None:
    if log is None:
        return "There is no such partition any more, or the connector does not read it."
    if position < log.start:
        return f"Records {position} to {log.start - 1} were deleted before they were read."
    if position > log.end:
        return (
            f"The log ends at {log.end}, before the position: it was truncated or created again, or an open "
            "transaction holds its end back."
        )
    return None
