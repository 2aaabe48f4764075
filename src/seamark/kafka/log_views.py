"""Looks into the logs of a Kafka cluster: where they were at times, and which records are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from seamark.config.position_plans import Partition, TimedOffset
from seamark.connector.log_views import LogRecord, LogViews
from seamark.errors import KafkaError
from seamark.kafka.admin import Admin
from seamark.kafka.record_reads import first_timestamps, records_around
from seamark.kafka.topic_partitions import TopicPartition

_UNSUPPORTED: Final = frozenset({"_UNSUPPORTED_FEATURE", "UNSUPPORTED_VERSION"})  # by brokers before Kafka 3.0


class KafkaLogViews(LogViews):
    """The logs of one cluster, as a connector's consumer sees them."""

    def __init__(self, admin: Admin, consumer: Mapping[str, str], *, is_committed: bool, timeout_s: float) -> None:
        """`consumer` has Java-style settings; the admin client stays open."""
        self._admin, self._consumer = admin, dict(consumer)
        self._is_committed, self._timeout_s = is_committed, timeout_s

    def newest(self, partitions: Iterable[Partition]) -> Mapping[Partition, int]:
        try:
            found = self._admin.newest_times(
                [TopicPartition(*where) for where in partitions],
                is_committed=self._is_committed,
                timeout_s=self._timeout_s,
            )
        except KafkaError as error:
            if error.code not in _UNSUPPORTED:
                raise
            return {}
        return {(where.topic, where.partition): at for where, at in found.items()}

    def find_all_times(
        self, wanted: Sequence[Mapping[Partition, int]]
    ) -> Sequence[Mapping[Partition, TimedOffset | None]]:
        found = self._admin.find_all_times(
            [{TopicPartition(*where): at for where, at in each.items()} for each in wanted],
            is_committed=self._is_committed,
            timeout_s=self._timeout_s,
        )
        return [{(where.topic, where.partition): at for where, at in each.items()} for each in found]

    def times_at(self, positions: Mapping[Partition, int], budget_s: float) -> Mapping[Partition, int]:
        if not positions:
            return {}
        wanted = {TopicPartition(*where): position for where, position in positions.items()}
        found = first_timestamps(self._consumer, wanted, budget_s)
        return {(where.topic, where.partition): at for where, at in found.items() if at is not None and at >= 0}

    def around(
        self, partition: Partition, start: int, offset: int, end: int, before: int, after: int, budget_s: float
    ) -> tuple[Sequence[LogRecord], bool]:
        found, is_complete = records_around(
            self._consumer,
            TopicPartition(*partition),
            start=start,
            offset=offset,
            end=end,
            before=before,
            after=after,
            budget_s=budget_s,
        )
        records = [LogRecord(each.offset, each.timestamp, each.key, each.value, each.headers) for each in found]
        return records, is_complete
