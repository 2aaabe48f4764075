"""The status topic: read whole and followed by every worker, written by all of them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Final

from seamark.errors import KafkaError, KafkaTimeoutError
from seamark.kafka import TopicSpec
from seamark.kafka.clients import worker_client_config
from seamark.kafka.log import LogRecord, TopicLog
from seamark.storage import status_records as records
from seamark.storage.status_records import StatusTable, is_safe
from seamark.storage.status_store import ConnectorStatusRow, StatusStore, TaskStatusRow, TopicStatusRow
from seamark.storage.topic_specs import internal_topic_spec

_log = logging.getLogger(__name__)
_PREFIX: Final = "status.storage."
_SETTING: Final = "status.storage.topic"
_PARTITIONS: Final = 5
_RETRY_S: Final = 0.5
_STOP_S: Final = 5.0  # a worker's last rows say that it no longer runs its tasks; without them they look alive


class KafkaStatusStore(StatusStore):
    """Statuses in a topic that Java workers share."""

    def __init__(
        self,
        topic: str,
        *,
        consumer_config: Mapping[str, str],
        producer_config: Mapping[str, str],
        admin_config: Mapping[str, str] | None = None,
        spec: TopicSpec | None = None,
    ) -> None:
        """Describe the store; nothing happens before `start`.

        Args:
            topic: the status topic.
            consumer_config: Java-style settings.
            producer_config: Java-style settings.
            admin_config: Java-style settings, for creating and checking the topic.
            spec: how to create the topic when it is missing.
        """
        self.topic = topic
        self._changed = threading.Condition()
        self._table = StatusTable()
        self._pending: dict[str, _Write] = {}
        # Topic rows that have not come back yet, by key: the connector and the value. They are later than the table.
        self._topics_sent: dict[str, tuple[str, bytes | None]] = {}
        self._is_stopped = False
        self._retries: set[threading.Timer] = set()
        self._log = TopicLog(
            topic,
            consumer_config=consumer_config,
            producer_config={key: value for key, value in producer_config.items() if key != "transactional.id"},
            admin_config=admin_config,
            spec=spec,
            on_record=self._take,
            setting=_SETTING,
            purpose="connector and task statuses",
        )

    @classmethod
    def for_worker(cls, worker: Mapping[str, str]) -> KafkaStatusStore:
        """The store of a worker's ``status.storage.topic``, by default ``<group.id>-status``."""
        group = worker.get("group.id", "").strip() or "seamark"
        topic = worker.get(_SETTING, "").strip() or f"{group}-status"
        client_id = f"{group}-statuses"
        return cls(
            topic,
            consumer_config=worker_client_config("consumer", worker, client_id=client_id),
            producer_config=worker_client_config("producer", worker, client_id=client_id),
            admin_config=worker_client_config("admin", worker, client_id=client_id),
            spec=internal_topic_spec(topic, worker, _PREFIX, partitions=_PARTITIONS),
        )

    def start(self) -> None:
        self._log.start()

    def stop(self) -> None:
        with self._changed:
            self._wait_until_sent(time.monotonic() + _STOP_S)
            self._is_stopped = True
            retries = list(self._retries)
            self._changed.notify_all()
        for retry in retries:
            retry.cancel()
        self._log.stop()

    def flush(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        with self._changed:
            if not self._wait_until_sent(deadline):
                raise KafkaTimeoutError(
                    f"{len(self._pending)} rows could not be written to the status topic {self.topic!r} within "
                    f"{timeout_s:g} s. Check that the broker runs and can be reached."
                )
        self._log.read_to_end(max(0.5, deadline - time.monotonic()))

    # --- writing ------------------------------------------------------------------------------------------------------

    def put_connector(self, row: ConnectorStatusRow) -> None:
        self._send(records.connector_key(row.name), records.status_value(row))

    def put_connector_safe(self, row: ConnectorStatusRow) -> None:
        if is_safe(self.get_connector(row.name), row):
            self.put_connector(row)

    def put_task(self, row: TaskStatusRow) -> None:
        self._send(records.task_key(row.name, row.task), records.status_value(row))

    def put_task_safe(self, row: TaskStatusRow) -> None:
        if is_safe(self.get_task(row.name, row.task), row):
            self.put_task(row)

    def delete_connector(self, name: str) -> None:
        for row in self.get_tasks(name):
            self.delete_task(name, row.task)
        self._send(records.connector_key(name), None)

    def delete_task(self, name: str, task: int) -> None:
        self._send(records.task_key(name, task), None)

    def put_topic(self, topic: str, connector: str, task: int) -> None:
        key = records.topic_key(topic, connector)
        with self._changed:
            _, sent = self._topics_sent.get(key, (connector, None))
            is_known = sent is not None if key in self._topics_sent else topic in self._table.topics.get(connector, {})
            if is_known:
                return
            value = records.topic_value(TopicStatusRow(topic, connector, task, time.time_ns() // 1_000_000))
            self._topics_sent[key] = connector, value
            self._send(key, value)

    def delete_topics(self, connector: str) -> None:
        with self._changed:
            keys = {records.topic_key(topic, connector) for topic in self._table.topics.get(connector, {})}
            keys |= {key for key, (whose, sent) in self._topics_sent.items() if whose == connector and sent is not None}
            for key in sorted(keys):
                self._topics_sent[key] = connector, None
                self._send(key, None)

    def _send(self, key: str, value: bytes | None) -> None:
        write = _Write(key, value)
        with self._changed:
            self._pending[key] = write
            self._append(write)

    def _append(self, write: _Write) -> None:
        # Under the lock: rows of one key are queued in the order in which they were put.
        try:
            future = self._log.append(write.key.encode("utf-8"), write.value)
        except KafkaError as error:
            self._failed(write, error)
            return
        future.add_done_callback(lambda done: self._done(write, done))

    def _done(self, write: _Write, done: Future[None]) -> None:
        error = done.exception()
        with self._changed:
            if error is not None:
                self._failed(write, error)
            elif self._pending.get(write.key) is write:
                del self._pending[write.key]
                self._changed.notify_all()

    def _failed(self, write: _Write, error: BaseException) -> None:
        if self._pending.get(write.key) is not write:
            return  # a later row has taken its place
        if isinstance(error, KafkaError) and error.retriable and not self._is_stopped:
            _log.warning("The status %r could not be written and is tried again: %s", write.key, error)
            retry = threading.Timer(_RETRY_S, lambda: self._retry(write, retry))
            retry.daemon = True
            self._retries.add(retry)
            retry.start()
            return
        if not self._is_stopped:
            _log.error("The status %r could not be written: %s", write.key, error)
        del self._pending[write.key]
        self._topics_sent.pop(write.key, None)
        self._changed.notify_all()

    def _retry(self, write: _Write, retry: threading.Timer) -> None:
        with self._changed:
            self._retries.discard(retry)
            if self._pending.get(write.key) is write and not self._is_stopped:
                self._append(write)

    def _wait_until_sent(self, deadline: float) -> bool:
        while self._pending:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or self._is_stopped:
                return False
            self._changed.wait(remaining)
        return True

    # --- reading ------------------------------------------------------------------------------------------------------

    def get_connector(self, name: str) -> ConnectorStatusRow | None:
        with self._changed:
            return self._table.connectors.get(name)

    def get_task(self, name: str, task: int) -> TaskStatusRow | None:
        with self._changed:
            return self._table.tasks.get(name, {}).get(task)

    def get_tasks(self, name: str) -> list[TaskStatusRow]:
        with self._changed:
            return [row for _, row in sorted(self._table.tasks.get(name, {}).items())]

    def get_topics(self, connector: str) -> list[TopicStatusRow]:
        with self._changed:
            return [row for _, row in sorted(self._table.topics.get(connector, {}).items())]

    def connectors(self) -> set[str]:
        with self._changed:
            return set(self._table.connectors)

    def _take(self, record: LogRecord) -> None:
        if record.key is None:
            _log.warning("The record at offset %s of the status topic has no key and is skipped", record.offset)
            return
        key = record.key.decode("utf-8", "replace")
        with self._changed:
            self._table.take(key, record.value)
            if key in self._topics_sent and self._topics_sent[key][1] == record.value:
                del self._topics_sent[key]


class _Write:
    """A row on its way; its identity says whether it is still the last one of its key."""

    __slots__ = ("key", "value")

    def __init__(self, key: str, value: bytes | None) -> None:
        self.key, self.value = key, value
