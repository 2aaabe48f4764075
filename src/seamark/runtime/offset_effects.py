"""What a change of offsets means for records: which are read again, and which are never read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seamark.config.position_plans import LogRange, Partition
from seamark.connector.positions import PositionLogs
from seamark.runtime.offset_requests import OffsetMove


@dataclass(frozen=True, slots=True)
class Effect:
    """Of one partition. Counted are offsets: markers of transactions and gaps of compaction are among them."""

    old: int | None
    """None if it has no position yet."""
    new: int | None
    replayed: int | None = None
    skipped: int | None = None

    def as_json(self) -> dict[str, Any]:
        """As REST shows it."""
        return {"old": self.old, "new": self.new, "replayed": self.replayed, "skipped": self.skipped}


def effects(moves: Sequence[OffsetMove], logs: PositionLogs) -> dict[int, Effect]:
    """The effects, by the number of the move; none for what is not in the logs.

    Raises:
        ConnectError: the logs could not be read.
    """
    ranges, begins_at = logs.ranges(), logs.begins_at()
    found = {}
    for number, move in enumerate(moves):
        before, after = logs.locate(move.partition, move.before), logs.locate(move.partition, move.after)
        place = before or after
        if place is not None:
            old, new = before[1] if before else None, after[1] if after else None
            found[number] = effect(old, new, ranges.get(place[0]), begins_at)
    return found


def effect(old: int | None, new: int | None, log: LogRange | None, begins_at: str | None) -> Effect:
    """What a move from one position to another comes to, None standing for no position."""
    if log is None:
        return Effect(old, new)
    source, target = reading_from(old, log, begins_at), reading_from(new, log, begins_at)
    shown = target if new is None else new
    if source is None or target is None:
        return Effect(old, shown)
    return Effect(old, shown, max(0, source - target), max(0, target - source))


def reading_from(position: int | None, log: LogRange, begins_at: str | None) -> int | None:
    """The first offset that is read by who has this position; None if that is not known."""
    if position is None:
        return {"earliest": log.start, "latest": log.end}.get(begins_at or "")
    # Behind the end it is for the connector to decide where it goes on.
    return None if position > log.end else max(position, log.start)


def located(rows: Sequence[dict[str, Any]], logs: PositionLogs) -> dict[Partition, tuple[int, dict[str, Any]]]:
    """Positions of a connector's offsets, with their rows; without those that are not of the logs."""
    found = {}
    for row in rows:
        place = logs.locate(row["partition"], row["offset"])
        if place is not None:
            found[place[0]] = (place[1], row)
    return found
