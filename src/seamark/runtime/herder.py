"""What the REST layer may ask of a herder, standalone or distributed, and the values it answers with.

Every method may be called from any thread and blocks until it is answered, `REQUEST_TIMEOUT_S` at the longest. What
goes wrong is raised as an error of `seamark.errors`; `RestError` carries the status and the message that a client sees.
A method that this worker may not answer itself raises `ForwardError`, which names the worker that may.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamark.connector.connector import Connector
from seamark.errors import AlreadyExistsError, BadRequestError, ConfigError, ConnectError, NotFoundError
from seamark.runtime.states import TargetState

REQUEST_TIMEOUT_S = 90.0
HEALTH_TIMEOUT_S = 10.0
STALE_CONFIG = (
    "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)"
)
NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
CONFLICT = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"


class RestError(ConnectError):
    """An answer other than success, with its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class HookRefusedError(RestError):
    """A connector does not accept the offsets that it was asked about; 500 as in Kafka Connect."""


class ForwardError(ConnectError):
    """Another worker has to answer; `url` is its address, None while nobody knows."""

    def __init__(self, message: str, url: str | None) -> None:
        super().__init__(message)
        self.url = url


def status_of(error: BaseException) -> int:
    """The HTTP status that stands for an error."""
    if isinstance(error, RestError):
        return error.status
    if isinstance(error, NotFoundError):
        return 404
    if isinstance(error, AlreadyExistsError):
        return 409
    return 400 if isinstance(error, (BadRequestError, ConfigError)) else 500


@dataclass(frozen=True, slots=True)
class TaskId:
    """A task of a connector; its text is ``connector-number``."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """What `GET /connectors/{name}` shows."""

    name: str
    config: Mapping[str, str | None]
    tasks: Sequence[TaskId]
    type: str
    """``source``, ``sink`` or ``unknown``."""


@dataclass(frozen=True, slots=True)
class StateInfo:
    """One row of a status."""

    state: str
    worker_id: str
    version: str | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class TaskStateInfo(StateInfo):
    """One task's row of a status."""

    id: int = 0


@dataclass(frozen=True, slots=True)
class ConnectorStateInfo:
    """What `GET /connectors/{name}/status` shows."""

    name: str
    connector: StateInfo
    tasks: Sequence[TaskStateInfo]
    type: str
    auto_restart: Mapping[str, Any] | None = None
    """Only where failed connectors are restarted automatically, and on the worker that runs this one."""


@dataclass(frozen=True, slots=True)
class Created:
    """The answer to a create or config request."""

    created: bool
    info: ConnectorInfo


@dataclass(frozen=True, slots=True)
class LoggerLevel:
    """Level of a logger and when it was last changed over REST."""

    level: str
    last_modified: int | None = None


@dataclass(frozen=True, slots=True)
class InternalRequest:
    """A signed request of another worker: what was signed, and the signature."""

    body: bytes
    signature: str | None
    algorithm: str | None


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """A row of `GET /connector-plugins`."""

    class_name: str
    type: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class ConfigInfos:
    """What a validation found, JSON-shaped as REST shows it."""

    name: str
    error_count: int
    groups: Sequence[str]
    configs: Sequence[Mapping[str, Any]]

    @property
    def errors(self) -> list[str]:
        """Every message, in order."""
        return [message for config in self.configs for message in config["value"]["errors"]]


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """Where one partition of a connector is: what `GET /connectors/{name}/progress` shows for it."""

    partition: Mapping[str, Any]
    position: Mapping[str, Any] | None
    end: Mapping[str, Any] | None = None
    lag: int | None = None
    records_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class ConnectorProgress:
    """Live progress of a connector: per task counters and per partition positions, JSON-shaped."""

    name: str
    tasks: Sequence[Mapping[str, Any]]
    partitions: Sequence[PartitionProgress] = field(default=())


class Herder(ABC):
    """Manages the connectors of a worker or a cluster of workers."""

    worker_id: str
    """``host:port`` of the advertised REST address."""
    observation: Any = None
    """The `seamark.runtime.observation.Observation` of the worker; None if there is nothing to see."""
    rest_url: str | None = None
    """The address by which other workers reach this one; None if there are none."""

    # life

    @abstractmethod
    def start(self) -> None:
        """Begin; returns once the worker can answer requests."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the connectors of this worker cleanly and leave."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the start is complete."""

    @abstractmethod
    def health_check(self, timeout_s: float = HEALTH_TIMEOUT_S) -> None:
        """Returns if the herder handles requests.

        Raises:
            TimeoutError: it does not.
        """

    def stage(self) -> str | None:
        """A sentence on what the herder is doing, for time-out messages; None if there is nothing to say."""
        return None

    def session_key(self, *, is_fresh: bool = False) -> bytes | None:
        """The key that the workers of the cluster share, read again if it must be fresh; None if there is none."""
        return None

    @property
    @abstractmethod
    def kafka_cluster_id(self) -> str:
        """Of the worker's own Kafka."""

    # connectors

    @abstractmethod
    def connectors(self) -> list[str]:
        """Names of all connectors of the cluster."""

    @abstractmethod
    def connector_info(self, name: str) -> ConnectorInfo:
        """Raises NotFoundError."""

    @abstractmethod
    def connector_config(self, name: str) -> dict[str, str | None]:
        """Raises NotFoundError."""

    @abstractmethod
    def task_configs(self, name: str) -> list[tuple[TaskId, dict[str, str | None]]]:
        """Raises NotFoundError."""

    @abstractmethod
    def connector_status(self, name: str) -> ConnectorStateInfo:
        """Raises NotFoundError."""

    @abstractmethod
    def task_status(self, task: TaskId) -> TaskStateInfo:
        """Raises NotFoundError."""

    @abstractmethod
    def put_connector_config(
        self, name: str, config: Mapping[str, str | None], target: TargetState | None, *, allow_replace: bool
    ) -> Created:
        """Create a connector or change its config.

        Raises:
            BadRequestError: the config is invalid; the message lists all errors.
            AlreadyExistsError: it exists, and `allow_replace` is false.
        """

    @abstractmethod
    def patch_connector_config(self, name: str, patch: Mapping[str, str | None]) -> Created:
        """Change some keys; None removes one."""

    @abstractmethod
    def delete_connector(self, name: str) -> None:
        """Raises NotFoundError."""

    # states

    @abstractmethod
    def pause_connector(self, name: str) -> None: ...

    @abstractmethod
    def resume_connector(self, name: str) -> None: ...

    @abstractmethod
    def stop_connector(self, name: str) -> None: ...

    @abstractmethod
    def restart_connector(self, name: str) -> None:
        """Restart the connector instance only."""

    @abstractmethod
    def restart_connector_and_tasks(self, name: str, *, include_tasks: bool, only_failed: bool) -> ConnectorStateInfo:
        """Request a restart; the status with RESTARTING for all that will be restarted."""

    @abstractmethod
    def restart_task(self, task: TaskId) -> None: ...

    # topics

    @abstractmethod
    def active_topics(self, name: str) -> list[str]: ...

    @abstractmethod
    def reset_active_topics(self, name: str) -> None: ...

    # offsets

    @abstractmethod
    def connector_offsets(self, name: str) -> list[dict[str, Any]]:
        """``[{"partition": {...}, "offset": {...}}]``."""

    @abstractmethod
    def alter_connector_offsets(self, name: str, offsets: Sequence[tuple[Any, Any]]) -> str:
        """Change offsets of a stopped connector: (partition, offset) as in the request; the message of success."""

    @abstractmethod
    def reset_connector_offsets(self, name: str) -> str:
        """Reset all offsets of a stopped connector; the message of success."""

    # plugins

    @abstractmethod
    def connector_plugins(self, *, connectors_only: bool) -> list[PluginInfo]: ...

    @abstractmethod
    def plugin_config(self, plugin: str, version: str | None) -> list[dict[str, Any]]: ...

    @abstractmethod
    def validate_config(self, config: Mapping[str, str | None], *, resolves: bool = True) -> ConfigInfos:
        """Judge a config; without `resolves`, with references to config providers as they are."""

    # loggers

    @abstractmethod
    def all_logger_levels(self) -> dict[str, LoggerLevel]: ...

    @abstractmethod
    def logger_level(self, logger: str) -> LoggerLevel | None: ...

    @abstractmethod
    def set_worker_logger_level(self, logger: str, level: str) -> list[str]:
        """The loggers whose level has changed."""

    @abstractmethod
    def set_cluster_logger_level(self, logger: str, level: str) -> None: ...

    # worker to worker

    @abstractmethod
    def put_task_configs(self, name: str, configs: Sequence[Mapping[str, str]], request: InternalRequest) -> None: ...

    @abstractmethod
    def fence_zombies(self, name: str, request: InternalRequest) -> None: ...

    # additions

    @abstractmethod
    def connector_progress(self, name: str) -> ConnectorProgress: ...

    @property
    def operations(self) -> Any:
        """The `seamark.runtime.operations.Operations` of the cluster; None if the herder has none."""
        return None

    @property
    def offset_views(self) -> Any:
        """The `seamark.runtime.offset_views.OffsetViews` of the cluster; None if the herder has none."""
        return None

    def connector_class(self, name: str) -> type[Connector] | None:
        """The class of a connector; None if the herder has no plugins. Raises NotFoundError, PluginError."""
        return None

    def resolved_config(self, name: str) -> dict[str, str]:
        """Its config with what references to providers stand for. Not to be shown. Raises NotFoundError."""
        return {key: value for key, value in self.connector_config(name).items() if value is not None}
