"""Where the logs are that a checkpoint's positions lie in, asked of Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seamark.config.position_plans import LogRange, Partition, TimedOffset
from seamark.kafka.admin import Admin
from seamark.kafka.topic_partitions import TopicPartition


def log_ranges(admin: Admin, partitions: Iterable[Partition]) -> dict[Partition, LogRange]:
    """First and next offset of those partitions that Kafka has."""
    wanted = set(partitions)
    there = [
        where
        for where in admin.partitions_of(sorted({topic for topic, _ in wanted}))
        if (where.topic, where.partition) in wanted
    ]
    starts = admin.list_offsets(dict.fromkeys(there, "earliest"))
    ends = admin.list_offsets(dict.fromkeys(there, "latest"))
    return {(where.topic, where.partition): LogRange(starts[where], ends[where]) for where in there}


def find_times(admin: Admin, wanted: Mapping[Partition, int]) -> dict[Partition, TimedOffset | None]:
    """First record of each partition at that time or later."""
    found = admin.find_times({TopicPartition(*where): at_ms for where, at_ms in wanted.items()})
    return {(where.topic, where.partition): at for where, at in found.items()}
