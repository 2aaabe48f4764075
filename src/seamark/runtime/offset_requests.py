"""What is asked of a connector's offsets, and what that comes to before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamark.config.position_plans import Partition, PositionChange, plan_positions
from seamark.config.positions import PositionRule
from seamark.connector.offsets import SourcePartition, as_partition
from seamark.connector.positions import PositionLogs
from seamark.errors import BadRequestError

Row = dict[str, Any]
"""``{"partition": {...}, "offset": {...} or None}``."""


@dataclass(frozen=True, slots=True)
class OffsetRequest:
    """A change: exactly one of offsets, positions and reset.

    Attributes:
        offsets: (partition, offset) pairs, as in KIP-875.
        positions: what to resolve against the logs.
        shown: the positions as they were written.
        clamp: whether to go to the nearest position there is.
        is_reset: whether all offsets are to be forgotten.
    """

    offsets: tuple[tuple[Any, Any], ...] = ()
    positions: tuple[PositionRule, ...] = ()
    shown: Any = None
    clamp: bool = False
    is_reset: bool = False

    def as_json(self) -> dict[str, Any]:
        """As a client would write it."""
        if self.is_reset:
            return {"reset": True}
        if self.positions:
            return {"positions": self.shown, **({"clamp": True} if self.clamp else {})}
        return {"offsets": [{"partition": partition, "offset": offset} for partition, offset in self.offsets]}


@dataclass(frozen=True, slots=True)
class OffsetMove:
    """Where one partition of a connector goes."""

    partition: Mapping[str, Any]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    change: PositionChange | None = None

    def as_json(self) -> dict[str, Any]:
        """As REST shows it."""
        shown: dict[str, Any] = {
            "partition": dict(self.partition),
            "before": None if self.before is None else dict(self.before),
            "after": None if self.after is None else dict(self.after),
        }
        if self.change is not None:
            shown["records"] = self.change.by
            shown["position"] = str(self.change.position)
            if self.change.clamped:
                shown["clamped"] = self.change.clamped
        return shown

    @property
    def entry(self) -> tuple[Any, Any]:
        """As a request to alter offsets has it."""
        return dict(self.partition), None if self.after is None else dict(self.after)


def key_of(partition: Mapping[str, Any] | None) -> SourcePartition:
    """Equal for equal partitions, in whatever order their keys are."""
    return as_partition(partition or {})


def moves_of_entries(entries: Iterable[tuple[Any, Any]], current: Sequence[Row]) -> list[OffsetMove]:
    """What exact entries come to."""
    known = {key_of(row["partition"]): row["offset"] for row in current}
    return [OffsetMove(partition or {}, known.get(key_of(partition)), offset) for partition, offset in entries]


def moves_of_reset(current: Sequence[Row]) -> list[OffsetMove]:
    """What a reset comes to."""
    return [OffsetMove(row["partition"], row["offset"], None) for row in current]


def moves_of_positions(
    request: OffsetRequest, logs: PositionLogs, current: Sequence[Row], now_ms: int
) -> list[OffsetMove]:
    """What positions come to, by what the logs are now.

    Raises:
        BadRequestError: some cannot be taken; the message lists all of them, and what is valid.
    """
    located: dict[Partition, int | None] = {}
    before: dict[Partition, Row] = {}
    for each in current:
        found = logs.locate(each["partition"], each["offset"])
        if found is not None:
            located[found[0]], before[found[0]] = found[1], each
    plan = plan_positions(
        request.positions, located, logs.ranges(), logs.find_times, now_ms=now_ms, clamp=request.clamp
    )
    moves = []
    for change in plan.require():
        where = (change.topic, change.partition)
        row = before.get(where)
        # The partition as it is written already: another order of its keys would be another partition to some.
        partition = row["partition"] if row is not None else logs.partition(*where)
        moves.append(OffsetMove(partition, row["offset"] if row is not None else None, logs.offset(change.new), change))
    return moves


def refuse_positions(name: str, plugin: str) -> BadRequestError:
    """For a connector that reads no logs."""
    return BadRequestError(
        f"Connector {name} ({plugin}) cannot be moved by positions: it does not say where what it reads begins and "
        'ends. Give its own partitions and offsets: {"offsets": [{"partition": {...}, "offset": {...}}]}.'
    )
