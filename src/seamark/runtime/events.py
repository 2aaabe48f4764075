"""What has lately happened to connectors, in memory: states, restarts, configs, moves between workers, who did what.

Each worker keeps what it saw; whoever asks gets what all workers saw.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

EVENTS: Final = 200
"""Of one connector."""
CONNECTORS: Final = 2000
"""Including those that are deleted: the ones to which nothing has happened for longest are forgotten."""
KINDS: Final = ("state", "config", "offsets", "restart", "task", "rebalance", "created", "deleted", "audit")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    at: int
    """Milliseconds since 1970."""
    kind: str
    message: str
    who: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """As REST shows it."""
        return {
            "at": self.at,
            "kind": self.kind,
            "message": self.message,
            "who": self.who,
            "detail": dict(self.detail),
        }


class EventLog:
    """The last events of each connector. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._events: OrderedDict[str, deque[Event]] = OrderedDict()

    def add(
        self,
        connector: str,
        kind: str,
        message: str,
        *,
        who: str | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Note that something has happened. Neither message nor detail may hold values of configs."""
        event = Event(int(self._clock() * 1000), kind, message, who, detail or {})
        with self._lock:
            known = self._events.get(connector)
            if known is None:
                known = self._events[connector] = deque(maxlen=EVENTS)
                if len(self._events) > CONNECTORS:
                    self._events.popitem(last=False)
            else:
                self._events.move_to_end(connector)
            known.append(event)

    def of(self, connector: str) -> list[Event]:
        """The newest last."""
        with self._lock:
            return list(self._events.get(connector, ()))


def config_changes(before: Mapping[str, str | None] | None, after: Mapping[str, str | None]) -> dict[str, list[str]]:
    """Which keys were added, changed and removed; never their values."""
    old = before or {}
    found = {
        "added": sorted(after.keys() - old.keys()),
        "changed": sorted(key for key in after.keys() & old.keys() if after[key] != old[key]),
        "removed": sorted(old.keys() - after.keys()),
    }
    return {what: keys for what, keys in found.items() if keys}
