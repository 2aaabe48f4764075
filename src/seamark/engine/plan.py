"""What the next batch of a frame connector holds: decisions about positions, without Spark and without Kafka.

A batch is a half-open range per partition, from `start` up to but not including `end`. Planning the same positions
with the same limits always gives the same batch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from seamark.connector.frame import ReadLimit
from seamark.connector.offsets import Offsets
from seamark.connector.sink import TopicPartition
from seamark.errors import ConnectError

Positions = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """The range that a frame source reads next."""

    start: Offsets
    end: Offsets


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The range that a frame sink writes next; `start` and `end` have the same partitions, none of them empty."""

    start: dict[TopicPartition, int] = field(default_factory=dict)
    end: dict[TopicPartition, int] = field(default_factory=dict)
    resets: dict[TopicPartition, int] = field(default_factory=dict)
    """Positions that `auto.offset.reset` chose. They must be committed even if there is nothing to read: a partition
    that begins at the latest offset would otherwise begin at a later one next time, and lose what came between."""

    @property
    def records(self) -> int:
        """How many offsets the range has; fewer records if some were compacted or aborted."""
        return sum(self.end[partition] - self.start[partition] for partition in self.start)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read."""
        return not self.start


def next_batch(last: int | None, now_ms: int) -> int:
    """The id of a new batch, higher than all before it.

    Targets remember the ids they have seen: one that came up twice would make them skip a batch. So ids begin at the
    time, and do not repeat even if the topic that held the last one is gone.
    """
    return now_ms if last is None else last + 1


def plan_source(start: Offsets, latest: Offsets) -> SourcePlan | None:
    """The range between the committed offsets and how far the source says it can read; None if that is nothing.

    Partitions that `latest` leaves out stay where they are.
    """
    is_ahead = any(start.get(partition) != offset for partition, offset in latest.items())
    return SourcePlan(start, latest) if is_ahead else None


def plan_sink(
    committed: Positions,
    log_start: Positions,
    log_end: Positions,
    limit: ReadLimit,
    *,
    reset: str = "earliest",
    record_bytes: float = 1024.0,
) -> BatchPlan:
    """The next batch of a sink.

    Args:
        committed: offsets of the consumer group; partitions without one are left out.
        log_start: the first offset of every partition that is to be read.
        log_end: the offset after the last readable record of the same partitions.
        limit: how much the batch may hold.
        reset: `auto.offset.reset`: where to begin without a committed offset, or with one that is not in the log.
        record_bytes: the size of a record as last seen, which turns the limit in bytes into one in records.

    Raises:
        ConnectError: a position must be reset and `reset` is ``none``.
    """
    start: dict[TopicPartition, int] = {}
    resets: dict[TopicPartition, int] = {}
    for partition in sorted(log_end):
        first, last, position = log_start[partition], log_end[partition], committed.get(partition)
        if position is None or not first <= position <= last:
            position = resets[partition] = _reset(partition, position, first, last, reset)
        start[partition] = position
    available = {partition: log_end[partition] - position for partition, position in start.items()}
    shares = fair_shares(available, record_limit(limit, record_bytes))
    return BatchPlan(
        start={partition: start[partition] for partition, share in shares.items() if share},
        end={partition: start[partition] + share for partition, share in shares.items() if share},
        resets=resets,
    )


def record_limit(limit: ReadLimit, record_bytes: float) -> int | None:
    """The records that a batch may hold under both limits; None if there is none, and at least one otherwise."""
    limits = [] if limit.records is None else [limit.records]
    if limit.bytes is not None:
        limits.append(int(limit.bytes / max(record_bytes, 1.0)))
    return max(1, min(limits)) if limits else None


def fair_shares(available: Mapping[TopicPartition, int], total: int | None) -> dict[TopicPartition, int]:
    """Share out `total` records: every partition gets the same, except that none gets more than it has.

    What small partitions leave over goes to large ones, so a batch is as full as it can be. What cannot be divided
    goes to the largest: however small the total, no partition waits for ever.
    """
    if total is None or sum(available.values()) <= total:
        return dict(available)
    shares: dict[TopicPartition, int] = {}
    left = total
    waiting = sorted(available, key=lambda partition: (available[partition], partition))
    for index, partition in enumerate(waiting):
        shares[partition] = min(available[partition], left // (len(waiting) - index))
        left -= shares[partition]
    return {partition: shares[partition] for partition in available}


def is_same_range(one: Positions, other: Positions, partitions: Collection[TopicPartition]) -> bool:
    """Whether two sets of positions agree on these partitions."""
    return all(one.get(partition) == other.get(partition) for partition in partitions)


def _reset(partition: TopicPartition, position: int | None, first: int, last: int, reset: str) -> int:
    if reset == "earliest":
        return first
    if reset == "latest":
        return last
    where = f"{partition.topic}-{partition.partition}"
    found = "has no committed offset" if position is None else f"has the committed offset {position}"
    raise ConnectError(
        f"Partition {where} {found}, its log holds offsets {first} to {last}, and auto.offset.reset is {reset!r}. "
        "Commit an offset within the log, or set consumer.override.auto.offset.reset to earliest or latest."
    )
