"""What a source connector's context remembers for it: see `seamark.connector.connector.ConnectorMemory`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.storage.layered import ConnectorOffsetStore
from seamark.storage.notes import NoteStore
from seamark.storage.offsets import OffsetStore


class StoredMemory:
    """Offsets where the connector has them, notes in the worker's own store."""

    def __init__(self, name: str, make_store: Callable[[], ConnectorOffsetStore], worker_store: OffsetStore) -> None:
        """`make_store` gives the connector's store, not started: most connectors never ask for it."""
        self._name, self._make_store = name, make_store
        self._notes = NoteStore(worker_store)

    def offsets(self) -> Offsets:
        with self._store() as store:
            return store.read(self._name)

    def move(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        with self._store() as store:
            store.read(self._name)
            store.write(self._name, offsets)

    def notes(self) -> dict[str, SourceOffset]:
        return self._notes.read(self._name)

    def write_notes(self, notes: Mapping[str, SourceOffset | None]) -> None:
        self._notes.write(self._name, notes)

    @contextmanager
    def _store(self) -> Iterator[ConnectorOffsetStore]:
        store = self._make_store()
        store.start()
        try:
            yield store
        finally:
            store.stop()
