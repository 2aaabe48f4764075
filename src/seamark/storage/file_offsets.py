"""Source offsets in a file, for a standalone worker.

The file has the format of Java's standalone worker (``offset.storage.file.filename``), so either can take over from the
other. A write makes a new file beside it, forces it to disk and puts it in place in one step: a crash leaves the old
offsets or the new ones, never a mixture.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition, check_offset_map
from seamark.errors import ConfigError, DataError, OffsetStoreError
from seamark.storage import java_serialization
from seamark.storage.offset_keys import decode_key, decode_value, encode_key, encode_value, normalised
from seamark.storage.offsets import READ_TIMEOUT_S, START_TIMEOUT_S, WRITE_TIMEOUT_S, OffsetStore

_log = logging.getLogger(__name__)


class FileOffsetStore(OffsetStore):
    """Source offsets in a file that one worker owns."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._entries: dict[bytes, bytes] = {}

    @classmethod
    def for_worker(cls, worker: Mapping[str, str]) -> FileOffsetStore:
        """The store of a worker's ``offset.storage.file.filename``."""
        path = worker.get("offset.storage.file.filename", "").strip()
        if not path:
            raise ConfigError(
                'Missing required configuration "offset.storage.file.filename" which has no default value.',
                key="offset.storage.file.filename",
            )
        return cls(path)

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise OffsetStoreError(f"The offsets in {self.path} cannot be read: {error.strerror}.") from error
        if not data:
            return
        try:
            entries = java_serialization.loads(data)
        except DataError as error:
            raise OffsetStoreError(
                f"The offsets in {self.path} cannot be read: {error} "
                "Restore the file, or move it away to start without offsets."
            ) from error
        with self._lock:
            self._entries = {key: value for key, value in entries.items() if key is not None and value is not None}

    def stop(self) -> None:
        """Nothing is held open."""

    def read(self, connector: str, timeout_s: float = READ_TIMEOUT_S) -> Offsets:
        found = []
        for partition, key in self.raw_keys(connector).items():
            try:
                offset = decode_value(self._entries.get(key))
            except DataError as error:
                _log.warning("[%s] The offset of %s is ignored: %s", connector, partition, error)
                continue
            if offset is not None:
                found.append((partition, offset))
        return Offsets(found)

    def raw_keys(self, connector: str) -> dict[SourcePartition, bytes]:
        keys: dict[SourcePartition, bytes] = {}
        with self._lock:
            entries = list(self._entries)
        for key in entries:
            decoded = decode_key(key)
            if decoded is not None and decoded[0] == connector:
                partition = decoded[1]
                if partition not in keys or key == encode_key(connector, partition):
                    keys[partition] = key
        return keys

    def partitions(self, connector: str) -> set[SourcePartition]:
        return set(self.raw_keys(connector))

    def write(
        self,
        connector: str,
        offsets: Mapping[SourcePartition, SourceOffset | None] | Mapping[Any, SourceOffset | None],
        timeout_s: float = WRITE_TIMEOUT_S,
        *,
        transactional_id: str | None = None,
    ) -> None:
        changes: dict[bytes, bytes | None] = {}
        known = self.raw_keys(connector)
        for partition, offset in offsets.items():
            check_offset_map(partition)
            changes[encode_key(connector, normalised(partition), known)] = encode_value(offset)
        if not changes:
            return
        with self._lock:
            merged: dict[bytes, bytes] = {key: value for key, value in self._entries.items() if key not in changes}
            merged.update({key: value for key, value in changes.items() if value is not None})
            self._replace(java_serialization.dumps(merged))
            self._entries = merged

    def _replace(self, data: bytes) -> None:
        temporary = self.path.with_name(f"{self.path.name}.tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # without it the new name may be forgotten in a power cut
            finally:
                os.close(folder)
        except OSError as error:
            raise OffsetStoreError(
                f"Offsets cannot be written to {self.path}: {error.strerror}. Those in the file are unchanged."
            ) from error
