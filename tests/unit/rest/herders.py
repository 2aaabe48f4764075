"""A herder in memory: enough of one to see how HTTP is turned into its calls and its answers into HTTP."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from seamark.errors import AlreadyExistsError, BadRequestError, NotFoundError
from seamark.runtime.herder import (
    HEALTH_TIMEOUT_S,
    ConfigInfos,
    ConnectorInfo,
    ConnectorProgress,
    ConnectorStateInfo,
    Created,
    Herder,
    InternalRequest,
    LoggerLevel,
    PartitionProgress,
    PluginInfo,
    RestError,
    StateInfo,
    TaskId,
    TaskStateInfo,
)
from seamark.runtime.states import TargetState


class MemoryHerder(Herder):
    """Connectors in a dictionary. `calls` has what was asked; `failure` is raised by the next call, if set."""

    worker_id = "worker:8083"

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """As new."""
        self.configs: dict[str, dict[str, str | None]] = {}
        self.targets: dict[str, TargetState | None] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.failure: Exception | None = None
        self.levels = {"root": LoggerLevel("INFO", None)}
        self.ready, self.healthy = True, True
        self.stage_text: str | None = None
        self.blocked = threading.Event()
        self.release = threading.Event()
        self.blocks = False

    def _called(self, *call: Any) -> None:
        self.calls.append(call)
        if self.blocks:
            self.blocked.set()
            self.release.wait(30)
        if self.failure is not None:
            raise self.failure

    def _known(self, name: str, message: str = "Connector {} not found") -> dict[str, str | None]:
        if name not in self.configs:
            raise NotFoundError(message.format(name))
        return self.configs[name]

    def start(self) -> None:
        self._called("start")

    def stop(self) -> None:
        self._called("stop")

    def is_ready(self) -> bool:
        return self.ready

    def health_check(self, timeout_s: float = HEALTH_TIMEOUT_S) -> None:
        if not self.healthy:
            raise TimeoutError

    def stage(self) -> str | None:
        return self.stage_text

    @property
    def kafka_cluster_id(self) -> str:
        return "cluster-1"

    def connectors(self) -> list[str]:
        self._called("connectors")
        return list(self.configs)

    def connector_info(self, name: str) -> ConnectorInfo:
        self._called("connector_info", name)
        return ConnectorInfo(name, self._known(name), [TaskId(name, 0)], "source")

    def connector_config(self, name: str) -> dict[str, str | None]:
        self._called("connector_config", name)
        return self._known(name)

    def task_configs(self, name: str) -> list[tuple[TaskId, dict[str, str | None]]]:
        self._called("task_configs", name)
        return [(TaskId(name, 0), {**self._known(name), "task.class": "T"})]

    def connector_status(self, name: str) -> ConnectorStateInfo:
        self._called("connector_status", name)
        self._known(name, "No status found for connector {}")
        failed = TaskStateInfo("FAILED", self.worker_id, "4.2.0", "trace", 1)
        running = TaskStateInfo("RUNNING", self.worker_id, "4.2.0", None, 0)
        return ConnectorStateInfo(name, StateInfo("RUNNING", self.worker_id, None, ""), [failed, running], "source")

    def task_status(self, task: TaskId) -> TaskStateInfo:
        self._called("task_status", task)
        if task.connector not in self.configs:
            raise NotFoundError(f"No status found for task {task}")
        return TaskStateInfo("RUNNING", self.worker_id, "4.2.0", None, task.task)

    def put_connector_config(
        self, name: str, config: Mapping[str, str | None], target: TargetState | None, *, allow_replace: bool
    ) -> Created:
        self._called("put", name, dict(config), target, allow_replace)
        if "connector.class" not in config:
            shown = ", ".join(f"{key}={'null' if value is None else value}" for key, value in config.items())
            raise BadRequestError(f"Connector config {{{shown}}} contains no connector type")
        exists = name in self.configs
        if exists and not allow_replace:
            raise AlreadyExistsError(f"Connector {name} already exists")
        self.configs[name] = dict(config)
        return Created(not exists, ConnectorInfo(name, config, [], "source"))

    def patch_connector_config(self, name: str, patch: Mapping[str, str | None]) -> Created:
        self._called("patch", name, dict(patch))
        config = self._known(name)
        config.update(patch)
        return Created(False, ConnectorInfo(name, config, [], "source"))

    def delete_connector(self, name: str) -> None:
        self._called("delete", name)
        self._known(name)
        del self.configs[name]

    def pause_connector(self, name: str) -> None:
        self._called("pause", name)
        self._known(name, "Unknown connector {}")

    def resume_connector(self, name: str) -> None:
        self._called("resume", name)
        self._known(name, "Unknown connector {}")

    def stop_connector(self, name: str) -> None:
        self._called("stop_connector", name)
        self._known(name, "Unknown connector {}")

    def restart_connector(self, name: str) -> None:
        self._called("restart", name)
        self._known(name, "Unknown connector: {}")

    def restart_connector_and_tasks(self, name: str, *, include_tasks: bool, only_failed: bool) -> ConnectorStateInfo:
        self._called("restart_all", name, include_tasks, only_failed)
        self._known(name, "Unknown connector: {}")
        return self.connector_status(name)

    def restart_task(self, task: TaskId) -> None:
        self._called("restart_task", task)
        self._known(task.connector, "Unknown connector: {}")

    def active_topics(self, name: str) -> list[str]:
        self._called("topics", name)
        return ["t"] if name in self.configs else []

    def reset_active_topics(self, name: str) -> None:
        self._called("reset_topics", name)

    def connector_offsets(self, name: str) -> list[dict[str, Any]]:
        self._called("offsets", name)
        self._known(name)
        return [{"partition": {"filename": "f"}, "offset": {"position": 6}}]

    def alter_connector_offsets(self, name: str, offsets: Sequence[tuple[Any, Any]]) -> str:
        self._called("alter_offsets", name, list(offsets))
        self._known(name)
        return "altered"

    def reset_connector_offsets(self, name: str) -> str:
        self._called("reset_offsets", name)
        self._known(name)
        return "reset"

    def connector_plugins(self, *, connectors_only: bool) -> list[PluginInfo]:
        self._called("plugins", connectors_only)
        connectors = [PluginInfo("a.Sink", "sink", "1")]
        return connectors if connectors_only else [*connectors, PluginInfo("a.Cast", "transformation")]

    def plugin_config(self, plugin: str, version: str | None) -> list[dict[str, Any]]:
        self._called("plugin_config", plugin, version)
        raise NotFoundError(f"Unknown plugin {plugin}.")

    def validate_config(self, config: Mapping[str, str | None], *, resolves: bool = True) -> ConfigInfos:
        self._called("validate", dict(config))
        if "connector.class" not in config:
            raise BadRequestError("Connector config {} contains no connector type")
        return ConfigInfos(str(config["connector.class"]), 0, ["Common"], [])

    def all_logger_levels(self) -> dict[str, LoggerLevel]:
        self._called("levels")
        return self.levels

    def logger_level(self, logger: str) -> LoggerLevel | None:
        self._called("level", logger)
        return self.levels.get(logger)

    def set_worker_logger_level(self, logger: str, level: str) -> list[str]:
        self._called("set_level", logger, level)
        return [logger]

    def set_cluster_logger_level(self, logger: str, level: str) -> None:
        self._called("set_cluster_level", logger, level)

    def put_task_configs(self, name: str, configs: Sequence[Mapping[str, str]], request: InternalRequest) -> None:
        self._called("put_task_configs", name, list(configs), request)
        if request.signature is None:
            raise RestError(400, "Internal request missing required signature")

    def fence_zombies(self, name: str, request: InternalRequest) -> None:
        self._called("fence", name, request)
        if request.signature is None:
            raise RestError(400, "Internal request missing required signature")

    def connector_progress(self, name: str) -> ConnectorProgress:
        self._called("progress", name)
        self._known(name)
        return ConnectorProgress(
            name, [{"task": 0, "records": 5}], [PartitionProgress({"p": 0}, {"o": 1}, {"o": 3}, 2, 1.5)]
        )
