"""Models of the answers of `/mirrors`, for the OpenAPI document only."""

from __future__ import annotations

from pydantic import BaseModel, Field, RootModel


class MirrorState(BaseModel):
    """A MirrorSourceConnector."""

    connector: str
    state: str
    enabled: bool = Field(description="False if its configuration says that it shall copy nothing.")
    source: str = Field(description="Alias of the source cluster.")
    target: str = Field(description="Alias of the target cluster.")
    tasks: dict[str, int] = Field(description="How many tasks are in which state.")
    error: str | None = Field(description="What could not be learnt, and why.")


class MirrorTotals(BaseModel):
    """All partitions of a flow together."""

    topics: int
    partitions: int
    lag: int | None = Field(description="Records that are not copied yet; null if the source did not answer.")
    lag_ms: int | None = Field(description="Age of the oldest of them; 0 if there is none, null if it is not known.")


class MirrorSummary(MirrorState, MirrorTotals):
    """A flow."""


class Mirrors(RootModel[list[MirrorSummary]]):
    """All flows."""


class LastSync(BaseModel):
    """A record and its copy."""

    upstream: int = Field(description="Offset on the source.")
    downstream: int = Field(description="Offset on the target.")


class MirrorPartition(BaseModel):
    """A partition of the source."""

    topic: str
    remote_topic: str = Field(description="What its copy is called on the target.")
    partition: int
    position: int | None = Field(description="The next offset to copy.")
    start: int = Field(description="The first offset of the source.")
    end: int = Field(description="Behind the last offset of the source.")
    lag: int | None
    lag_ms: int | None
    last_sync: LastSync | None
    problem: str | None


class TranslatedPartition(LastSync):
    """Where a group is, and where it would go on."""

    remote_topic: str
    partition: int


class TranslatedGroup(BaseModel):
    """The checkpoints of a consumer group."""

    group: str
    partitions: list[TranslatedPartition]


class Mirror(MirrorState):
    """A flow, partition by partition."""

    source_cluster_id: str | None
    totals: MirrorTotals
    partitions: list[MirrorPartition]
    groups: list[TranslatedGroup]


class MovedPartition(TranslatedPartition):
    """Where a group would go on, and what it has committed on the target."""

    committed: int | None


class MovedGroup(BaseModel):
    """A consumer group on both clusters."""

    group: str
    source_state: str | None = Field(description="Null if the source did not answer.")
    target_state: str = Field(description="Only EMPTY and DEAD groups can be moved.")
    partitions: list[MovedPartition]


class MirrorGroups(BaseModel):
    """Consumer groups of a flow."""

    groups: list[MovedGroup]
    error: str | None


class SyncedPartition(BaseModel):
    """An offset that was committed."""

    remote_topic: str
    partition: int
    committed: int


class SyncedGroup(BaseModel):
    """What was done for a consumer group."""

    group: str
    outcome: str = Field(description="synced, up to date, in use on the target, or failed.")
    partitions: list[SyncedPartition]


class SyncedGroups(BaseModel):
    """What was done for the consumer groups of a flow."""

    groups: list[SyncedGroup]
    error: str | None
