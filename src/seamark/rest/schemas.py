"""Models of request and response bodies, for the OpenAPI document only: bodies are parsed by `seamark.rest.bodies`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

Scalar = str | int | float | bool | None


class ErrorMessage(BaseModel):
    """What went wrong."""

    error_code: int = Field(description="The HTTP status.")
    message: str | None


class Message(BaseModel):
    """What was done."""

    message: str


class ServerInfo(BaseModel):
    """The worker."""

    version: str = Field(description="The version of Kafka Connect that the API is that of.")
    commit: str
    kafka_cluster_id: str


class WorkerStatus(BaseModel):
    """Health of the worker."""

    status: str = Field(description="healthy, starting or unhealthy.")
    message: str


class Config(RootModel[dict[str, Scalar]]):
    """Configuration keys and values; numbers and booleans are kept as texts."""


class ConnectorConfig(RootModel[dict[str, str | None]]):
    """Configuration keys and values."""


class CreateConnectorRequest(BaseModel):
    """A connector to create."""

    model_config = ConfigDict(extra="forbid")
    name: str | None = Field(default=None, description="Blanks around it are removed.")
    config: Config
    initial_state: str | None = Field(default=None, description="RUNNING, PAUSED or STOPPED, in any case.")
    offsets: list[ConnectorOffset] | None = Field(default=None, description="Where it begins.")
    positions: str | int | dict[str, str | int] | None = Field(
        default=None, description="The same as positions, such as `latest` or `-2h`."
    )
    clamp: bool | None = Field(default=None, description="Go to the nearest position there is, instead of refusing.")


class ConnectorTaskId(BaseModel):
    """A task of a connector."""

    connector: str
    task: int


class ConnectorInfo(BaseModel):
    """A connector."""

    name: str
    config: ConnectorConfig
    tasks: list[ConnectorTaskId]
    type: str = Field(description="source, sink or unknown.")


class ConnectorState(BaseModel):
    """State of a connector."""

    state: str
    worker_id: str
    version: str | None
    trace: str | None = None


class TaskState(ConnectorState):
    """State of a task."""

    id: int


class AutoRestart(BaseModel):
    """Restarts of a connector that has failed."""

    attempts: int
    next_at: str | None


class ConnectorStateInfo(BaseModel):
    """State of a connector and its tasks."""

    name: str
    connector: ConnectorState
    tasks: list[TaskState]
    type: str
    auto_restart: AutoRestart | None = None


class Expanded(BaseModel):
    """What was asked for of one connector."""

    info: ConnectorInfo | None = None
    status: ConnectorStateInfo | None = None


class ConnectorList(RootModel[list[str] | dict[str, Expanded]]):
    """Names, or with `expand` an object per name."""


class TaskInfo(BaseModel):
    """Configuration of a task."""

    id: ConnectorTaskId
    config: ConnectorConfig


class TaskInfos(RootModel[list[TaskInfo]]):
    """Configurations of tasks."""


class TaskConfigs(RootModel[list[dict[str, str]]]):
    """Configurations of tasks, from worker to worker."""


class Topics(BaseModel):
    """Topics that a connector has used."""

    topics: list[str]


class ActiveTopics(RootModel[dict[str, Topics]]):
    """Topics by connector."""


class ConnectorOffset(BaseModel):
    """One offset; without `offset` the partition is reset."""

    model_config = ConfigDict(extra="forbid")
    partition: dict[str, Any] | None = None
    offset: dict[str, Any] | None = None


class ConnectorOffsets(BaseModel):
    """Offsets of a connector."""

    model_config = ConfigDict(extra="forbid")
    offsets: list[ConnectorOffset]


class AlterOffsetsRequest(BaseModel):
    """New offsets, or positions such as `earliest`, `-2h` or `{"orders": "+10"}`; one of the two."""

    model_config = ConfigDict(extra="forbid")
    offsets: list[ConnectorOffset] | None = None
    positions: str | int | dict[str, str | int] | None = None
    clamp: bool | None = Field(default=None, description="Go to the nearest position there is, instead of refusing.")


class PartitionProgress(BaseModel):
    """Where a partition is."""

    partition: dict[str, Any]
    position: dict[str, Any] | None
    end: dict[str, Any] | None
    lag: int | None
    records_per_second: float | None


class ConnectorProgress(BaseModel):
    """Where a connector is."""

    name: str
    tasks: list[dict[str, Any]]
    partitions: list[PartitionProgress]


class PluginInfo(BaseModel):
    """A plugin."""

    model_config = ConfigDict(populate_by_name=True)
    class_name: str = Field(alias="class")
    type: str
    version: str | None = None


class PluginInfos(RootModel[list[PluginInfo]]):
    """Plugins."""


class ConfigKeyInfo(BaseModel):
    """Definition of a configuration key."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    order_in_group: int
    width: str
    display_name: str
    dependents: list[str]


class ConfigKeyInfos(RootModel[list[ConfigKeyInfo]]):
    """Definitions of configuration keys."""


class ConfigValueInfo(BaseModel):
    """A value, and what is wrong with it."""

    name: str
    value: str | None
    recommended_values: list[str]
    errors: list[str]
    visible: bool


class ConfigInfo(BaseModel):
    """A key and its value."""

    definition: ConfigKeyInfo | None
    value: ConfigValueInfo


class ConfigInfos(BaseModel):
    """What a validation found."""

    name: str
    error_count: int
    groups: list[str]
    configs: list[ConfigInfo]


class LoggerLevel(BaseModel):
    """Level of a logger."""

    level: str
    last_modified: int | None = Field(description="When it was changed by request, in milliseconds since 1970.")


class LoggerLevels(RootModel[dict[str, LoggerLevel]]):
    """Levels by logger."""


class LoggerNames(RootModel[list[str]]):
    """Loggers whose level has changed."""


class SetLevel(BaseModel):
    """A level to set."""

    level: str
