"""Ctrl-C and SIGTERM, for commands that run until they are told to stop and for those that must not just end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def run_until_told(work: Callable[[threading.Event], None]) -> None:
    """Run `work` to its end, and raise what it raises.

    The first signal sets the event that `work` is given, so that it stops cleanly; a second one ends the process at
    once, and children that watch a pipe to it end by themselves.

    `work` runs in a thread of its own. Signals are handled in the main thread only, which a library that waits for
    something would keep from it; and PySpark, started in the main thread, puts a handler in place of ours that cancels
    all jobs.
    """
    ended: Future[None] = Future()
    stopping = threading.Event()

    def handle(number: int, _: object) -> None:
        if stopping.is_set():
            os.write(sys.stderr.fileno(), b"ended at once\n")  # a print may be waiting for a lock that we interrupted
            os._exit(128 + number)
        stopping.set()

    def run() -> None:
        try:
            work(stopping)
        except BaseException as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)

    for number in _SIGNALS:
        signal.signal(number, handle)
    threading.Thread(target=run, name="command", daemon=True).start()
    ended.result()


@contextmanager
def undone_when_terminated() -> Iterator[None]:
    """Let SIGTERM end what is inside as Ctrl-C does, with everything that is to be done at its end."""

    def handle(number: int, _: object) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
