"""Positions of a MirrorSourceConnector: those of the logs on its source cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.position_plans import LogRange, Partition, TimedOffset
from seamark.connector.log_views import LogViews
from seamark.connector.positions import PositionLogs
from seamark.errors import ConnectError
from seamark.kafka.admin import Admin
from seamark.kafka.log_ranges import LogRanges
from seamark.kafka.log_views import KafkaLogViews
from seamark.mirror.config import SourceSettings, uses_read_committed
from seamark.mirror.offsets import CLUSTER, PARTITION, TOPIC, offset_of, source_offset, source_partition
from seamark.mirror.topic_sync import TopicRules


class MirrorPositions(PositionLogs):
    """The source topics of a mirror. Its offsets are those of the last record copied, one before the position."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._settings = settings = SourceSettings.of(config)
        consumer = settings.client("source", "consumer")
        self._starts_at = settings.start or consumer.get("auto.offset.reset", "earliest")
        self._admin = Admin(settings.client("source", "admin", "replication-source-admin"))
        self._is_committed = uses_read_committed(config)
        self._logs = LogRanges(self._admin, is_committed=self._is_committed, timeout_s=settings.admin_timeout_s)

    def ranges(self) -> Mapping[Partition, LogRange]:
        rules = TopicRules.of(self._settings)
        try:
            topics = self._admin.list_topics(timeout_s=self._logs.timeout_s)
            return self._logs.of(topic for topic in topics if rules.should_replicate(topic))
        finally:
            rules.topic_filter.close()
            rules.config_property_filter.close()

    def find_times(self, wanted: Mapping[Partition, int]) -> Mapping[Partition, TimedOffset | None]:
        return self._logs.find_times(wanted)

    def partition(self, topic: str, number: int) -> Mapping[str, Any]:
        return source_partition(self._settings.source_alias, topic, number)

    def offset(self, position: int) -> Mapping[str, Any] | None:
        if position > 0:
            return source_offset(position - 1)
        # Before the first record nothing was copied, and that is to have no offset.
        if self._starts_at != "earliest":
            raise ConnectError(
                "A mirror has no offset that stands for the very first record, only for those behind it; without an "
                f"offset this one begins at {self._starts_at!r}. Set mirror.start or the consumer's auto.offset.reset "
                "to earliest first, or begin at offset 1."
            )
        return None

    def locate(self, partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> tuple[Partition, int] | None:
        topic, number = partition.get(TOPIC), partition.get(PARTITION)
        if (
            partition.get(CLUSTER) != self._settings.source_alias
            or not isinstance(topic, str)
            or not isinstance(number, int)
        ):
            return None
        last = offset_of(offset)
        return None if last is None else ((topic, number), last + 1)

    def begins_at(self) -> str | None:
        return self._starts_at if self._starts_at in ("earliest", "latest") else None

    def views(self) -> LogViews:
        consumer = self._settings.client("source", "consumer", "views-consumer")
        return KafkaLogViews(self._admin, consumer, is_committed=self._is_committed, timeout_s=self._logs.timeout_s)

    def hurry(self, timeout_s: float) -> None:
        self._logs.timeout_s = min(timeout_s, self._logs.timeout_s)

    def close(self) -> None:
        self._admin.close()
