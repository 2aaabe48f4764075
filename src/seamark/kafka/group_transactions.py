"""A transactional producer that also commits the offsets of a consumer group: both become visible together."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final

import confluent_kafka

from seamark.kafka.clients import librdkafka_config, make_client
from seamark.kafka.errors import timeout_error
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition

_OFFSETS_S: Final = 10.0
_ANSWER_S: Final = 1.0  # for the client's own timeout, which says more


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
        self._consumer: Any = make_client(confluent_kafka.Consumer, {**config, "enable.auto.commit": False})

    def send_group_offsets(self, offsets: Mapping[TopicPartition, int], timeout_s: float = _OFFSETS_S) -> None:
        """Add the group's offsets to the open transaction.

        Raises:
            FencedError: a newer producer took over.
            KafkaTimeoutError: no answer in time. The producer must be closed; a new one finds the coordinator again.
            KafkaError: the group has members, or the broker refused.
        """
        entries = [
            confluent_kafka.TopicPartition(where.topic, where.partition, offset) for where, offset in offsets.items()
        ]
        action = f"commit offsets of consumer group {self.group!r}"
        try:
            self._send_offsets(entries, timeout_s).result(timeout_s + _ANSWER_S)
        except TimeoutError:
            raise timeout_error(action, self.brokers, timeout_s) from None
        except confluent_kafka.KafkaException as error:
            raise self._error(error, action) from error

    def _send_offsets(self, entries: list[Any], timeout_s: float) -> Future[None]:
        """In a thread, which may be left behind.

        librdkafka does not look at the time while it waits for the connection to a group's coordinator (its issue
        5456), and after a broker was lost it may wait in vain (its issue 5511).
        """
        producer, metadata, sent = self._producer, self._consumer.consumer_group_metadata(), Future[None]()

        def send() -> None:
            try:
                producer.send_offsets_to_transaction(entries, metadata, timeout_s)
            except BaseException as error:
                sent.set_exception(error)
            else:
                sent.set_result(None)

        threading.Thread(target=send, name=f"offsets-{self.group}", daemon=True).start()
        return sent

    def close(self, timeout_s: float = 5.0) -> None:
        super().close(timeout_s)
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
