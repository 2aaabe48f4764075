"""The config topic: read whole and followed by every worker, written by the leader in transactions.

A Java leader uses transactions only with exactly-once support. Here it always does, so that a leader that was deposed
without knowing it can write nothing more: the next one takes over its transactional id. Readers see committed records
only.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from seamark.errors import ConnectError, DataError, KafkaError
from seamark.kafka import TopicSpec
from seamark.kafka.clients import worker_client_config
from seamark.kafka.log import LogRecord, TopicLog
from seamark.kafka.producer import DeliveryReport, RecordProducer
from seamark.storage.cluster_state import ClusterConfigState, ConfigEvent, ConfigLogReducer
from seamark.storage.config_records import ConfigRecord
from seamark.storage.config_store import (
    READ_WRITE_TIMEOUT_S,
    ConfigStore,
    ConfigStoreError,
    PrivilegedWriteError,
)
from seamark.storage.topic_specs import internal_topic_spec

_log = logging.getLogger(__name__)
_PREFIX: Final = "config.storage."
_SETTING: Final = "config.storage.topic"
_PARTITION: Final = 0
_Encoded = tuple[bytes, bytes | None]
_CLOSE_S: Final = 1.0  # for aborting what a failed write has left; a successor's claim would abort it too


class KafkaConfigStore(ConfigStore):
    """Configurations and target states in a topic that Java workers share."""

    def __init__(
        self,
        topic: str,
        *,
        transactional_id: str,
        consumer_config: Mapping[str, str],
        producer_config: Mapping[str, str],
        admin_config: Mapping[str, str] | None = None,
        spec: TopicSpec | None = None,
        on_event: Callable[[ConfigEvent], None] | None = None,
    ) -> None:
        """Describe the store; nothing happens before `start`.

        Args:
            topic: the config topic.
            transactional_id: of the leader's producer; the same for all workers of the cluster.
            consumer_config: Java-style settings.
            producer_config: Java-style settings.
            admin_config: Java-style settings, for creating and checking the topic.
            spec: how to create the topic when it is missing.
            on_event: see `ConfigStore.on_event`.
        """
        super().__init__(on_event)
        self.topic = topic
        self._transactional_id = transactional_id
        plain = {key: value for key, value in producer_config.items() if key != "transactional.id"}
        self._leader_config = {**plain, "acks": "all"}
        if "client.id" in plain:
            self._leader_config["client.id"] = f"{plain['client.id']}-leader"
        self._reducer = ConfigLogReducer()
        self._is_started = False
        self._producer: RecordProducer | None = None
        self._producer_lock = threading.Lock()
        self._log = TopicLog(
            topic,
            consumer_config={**consumer_config, "isolation.level": "read_committed"},
            producer_config=plain,
            admin_config=admin_config,
            spec=spec,
            on_record=self._take,
            setting=_SETTING,
            purpose="connector configurations",
            is_single_partition=True,
        )

    @classmethod
    def for_worker(
        cls, worker: Mapping[str, str], on_event: Callable[[ConfigEvent], None] | None = None
    ) -> KafkaConfigStore:
        """The store of a worker's ``config.storage.topic``, by default ``<group.id>-configs``."""
        group = worker.get("group.id", "").strip() or "seamark"
        topic = worker.get(_SETTING, "").strip() or f"{group}-configs"
        client_id = f"{group}-configs"
        return cls(
            topic,
            transactional_id=f"connect-cluster-{group}",
            consumer_config=worker_client_config("consumer", worker, client_id=client_id),
            producer_config=worker_client_config("producer", worker, client_id=client_id),
            admin_config=worker_client_config("admin", worker, client_id=client_id),
            spec=internal_topic_spec(topic, worker, _PREFIX, partitions=1, is_single=True),
            on_event=on_event,
        )

    # --- life and reading ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._log.start()
        self._is_started = True

    def stop(self) -> None:
        self._is_started = False
        self.release_write_privileges()
        self._log.stop()

    def snapshot(self) -> ClusterConfigState:
        return self._reducer.snapshot()

    def refresh(self, timeout_s: float) -> None:
        self._log.read_to_end(timeout_s)

    def _take(self, record: LogRecord) -> None:
        if record.key is None:
            _log.error("The record at offset %s of the config topic has no key and is skipped", record.offset)
            return
        events = self._reducer.apply(record.key.decode("utf-8", "replace"), record.value, record.offset)
        if self._is_started:
            self._tell(events)

    # --- writing ------------------------------------------------------------------------------------------------------

    def claim_write_privileges(self) -> None:
        deadline = time.monotonic() + READ_WRITE_TIMEOUT_S
        try:
            with self._producer_lock:
                if self._producer is not None:
                    return
                self._producer = RecordProducer(self._leader_config, self._transactional_id, reports_successes=True)
                self._producer.init_transactions(_left(deadline))
            # Whatever a former leader had committed is visible by now; this makes it known, too.
            self._log.read_to_end(_left(deadline))
        except ConnectError as error:
            self.release_write_privileges()
            raise ConfigStoreError(
                f"Failed to create and initialize fencable producer for config topic: {error.message}"
            ) from error

    def release_write_privileges(self) -> None:
        with self._producer_lock:
            self._let_go()

    @property
    def has_write_privileges(self) -> bool:
        return self._producer is not None

    def _let_go(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.close(_CLOSE_S)

    def _write_leader(self, batch: Sequence[ConfigRecord], failure: str, deadline: float) -> None:
        encoded = _encoded(batch)
        with self._producer_lock:
            producer = self._producer
            if producer is None:
                raise PrivilegedWriteError("Cannot produce to config topic without claiming write privileges first")
            try:
                last = self._commit(producer, encoded, deadline)
            except Exception as error:
                _log.warning("The leader could not write to the config topic %r: %s", self.topic, error)
                self._let_go()
                raise PrivilegedWriteError from error
        # The commit is answered before its records become visible; the last of them says when they are.
        try:
            self._log.wait_for(_PARTITION, last, _left(deadline))
        except KafkaError as error:
            raise ConfigStoreError(failure) from error

    def _commit(self, producer: RecordProducer, batch: Sequence[_Encoded], deadline: float) -> int:
        offsets: list[int] = []

        def note(report: DeliveryReport) -> None:
            if report.error is None:
                offsets.append(report.offset)

        producer.begin()
        for key, value in batch:
            producer.send(self.topic, value, key, on_delivery=note)
        producer.commit(_left(deadline))
        producer.poll(0)
        return max(offsets)

    def _write_any(self, batch: Sequence[ConfigRecord], failure: str, deadline: float) -> None:
        encoded = _encoded(batch)
        try:
            self._log.append_all(encoded, _left(deadline))
        except KafkaError as error:
            raise ConfigStoreError(failure) from error


def _encoded(batch: Sequence[ConfigRecord]) -> list[_Encoded]:
    try:
        return [(key.encode("utf-8"), value) for key, value in batch]
    except UnicodeEncodeError as error:
        raise DataError(f"A name holds half of a surrogate pair; it cannot be written as UTF-8: {error}") from error


def _left(deadline: float) -> float:
    return max(0.5, deadline - time.monotonic())
