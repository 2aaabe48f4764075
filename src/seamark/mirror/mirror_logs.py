"""The internal topics of mirrors as checkpoint tasks and clients read them: checkpoints once, offset syncs for ever."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Final

from seamark.errors import DataError, KafkaError
from seamark.kafka.log import LogRecord, TopicLog
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.config import CheckpointSettings
from seamark.mirror.sync_store import OffsetSyncStore
from seamark.mirror.wire import Checkpoint, OffsetSync

log = logging.getLogger(__name__)

_RETRY_S: Final = 1.0
_READ_TIMES: Final = 5  # of the admin timeout: syncs may be many


def read_checkpoints(
    topic: str,
    consumer_config: Mapping[str, str],
    admin_config: Mapping[str, str],
    timeout_s: float,
    groups: Collection[str] | None = None,
) -> list[Checkpoint]:
    """The last checkpoint of each group and partition in a checkpoints topic; records that are none are skipped.

    Args:
        topic: the checkpoints topic.
        consumer_config: Java-style settings.
        admin_config: Java-style settings.
        timeout_s: for all of it.
        groups: only those; None for all.

    Raises:
        KafkaError: the topic does not exist, may not be read, or could not be read to its end in time.
    """
    found: dict[bytes, Checkpoint] = {}

    def take(record: LogRecord) -> None:
        if record.partition != 0:
            return
        try:
            checkpoint = Checkpoint.from_record(record.key, record.value)
        except DataError as error:
            log.warning("Ignored invalid checkpoint record at offset %s: %s", record.offset, error)
            return
        if groups is None or checkpoint.group in groups:
            found[checkpoint.key()] = checkpoint

    reader = TopicLog(topic, consumer_config=consumer_config, admin_config=admin_config, on_record=take)
    reader.start(timeout_s)
    reader.stop()
    return list(found.values())


class SyncReader:
    """Follows an offset-syncs topic and translates offsets by it. Thread-safe."""

    def __init__(self, settings: CheckpointSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._store: OffsetSyncStore | None = None
        self._reader: TopicLog | None = None

    def start(self, *, only_last: bool, stopping: threading.Event) -> bool:
        """Read the topic to its end, and follow it from then on; whether that was reached before `stopping`.

        The source connector creates the topic, and may start later: it is waited for.

        Args:
            only_last: translate by the last sync of each partition only, as far as it is there already.
            stopping: give up.
        """
        said = ""
        while not stopping.is_set():
            store = OffsetSyncStore(only_last=only_last)
            reader = self._log(store)
            try:
                reader.start(self._settings.admin_timeout_s * _READ_TIMES)
            except KafkaError as error:
                if error.message != said:
                    log.warning("Offset syncs cannot be read yet, no offset is translated before. %s", error)
                said = error.message
                stopping.wait(_RETRY_S)
                continue
            with self._lock:
                store.read_to_end()
                self._store, self._reader = store, reader
            if stopping.is_set():
                break
            return True
        self.close()
        return False

    def downstream(self, where: TopicPartition, upstream: int) -> int | None:
        """Where a group at that offset of a source partition may go on at the target; None or -1 if not known."""
        with self._lock:
            return None if self._store is None else self._store.downstream(where.topic, where.partition, upstream)

    def close(self) -> None:
        """Stop following."""
        with self._lock:
            reader, self._reader = self._reader, None
        if reader is not None:
            reader.stop()

    def _log(self, store: OffsetSyncStore) -> TopicLog:
        settings, side = self._settings, self._settings.offset_syncs_location
        return TopicLog(
            settings.offset_syncs_topic,
            consumer_config=settings.client(side, "consumer", f"offset-syncs-{side}-consumer"),
            admin_config=settings.client(side, "admin", f"offset-syncs-{side}-admin"),
            on_record=self._taker(store),
        )

    def _taker(self, store: OffsetSyncStore) -> Callable[[LogRecord], None]:
        def take(record: LogRecord) -> None:
            if record.partition != 0:
                return
            try:
                sync = OffsetSync.from_record(record.key, record.value)
            except DataError as error:
                log.warning("Ignored invalid offset sync record at offset %s: %s", record.offset, error)
                return
            with self._lock:
                store.add(sync)

        return take
