"""Lets go of the Kafka library's clients in a thread where that is allowed.

librdkafka ends the whole process if a client is destroyed in one of the client's own threads. These threads do run
Python: they hand over the results of requests. Whoever waits for a result may let go of the client before that thread
does, and Python's search for garbage may find a client there (every error whose trace shows a call with one makes a
cycle). Therefore each client is held here until nobody else holds it; then a thread of our own lets it go.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

_PAUSE_S: Final = 10.0
_HURRIED_S: Final = (0.02, 0.1, 0.5)
"""Pauses after a client was closed: whoever closed it may hold it for a moment longer."""


class ClientKeeper:
    """Holds clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: list[Any] = []
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, client: Any) -> None:
        """Hold a client for as long as somebody else does."""
        with self._lock:
            self._clients.append(client)
            # Not at import: threads do not survive the forks by which Spark's Python workers are made.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="client-keeper", daemon=True)
                self._thread.start()

    def hurry(self) -> None:
        """A client was closed: its connections need not stay open until somebody happens to look."""
        self._wake.set()

    def __len__(self) -> int:
        with self._lock:
            return len(self._clients)

    def drop_unused(self) -> int:
        """Let go of the clients that nobody else holds, in this thread; returns how many."""
        with self._lock:
            unused = [index for index in range(len(self._clients)) if _held(self._clients, index) <= _HELD_BY_LIST]
            dropped = [self._clients.pop(index) for index in reversed(unused)]
        count = len(dropped)
        while dropped:
            dropped.pop()  # takes as long as librdkafka needs; nobody waits for the lock meanwhile
        return count

    def _run(self) -> None:
        while True:
            is_hurried = self._wake.wait(_PAUSE_S)
            self._wake.clear()
            for pause_s in _HURRIED_S if is_hurried else ():
                self.drop_unused()
                self._wake.wait(pause_s)
            self.drop_unused()


def _held(objects: list[Any], index: int) -> int:
    return sys.getrefcount(objects[index])


# What `getrefcount` says of an object that only a list holds; it depends on the version of Python.
_HELD_BY_LIST: Final = _held([object()], 0)
KEEPER: Final = ClientKeeper()


def weakly(callback: Any) -> Any:
    """A method that does not hold its object: a client that is kept must not keep whoever made it."""
    if not hasattr(callback, "__self__") or not hasattr(callback, "__func__"):
        return callback
    reference: weakref.WeakMethod[Callable[..., Any]] = weakref.WeakMethod(callback)

    def call(*arguments: Any) -> Any:
        method = reference()
        return None if method is None else method(*arguments)

    return call
