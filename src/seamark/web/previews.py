"""What a change of positions would do, in figures and in words, before it is made.

Counts are of offsets: a log that is compacted or written in transactions has fewer records than offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seamark.client import OffsetMove
from seamark.web.figures import count, number

RESET: Final = "none (reset)"
NONE_YET: Final = "none yet"


@dataclass(frozen=True, slots=True)
class MoveRow:
    """A partition, where it is and where it would go. Offsets that are no numbers are shown as they are."""

    partition: str
    old: str
    new: str
    replayed: int | None
    skipped: int | None
    note: str | None = None

    @property
    def is_same(self) -> bool:
        """Whether it stays where it is."""
        return self.replayed == 0 and self.skipped == 0


@dataclass(frozen=True, slots=True)
class Preview:
    """A change as a whole."""

    rows: Sequence[MoveRow]

    @property
    def replayed(self) -> int:
        """Records that will be read again."""
        return sum(row.replayed or 0 for row in self.rows)

    @property
    def skipped(self) -> int:
        """Records that will never be read."""
        return sum(row.skipped or 0 for row in self.rows)

    @property
    def moved(self) -> int:
        """Partitions that move."""
        return sum(not row.is_same for row in self.rows)

    @property
    def uncounted(self) -> int:
        """Partitions of which nobody can say how many records are between old and new."""
        return sum(row.replayed is None for row in self.rows)

    @property
    def notes(self) -> list[str]:
        """Why some do not go quite where they were asked to; each once."""
        return list(dict.fromkeys(row.note for row in self.rows if row.note))

    @property
    def sentences(self) -> list[str]:
        """What will happen, in plain words."""
        if not self.moved:
            return ["Nothing changes: every partition is already there."]
        lines = []
        if self.replayed:
            many = sum(bool(row.replayed) for row in self.rows)
            lines.append(f"{count(self.replayed, 'record')} will be read again, in {count(many, 'partition')}.")
        if self.skipped:
            many = sum(bool(row.skipped) for row in self.rows)
            lines.append(f"{count(self.skipped, 'record')} will be skipped, in {count(many, 'partition')}.")
        if self.uncounted:
            lines.append(f"Of {count(self.uncounted, 'partition')} nobody can tell how many records that is.")
        stay = len(self.rows) - self.moved
        if stay:
            lines.append(f"{count(stay, 'partition stays', 'partitions stay')} in place.")
        return lines


def preview_of(moves: Iterable[OffsetMove]) -> Preview:
    """What the moves of a dry run, or of an operation, come to."""
    return Preview([_row(move) for move in sorted(moves, key=lambda move: _order(move.partition))])


def reversed_moves(moves: Iterable[OffsetMove]) -> list[OffsetMove]:
    """The way back."""
    return [OffsetMove(move.partition, move.after, move.before) for move in moves]


def _row(move: OffsetMove) -> MoveRow:
    replayed, skipped = _counts(move)
    return MoveRow(
        partition_text(move.partition),
        offset_text(move.before, NONE_YET) if move.old is None else number(move.old),
        offset_text(move.after, RESET) if move.new is None else number(move.new),
        replayed,
        skipped,
        move.clamped,
    )


def _counts(move: OffsetMove) -> tuple[int | None, int | None]:
    """Read again and skipped. Previews carry them; what was done long ago only has offsets."""
    if move.replayed is not None or move.skipped is not None:
        return move.replayed or 0, move.skipped or 0
    by, old, new = move.records, offset_number(move.before), offset_number(move.after)
    if by is None and old is not None and new is not None:
        by = new - old
    if by is None and move.before == move.after:
        by = 0
    return (None, None) if by is None else (max(0, -by), max(0, by))


def partition_text(partition: Mapping[str, Any]) -> str:
    """Topic and number of a Kafka partition; others as key and value."""
    where = topic_partition(partition)
    if where is not None:
        return f"{where[0]}:{where[1]}"
    return ", ".join(f"{key}={value}" for key, value in partition.items()) or "-"


def topic_partition(partition: Mapping[str, Any]) -> tuple[str, int] | None:
    """Topic and number, of sinks as well as of mirrors."""
    for topic, number_key in (("kafka_topic", "kafka_partition"), ("topic", "partition")):
        if topic in partition and number_key in partition:
            try:
                return str(partition[topic]), int(partition[number_key])
            except (TypeError, ValueError):
                return None
    return None


def offset_number(offset: Mapping[str, Any] | None) -> int | None:
    """The offset of a sink's or mirror's partition."""
    for key in ("kafka_offset", "offset"):
        value = (offset or {}).get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def offset_text(offset: Mapping[str, Any] | None, otherwise: str) -> str:
    """An offset as it is read."""
    if not offset:
        return otherwise
    plain = offset_number(offset)
    if plain is not None and len(offset) == 1:
        return number(plain)
    return ", ".join(f"{key}={value}" for key, value in offset.items())


def _order(partition: Mapping[str, Any]) -> tuple[Any, ...]:
    where = topic_partition(partition)
    return (0, *where) if where else (1, partition_text(partition), 0)
