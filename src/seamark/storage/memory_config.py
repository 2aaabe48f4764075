"""Configurations of a standalone worker: the same records and rules as in the config topic, kept in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from seamark.storage.cluster_state import ClusterConfigState, ConfigEvent, ConfigLogReducer
from seamark.storage.config_records import ConfigRecord
from seamark.storage.config_store import ConfigStore


class MemoryConfigStore(ConfigStore):
    """Configurations that end with the process.

    There is one worker, which always leads. `on_event` is called by the thread that makes the change, before the
    change returns.
    """

    def __init__(self, on_event: Callable[[ConfigEvent], None] | None = None) -> None:
        super().__init__(on_event)
        self._reducer = ConfigLogReducer()
        self._lock = threading.Lock()
        self._offset = 0

    def start(self) -> None:
        """Nothing to read."""

    def stop(self) -> None:
        """Nothing to let go of."""

    def snapshot(self) -> ClusterConfigState:
        return self._reducer.snapshot()

    def refresh(self, timeout_s: float) -> None:
        """Nobody else writes."""

    def claim_write_privileges(self) -> None:
        """Nobody else writes."""

    def release_write_privileges(self) -> None:
        """Nobody else writes."""

    @property
    def has_write_privileges(self) -> bool:
        return True

    def _write_leader(self, batch: Sequence[ConfigRecord], failure: str, deadline: float) -> None:
        self._write_any(batch, failure, deadline)

    def _write_any(self, batch: Sequence[ConfigRecord], failure: str, deadline: float) -> None:
        events: list[ConfigEvent] = []
        with self._lock:
            for key, value in batch:
                events += self._reducer.apply(key, value, self._offset)
                self._offset += 1
        # Not under the lock: a listener may take locks that another writer holds while it waits for this one.
        self._tell(events)
