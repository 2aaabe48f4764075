"""The last lines of the log that are about a connector, in memory, without secrets.

A line is a connector's if the thread that writes it works for the connector (`seamark.runtime.log_context`), or if it
begins with the connector's name in brackets, as ``[orders|task-0]``.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from seamark.runtime.log_context import current, level_of, redact

LINES: Final = 500
"""Of one connector."""
BYTES: Final = 5 * 1024 * 1024
"""Of all connectors together."""
LONGEST: Final = 8192
"""Characters of a line; a trace may be longer."""
_OVERHEAD: Final = 200  # what a line takes besides its text
_PREFIX: Final = re.compile(r"\[([^|\]]+)(?:\|task-(\d+))?(?:\|\w+)?\] ?")


@dataclass(frozen=True, slots=True)
class Line:
    """A line about a connector."""

    at: int
    level: str
    number: int
    """Of the level."""
    logger: str
    task: int | None
    message: str

    @property
    def size(self) -> int:
        """Bytes it takes, about."""
        return len(self.message) + _OVERHEAD

    def shown(self, worker: str) -> dict[str, Any]:
        """As REST shows it."""
        return {
            "at": self.at,
            "level": self.level,
            "logger": self.logger,
            "task": self.task,
            "worker": worker,
            "message": self.message,
        }


class LogRings:
    """The last lines of each connector. Thread-safe."""

    def __init__(self, *, lines: int = LINES, limit: int = BYTES) -> None:
        self._lines, self._limit = lines, limit
        self._lock = threading.Lock()
        self._rings: dict[str, deque[Line]] = {}
        self._sizes: dict[str, int] = {}
        self._size = 0

    def add(self, connector: str, line: Line) -> None:
        """Keep a line; older ones make room for it."""
        with self._lock:
            ring = self._rings.setdefault(connector, deque())
            ring.append(line)
            self._grow(connector, line.size)
            if len(ring) > self._lines:
                self._grow(connector, -ring.popleft().size)
            while self._size > self._limit:
                self._drop_one()

    def of(self, connector: str, limit: int, level: int = 0) -> list[Line]:
        """The last lines of a level or above, the oldest first."""
        with self._lock:
            found = [line for line in self._rings.get(connector, ()) if line.number >= level]
        return found[-limit:] if limit > 0 else []

    @property
    def size(self) -> int:
        """Bytes of all lines."""
        return self._size

    def _grow(self, connector: str, by: int) -> None:
        self._sizes[connector] = self._sizes.get(connector, 0) + by
        self._size += by

    def _drop_one(self) -> None:
        """From the connector that takes most: a talkative one must not cost others their lines."""
        largest = max(self._sizes, key=self._sizes.__getitem__)
        self._grow(largest, -self._rings[largest].popleft().size)
        if not self._rings[largest]:
            del self._rings[largest], self._sizes[largest]


class LogCapture(logging.Handler):
    """Keeps the lines that are about connectors.

    Args:
        rings: where they are kept.
        is_known: whether there is a connector of that name.
    """

    def __init__(self, rings: LogRings, is_known: Callable[[str], bool]) -> None:
        super().__init__()
        self._rings, self._is_known = rings, is_known
        self._formatter = logging.Formatter()

    def handle(self, record: logging.LogRecord) -> bool:
        # Without the handler's lock, unlike others: whoever logs may hold a lock that `is_known` needs, while another
        # one that logs waits for it. The rings have a lock of their own.
        is_wanted = bool(self.filter(record))
        if is_wanted:
            self.emit(record)
        return is_wanted

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._take(record)
        except Exception:
            self.handleError(record)

    def _take(self, record: logging.LogRecord) -> None:
        context = current()
        message = record.getMessage()
        match = _PREFIX.match(message)
        task: int | None
        if match is not None and (context is None or match[1] == context.connector) and self._is_known(match[1]):
            connector, task = match[1], None if match[2] is None else int(match[2])
            message = message[match.end() :]
        elif context is not None and self._is_known(context.connector):
            connector, task = context.connector, context.task
        else:
            return
        if record.exc_info:
            message = f"{message}\n{self._formatter.formatException(record.exc_info)}"
        # A trace says what was wrong at its end.
        text = redact(message)
        if len(text) > LONGEST:
            text = f"{text[: LONGEST // 2]}\n...\n{text[-LONGEST // 2 :]}"
        line = Line(int(record.created * 1000), level_of(record), record.levelno, record.name, task, text)
        self._rings.add(connector, line)
