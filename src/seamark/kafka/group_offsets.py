"""Committed offsets of a consumer group without members, for a worker that commits on behalf of its tasks.

This is a consumer that never subscribes. librdkafka's admin requests to a group's coordinator would do the same, but
they end the whole process when a broker is lost at the wrong moment (librdkafka's issue 4605), and who commits every
few seconds meets such moments.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

import confluent_kafka

from seamark.kafka.client_logs import librdkafka_logger
from seamark.kafka.clients import librdkafka_config, make_client
from seamark.kafka.errors import kafka_error, timeout_error
from seamark.kafka.topic_partitions import TopicPartition

_REQUEST_S: Final = 30.0
_ATTEMPT_S: Final = 5.0
_RETRY_S: Final = 0.1
_POLL_S: Final = 0.05
_CLOSE_S: Final = 1.0
_SESSION_MS: Final = 6000


class GroupOffsets:
    """Reads and commits a group's offsets. Thread-safe."""

    def __init__(self, java_config: Mapping[str, str], group: str) -> None:
        """Make the client.

        Args:
            java_config: Java-style consumer settings; with ``isolation.level=read_committed`` a read waits for offsets
                that are part of a transaction which is just being committed.
            group: the consumer group.
        """
        config = librdkafka_config({**java_config, "group.id": group}, "consumer")
        config.pop("group.instance.id", None)
        config |= {"enable.auto.commit": False, "session.timeout.ms": _SESSION_MS}
        config["logger"] = librdkafka_logger()
        config["on_commit"] = self._on_commit
        self.group, self.brokers = group, str(config["bootstrap.servers"])
        self._lock = threading.Lock()
        self._answers: list[tuple[Any, list[Any]]] = []
        self._consumer: Any = make_client(confluent_kafka.Consumer, config)

    def read(self, partitions: Iterable[TopicPartition], timeout_s: float = _REQUEST_S) -> dict[TopicPartition, int]:
        """The committed offsets of these partitions; those without one are left out.

        Raises:
            KafkaError: the broker refused, or did not answer in time.
        """
        asked = [confluent_kafka.TopicPartition(where.topic, where.partition) for where in partitions]
        action = f"read the offsets of consumer group {self.group!r}"
        deadline = time.monotonic() + timeout_s
        while asked:
            try:
                with self._lock:
                    found = self._consumer.committed(asked, timeout=_left(deadline))
                return {TopicPartition(each.topic, each.partition): each.offset for each in found if _is_good(each)}
            except confluent_kafka.KafkaException as error:
                self._again(error, action, deadline, timeout_s)
        return {}

    def commit(self, offsets: Mapping[TopicPartition, int], timeout_s: float = _REQUEST_S) -> None:
        """Commit these offsets.

        Raises:
            KafkaError: with code UNKNOWN_MEMBER_ID, the group has members; otherwise the broker refused, or did not
                answer in time.
        """
        wanted = [confluent_kafka.TopicPartition(where.topic, where.partition, at) for where, at in offsets.items()]
        action = f"commit offsets of consumer group {self.group!r}"
        deadline = time.monotonic() + timeout_s
        while wanted:
            try:
                with self._lock:
                    self._commit(wanted, deadline, action, timeout_s)
                return
            except confluent_kafka.KafkaException as error:
                self._again(error, action, deadline, timeout_s)

    def close(self) -> None:
        """Let go of the broker."""
        with self._lock:
            # It waits for a commit that was given up, with a lost broker as long as the session of a member would last.
            closing = threading.Thread(target=self._consumer.close, name=f"close-{self.group}", daemon=True)
            closing.start()
        closing.join(_CLOSE_S)

    def _commit(self, wanted: list[Any], deadline: float, action: str, timeout_s: float) -> None:
        # Committing synchronously would wait for a coordinator as long as it takes.
        self._answers.clear()
        self._consumer.commit(offsets=wanted, asynchronous=True)
        while True:
            self._consumer.poll(_POLL_S)
            for error, entries in self._answers:
                if _places(entries) == _places(wanted):  # it may as well belong to a commit that was given up
                    for problem in (error, *(entry.error for entry in entries)):
                        if problem is not None:
                            raise confluent_kafka.KafkaException(problem)
                    return
            if time.monotonic() >= deadline:
                raise timeout_error(action, self.brokers, timeout_s)

    def _on_commit(self, error: Any, entries: list[Any]) -> None:
        self._answers.append((error, entries))

    def _again(self, error: confluent_kafka.KafkaException, action: str, deadline: float, timeout_s: float) -> None:
        """Wait before the next attempt, or raise if there is none."""
        ours = kafka_error(error, action, self.brokers)
        if not ours.retriable:
            raise ours from error
        if time.monotonic() + _RETRY_S >= deadline:
            raise timeout_error(action, self.brokers, timeout_s) from error
        time.sleep(_RETRY_S)


def _left(deadline: float) -> float:
    return max(0.1, min(_ATTEMPT_S, deadline - time.monotonic()))


def _places(entries: Iterable[Any]) -> set[tuple[str, int, int]]:
    return {(entry.topic, entry.partition, entry.offset) for entry in entries}


def _is_good(entry: Any) -> bool:
    if entry.error is not None:
        raise confluent_kafka.KafkaException(entry.error)
    return bool(entry.offset >= 0)
