"""A topic used as a log: read from its beginning, followed for ever, appended to.

All internal topics work this way: no consumer group, every partition, always from the start. `read_to_end` is the
barrier on which the stores build: when it returns, everything that was in the topic at the time of the call has been
given to `on_record`.

The end is the last stable offset for read_committed readers. It may lie behind control records that no reader ever
sees, so progress is measured by the consumer's position, which moves over them, and not by the records received.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any, Final

import confluent_kafka

from seamark.errors import ConfigError, KafkaError, KafkaTimeoutError
from seamark.kafka.admin import Admin
from seamark.kafka.appender import Appender
from seamark.kafka.client_logs import librdkafka_logger
from seamark.kafka.clients import librdkafka_config, make_client
from seamark.kafka.errors import kafka_error, timeout_error
from seamark.kafka.topic_partitions import TopicDescription, TopicPartition, TopicSpec

_log = logging.getLogger(__name__)
_IDLE_POLL_S: Final = (
    0.1  # ten short wake-ups a second cost 0.05 % of a core and bound how long `stop` and `read_to_end` wait
)
_BUSY_POLL_S: Final = 0.005
_DRAIN: Final = 500
# The broker holds a fetch this long when there is nothing new, and answers at once when there is: long means idle,
# not late.
_FETCH_WAIT_MS: Final = "1000"


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of the log."""

    key: bytes | None
    value: bytes | None
    partition: int
    offset: int
    timestamp_ms: int


class TopicLog:
    """A compacted topic, read whole and followed by one thread."""

    def __init__(
        self,
        topic: str,
        *,
        consumer_config: Mapping[str, str],
        producer_config: Mapping[str, str] | None = None,
        spec: TopicSpec | None = None,
        on_record: Callable[[LogRecord], None],
        admin_config: Mapping[str, str] | None = None,
        setting: str = "topic",
        purpose: str = "its records",
        is_single_partition: bool = False,
    ) -> None:
        """Describe the log; nothing happens before `start`.

        Args:
            topic: the topic.
            consumer_config: Java-style settings; ``isolation.level`` decides what counts as the end.
            producer_config: Java-style settings; None for a log that is only read.
            spec: how to create the topic when it is missing, and that it has to be compacted; None takes it as it is.
            on_record: called by the following thread, in order per partition.
            admin_config: Java-style settings; those of the consumer by default.
            setting: the worker property that names the topic, for messages.
            purpose: what the topic holds, for messages.
            is_single_partition: refuse a topic with several partitions.
        """
        self.topic = topic
        self._consumer_config = {
            "fetch.max.wait.ms": _FETCH_WAIT_MS,
            **consumer_config,
            "group.id": f"seamark-log-{topic}",  # librdkafka wants one; nothing is ever committed under it
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": "true",
            "allow.auto.create.topics": "false",
        }
        self._consumer_config.pop("group.instance.id", None)
        self._producer_config = producer_config
        self._admin_config = dict(admin_config if admin_config is not None else consumer_config)
        self._spec, self._setting, self._purpose, self._is_single = spec, setting, purpose, is_single_partition
        self._on_record = on_record
        self._is_committed = self._consumer_config.get("isolation.level", "").lower() == "read_committed"
        self._changed = threading.Condition()
        self._positions: dict[int, int] = {}
        self._waiting = 0
        self._stopping = threading.Event()
        self._last_error: KafkaError | None = None
        self._partitions: list[TopicPartition] = []
        self._next_listing: Future[dict[int, int]] | None = None
        self._listing_lock = threading.Lock()
        self._admin: Admin | None = None
        self._consumer: Any = None
        self._appender: Appender | None = None
        self._thread: threading.Thread | None = None

    # --- life ---------------------------------------------------------------------------------------------------------

    def start(self, timeout_s: float = 60.0) -> None:
        """Create or check the topic, read it to its end, and follow it from then on.

        Raises:
            ConfigError: the topic exists and cannot serve as this log.
            KafkaError: the broker refused, or did not answer in time.
        """
        deadline = time.monotonic() + timeout_s
        self._admin = Admin(self._admin_config)
        try:
            description = self._topic(timeout_s)
            self._partitions = [TopicPartition(self.topic, number) for number in range(description.partitions)]
            self._consumer = self._assigned_consumer(max(1.0, deadline - time.monotonic()))
            if self._producer_config is not None:
                self._appender = Appender(self._producer_config, self.topic)
            self._thread = threading.Thread(target=self._follow, name=f"log-{self.topic}", daemon=True)
            self._thread.start()
            self.read_to_end(max(1.0, deadline - time.monotonic()))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the following thread and let go of the broker. Appends not yet acknowledged fail."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None
        if self._appender is not None:
            self._appender.close()
            self._appender = None
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    @property
    def partitions(self) -> int:
        """How many partitions the topic has."""
        return len(self._partitions)

    # --- reading ------------------------------------------------------------------------------------------------------

    def read_to_end(self, timeout_s: float = 30.0) -> None:
        """Return when everything that is in the topic now has been given to `on_record`.

        Raises:
            KafkaTimeoutError: the end could not be learnt or reached in time.
        """
        deadline = time.monotonic() + timeout_s
        self._await(self._ends(deadline, timeout_s), deadline, timeout_s)

    def _await(self, ends: Mapping[int, int], deadline: float, timeout_s: float) -> None:
        with self._changed:
            self._waiting += 1
            try:
                while not self._has_reached(ends):
                    remaining = deadline - time.monotonic()
                    if self._stopping.is_set():
                        raise KafkaError(f"The log of topic {self.topic!r} was stopped while it was read to its end.")
                    if remaining <= 0:
                        raise self._too_late(timeout_s)
                    self._changed.wait(remaining)
            finally:
                self._waiting -= 1

    def wait_for(self, partition: int, offset: int, timeout_s: float = 30.0) -> None:
        """Return when the record at this offset has been given to `on_record`.

        A transaction is committed before its records are visible: brokers write the markers afterwards. Who has to
        see its own transaction waits for its last records instead of the end.
        """
        self._await({partition: offset + 1}, time.monotonic() + timeout_s, timeout_s)

    def _ends(self, deadline: float, timeout_s: float) -> dict[int, int]:
        # Callers that arrive while a listing is under way share the one that starts after it: theirs must not be
        # older than they are.
        with self._changed:
            shared, is_mine = self._next_listing, False
            if shared is None:
                shared, is_mine = Future(), True
                self._next_listing = shared
        if is_mine:
            with self._listing_lock:
                with self._changed:
                    self._next_listing = None
                try:
                    shared.set_result(self._list_ends(max(0.5, deadline - time.monotonic())))
                except BaseException as error:
                    shared.set_exception(error)
        try:
            return shared.result(max(0.0, deadline - time.monotonic()) + 1.0)
        except FutureTimeoutError:
            raise self._too_late(timeout_s) from None
        except KafkaTimeoutError:
            raise
        except KafkaError as error:
            if error.retriable:
                raise self._too_late(timeout_s, error) from error
            raise

    def _list_ends(self, timeout_s: float) -> dict[int, int]:
        admin = self._admin
        if admin is None:
            raise KafkaError(f"The log of topic {self.topic!r} is not started.")
        ends = admin.list_offsets(
            {where: "latest" for where in self._partitions}, is_committed=self._is_committed, timeout_s=timeout_s
        )
        return {where.partition: offset for where, offset in ends.items()}

    def _has_reached(self, ends: Mapping[int, int]) -> bool:
        return all(self._positions.get(partition, 0) >= end for partition, end in ends.items())

    def _too_late(self, timeout_s: float, cause: KafkaError | None = None) -> KafkaTimeoutError:
        error = timeout_error(
            f"read topic {self.topic!r} to its end", self._consumer_config.get("bootstrap.servers"), timeout_s
        )
        known = cause or self._last_error
        return KafkaTimeoutError(f"{error.message} Last error: {known.message}") if known else error

    # --- appending ----------------------------------------------------------------------------------------------------

    def append(self, key: bytes | None, value: bytes | None) -> Future[None]:
        """Append one record; the future is done when brokers have it."""
        return self._writer().append(key, value)

    def append_all(self, records: Iterable[tuple[bytes | None, bytes | None]], timeout_s: float = 30.0) -> None:
        """Append records in order and wait until brokers have them all.

        Raises:
            KafkaTimeoutError: not all were acknowledged in time; some may have been written.
            KafkaError: one was refused.
        """
        try:
            self._writer().append_all(list(records)).result(timeout_s)
        except FutureTimeoutError:
            raise timeout_error(
                f"append to topic {self.topic!r}", self._consumer_config.get("bootstrap.servers"), timeout_s
            ) from None

    def _writer(self) -> Appender:
        if self._appender is None:
            raise KafkaError(f"The log of topic {self.topic!r} is not started for writing.")
        return self._appender

    # --- following ----------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        consumer = self._consumer
        while not self._stopping.is_set():
            try:
                first = consumer.poll(_BUSY_POLL_S if self._waiting else _IDLE_POLL_S)
                messages = [] if first is None else [first, *consumer.consume(_DRAIN, 0)]
            except confluent_kafka.KafkaException as error:
                self._failed(error)
                continue
            for message in messages:
                self._take(message)
            if self._waiting or messages:
                self._publish(consumer)

    def _take(self, message: Any) -> None:
        error = message.error()
        if error is None:
            kind, timestamp = message.timestamp()
            record = LogRecord(
                message.key(),
                message.value(),
                message.partition(),
                message.offset(),
                timestamp if kind != confluent_kafka.TIMESTAMP_NOT_AVAILABLE else -1,
            )
            try:
                self._on_record(record)
            except Exception:
                _log.exception(
                    "Record %s-%s@%s could not be taken in and is skipped", self.topic, record.partition, record.offset
                )
        elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001 - the library's name of the constant
            # Positions do not move over batches that compaction has emptied; the event at the end does.
            with self._changed:
                self._raise_position(message.partition(), message.offset())
        else:
            self._failed(error)

    def _publish(self, consumer: Any) -> None:
        # Asked for by the thread that handles the records: all before these positions have been handled.
        wanted = [confluent_kafka.TopicPartition(where.topic, where.partition) for where in self._partitions]
        positions = consumer.position(wanted)
        with self._changed:
            for found in positions:
                if found.offset >= 0:
                    self._raise_position(found.partition, found.offset)
            self._last_error = None if positions and not self._waiting else self._last_error
            self._changed.notify_all()

    def _raise_position(self, partition: int, offset: int) -> None:
        if offset > self._positions.get(partition, -1):
            self._positions[partition] = offset
            self._changed.notify_all()

    def _failed(self, error: Any) -> None:
        ours = kafka_error(error, f"read topic {self.topic!r}", self._consumer_config.get("bootstrap.servers"))
        if self._last_error is None or self._last_error.code != ours.code:
            _log.warning("%s Reading goes on when it passes.", ours.message)
        self._last_error = ours
        self._stopping.wait(_IDLE_POLL_S)

    # --- setting up ---------------------------------------------------------------------------------------------------

    def _topic(self, timeout_s: float) -> TopicDescription:
        admin = self._admin
        if admin is None:
            raise KafkaError(f"The log of topic {self.topic!r} is not started.")
        if self._spec is None:
            found = admin.describe_topics([self.topic], timeout_s=timeout_s).get(self.topic)
            if found is None:
                raise KafkaError(
                    f"Topic {self.topic!r} does not exist at {admin.brokers}.", code="UNKNOWN_TOPIC_OR_PART"
                )
            return found
        found = admin.ensure_topic(self._spec, timeout_s=timeout_s)
        if self._is_single and found.partitions != 1:
            raise ConfigError(
                f"Topic '{self.topic}' supplied via the '{self._setting}' property is required to have a single "
                f"partition in order to guarantee consistency of {self._purpose}, but found {found.partitions} "
                "partitions.",
                key=self._setting,
                value=self.topic,
            )
        self._check_compacted(admin)
        return found

    def _check_compacted(self, admin: Admin) -> None:
        try:
            policy = admin.topic_configs(self.topic).get("cleanup.policy", "")
        except KafkaError as error:
            if error.code in ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"):
                _log.info("The cleanup policy of topic %r could not be checked: %s", self.topic, error)
                return
            raise
        if {part.strip() for part in policy.split(",") if part.strip()} != {"compact"}:
            raise ConfigError(
                f"Topic '{self.topic}' supplied via the '{self._setting}' property is required to have "
                f"'cleanup.policy=compact' to guarantee consistency and durability of {self._purpose}, but found the "
                f"topic currently has 'cleanup.policy={policy}'. With it, {self._purpose} would be lost in time. Name "
                f"a topic with 'cleanup.policy=compact' in '{self._setting}', or change this one's policy.",
                key=self._setting,
                value=self.topic,
            )

    def _assigned_consumer(self, timeout_s: float) -> Any:
        admin = self._admin
        if admin is None:
            raise KafkaError(f"The log of topic {self.topic!r} is not started.")
        # Where nothing was ever written, or all was deleted, there is no first record that would move the position.
        starts = admin.list_offsets({where: "earliest" for where in self._partitions}, timeout_s=timeout_s)
        self._positions = {where.partition: offset for where, offset in starts.items()}
        config = librdkafka_config(self._consumer_config, "consumer")
        config["logger"] = librdkafka_logger()
        consumer: Any = make_client(confluent_kafka.Consumer, config)
        consumer.assign(
            [
                confluent_kafka.TopicPartition(where.topic, where.partition, confluent_kafka.OFFSET_BEGINNING)
                for where in starts
            ]
        )
        return consumer
