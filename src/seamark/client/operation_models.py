"""Models of operations on offsets, which only Seamark has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OffsetMove:
    """Where a partition goes, or went."""

    partition: Mapping[str, Any]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    records: int | None = None
    """So many offsets forward, or back if negative."""
    position: str | None = None
    clamped: str | None = None
    old: int | None = None
    """Its position before; None if that is not known, or it had none. The four are in previews only."""
    new: int | None = None
    replayed: int | None = None
    """So many records are read again."""
    skipped: int | None = None


@dataclass(frozen=True, slots=True)
class OffsetPreview:
    """What a change would do."""

    dry_run: bool
    connector: str
    state: str
    message: str
    changes: Sequence[OffsetMove]


@dataclass(frozen=True, slots=True)
class OperationStep:
    """A step of an operation."""

    phase: str
    at: str


@dataclass(frozen=True, slots=True)
class OffsetOperation:
    """An operation, as far as it has come."""

    id: str
    kind: str
    connector: str
    phase: str
    """The step under way, or DONE, ROLLED_BACK or FAILED."""
    finished: bool
    created: str
    updated: str
    who: str
    reason: str | None
    request: Mapping[str, Any]
    former_state: str | None
    changes: Sequence[OffsetMove] | None
    message: str | None
    error: str | None
    steps: Sequence[OperationStep]

    @property
    def is_done(self) -> bool:
        """Whether it ended well."""
        return self.phase == "DONE"
