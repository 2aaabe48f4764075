"""Ends what takes too long. It counts the time on a processor, so a busy machine changes nothing.

The timer is not that of pytest-timeout, which may run at the same time. Signals arrive in the main thread only, and
between two steps of Python or where a library looks for them, as `re` does; what ends by itself after its time is
caught all the same.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final

LIMIT_S: Final = 5.0
"""Inputs have at most some hundred kilobytes, and are read in milliseconds."""


class HangError(BaseException):
    """It took too long. No `Exception`: the code that hangs must not be able to handle it."""


@contextlib.contextmanager
def watchdog(limit_s: float = LIMIT_S) -> Iterator[None]:
    """Raises HangError inside if the body works for longer."""

    def bark(number: int, frame: FrameType | None) -> None:
        raise HangError(f"It has not ended after {limit_s:g} s of work.")

    before = signal.signal(signal.SIGPROF, bark)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        yield
        if time.process_time() - began > limit_s:
            bark(signal.SIGPROF, None)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
