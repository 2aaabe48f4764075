"""What a source task counts of each partition, for metrics: MirrorMaker 2's, taken once per batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

PARTITIONS: Final = "partitions"
CHECKPOINTS: Final = "checkpoints"
MAX_FIGURES: Final = 1000  # a report stays small however many partitions a task has


@dataclass(slots=True)
class Spread:
    """The last value, and the least, the greatest and the mean of all, in milliseconds."""

    last: float = 0.0
    least: float = 0.0
    greatest: float = 0.0
    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        """One more value."""
        self.least = value if self.count == 0 else min(self.least, value)
        self.greatest = max(self.greatest, value)
        self.last, self.total, self.count = value, self.total + value, self.count + 1

    @property
    def mean(self) -> float:
        """Of all values; 0 if there are none."""
        return self.total / self.count if self.count else 0.0

    def row(self) -> list[float]:
        """Last, greatest, least, mean."""
        return [round(each, 1) for each in (self.last, self.greatest, self.least, self.mean)]


@dataclass(slots=True)
class PartitionFigures:
    """Of one partition, under the name of its copy."""

    topic: str
    partition: int
    records: int = 0
    bytes: int = 0
    age: Spread = field(default_factory=Spread)
    """From a record's timestamp until it was read."""
    latency: Spread = field(default_factory=Spread)
    """From a record's timestamp until its copy was acknowledged, with exactly-once: committed."""

    def read(self, records: int, size: int, first_ms: int, last_ms: int, now_ms: float) -> None:
        """A batch was read; the timestamps are those of its first and last record, -1 for none."""
        self.records += records
        self.bytes += size
        for timestamp in (first_ms, last_ms) if records > 1 else (last_ms,):
            if timestamp >= 0:
                self.age.add(max(0.0, now_ms - timestamp))

    def delivered(self, last_ms: int | None, now_ms: float) -> None:
        """The copy of a batch is there."""
        if last_ms is not None and last_ms >= 0:
            self.latency.add(max(0.0, now_ms - last_ms))

    def row(self) -> dict[str, Any]:
        """As it travels in a task's progress."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "records": self.records,
            "bytes": self.bytes,
            "record_age_ms": self.age.row(),
            "replication_latency_ms": self.latency.row(),
        }
