"""What a worker takes of its machine: all of its processes together."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final

import psutil

FRESH_S: Final = 2.0
"""How old figures may be: looking at processes takes some milliseconds."""
MEMORY_S: Final = 10.0
"""The same for memory, which takes longer: the kernel adds up what processes share."""


@dataclass(frozen=True, slots=True)
class Load:
    """Of the worker's process and those it has started."""

    cpu_percent: float
    """100 for one core, over the time since the last look."""
    memory_bytes: int
    """Resident; what processes share is divided among them, where the system can tell."""
    threads: int
    """Of the worker's own process."""


class ProcessTree:
    """Looks at the processes of this worker. Thread-safe."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self.started_at = self._process.create_time()
        self._lock = threading.Lock()
        self._at = self.started_at
        self._seconds: dict[tuple[int, float], float] = {}
        self._load: Load | None = None
        self._memory, self._memory_at = 0, float("-inf")

    def load(self) -> Load:
        """As of now, or of a moment ago."""
        with self._lock:
            now = time.time()
            if self._load is None or now - self._at >= FRESH_S:
                self._load = self._look(now)
            return self._load

    def _look(self, now: float) -> Load:
        seconds: dict[tuple[int, float], float] = {}
        used, memory, is_memory_due = 0.0, 0, now - self._memory_at >= MEMORY_S
        for process in [self._process, *self._process.children(recursive=True)]:
            try:
                with process.oneshot():
                    key = process.pid, process.create_time()
                    times = process.cpu_times()
                    if is_memory_due:
                        memory += _memory(process)
            except psutil.Error:  # it has just ended
                continue
            seconds[key] = times.user + times.system
            used += max(0.0, seconds[key] - self._seconds.get(key, 0.0))
        elapsed = max(now - self._at, 0.001)
        self._at, self._seconds = now, seconds
        if is_memory_due:
            self._memory, self._memory_at = memory, now
        return Load(round(100 * used / elapsed, 1), self._memory, self._process.num_threads())


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (AttributeError, psutil.AccessDenied):  # not every system, nor every container, tells
        return int(process.memory_info().rss)
