"""Models of operations on offsets, for the OpenAPI document only."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from seamark.rest.schemas import ConnectorOffset

_POSITIONS = Field(
    default=None,
    description="A position for everything, such as `earliest`, `latest`, `-2h`, `2026-05-01T12:00:00Z`, `+10` or 42, "
    'or an object of selectors and positions: `{"orders": "earliest", "orders:3": 42}`.',
)


class OffsetChange(BaseModel):
    """Exactly one of offsets, positions and reset."""

    model_config = ConfigDict(extra="forbid")
    offsets: list[ConnectorOffset] | None = None
    positions: str | int | dict[str, str | int] | None = _POSITIONS
    clamp: bool | None = Field(default=None, description="Go to the nearest position there is, instead of refusing.")
    reset: bool | None = Field(default=None, description="Forget all offsets.")
    reason: str | None = None


class UndoRequest(BaseModel):
    """Which change to undo, with all that came after it; by default the last one."""

    model_config = ConfigDict(extra="forbid")
    entry: str | None = None
    reason: str | None = None


class MigrateRequest(BaseModel):
    """Where a connector moves to."""

    model_config = ConfigDict(extra="forbid")
    name: str | None = Field(default=None, description="Its new name; by default the same.")
    url: str | None = Field(default=None, description="Another worker; by default this cluster.")
    config: dict[str, str | None] | None = Field(default=None, description="Keys that change; null removes one.")
    keep: bool | None = Field(default=None, description="Leave the old one STOPPED instead of deleting it.")
    reason: str | None = None


class BulkRequest(BaseModel):
    """The same for several connectors."""

    model_config = ConfigDict(extra="forbid")
    connectors: str = Field(description="A pattern of names with `*` and `?`.")
    action: str = Field(description="pause, resume, stop, restart, delete or change.")
    change: OffsetChange | None = Field(default=None, description="With the action change.")
    reason: str | None = None


class BulkRow(BaseModel):
    """What was done for one connector."""

    connector: str
    operation: str | None = None
    state: str | None = None
    error: str | None = None
    preview: dict[str, Any] | None = None


class BulkResult(BaseModel):
    """What was done for each."""

    dry_run: bool
    action: str
    connectors: list[BulkRow]


class OffsetMove(BaseModel):
    """Where a partition goes."""

    partition: dict[str, Any]
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    records: int | None = Field(default=None, description="So many offsets forward, or back if negative.")
    position: str | None = Field(default=None, description="The position that was asked for.")
    clamped: str | None = Field(default=None, description="Why it is not quite that.")
    old: int | None = Field(default=None, description="In previews: the position before; null for none or unknown.")
    new: int | None = Field(default=None, description="In previews: the position after.")
    replayed: int | None = Field(default=None, description="In previews: so many offsets are read again.")
    skipped: int | None = Field(default=None, description="In previews: so many offsets are never read.")


class Preview(BaseModel):
    """What would be changed."""

    dry_run: bool
    connector: str
    state: str
    message: str
    changes: list[OffsetMove]


class OffsetsChanged(BaseModel):
    """What was done; changes only if positions were asked for."""

    message: str
    dry_run: bool | None = None
    connector: str | None = None
    state: str | None = None
    changes: list[OffsetMove] | None = None


class Step(BaseModel):
    """A step of an operation."""

    phase: str
    at: str


class Operation(BaseModel):
    """An operation, as far as it has come."""

    id: str
    kind: str
    connector: str
    phase: str = Field(description="The step under way, or DONE, ROLLED_BACK or FAILED.")
    finished: bool
    created: str
    updated: str
    who: str
    reason: str | None
    request: dict[str, Any]
    former_state: str | None
    changes: list[OffsetMove] | None
    message: str | None
    error: str | None
    steps: list[Step]


class OperationList(RootModel[list[Operation]]):
    """Operations."""


class OffsetHistory(BaseModel):
    """Changes of a connector's offsets."""

    history: list[Operation]
