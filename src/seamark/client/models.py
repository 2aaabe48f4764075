"""What a worker answers with. Fields that a worker adds later are ignored, so that older clients go on working."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The worker, and its Kafka."""

    version: str
    """Of Kafka Connect, whose API it is."""
    commit: str
    kafka_cluster_id: str


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """Health of a worker."""

    status: str
    """``healthy``, ``starting`` or ``unhealthy``."""
    message: str

    @property
    def is_healthy(self) -> bool:
        """Whether it is ready and well."""
        return self.status == "healthy"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a worker can do beyond Kafka Connect."""

    is_seamark: bool
    version: str | None = None
    """Seamark's own, None for a Java worker."""
    endpoints: frozenset[tuple[str, str]] = frozenset()
    """Method and path, as in ``("GET", "/connectors/{connector}/progress")``; empty for a Java worker."""

    def has(self, method: str, path: str) -> bool:
        """Whether it has an endpoint; of a Java worker only additions may be asked."""
        return (method, path) in self.endpoints


# connectors


@dataclass(frozen=True, slots=True)
class TaskId:
    """A task of a connector."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector."""

    name: str
    config: Mapping[str, str | None]
    tasks: Sequence[TaskId]
    type: str | None = None
    """``source``, ``sink`` or ``unknown``."""


@dataclass(frozen=True, slots=True)
class PutResult:
    """What came of a config that was put."""

    created: bool
    info: ConnectorInfo


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """State of a connector, without its tasks."""

    state: str
    worker_id: str
    version: str | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class TaskState:
    """State of a task."""

    id: int
    state: str
    worker_id: str
    version: str | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class AutoRestart:
    """Restarts of a connector that has failed (Seamark)."""

    attempts: int
    next_at: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """State of a connector and its tasks."""

    name: str
    connector: ConnectorState
    tasks: Sequence[TaskState]
    type: str | None = None
    auto_restart: AutoRestart | None = None

    @property
    def has_settled_as_stopped(self) -> bool:
        """Whether it is STOPPED and its tasks are gone, so that its offsets may change."""
        return self.connector.state == "STOPPED" and not self.tasks

    @property
    def failed(self) -> list[ConnectorState | TaskState]:
        """What of it has failed."""
        parts: list[ConnectorState | TaskState] = [self.connector, *self.tasks]
        return [each for each in parts if each.state == "FAILED"]


@dataclass(frozen=True, slots=True)
class ExpandedConnector:
    """What was asked for of one connector."""

    info: ConnectorInfo | None = None
    status: ConnectorStatus | None = None


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """Configuration of a task."""

    id: TaskId
    config: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ConnectorOffset:
    """Where one partition of a connector is. To set, None resets the partition."""

    partition: Mapping[str, Any] | None
    offset: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """Where a partition is, and how far it could be (Seamark)."""

    partition: Mapping[str, Any]
    position: Mapping[str, Any] | None = None
    end: Mapping[str, Any] | None = None
    lag: int | None = None
    records_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class ConnectorProgress:
    """Live progress of a connector (Seamark)."""

    name: str
    tasks: Sequence[Mapping[str, Any]]
    partitions: Sequence[PartitionProgress]


# plugins


@dataclass(frozen=True, slots=True)
class Plugin:
    """An installed plugin."""

    class_name: str = field(metadata={"json": "class"})
    type: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """Definition of a configuration key."""

    name: str
    type: str
    required: bool
    default_value: str | None = None
    importance: str | None = None
    documentation: str | None = None
    group: str | None = None
    order_in_group: int = -1
    width: str | None = None
    display_name: str | None = None
    dependents: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A value, and what is wrong with it."""

    name: str
    value: str | None = None
    recommended_values: Sequence[Any] = ()
    errors: Sequence[str] = ()
    visible: bool = True


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A key and its value; a key that nobody defines has no definition."""

    definition: ConfigKey | None
    value: ConfigValue


@dataclass(frozen=True, slots=True)
class Validation:
    """What the validation of a configuration found."""

    name: str
    error_count: int
    groups: Sequence[str]
    configs: Sequence[ConfigEntry]

    @property
    def errors(self) -> list[tuple[str, str]]:
        """Key and message of each error."""
        return [(entry.value.name, message) for entry in self.configs for message in entry.value.errors]


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """Level of a logger, and when it was changed over REST, in milliseconds since 1970."""

    level: str | None
    last_modified: int | None = None


# mirrors (Seamark)


@dataclass(frozen=True, slots=True)
class MirrorSummary:
    """How far a MirrorSourceConnector is."""

    connector: str
    state: str
    enabled: bool
    source: str
    target: str
    tasks: Mapping[str, int]
    topics: int
    partitions: int
    lag: int | None = None
    lag_ms: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class MirrorTotals:
    """All partitions of a flow together."""

    topics: int
    partitions: int
    lag: int | None = None
    lag_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LastSync:
    """Offsets of a record and of its copy."""

    upstream: int
    downstream: int


@dataclass(frozen=True, slots=True)
class MirrorPartition:
    """A partition of the source, and how far it is copied."""

    topic: str
    remote_topic: str
    partition: int
    start: int
    end: int
    position: int | None = None
    lag: int | None = None
    lag_ms: int | None = None
    last_sync: LastSync | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class TranslatedPartition:
    """Where a consumer group is on the source, and where it would go on at the target."""

    remote_topic: str
    partition: int
    upstream: int
    downstream: int
    committed: int | None = None


@dataclass(frozen=True, slots=True)
class MirrorGroup:
    """A consumer group of the source; states are known only if the groups themselves were asked for."""

    group: str
    partitions: Sequence[TranslatedPartition]
    source_state: str | None = None
    target_state: str | None = None


@dataclass(frozen=True, slots=True)
class Mirror:
    """A flow, partition by partition."""

    connector: str
    state: str
    enabled: bool
    source: str
    target: str
    tasks: Mapping[str, int]
    totals: MirrorTotals
    partitions: Sequence[MirrorPartition]
    groups: Sequence[MirrorGroup]
    source_cluster_id: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class MirrorGroups:
    """Consumer groups of a flow."""

    groups: Sequence[MirrorGroup]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SyncedPartition:
    """An offset that was committed on the target."""

    remote_topic: str
    partition: int
    committed: int


@dataclass(frozen=True, slots=True)
class SyncedGroup:
    """What was done for a consumer group."""

    group: str
    outcome: str
    partitions: Sequence[SyncedPartition]


@dataclass(frozen=True, slots=True)
class SyncedGroups:
    """What was done for the consumer groups of a flow."""

    groups: Sequence[SyncedGroup]
    error: str | None = None
