"""A file that keeps a query from starting while a checkpoint is changed.

It lies where Spark would write the next batch. Spark looks at the last file of ``offsets`` first, does not know this
version of its log, and refuses to start with its first line; a query that runs unnoticed cannot write its batch there,
and fails. It is made only if there is none, so two commands cannot change a checkpoint at the same time.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from typing import Final

import psutil

_BEGINNING: Final = "seamark:"
_MOST_PROCESSES: Final = 2**31
_TEXT: Final = (
    f"{_BEGINNING} this checkpoint is being changed, or that was interrupted; then run: seamark checkpoint restore"
)


@dataclass(frozen=True, slots=True)
class Guard:
    """Who changes a checkpoint."""

    batch: int
    """Where it lies."""
    backup: str
    """What it was like before."""
    host: str = ""
    process: int = 0
    begun: float = 0.0
    """When the process began, since another one may get its number."""

    @property
    def is_left_behind(self) -> bool | None:
        """Whether who made it is gone; None if that cannot be known, on another machine."""
        if self.host != socket.gethostname():
            return None
        try:
            return abs(psutil.Process(self.process).create_time() - self.begun) > 1
        except psutil.NoSuchProcess:
            return True
        except psutil.Error:
            return None

    def render(self) -> str:
        """The file's text."""
        about = {"backup": self.backup, "host": self.host, "process": self.process, "begun": self.begun}
        return f"{_TEXT}\n{json.dumps(about)}"


def make_guard(batch: int, backup: str) -> Guard:
    """One of this process."""
    return Guard(batch, backup, socket.gethostname(), os.getpid(), psutil.Process().create_time())


def parse_guard(text: str, batch: int) -> Guard | None:
    """The guard that a text is; None if it is something else."""
    if not text.startswith(_BEGINNING):
        return None
    try:
        found = json.loads(text.partition("\n")[2])
        guard = Guard(batch, found["backup"], found["host"], found["process"], found["begun"])
    except (ValueError, RecursionError, KeyError, TypeError):
        return Guard(batch, "")
    is_ours = isinstance(guard.backup, str) and isinstance(guard.host, str) and isinstance(guard.begun, (int, float))
    is_process = type(guard.process) is int and 0 <= guard.process < _MOST_PROCESSES
    return guard if is_ours and is_process else Guard(batch, "")
