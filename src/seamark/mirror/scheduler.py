"""The steps that a connector does on a clock of its own: listing, creating, syncing.

One thread does them all, one at a time and in order, so no step needs a lock against another. A step that fails is
logged with its cause and comes again at its next time; nothing here fails a connector.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from seamark.errors import ConnectError

log = logging.getLogger(__name__)

Step = Callable[[], object]


@dataclass(order=True, slots=True)
class _Planned:
    due_s: float
    number: int
    step: Step = field(compare=False)
    description: str = field(compare=False)
    interval_s: float | None = field(compare=False, default=None)
    done: threading.Event = field(compare=False, default_factory=threading.Event)


class Scheduler:
    """A thread that runs named steps: once, or at a fixed rate. Thread-safe."""

    def __init__(self, name: str, timeout_s: float) -> None:
        """Start the thread.

        Args:
            name: whose steps these are, for logs and the thread's name.
            timeout_s: how long `execute` waits for a step, and `stop` for the one that runs.
        """
        self.name, self._timeout_s = name, timeout_s
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._planned: list[_Planned] = []
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name=f"scheduler-{name}", daemon=True)
        self._thread.start()

    @property
    def is_stopping(self) -> bool:
        """Whether no further step begins; a step that takes long may look, and end early."""
        return self._is_stopping

    def execute(self, step: Step, description: str) -> bool:
        """Run a step once and wait for it, but not longer than the timeout; whether it is over."""
        planned = self._plan(step, description, 0.0, None)
        if not planned.done.wait(self._timeout_s):
            log.error("%s timed out running task: %s", self.name, description)
            return False
        return True

    def execute_async(self, step: Step, description: str, *, delay_s: float = 0.0) -> None:
        """Run a step once: soon, or after a delay."""
        self._plan(step, description, delay_s, None)

    def repeat(self, step: Step, interval_s: float | None, description: str, *, is_delayed: bool = False) -> None:
        """Run a step again and again.

        Args:
            step: what to do.
            interval_s: from one start to the next; None or negative for a step that is switched off.
            description: what it does, for logs.
            is_delayed: the first time is after one interval, not at once.

        Raises:
            ConnectError: the interval is zero: it would leave no time for other steps.
        """
        if interval_s is None or interval_s < 0:
            return
        if interval_s == 0:
            raise ConnectError(
                f"{self.name} cannot repeat {description} every 0 seconds; use an interval of at least 1."
            )
        self._plan(step, description, interval_s if is_delayed else 0.0, interval_s)

    def cancel(self) -> None:
        """Begin no further step, and do not wait. What a running step uses may then be closed under it."""
        with self._changed:
            self._is_stopping = True
            for planned in self._planned:
                planned.done.set()
            self._planned.clear()
            self._changed.notify_all()

    def stop(self) -> None:
        """Begin no further step, and wait for the one that runs."""
        self.cancel()
        if self._thread is threading.current_thread():
            return
        self._thread.join(self._timeout_s)
        if self._thread.is_alive():
            log.error("%s timed out during shutdown of internal scheduler.", self.name)

    def _plan(self, step: Step, description: str, delay_s: float, interval_s: float | None) -> _Planned:
        planned = _Planned(time.monotonic() + delay_s, next(self._numbers), step, description, interval_s)
        with self._changed:
            if self._is_stopping:
                log.info("%s skipping task due to shutdown: %s", self.name, description)
                planned.done.set()
            else:
                heapq.heappush(self._planned, planned)
                self._changed.notify_all()
        return planned

    def _run(self) -> None:
        while (planned := self._next()) is not None:
            self._do(planned)
            planned.done.set()
            if planned.interval_s is not None:
                self._plan_again(planned, planned.interval_s)

    def _next(self) -> _Planned | None:
        with self._changed:
            while not self._is_stopping:
                wait_s = self._planned[0].due_s - time.monotonic() if self._planned else None
                if wait_s is not None and wait_s <= 0:
                    return heapq.heappop(self._planned)
                self._changed.wait(wait_s)
        return None

    def _plan_again(self, planned: _Planned, interval_s: float) -> None:
        # A step that took several intervals is not made up for: it would only do the same again at once.
        missed = max(0.0, time.monotonic() - planned.due_s) // interval_s
        planned.due_s += interval_s * (missed + 1)
        planned.number = next(self._numbers)
        with self._changed:
            if not self._is_stopping:
                heapq.heappush(self._planned, planned)

    def _do(self, planned: _Planned) -> None:
        started_s = time.monotonic()
        try:
            planned.step()
        except Exception as error:
            if self._is_stopping:
                log.debug("%s ended in the middle of task: %s (%s)", self.name, planned.description, error)
            elif isinstance(error, ConnectError):  # its sentence says what was wrong
                log.error("%s caught exception in scheduled task: %s: %s", self.name, planned.description, error)
            else:
                log.exception("%s caught exception in scheduled task: %s", self.name, planned.description)
            return
        took_s = time.monotonic() - started_s
        log.debug("%s: %s took %.0f ms", self.name, planned.description, took_s * 1000)
        if planned.interval_s is not None and took_s > self._timeout_s:
            log.warning("%s took too long (%.0f ms) running task: %s", self.name, took_s * 1000, planned.description)
