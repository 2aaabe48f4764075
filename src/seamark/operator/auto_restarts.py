"""When a connector that has failed is restarted: at once, then after 2, 6, 12, 20 ... minutes, an hour at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_LONGEST_MIN: Final = 60


@dataclass(frozen=True, slots=True)
class Restarts:
    """How often a connector was restarted, and when last."""

    count: int
    last: datetime

    @property
    def pause(self) -> timedelta:
        """Before the next restart, and before they are forgotten."""
        return timedelta(minutes=min(self.count * self.count + self.count, _LONGEST_MIN))


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now, and what to remember (None to forget)."""

    restart: bool
    remember: Restarts | None


def decide(known: Restarts | None, *, is_failed: bool, is_enabled: bool, most: int | None, now: datetime) -> Decision:
    """Whether to restart a connector."""
    if not is_enabled:
        return Decision(False, None)
    if not is_failed:
        is_over = known is not None and now - known.last > known.pause
        return Decision(False, None if is_over else known)
    if known is None:
        return Decision(most is None or most > 0, Restarts(1, now) if most is None or most > 0 else None)
    if (most is not None and known.count >= most) or now - known.last < known.pause:
        return Decision(False, known)
    return Decision(True, Restarts(known.count + 1, now))


def parse(entry: Mapping[str, Any] | None) -> Restarts | None:
    """What a status remembers."""
    try:
        return Restarts(int(entry["count"]), datetime.fromisoformat(entry["lastRestartTimestamp"])) if entry else None
    except (KeyError, TypeError, ValueError):
        return None


def entry_of(connector: str, restarts: Restarts) -> dict[str, Any]:
    """For a status."""
    last = restarts.last.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"count": restarts.count, "connectorName": connector, "lastRestartTimestamp": last}
