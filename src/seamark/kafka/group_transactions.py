"""A transactional producer that also commits the offsets of a consumer group: both become visible together."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import confluent_kafka
from confluent_kafka.admin import AdminClient

from seamark.kafka.client_logs import librdkafka_logger
from seamark.kafka.clients import librdkafka_config
from seamark.kafka.errors import code_of, kafka_error, timeout_error
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition

_RETRY_S: Final = 0.02
_UNSTABLE: Final = "UNSTABLE_OFFSET_COMMIT"


class StableGroupOffsets:
    """Reads a group's offsets, waiting for a transaction that is about to change them.

    A commit returns before its offsets are in place. Whoever read the old ones then would do the same work again.
    """

    def __init__(self, java_config: Mapping[str, str], group: str) -> None:
        config = librdkafka_config(java_config, "admin")
        config["logger"] = librdkafka_logger()
        self._client = AdminClient(config)
        self._brokers, self._group = str(config["bootstrap.servers"]), group

    def read(self, timeout_s: float = 90.0) -> dict[TopicPartition, int]:
        """The committed offsets; empty for a group that does not exist.

        Raises:
            KafkaTimeoutError: a transaction with offsets of this group stayed open.
        """
        deadline = time.monotonic() + timeout_s
        action = f"read the offsets of consumer group {self._group!r}"
        while True:
            try:
                return self._read(max(0.1, deadline - time.monotonic()))
            except confluent_kafka.KafkaException as error:
                if code_of(error) == "GROUP_ID_NOT_FOUND":
                    return {}
                ours = kafka_error(error, action, self._brokers)
                if code_of(error) != _UNSTABLE and not ours.retriable:
                    raise ours from error
                if time.monotonic() + _RETRY_S >= deadline:
                    raise timeout_error(action, self._brokers, timeout_s) from error
            time.sleep(_RETRY_S)

    def _read(self, remaining_s: float) -> dict[TopicPartition, int]:
        request = confluent_kafka.ConsumerGroupTopicPartitions(self._group)
        futures = self._client.list_consumer_group_offsets([request], require_stable=True, request_timeout=remaining_s)
        found = {}
        for entry in futures[self._group].result().topic_partitions or []:
            if entry.error is not None:
                raise confluent_kafka.KafkaException(entry.error)
            if entry.offset >= 0:
                found[TopicPartition(entry.topic, entry.partition)] = entry.offset
        return found


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
