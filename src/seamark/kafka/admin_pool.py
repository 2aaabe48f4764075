"""Admin clients that connectors share: one for each cluster and identity, however many connectors there are.

A client of librdkafka has a dozen file descriptors and several threads. One each for hundreds of idle connectors would
exhaust the process.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from seamark.kafka.admin import Admin

Key = frozenset[tuple[str, str]]


def cluster_key(java_config: Mapping[str, str]) -> Key:
    """What tells connections apart: everything but the client's id."""
    return frozenset((name, value) for name, value in java_config.items() if name != "client.id")


class AdminPool:
    """Lends admin clients. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lent: dict[Key, tuple[Admin, int]] = {}

    def borrow(self, java_config: Mapping[str, str]) -> Admin:
        """A client for these settings; not to be closed, but given back."""
        key = cluster_key(java_config)
        with self._lock:
            admin, borrowers = self._lent.get(key) or (Admin(dict(key)), 0)
            self._lent[key] = (admin, borrowers + 1)
            return admin

    def give_back(self, admin: Admin) -> None:
        """The borrower needs it no more; the last one closes it."""
        with self._lock:
            key = next((key for key, (lent, _) in self._lent.items() if lent is admin), None)
            if key is None:
                return
            borrowers = self._lent[key][1] - 1
            if borrowers:
                self._lent[key] = (admin, borrowers)
                return
            del self._lent[key]
        admin.close()

    def __len__(self) -> int:
        return len(self._lent)
