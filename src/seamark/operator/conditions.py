"""Conditions of Strimzi's resources: Ready or NotReady first, then Warnings.

They are made anew in every pass, so a Warning goes with its cause. A Warning never changes whether a resource is ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

Condition = dict[str, Any]

MANAGE_OFFSETS: Final = "ManageOffsets"
LIST_OFFSETS: Final = "ListOffsets"
ALTER_OFFSETS: Final = "AlterOffsets"
RESET_OFFSETS: Final = "ResetOffsets"
RESTART_CONNECTOR: Final = "RestartConnector"
RESTART_TASK: Final = "RestartConnectorTask"
_TIME: Final = "lastTransitionTime"


@dataclass(frozen=True, slots=True)
class Warning_:
    """Something that could not be done."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class NotReady:
    """Why a resource is not what it should be."""

    reason: str
    message: str


def now_text(now: datetime | None = None) -> str:
    """As Kubernetes writes times."""
    return (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


def build(problem: NotReady | None, warnings: Iterable[Warning_]) -> list[Condition]:
    """All conditions, still without times."""
    first: Condition = {"type": "Ready", "status": "True"}
    if problem is not None:
        first = {"type": "NotReady", "status": "True", "reason": problem.reason, "message": problem.message}
    return [
        first,
        *({"type": "Warning", "status": "True", "reason": w.reason, "message": w.message} for w in warnings),
    ]


def paused() -> list[Condition]:
    """Of a resource that shall be left alone."""
    return [{"type": "ReconciliationPaused", "status": "True"}]


def with_times(new: Sequence[Condition], old: Sequence[Mapping[str, Any]], now: str) -> list[Condition]:
    """The new conditions; those that were there before keep their time."""
    known = {_content(each): each.get(_TIME) for each in old}
    return [{**each, _TIME: known.get(_content(each)) or now} for each in new]


def status_change(old: Mapping[str, Any], new: Mapping[str, Any], now: str) -> dict[str, Any] | None:
    """What to merge into a status to make it the new one, None if that would change nothing but times.

    Fields of the old status that the new one does not name stay; those that are None in it are removed.
    """
    wanted = dict(new)
    if "conditions" in wanted:
        wanted["conditions"] = with_times(wanted["conditions"], old.get("conditions") or [], now)
    change = {key: value for key, value in wanted.items() if old.get(key) != value}
    return change or None


def _content(condition: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(condition.get(key) for key in ("type", "status", "reason", "message"))
