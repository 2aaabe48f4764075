"""How a connector answers positions such as ``earliest`` or ``-2h``: what it reads, as logs of topics and partitions.

Sinks need nothing: the runtime knows the topics they read. A source that reads something like a log returns a
`PositionLogs` from `SourceConnector.positions`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from seamark.config.position_plans import LogRange, Partition, TimedOffset
from seamark.connector.log_views import LogViews


class PositionLogs(ABC):
    """The logs that a connector reads, and how its own partitions and offsets name places in them.

    A position is that of the next record to read. Used by one thread, and closed afterwards.
    """

    @abstractmethod
    def ranges(self) -> Mapping[Partition, LogRange]:
        """What there is of each partition."""

    @abstractmethod
    def find_times(self, wanted: Mapping[Partition, int]) -> Mapping[Partition, TimedOffset | None]:
        """For each partition the first record whose time, in ms since 1970, is that or later; None for none."""

    @abstractmethod
    def partition(self, topic: str, number: int) -> Mapping[str, Any]:
        """The connector's own partition."""

    @abstractmethod
    def offset(self, position: int) -> Mapping[str, Any] | None:
        """The connector's own offset for a position; None if it is to have none.

        Raises:
            ConnectError: no offset of the connector stands for this position.
        """

    @abstractmethod
    def locate(self, partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> tuple[Partition, int] | None:
        """Where a partition and offset of the connector are; None if they are not of these logs."""

    def begins_at(self) -> str | None:
        """Where it goes on in a partition without an offset: ``earliest``, ``latest``; None if that is not known."""
        return None

    def views(self) -> LogViews | None:
        """Looks into the logs, while this is not closed; None if that cannot be done."""
        return None

    def hurry(self, timeout_s: float) -> None:  # noqa: B027 - optional
        """From now on raise an error rather than let a question take longer: somebody is waiting."""

    def close(self) -> None:  # noqa: B027 - optional
        """Release what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
