"""What clients did and were told, what observers saw, and which faults struck: in order, in memory and in a file."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


class Outcome(StrEnum):
    """What became of a request."""

    DONE = "done"
    REFUSED = "refused"
    """It has had no effect, and says so."""
    UNKNOWN = "unknown"
    """There was no answer, or one that leaves open what has happened."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that took from `began` to `ended`, seconds since 1970."""

    who: str
    """A connector's client, ``observer``, ``faults`` or ``caretaker``."""
    what: str
    began: float
    ended: float
    outcome: Outcome = Outcome.DONE
    details: Mapping[str, Any] = field(default_factory=dict)


class History:
    """Events, written to a file as they happen, so that a run that is interrupted can still be judged."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._file = path.open("a", buffering=1)
        self.events: list[Event] = []

    def add(self, who: str, what: str, began: float, outcome: Outcome = Outcome.DONE, **details: Any) -> Event:
        """Note what has just ended."""
        event = Event(who, what, began, time.time(), outcome, details)
        with self._lock:
            self.events.append(event)
            self._file.write(json.dumps(asdict(event)) + "\n")
        return event

    def close(self) -> None:
        self._file.close()


def load(path: Path) -> list[Event]:
    """The events of a file."""
    rows = (json.loads(line) for line in path.read_text().splitlines())
    return [Event(**{**row, "outcome": Outcome(row["outcome"])}) for row in rows]
