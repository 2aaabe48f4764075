"""What a worker says about itself and its connectors, for whoever looks on: additions of Seamark's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SparkState:
    """A worker's Spark. What only a running one has is None otherwise."""

    state: str
    """``running``, ``starting``, ``released`` (no connector needs it) or ``failed``."""
    master: str
    version: str | None = None
    ui_url: str | None = None
    application_id: str | None = None
    executors: int | None = None
    running_jobs: int | None = None
    running_tasks: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """A worker and how busy it is; all of its own processes together."""

    id: str
    version: str | None = None
    started_at: int | None = None
    """Milliseconds since 1970."""
    connectors: int | None = None
    tasks: int | None = None
    records_per_second: float | None = None
    cpu_percent: float | None = None
    """100 for one core."""
    memory_bytes: int | None = None
    threads: int | None = None
    is_leader: bool | None = None
    spark: SparkState | None = None


@dataclass(frozen=True, slots=True)
class ClusterWorker(WorkerLoad):
    """A worker as another one sees it; without its figures if it did not answer."""

    url: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """All workers."""

    kafka_cluster_id: str
    group_id: str | None
    """None for a standalone worker."""
    mode: str
    """``standalone`` or ``distributed``."""
    leader: str | None
    workers: Sequence[ClusterWorker]


@dataclass(frozen=True, slots=True)
class OverviewConnector:
    """A connector in the overview."""

    name: str
    type: str
    class_name: str = field(metadata={"json": "class"})
    state: str
    worker_id: str
    tasks: Mapping[str, int]
    """How many tasks are in which state."""
    tasks_max: int
    records_per_second: float | None
    """None if the worker that runs it did not answer."""
    lag: int | None
    rate_points: Sequence[float | None]
    """Records per second over the last five minutes, the newest last."""
    lag_points: Sequence[float | None]
    error: str | None
    """The first line of what has failed."""


@dataclass(frozen=True, slots=True)
class Overview:
    """All connectors at a glance."""

    at: int
    """Milliseconds since 1970."""
    connectors: Sequence[OverviewConnector]
    unreachable: Sequence[str]
    """Ids of workers that did not answer."""


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """A connector in one step of time; what was not measured is None."""

    at: int
    """When the step ended, in milliseconds since 1970."""
    records_per_second: float | None
    bytes_per_second: float | None
    lag: float | None
    batch_ms: float | None
    commit_ms: float | None
    errors: float | None
    """Records that could not be processed."""


@dataclass(frozen=True, slots=True)
class Series:
    """The recent past of a connector, the oldest point first."""

    step_ms: int
    points: Sequence[SeriesPoint]


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log that is about a connector."""

    at: int
    level: str
    logger: str
    task: int | None
    worker: str
    message: str


@dataclass(frozen=True, slots=True)
class ConnectorEvent:
    """Something that happened to a connector."""

    at: int
    kind: str
    """``state``, ``config``, ``offsets``, ``restart``, ``task``, ``rebalance``, ``created``, ``deleted``, ``audit``."""
    message: str
    who: str | None
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a worker can do its work."""

    status: str
    """``ready`` or ``not ready``."""
    message: str | None = None
    """Why not."""

    @property
    def is_ready(self) -> bool:
        """Whether it can."""
        return self.status == "ready"
