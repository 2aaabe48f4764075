"""What can be seen of the logs that a connector reads, for those who choose a position by looking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from seamark.config.position_plans import Partition, TimedOffset


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record as it stands in a log."""

    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class LogViews(ABC):
    """Looks into logs. Reading never moves the connector."""

    @abstractmethod
    def newest(self, partitions: Iterable[Partition]) -> Mapping[Partition, int]:
        """The latest time of a record of each partition, in ms since 1970; those without records are left out.

        Empty if that cannot be told.
        """

    @abstractmethod
    def find_all_times(
        self, wanted: Sequence[Mapping[Partition, int]]
    ) -> Sequence[Mapping[Partition, TimedOffset | None]]:
        """As `PositionLogs.find_times`, for several times of the same partitions."""

    @abstractmethod
    def times_at(self, positions: Mapping[Partition, int], budget_s: float) -> Mapping[Partition, int]:
        """The time of the first record at or behind each position; what was not read within the budget is left out."""

    @abstractmethod
    def around(
        self, partition: Partition, start: int, offset: int, end: int, before: int, after: int, budget_s: float
    ) -> tuple[Sequence[LogRecord], bool]:
        """The last `before` records in front of an offset, the one at it and the `after` next ones.

        Args:
            partition: where.
            start: nothing before this is there.
            offset: the place.
            end: nothing from here on is wanted.
            before: so many at most.
            after: so many at most.
            budget_s: seconds.

        Returns:
            The records in order, and whether these are all; else the time was over before.
        """
