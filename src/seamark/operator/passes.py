"""Passes over resources: one at a time for each, and again after a while.

`wake` asks for a pass as soon as possible; what comes while one runs leads to one more afterwards. A pass says when it
wants to be repeated; one that raises is repeated with growing delays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from seamark.errors import ConnectError
from seamark.operator.kinds import Key

_log = logging.getLogger(__name__)
_FIRST_DELAY_S: Final = 1.0
_LONGEST_DELAY_S: Final = 60.0

GONE: Final = -1.0
"""What a pass returns when there is no such resource any more."""

Pass = Callable[[Key], Awaitable[float | None]]
"""Works on a resource and returns in how many seconds it wants to do so again; None for: not before it is woken."""


def delay_after(failures: int, first_s: float = _FIRST_DELAY_S, longest_s: float = _LONGEST_DELAY_S) -> float:
    """Twice as long after each failure."""
    return min(first_s * 2 ** min(max(failures - 1, 0), 30), longest_s)


class Passes:
    """Runs passes.

    Args:
        work: a pass.
        at_once: how many may run at a time. Many: one that waits for a worker that hangs must not keep others waiting.
    """

    def __init__(self, work: Pass, at_once: int = 256) -> None:
        self._work = work
        self._turns = asyncio.Semaphore(at_once)
        self._woken: dict[Key, asyncio.Event] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}

    def wake(self, key: Key) -> None:
        """Ask for a pass."""
        self._woken.setdefault(key, asyncio.Event()).set()
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._repeat(key), name=str(key))

    async def aclose(self) -> None:
        """End everything."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        self._woken.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _repeat(self, key: Key) -> None:
        failures = 0
        woken = self._woken[key]
        while True:
            woken.clear()
            async with self._turns:
                try:
                    delay, failures = await self._work(key), 0
                except ConnectError as error:
                    failures += 1
                    delay = delay_after(failures)
                    _log.warning("%s: %s; again in %g s", key, error, delay)
                except Exception:
                    failures += 1
                    delay = delay_after(failures)
                    _log.exception("%s: the pass has failed; again in %g s", key, delay)
            if delay == GONE and not woken.is_set():
                del self._woken[key], self._tasks[key]
                return
            try:
                await asyncio.wait_for(woken.wait(), None if delay is None else max(delay, 0.0))
            except TimeoutError:
                continue
