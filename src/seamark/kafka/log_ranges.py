"""Where logs begin and end and where they were at a time, of many partitions in two requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seamark.config.position_plans import LogRange, Partition, TimedOffset
from seamark.kafka.admin import Admin
from seamark.kafka.topic_partitions import TopicPartition


class LogRanges:
    """Answers of one cluster."""

    def __init__(self, admin: Admin, *, is_committed: bool, timeout_s: float) -> None:
        """With `is_committed` logs end where readers of committed records stop."""
        self._admin, self._is_committed, self.timeout_s = admin, is_committed, timeout_s

    def of(self, topics: Iterable[str]) -> dict[Partition, LogRange]:
        """What there is of all partitions of those topics that exist."""
        partitions = self._admin.partitions_of(topics, timeout_s=self.timeout_s)
        found = self._admin.log_ranges(partitions, is_committed=self._is_committed, timeout_s=self.timeout_s)
        return {(each.topic, each.partition): found[each] for each in partitions}

    def find_times(self, wanted: Mapping[Partition, int]) -> dict[Partition, TimedOffset | None]:
        """The first record of each partition at or after a time."""
        found = self._admin.find_times(
            {TopicPartition(*where): at for where, at in wanted.items()},
            is_committed=self._is_committed,
            timeout_s=self.timeout_s,
        )
        return {(where.topic, where.partition): at for where, at in found.items()}
