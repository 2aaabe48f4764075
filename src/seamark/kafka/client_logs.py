"""What librdkafka has to say, in Python's log, without the repetition.

A client whose broker is away tries again several times a second and complains each time. Here each complaint of a
client is let through once in `QUIET_S`, as a warning: what it means for the work at hand is said by the error that is
raised.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

QUIET_S: Final = 60.0
_MOST: Final = 1000


class _OnceInAWhile(logging.Filter):
    """Lets a message through unless the same kind came from the same client a moment ago."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        # "FAIL [rdkafka#producer-1] [thrd:...]: ..." begins with the kind and the client.
        key = " ".join(record.getMessage().split(" ", 2)[:2])
        now = time.monotonic()
        with self._lock:
            if now - self._seen.get(key, -QUIET_S) < QUIET_S:
                return False
            if len(self._seen) >= _MOST:
                self._seen.clear()
            self._seen[key] = now
        if record.levelno > logging.WARNING:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def librdkafka_logger() -> logging.Logger:
    """The logger to give to a client as ``logger``."""
    return _LOGGER


_LOGGER: Final = logging.getLogger("seamark.kafka.librdkafka")
_LOGGER.addFilter(_OnceInAWhile())
