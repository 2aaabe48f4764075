"""A transactional producer that also commits the offsets of a consumer group: both become visible together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import confluent_kafka

from seamark.kafka.clients import librdkafka_config
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition


class GroupOffsetProducer(RecordProducer):
    """A `RecordProducer` for a consumer group without members.

    Args:
        java_config: Java-style producer settings.
        transactional_id: whoever initialises it last may commit; others are fenced, and with them their offsets.
        consumer_config: Java-style consumer settings with the ``group.id``.
    """

    def __init__(
        self, java_config: Mapping[str, str], transactional_id: str, consumer_config: Mapping[str, str]
    ) -> None:
        super().__init__(java_config, transactional_id)
        config = librdkafka_config(consumer_config, "consumer")
        self.group = str(config["group.id"])
        # A consumer that never subscribes is the only way to name a group to librdkafka; it does not join it.
        self._consumer: Any = confluent_kafka.Consumer({**config, "enable.auto.commit": False})

    def send_group_offsets(self, offsets: Mapping[TopicPartition, int], timeout_s: float = 60.0) -> None:
        """Add the group's offsets to the open transaction.

        Raises:
            FencedError: a newer producer took over.
            KafkaError: the group has members, or the broker refused.
        """
        entries = [
            confluent_kafka.TopicPartition(where.topic, where.partition, offset) for where, offset in offsets.items()
        ]
        try:
            self._producer.send_offsets_to_transaction(entries, self._consumer.consumer_group_metadata(), timeout_s)
        except confluent_kafka.KafkaException as error:
            raise self._error(error, f"commit offsets of consumer group {self.group!r}") from error

    def close(self, timeout_s: float = 5.0) -> None:
        super().close(timeout_s)
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
