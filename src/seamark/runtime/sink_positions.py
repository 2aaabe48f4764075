"""Positions of a sink: those of the logs of the topics that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seamark.config.connector import sink_topics, sink_topics_regex
from seamark.config.position_plans import LogRange, Partition, TimedOffset
from seamark.connector.log_views import LogViews
from seamark.connector.positions import PositionLogs
from seamark.kafka.admin import Admin
from seamark.kafka.log_ranges import LogRanges
from seamark.kafka.log_views import KafkaLogViews

TOPIC, PARTITION, OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"


class SinkPositions(PositionLogs):
    """The topics of a sink; its offsets are positions."""

    def __init__(
        self,
        admin: Admin,
        config: Mapping[str, str],
        consumer: Mapping[str, str],
        committed: Iterable[str],
        *,
        timeout_s: float,
    ) -> None:
        """`consumer` has its consumer's settings; `committed` are topics that it has offsets of, read or not."""
        self._admin, self._config, self._consumer = admin, config, dict(consumer)
        self._committed = set(committed)
        self._is_committed = consumer.get("isolation.level", "").lower() == "read_committed"
        self._logs = LogRanges(admin, is_committed=self._is_committed, timeout_s=timeout_s)

    def ranges(self) -> Mapping[Partition, LogRange]:
        topics = {*sink_topics(self._config), *self._committed}
        pattern = sink_topics_regex(self._config)
        if pattern is not None:
            existing = self._admin.list_topics(timeout_s=self._logs.timeout_s)
            topics |= {topic for topic in existing if pattern.fullmatch(topic)}
        return self._logs.of(topics)

    def find_times(self, wanted: Mapping[Partition, int]) -> Mapping[Partition, TimedOffset | None]:
        return self._logs.find_times(wanted)

    def partition(self, topic: str, number: int) -> Mapping[str, Any]:
        return {PARTITION: number, TOPIC: topic}

    def offset(self, position: int) -> Mapping[str, Any] | None:
        return {OFFSET: position}

    def locate(self, partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> tuple[Partition, int] | None:
        if offset is None:
            return None
        return (str(partition[TOPIC]), int(partition[PARTITION])), int(offset[OFFSET])

    def begins_at(self) -> str | None:
        begins = self._consumer.get("auto.offset.reset", "latest").lower()
        return begins if begins in ("earliest", "latest") else None

    def views(self) -> LogViews:
        consumer = {**self._consumer, "client.id": f"{self._consumer.get('client.id', 'seamark')}-views"}
        return KafkaLogViews(self._admin, consumer, is_committed=self._is_committed, timeout_s=self._logs.timeout_s)

    def hurry(self, timeout_s: float) -> None:
        self._logs.timeout_s = min(timeout_s, self._logs.timeout_s)
