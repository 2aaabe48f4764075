"""Where operations are written down: a compacted topic of the worker's Kafka, or a file of a standalone worker.

Nothing is created before the first operation: a worker that never changes offsets has no such topic.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from seamark.errors import DataError, NewerFormatError, OffsetStoreError
from seamark.kafka.admin import Admin
from seamark.kafka.clients import worker_client_config
from seamark.kafka.log import LogRecord, TopicLog
from seamark.storage.operation_records import OperationRecord, decode_operation
from seamark.storage.topic_specs import internal_topic_spec

log = logging.getLogger(__name__)

TOPIC_SETTING: Final = "seamark.history.storage.topic"
KEPT_PER_CONNECTOR: Final = 1000
_PREFIX: Final = "seamark.history.storage."
_TIMEOUT_S: Final = 20.0
_LARGEST: Final = 64 * 1024 * 1024


class OperationStore(ABC):
    """All operations of a cluster of workers, by id. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._table: dict[str, OperationRecord] = {}

    @abstractmethod
    def put(self, record: OperationRecord, *, waits: bool = True) -> None:
        """Write a record, in place of the one with its id; returns when it is safe, or without `waits` at once.

        Raises:
            ConnectError: it could not be written.
        """

    @abstractmethod
    def refresh(self) -> None:
        """See what others have written.

        Raises:
            ConnectError: that cannot be read.
        """

    @abstractmethod
    def remove(self, operation_id: str) -> None:
        """Forget an operation."""

    @abstractmethod
    def stop(self) -> None:
        """Let go of what is held."""

    def get(self, operation_id: str) -> OperationRecord | None:
        """The operation, as far as it is known here."""
        with self._lock:
            return self._table.get(operation_id)

    def all(self) -> list[OperationRecord]:
        """All operations, in the order in which they were asked for."""
        with self._lock:
            return sorted(self._table.values(), key=lambda record: record.id)

    def of(self, connector: str) -> list[OperationRecord]:
        """Those of a connector, in order."""
        return [record for record in self.all() if record.connector == connector]

    def trim(self, connector: str) -> None:
        """Forget the oldest of a connector that has very many."""
        finished = [record for record in self.of(connector) if record.is_finished]
        for record in finished[: max(0, len(finished) - KEPT_PER_CONNECTOR)]:
            self.remove(record.id)

    def _take(self, key: str, value: bytes | None) -> None:
        if value is None:
            with self._lock:
                self._table.pop(key, None)
            return
        try:
            record = decode_operation(value)
        except NewerFormatError as error:
            # A newer leader goes on with it, or has ended it. What was known of it before must not be done again here.
            log.warning("It is left to a newer worker: %s", error)
            self._leave(str(json.loads(value).get("id", key)), value)
            return
        except DataError as error:
            log.warning("Operation %s is ignored: %s", key, error)
            return
        with self._lock:
            self._table[record.id] = record

    def _leave(self, operation_id: str, value: bytes) -> None:
        """An operation is in a form that is not known here."""
        with self._lock:
            self._table.pop(operation_id, None)


class KafkaOperationStore(OperationStore):
    """Operations in a compacted topic, by default ``<config.storage.topic>-history``."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        super().__init__()
        group = worker.get("group.id", "").strip() or "seamark"
        configs = worker.get("config.storage.topic", "").strip() or f"{group}-configs"
        self.topic = worker.get(TOPIC_SETTING, "").strip() or f"{configs}-history"
        client_id = f"{group}-history"
        # As many replicas as configs have, unless it is said.
        replicas = worker.get("config.storage.replication.factor")
        defaults = {} if replicas is None else {f"{_PREFIX}replication.factor": replicas}
        self._admin_config = worker_client_config("admin", worker, client_id=client_id)
        self._log = TopicLog(
            self.topic,
            consumer_config=worker_client_config("consumer", worker, client_id=client_id),
            producer_config=_producer_config(worker, client_id),
            admin_config=self._admin_config,
            spec=internal_topic_spec(self.topic, {**defaults, **worker}, _PREFIX, partitions=1, is_single=True),
            on_record=self._on_record,
            setting=TOPIC_SETTING,
            purpose="operations on offsets",
            is_single_partition=True,
        )
        self._own: dict[str, list[tuple[bytes, OperationRecord]]] = {}  # put, and not come back yet
        self._is_started = False
        self._life = threading.Lock()  # not the table's: while the log starts, its thread fills the table

    def put(self, record: OperationRecord, *, waits: bool = True) -> None:
        self._start()
        value = record.encoded()
        with self._lock:
            self._own.setdefault(record.id, []).append((value, record))
        if waits:
            self._log.append_all([(record.id.encode(), value)], _TIMEOUT_S)
        else:
            self._log.append(record.id.encode(), value).add_done_callback(functools.partial(_log_failure, record))
        with self._lock:
            self._table[record.id] = record  # at once, for whoever asks this worker next

    def remove(self, operation_id: str) -> None:
        self._start()
        self._log.append_all([(operation_id.encode(), None)], _TIMEOUT_S)
        with self._lock:
            self._table.pop(operation_id, None)

    def refresh(self) -> None:
        if not self._is_started:
            with Admin(self._admin_config) as admin:
                if self.topic not in admin.describe_topics([self.topic]):
                    return
            self._start()
            return
        self._log.read_to_end(_TIMEOUT_S)

    def stop(self) -> None:
        with self._life:
            is_started, self._is_started = self._is_started, False
            if is_started:
                self._log.stop()

    def _start(self) -> None:
        with self._life:
            if not self._is_started:
                self._log.start()
                self._is_started = True

    def _on_record(self, record: LogRecord) -> None:
        if record.key is None:
            return
        key = record.key.decode(errors="replace")
        with self._lock:
            own = self._own.get(key, [])
            for number, (value, put) in enumerate(own):
                if value == record.value:
                    # Large ones are not parsed again. One that is not the last was overtaken here, and soon is there.
                    del own[: number + 1]
                    if not own:
                        self._own.pop(key)
                        self._table[key] = put
                    return
        self._take(key, record.value)


def _log_failure(record: OperationRecord, written: Future[None]) -> None:
    error = written.exception()
    if error is not None:
        log.warning("[%s] how operation %s ended could not be written: %s", record.connector, record.id, error)


def _producer_config(worker: Mapping[str, str], client_id: str) -> dict[str, str]:
    config = worker_client_config("producer", worker, client_id=client_id)
    config.pop("transactional.id", None)
    # A record has the old and new offsets of all partitions: of thousands it is large, and much the same throughout.
    return {**config, "compression.type": "gzip", "max.request.size": str(_LARGEST)}


class FileOperationStore(OperationStore):
    """Operations in a file of lines beside a standalone worker's offsets; without a path, in memory."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self.path = path
        self._is_read = False
        self._left: dict[str, bytes] = {}  # lines of newer versions, which stay in the file

    def put(self, record: OperationRecord, *, waits: bool = True) -> None:
        self.refresh()
        with self._lock:
            self._append(record.encoded())
            self._table[record.id] = record

    def remove(self, operation_id: str) -> None:
        with self._lock:
            self._table.pop(operation_id, None)
            self._rewrite()

    def _leave(self, operation_id: str, value: bytes) -> None:
        super()._leave(operation_id, value)
        self._left[operation_id] = value

    def refresh(self) -> None:
        with self._lock:
            if self._is_read or self.path is None:
                return
            try:
                lines = self.path.read_bytes().splitlines()
            except FileNotFoundError:
                lines = []
            except OSError as error:
                raise OffsetStoreError(f"Operations in {self.path} cannot be read: {error.strerror}.") from error
            for line in lines:  # the last one may be half a line, of a crash: then it is as if it was not written
                self._take("a line", line)
            if len(lines) > 2 * (len(self._table) + len(self._left)):
                self._rewrite()
            elif lines and not self._ends_with_a_line():
                self._append(b"")
            self._is_read = True

    def stop(self) -> None:
        """Nothing is held open."""

    def _ends_with_a_line(self) -> bool:
        return self.path is None or self.path.read_bytes().endswith(b"\n")

    def _append(self, line: bytes) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("ab") as file:
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OffsetStoreError(f"Operations cannot be written to {self.path}: {error.strerror}.") from error

    def _rewrite(self) -> None:
        if self.path is None:
            return
        temporary = self.path.with_name(f"{self.path.name}.tmp")
        try:
            with temporary.open("wb") as file:
                file.writelines(line + b"\n" for line in self._left.values())
                file.writelines(record.encoded() + b"\n" for record in self.all())
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise OffsetStoreError(f"Operations cannot be written to {self.path}: {error.strerror}.") from error


def operation_store(worker: Mapping[str, str], *, is_distributed: bool) -> OperationStore:
    """The store of a worker: a topic, or for a standalone one a file beside its offsets."""
    if is_distributed:
        return KafkaOperationStore(worker)
    offsets = worker.get("offset.storage.file.filename", "").strip()
    return FileOperationStore(Path(f"{offsets}.history") if offsets else None)
