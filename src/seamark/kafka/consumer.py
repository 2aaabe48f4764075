"""A consumer for sink tasks: assigned partitions, no group membership, positions kept by whoever owns the task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import confluent_kafka

from seamark.kafka.client_logs import librdkafka_logger
from seamark.kafka.clients import librdkafka_config, make_client
from seamark.kafka.errors import code_of, kafka_error
from seamark.kafka.topic_partitions import TopicPartition

# As functions: over a hundred thousand messages a call by name costs more than what it returns.
_ERROR, _VALUE = confluent_kafka.Message.error, confluent_kafka.Message.value
_KEY, _HEADERS = confluent_kafka.Message.key, confluent_kafka.Message.headers
_TOPIC, _PARTITION = confluent_kafka.Message.topic, confluent_kafka.Message.partition
_OFFSET, _TIMESTAMP = confluent_kafka.Message.offset, confluent_kafka.Message.timestamp
_TIMESTAMP_TYPES = {
    confluent_kafka.TIMESTAMP_NOT_AVAILABLE: "NoTimestampType",
    confluent_kafka.TIMESTAMP_CREATE_TIME: "CreateTime",
    confluent_kafka.TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime",
}


@dataclass(frozen=True, slots=True)
class ConsumedRecord:
    """A record as it was read from a topic."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int | None
    timestamp_type: str
    headers: tuple[tuple[str, bytes | None], ...]


class RecordConsumer:
    """Reads assigned partitions. Not thread-safe."""

    def __init__(
        self, java_config: Mapping[str, str], on_out_of_range: Callable[[TopicPartition], None] | None = None
    ) -> None:
        """`on_out_of_range` is called, instead of failing, for a partition that has no such offset (any more)."""
        config = librdkafka_config(java_config, "consumer")
        # Membership would cost a rebalance at each start, and its group would refuse the worker's commits.
        config.update({"enable.auto.commit": False, "enable.auto.offset.store": False})
        # Offsets out of range (the log was truncated) are ours to report, unless the user asked for a reset.
        config.setdefault("group.id", "seamark")
        # A full queue is looked at again soon: waiting a second, as librdkafka does, halves the rate of small records.
        config.setdefault("fetch.queue.backoff.ms", 10)
        # Larger answers mean fewer of them: a third more small records per second than with the usual megabyte.
        config.setdefault("max.partition.fetch.bytes", 4 * 2**20)
        # The end of a partition tells where reading goes on after the markers of transactions, which are no messages.
        config["enable.partition.eof"] = True
        config["logger"] = librdkafka_logger()
        self._servers = config.get("bootstrap.servers")
        self._consumer = make_client(confluent_kafka.Consumer, config)
        self._on_out_of_range = on_out_of_range
        self._assignment: list[TopicPartition] = []
        self._ends: dict[TopicPartition, int] = {}

    @property
    def brokers(self) -> str | None:
        """The bootstrap servers."""
        return self._servers

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets; -1 means by `auto.offset.reset`."""
        self._assignment = list(positions)
        self._consumer.assign(
            [
                confluent_kafka.TopicPartition(
                    partition.topic, partition.partition, offset if offset >= 0 else confluent_kafka.OFFSET_STORED
                )
                for partition, offset in positions.items()
            ]
        )

    def read(self, limit: int, timeout_s: float, linger_s: float = 0) -> list[Any]:
        """Up to `limit` raw messages; waits for the first one, and then no longer than `linger_s` for more.

        Raises:
            KafkaError: a partition cannot be read.
        """
        try:
            messages = self._consumer.consume(1, timeout_s)
            if messages:
                messages += self._consumer.consume(limit - 1, linger_s)
        except confluent_kafka.KafkaException as error:
            raise kafka_error(error, "read from Kafka", self._servers) from error
        if any(map(_ERROR, messages)):
            return self._without_errors(messages)
        return messages

    def _without_errors(self, messages: list[Any]) -> list[Any]:
        good = []
        for message in messages:
            error = message.error()
            if error is None:
                good.append(message)
            elif code_of(error) == "_PARTITION_EOF":
                self._ends[TopicPartition(message.topic(), message.partition())] = message.offset()
            elif code_of(error) == "_AUTO_OFFSET_RESET" and self._on_out_of_range is not None:
                self._on_out_of_range(TopicPartition(message.topic(), message.partition()))
            elif code_of(error) not in ("_ALL_BROKERS_DOWN", "_TRANSPORT"):
                where = f"read from {message.topic()}-{message.partition()}" if message.topic() else "read from Kafka"
                raise kafka_error(error, where, self._servers)
        return good

    def positions(self) -> dict[TopicPartition, int]:
        """The next offset of each partition that something was read from, or whose end was seen."""
        asked = [confluent_kafka.TopicPartition(each.topic, each.partition) for each in self._assignment]
        positions = {
            TopicPartition(each.topic, each.partition): each.offset
            for each in self._consumer.position(asked)
            if each.offset >= 0
        }
        for partition, end in self._ends.items():
            positions[partition] = max(end, positions.get(partition, end))
        return positions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read this partition from that offset next."""
        self._ends.pop(partition, None)
        try:
            self._consumer.seek(confluent_kafka.TopicPartition(partition.topic, partition.partition, offset))
        except confluent_kafka.KafkaException as error:
            raise kafka_error(error, f"go to offset {offset} of {partition}", self._servers) from error

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        """Stop the flow of these partitions."""
        self._flow(self._consumer.pause, partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        """Let these partitions flow again."""
        self._flow(self._consumer.resume, partitions)

    def _flow(self, change: Callable[[list[Any]], None], partitions: Sequence[TopicPartition]) -> None:
        if partitions:
            change([confluent_kafka.TopicPartition(each.topic, each.partition) for each in partitions])

    def close(self) -> None:
        """Release the connections."""
        self._consumer.close()


def values_of(messages: Sequence[Any]) -> list[bytes | None]:
    """The values of raw messages."""
    return list(map(_VALUE, messages))


def keys_of(messages: Sequence[Any]) -> list[bytes | None] | None:
    """The keys of raw messages; None if none has one."""
    keys = list(map(_KEY, messages))
    return None if keys.count(None) == len(keys) else keys


def have_headers(messages: Sequence[Any]) -> bool:
    """Whether one of the raw messages has headers."""
    return any(map(_HEADERS, messages))


def runs_of(messages: Sequence[Any]) -> Iterator[tuple[TopicPartition, list[Any]]]:
    """Raw messages by partition: each run of messages of one partition, in order."""
    if not messages:
        return
    topics, partitions = list(map(_TOPIC, messages)), list(map(_PARTITION, messages))
    start, count = 0, len(messages)
    while start < count:
        topic, partition = topics[start], partitions[start]
        end = start + 1
        while end < count and partitions[end] == partition and topics[end] == topic:
            end += 1
        yield TopicPartition(topic, partition), messages[start:end]  # type: ignore[misc]
        start = end


def offsets_of(messages: Sequence[Any]) -> list[int]:
    """The offsets of raw messages."""
    return list(map(_OFFSET, messages))


def timestamps_of(messages: Sequence[Any]) -> list[int]:
    """The timestamps of raw messages; -1 for one that has none."""
    return [timestamp for _, timestamp in map(_TIMESTAMP, messages)]


def headers_of(messages: Sequence[Any]) -> list[list[tuple[str, bytes | None]] | None] | None:
    """The headers of raw messages; None if none has any."""
    headers = list(map(_HEADERS, messages))
    return None if headers.count(None) == len(headers) else headers


def places_of(messages: Sequence[Any]) -> Iterator[tuple[str, int, int, int | None, str]]:
    """Topic, partition, offset, timestamp and type of timestamp of raw messages."""
    for topic, partition, offset, (kind, timestamp) in zip(
        map(_TOPIC, messages),
        map(_PARTITION, messages),
        map(_OFFSET, messages),
        map(_TIMESTAMP, messages),
        strict=True,
    ):
        known = kind != confluent_kafka.TIMESTAMP_NOT_AVAILABLE
        yield topic, partition, offset, timestamp if known else None, _TIMESTAMP_TYPES[kind]


def consumed(message: Any) -> ConsumedRecord:
    """A raw message as a plain value."""
    kind, timestamp = message.timestamp()
    return ConsumedRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        timestamp if kind != confluent_kafka.TIMESTAMP_NOT_AVAILABLE else None,
        _TIMESTAMP_TYPES[kind],
        tuple((name, data) for name, data in message.headers() or ()),
    )


def size_of(messages: Sequence[Any]) -> int:
    """The bytes of the values."""
    return sum(map(len, messages))
