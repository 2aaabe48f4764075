"""Threads for blocking calls of an event loop.

They are daemons: a request that hangs must not keep the process from ending. Those of `concurrent.futures` would.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")
IDLE_S: Final = 30.0


class DaemonPool:
    """Up to `limit` threads, started when needed; further calls wait for one."""

    def __init__(self, name: str, limit: int) -> None:
        self._name, self._limit = name, limit
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._idle = 0

    async def run(self, call: Callable[[], T]) -> T:
        """The result of a call that may block. When the caller is cancelled the call goes on, but nobody hears."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def job() -> None:
            result, error = None, None
            try:
                result = call()
            except Exception as raised:
                error = raised
            except BaseException as raised:  # it would end this thread, and leave the caller waiting
                error = RuntimeError(f"{type(raised).__name__}: {raised}")
            # The loop may have been closed meanwhile: then nobody waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, result, error)

        self._submit(job)
        return await future

    def _submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            self._jobs.put(job)
            if self._jobs.qsize() > self._idle and self._threads < self._limit:
                self._threads += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            try:
                job = self._jobs.get(timeout=IDLE_S)
            except queue.Empty:
                job = None
            with self._lock:
                self._idle -= 1
                if job is None and self._jobs.empty():
                    self._threads -= 1
                    return
            if job is not None:
                job()
