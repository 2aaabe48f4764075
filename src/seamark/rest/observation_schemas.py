"""Models of the answers of `/worker`, `/cluster`, `/overview` and the like, for the OpenAPI document only."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class SparkState(BaseModel):
    """A worker's Spark. What only a running one has is null otherwise."""

    state: str = Field(description="running, starting, released (no connector needs it) or failed.")
    master: str
    version: str | None
    ui_url: str | None = Field(description="Spark's own page; null if spark.ui.enabled is not true.")
    application_id: str | None
    executors: int | None
    running_jobs: int | None
    running_tasks: int | None
    error: str | None


class WorkerLoad(BaseModel):
    """A worker and how busy it is."""

    id: str
    version: str | None
    started_at: int | None = Field(description="Milliseconds since 1970.")
    connectors: int | None
    tasks: int | None
    records_per_second: float | None
    cpu_percent: float | None = Field(description="Of the worker and the processes it has started; 100 for one core.")
    memory_bytes: int | None = Field(description="Of the same processes, resident; what they share counts once.")
    threads: int | None = Field(description="Of the worker's own process.")
    is_leader: bool | None
    spark: SparkState | None


class ClusterWorker(WorkerLoad):
    """A worker of the cluster; without its figures if it did not answer."""

    url: str
    error: str | None = Field(description="Why there are no figures.")


class Cluster(BaseModel):
    """All workers."""

    kafka_cluster_id: str
    group_id: str | None = Field(description="Null for a standalone worker.")
    mode: str = Field(description="standalone or distributed.")
    leader: str | None = Field(description="Id of the worker that leads; null while none does.")
    workers: list[ClusterWorker]


class OverviewConnector(BaseModel):
    """A connector in the overview."""

    model_config = ConfigDict(populate_by_name=True)

    name: str
    type: str
    class_name: str = Field(alias="class")
    state: str
    worker_id: str
    tasks: dict[str, int] = Field(description="How many tasks are in which state.")
    tasks_max: int
    records_per_second: float | None = Field(description="Null if its worker did not answer.")
    lag: int | None = Field(description="Records to be read yet, as last looked up; null if not known.")
    rate_points: list[float | None] = Field(description="Records per second, in steps of 10 s, the newest last.")
    lag_points: list[float | None] = Field(description="Lags at the same times.")
    error: str | None = Field(description="The first line of what has failed.")


class Overview(BaseModel):
    """All connectors at a glance."""

    at: int = Field(description="Milliseconds since 1970.")
    connectors: list[OverviewConnector]
    unreachable: list[str] = Field(description="Ids of workers that did not answer.")


class SeriesPoint(BaseModel):
    """A connector in one step of time; what was not measured is null."""

    at: int = Field(description="When the step ended, in milliseconds since 1970.")
    records_per_second: float | None
    bytes_per_second: float | None
    lag: float | None
    batch_ms: float | None = Field(description="Average time of a poll, put or Spark job.")
    commit_ms: float | None = Field(description="Average time of a commit.")
    errors: float | None = Field(description="Records that could not be processed.")


class Series(BaseModel):
    """The recent past of a connector, the oldest point first."""

    step_ms: int
    points: list[SeriesPoint]


class LogLine(BaseModel):
    """A line of the log that is about a connector."""

    at: int
    level: str
    logger: str
    task: int | None
    worker: str
    message: str


class Logs(BaseModel):
    """What the workers have lately logged about a connector, the oldest line first."""

    lines: list[LogLine]


class ConnectorEvent(BaseModel):
    """Something that happened to a connector."""

    at: int
    kind: str = Field(
        description="state, config, offsets, restart, task, rebalance, created, deleted or audit.",
    )
    message: str
    who: str | None
    detail: dict[str, Any]


class Events(BaseModel):
    """What has lately happened to a connector, the newest first."""

    events: list[ConnectorEvent]


class Readiness(BaseModel):
    """Whether the worker can do its work."""

    status: str = Field(description="ready or not ready.")
    message: str | None = Field(None, description="Why not.")
