"""Source offsets in a compacted topic, where a Java worker keeps and finds them.

The same source partition may stand under several keys, if something wrote the JSON differently. A Java worker sees
only the key as it would write it itself, so that one counts when it has a value; otherwise the latest of the others
does. New values go to the key that counts, and a written partition's other keys are deleted, so that it has one value
again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition, check_offset_map
from seamark.errors import ConfigError, DataError, KafkaError
from seamark.kafka import BROKER_DEFAULT, TopicSpec
from seamark.kafka.clients import worker_client_config
from seamark.kafka.log import LogRecord, TopicLog
from seamark.kafka.producer import DeliveryReport, RecordProducer
from seamark.storage import codec
from seamark.storage.offset_keys import checked_key, decode_key, decode_value, normalised
from seamark.storage.offsets import READ_TIMEOUT_S, START_TIMEOUT_S, WRITE_TIMEOUT_S, OffsetStore

_log = logging.getLogger(__name__)
_PREFIX: Final = "offset.storage."
_MOST_UNSORTED: Final = 5000
_NOT_TOPIC_SETTINGS: Final = frozenset({"topic", "partitions", "replication.factor", "file.filename"})


@dataclass(frozen=True, slots=True)
class _Stored:
    """A key that has a value."""

    key: bytes
    value: bytes
    timestamp_ms: int


class KafkaOffsetStore(OffsetStore):
    """Source offsets in a topic."""

    def __init__(
        self,
        topic: str,
        *,
        consumer_config: Mapping[str, str],
        producer_config: Mapping[str, str] | None,
        admin_config: Mapping[str, str] | None = None,
        spec: TopicSpec | None = None,
        setting: str = "offset.storage.topic",
    ) -> None:
        """Describe the store; nothing happens before `start`.

        Args:
            topic: the offsets topic.
            consumer_config: Java-style settings; ``isolation.level=read_committed`` when tasks write in transactions.
            producer_config: Java-style settings; None for a store that is only read.
            admin_config: Java-style settings, for creating and checking the topic.
            spec: how to create the topic when it is missing.
            setting: the property that names the topic, for messages.
        """
        self._topic = topic
        self._producer_config = None if producer_config is None else dict(producer_config)
        self.brokers = consumer_config.get("bootstrap.servers", "")
        self.is_read_committed = consumer_config.get("isolation.level", "").lower() == "read_committed"
        self._lock = threading.Lock()
        self._known: dict[str, dict[SourcePartition, dict[bytes, _Stored]]] = {}
        self._unsorted: list[LogRecord] = []  # read, and not in `_known` yet
        self._log = TopicLog(
            topic,
            consumer_config=consumer_config,
            producer_config=producer_config,
            admin_config=admin_config,
            spec=spec,
            on_record=self._take,
            setting=setting,
            purpose="source connector offsets",
        )

    @classmethod
    def for_worker(cls, worker: Mapping[str, str]) -> KafkaOffsetStore:
        """The store of a worker's ``offset.storage.topic``.

        Uncommitted offsets are never read, unless the worker asks for that and no task uses transactions.
        """
        topic = worker.get("offset.storage.topic", "").strip()
        if not topic:
            raise ConfigError("Offset storage topic must be specified", key="offset.storage.topic")
        client_id = f"{worker.get('group.id', 'seamark')}-offsets"
        consumer = worker_client_config("consumer", worker, client_id=client_id)
        is_exactly_once = worker.get("exactly.once.source.support", "disabled").strip().lower() == "enabled"
        if is_exactly_once or "isolation.level" not in consumer:
            consumer["isolation.level"] = "read_committed"
        return cls(
            topic,
            consumer_config=consumer,
            producer_config=worker_client_config("producer", worker, client_id=client_id),
            admin_config=worker_client_config("admin", worker, client_id=client_id),
            spec=offsets_topic_spec(topic, worker),
        )

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        self._log.start(timeout_s)

    def stop(self) -> None:
        self._log.stop()

    @property
    def topic(self) -> str:
        """The offsets topic."""
        return self._topic

    def read(self, connector: str, timeout_s: float = READ_TIMEOUT_S) -> Offsets:
        self._log.read_to_end(timeout_s)
        found = []
        with self._lock:
            stored = [
                (partition, _counts(connector, partition, keys)) for partition, keys in self._stored(connector).items()
            ]
        for partition, entry in stored:
            try:
                offset = decode_value(entry.value)
            except DataError as error:
                _log.warning("[%s] The offset of %s is ignored: %s", connector, partition, error)
                continue
            if offset is not None:
                found.append((partition, offset))
        return Offsets(found)

    def raw_keys(self, connector: str) -> dict[SourcePartition, bytes]:
        with self._lock:
            return {
                partition: _counts(connector, partition, keys).key
                for partition, keys in self._stored(connector).items()
            }

    def partitions(self, connector: str) -> set[SourcePartition]:
        with self._lock:
            return set(self._stored(connector))

    def write(
        self,
        connector: str,
        offsets: Mapping[SourcePartition, SourceOffset | None] | Mapping[Any, SourceOffset | None],
        timeout_s: float = WRITE_TIMEOUT_S,
        *,
        transactional_id: str | None = None,
    ) -> None:
        records = self._records(connector, offsets)
        if not records:
            return
        if transactional_id is None:
            self._log.append_all(records, timeout_s)
        else:
            self._write_transaction(records, transactional_id, timeout_s)

    def _records(
        self, connector: str, offsets: Mapping[Any, SourceOffset | None]
    ) -> list[tuple[bytes | None, bytes | None]]:
        checked = []
        for partition, offset in offsets.items():
            check_offset_map(offset)
            checked.append((normalised(partition), offset))
        records: list[tuple[bytes | None, bytes | None]] = []
        with self._lock:
            stored = self._stored(connector)
            for where, offset in checked:
                known = stored.get(where)
                key = _counts(connector, where, known).key if known else checked_key(connector, where)
                records.append((key, None if offset is None else codec.dumps(offset)))
                records.extend((other, None) for other in known or () if other != key)
        return records

    def _write_transaction(
        self, records: list[tuple[bytes | None, bytes | None]], transactional_id: str, timeout_s: float
    ) -> None:
        if self._producer_config is None:
            raise KafkaError(f"The offsets in topic {self._topic!r} were opened for reading only.")
        deadline = time.monotonic() + timeout_s
        written: dict[int, int] = {}

        def note(report: DeliveryReport) -> None:
            if report.error is None:
                written[report.partition] = max(report.offset, written.get(report.partition, -1))

        with RecordProducer(self._producer_config, transactional_id, reports_successes=True) as producer:
            producer.init_transactions(_left(deadline))
            producer.begin()
            for key, value in records:
                producer.send(self._topic, value, key, on_delivery=note)
            producer.commit(_left(deadline))
        for partition, offset in written.items():
            self._log.wait_for(partition, offset, _left(deadline))

    def _take(self, record: LogRecord) -> None:
        with self._lock:
            self._unsorted.append(record)
            if len(self._unsorted) >= _MOST_UNSORTED:
                self._sort()

    def _stored(self, connector: str) -> dict[SourcePartition, dict[bytes, _Stored]]:
        """The keys of a connector that have a value; with the lock held."""
        self._sort()
        return self._known.get(connector, {})

    def _sort(self) -> None:
        """Parse what was read. Not at once: that would hold up whoever has just written it, and waits."""
        unsorted, self._unsorted = self._unsorted, []
        for record in unsorted:
            decoded = decode_key(record.key)
            if decoded is None or record.key is None:
                continue
            connector, partition = decoded
            partitions = self._known.setdefault(connector, {})
            keys = partitions.setdefault(partition, {})
            if record.value is None:
                keys.pop(record.key, None)
            else:
                keys[record.key] = _Stored(record.key, record.value, record.timestamp_ms)
            if not keys:
                del partitions[partition]
            if not partitions:
                del self._known[connector]


def offsets_topic_spec(topic: str, worker: Mapping[str, str]) -> TopicSpec:
    """How an offsets topic is created: the worker's ``offset.storage.*``, always compacted."""
    settings = {key.removeprefix(_PREFIX): value for key, value in worker.items() if key.startswith(_PREFIX)}
    configs = {key: value for key, value in settings.items() if key not in _NOT_TOPIC_SETTINGS}
    if configs.pop("cleanup.policy", "compact").strip() != "compact":
        _log.warning("offset.storage.cleanup.policy is ignored: an offsets topic is always compacted")
    return TopicSpec(
        topic,
        _count(settings, "partitions", 25),
        _count(settings, "replication.factor", 3),
        {**configs, "cleanup.policy": "compact"},
    )


def _count(settings: Mapping[str, str], name: str, default: int) -> int:
    text = settings.get(name, str(default)).strip()
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1 and number != BROKER_DEFAULT:
        raise ConfigError(
            f"Invalid value {text} for configuration {_PREFIX}{name}: "
            "use a positive number, or -1 for the broker's default",
            key=_PREFIX + name,
            value=text,
        )
    return number


def _counts(connector: str, partition: SourcePartition, keys: Mapping[bytes, _Stored]) -> _Stored:
    """The key that counts of those of a partition."""
    if len(keys) == 1:
        return next(iter(keys.values()))
    canonical = keys.get(checked_key(connector, partition))
    if canonical is not None:
        return canonical
    return max(keys.values(), key=lambda entry: (entry.timestamp_ms, entry.key))


def _left(deadline: float) -> float:
    return max(0.5, deadline - time.monotonic())
