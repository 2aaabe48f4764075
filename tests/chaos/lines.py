"""Sequenced records: lines of one length, so that the number of a line tells its place in the file, and back."""

from __future__ import annotations

import re
import threading
from pathlib import Path

WIDTH = 12
_LINE = re.compile(rb"([a-z0-9]+)-(\d{12})")


def line(label: str, number: int) -> bytes:
    """Without its end."""
    return f"{label}-{number:0{WIDTH}d}".encode()


def length(label: str) -> int:
    """Of a line, with its end."""
    return len(line(label, 0)) + 1


def number_of(value: bytes) -> int | None:
    """The number of a line; None if it is none."""
    found = _LINE.fullmatch(value)
    return int(found[2]) if found else None


class Numbered:
    """A file that gets numbered lines, from 0 on, until it is told to stop."""

    def __init__(self, path: Path, label: str) -> None:
        self.path, self.label = path, label
        self.written = 0
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        path.touch()

    def append(self, count: int) -> None:
        lines = b"".join(line(self.label, self.written + each) + b"\n" for each in range(count))
        with self.path.open("ab") as file:
            file.write(lines)
        self.written += count

    def start(self, per_second: int) -> None:
        """Grow steadily."""
        at_once = max(1, per_second // 20)

        def grow() -> None:
            while not self._stopped.wait(at_once / per_second):
                self.append(at_once)

        self._thread = threading.Thread(target=grow, name=f"grow-{self.label}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
