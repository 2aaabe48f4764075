"""What standalone and distributed herders have in common: everything but who leads and who owns.

Configs, target states and task configs are in the config store, states in the status store; `LocalConnectors` makes
what runs here follow them. A herder itself keeps nothing.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from seamark.config.connector import tasks_max
from seamark.config.providers import restore
from seamark.config.states import State, TargetState
from seamark.connector.connector import Connector
from seamark.connector.sink import SinkConnector
from seamark.connector.source import SourceConnector
from seamark.engine.plugins import Plugins
from seamark.errors import AlreadyExistsError, BadRequestError, ConnectError, KafkaError, NotFoundError
from seamark.kafka.admin import Admin
from seamark.kafka.clients import worker_client_config
from seamark.runtime.auto_restart import AutoRestart
from seamark.runtime.herder import (
    HEALTH_TIMEOUT_S,
    NO_LEADER,
    STALE_CONFIG,
    ConfigInfos,
    ConnectorInfo,
    ConnectorProgress,
    ConnectorStateInfo,
    Created,
    LoggerLevel,
    PluginInfo,
    RestError,
    StateInfo,
    TaskId,
    TaskStateInfo,
)
from seamark.runtime.local_connectors import LocalConnectors
from seamark.runtime.loggers import Loggers
from seamark.runtime.metrics import ConnectorView, Metrics
from seamark.runtime.observation import Observation
from seamark.runtime.observed import ObservedHerder
from seamark.runtime.offset_herding import REFRESH_S, OffsetHerding
from seamark.runtime.progress import partition_progress
from seamark.runtime.runner import Cancelled
from seamark.runtime.validation import ConfigValidator, errors_message
from seamark.runtime.worker import Worker
from seamark.storage.cluster_state import (
    ClusterConfigState,
    ConfigEvent,
    LoggerLevelUpdated,
    RestartRequested,
    SessionKeyUpdated,
)
from seamark.storage.config_store import ConfigStore, PrivilegedWriteError
from seamark.storage.status_store import ConnectorStatusRow, StatusStore, TaskStatusRow

log = logging.getLogger(__name__)

TICK_S = 1.0


class AbstractHerder(OffsetHerding, ObservedHerder):
    """A herder on a config store and a status store."""

    forwarder: Callable[[str, str, bytes, Mapping[str, str]], tuple[int, bytes]] | None = None
    """Reaches other workers."""
    metrics: Metrics | None = None

    def __init__(self, worker: Worker, configs: ConfigStore, statuses: StatusStore, worker_id: str) -> None:
        self.worker, self.worker_id = worker, worker_id
        self._configs, self._statuses = configs, statuses
        self._configs.on_event = self._take_event
        self._noted = {}
        self.validator = ConfigValidator(
            worker.plugins, worker.config, distributed=self.is_distributed, providers=worker.providers
        )
        self._loggers = Loggers()
        self._set_up_offsets()
        self._auto_restart = AutoRestart(worker.config)
        self.local = LocalConnectors(
            worker,
            configs,
            statuses,
            worker_id,
            owns=self._owns,
            generation=lambda: self.generation,
            publish=self._publish,
            on_state=self._note_state,
            on_restart=self._note_restart,
        )
        self.observation = Observation(self)
        self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="herder")
        self._change = threading.RLock()
        self._ready = False
        self._stopping = threading.Event()
        self._ticker = threading.Thread(target=self._tick_forever, name="herder-tick", daemon=True)
        self._cluster_id = ""

    # what the kinds differ in

    @property
    def generation(self) -> int:
        """Of the group of workers."""
        return 0

    def _owns(self, state: ClusterConfigState, name: str) -> bool:
        """Whether the connector runs on this worker."""
        return True

    def _require_leader(self) -> None:
        """Raises ForwardError unless this worker may change the config store."""

    def _require_owner(self, name: str) -> None:
        """Raises ForwardError unless the connector runs on this worker."""

    def _require_settled(self) -> None:
        """Raises RestError 409 while it is not certain who leads and who owns."""

    def _slot_for(self, name: str) -> int | None:
        """Where a new connector should run."""
        return None

    def _publish(self, name: str, tasks: list[dict[str, str]], cancelled: Cancelled) -> None:
        """Make the tasks of a connector of this worker known, before they are started."""
        published = self._published(name, tasks)
        if self._is_news(name, published):
            self._configs.put_task_configs(name, published)

    def _tick(self) -> None:
        """Called about once a second."""
        self.local.note_topics()
        for name in self._auto_restart.tick(self.local.statuses()):
            self._submit(functools.partial(self.local.restart, name, connector=True, tasks=None))
        if self.metrics is not None:
            self.metrics.sample()
        self.observation.tick()
        if self._leads():
            self.operations.tick()

    def _leads(self) -> bool:
        """Whether this worker carries out operations."""
        return True

    def views(self) -> list[ConnectorView]:
        """The connectors that run here, for metrics."""
        views = []
        for name in self.local.names():
            runner = self.local.runner(name)
            if runner is not None:
                config = self._configs.snapshot().connector_config(name) or {}
                row = self._statuses.get_connector(name)
                views.append(
                    ConnectorView(
                        runner.status(),
                        self._type_of(config),
                        config.get("connector.class") or "",
                        row.version if row is not None else None,
                        runner.progress(),
                        self.worker.config.exactly_once,
                    )
                )
        return views

    # life

    def start(self) -> None:
        self._configs.start()
        self._statuses.start()
        with Admin(worker_client_config("admin", self.worker.config.raw)) as admin:
            self._cluster_id = admin.cluster_id()
        self._noted = self._configs.snapshot().connectors
        self._ready = True
        self.observation.start()
        self._ticker.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._ticker.is_alive():
            self._ticker.join(10)
        self.observation.stop()
        self.operations.stop()
        self.local.end(self.local.names())
        try:
            self._statuses.flush(5.0)
        except KafkaError as error:
            log.warning("The last states could not be written: %s", error)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._configs.stop()
        self._statuses.stop()

    def is_ready(self) -> bool:
        return self._ready

    def health_check(self, timeout_s: float = HEALTH_TIMEOUT_S) -> None:
        try:
            self._pool.submit(self._configs.refresh, timeout_s).result(timeout_s)
        except (FutureTimeoutError, KafkaError) as error:
            raise TimeoutError(str(error)) from error

    @property
    def kafka_cluster_id(self) -> str:
        return self._cluster_id

    # reading

    def connectors(self) -> list[str]:
        return list(self._configs.snapshot().connectors)

    def connector_info(self, name: str) -> ConnectorInfo:
        state = self._state_with(name, f"Connector {name} not found")
        return self._info(state, name)

    def connector_config(self, name: str) -> dict[str, str | None]:
        return self._state_with(name, f"Connector {name} not found").connector_config(name) or {}

    def task_configs(self, name: str) -> list[tuple[TaskId, dict[str, str | None]]]:
        state = self._state_with(name, f"Connector {name} not found")
        return [(TaskId(name, task), config) for task, config in enumerate(state.all_task_configs(name))]

    def connector_status(self, name: str) -> ConnectorStateInfo:
        row, state = self._statuses.get_connector(name), self._configs.snapshot()
        if row is None or name not in state.connectors:
            raise NotFoundError(f"No status found for connector {name}")
        # A worker that was given up for dead may still say what became of tasks that are no more.
        rows = [] if row.state is State.STOPPED else self._statuses.get_tasks(name)
        tasks = tuple(_task_info(task) for task in rows)
        kind = self._type(state, name)
        return ConnectorStateInfo(name, _connector_info(row), tasks, kind, self._auto_restart.shown(name))

    def task_status(self, task: TaskId) -> TaskStateInfo:
        row = self._statuses.get_task(task.connector, task.task)
        if row is None:
            raise NotFoundError(f"No status found for task {task}")
        return _task_info(row)

    def active_topics(self, name: str) -> list[str]:
        return sorted(row.topic for row in self._statuses.get_topics(name))

    def reset_active_topics(self, name: str) -> None:
        self._statuses.delete_topics(name)

    def connector_progress(self, name: str) -> ConnectorProgress:
        config = self.connector_config(name)
        self._require_owner(name)
        runner = self.local.runner(name)
        tasks = runner.progress() if runner is not None else []
        return partition_progress(self.worker, name, config, tasks)

    def connector_class(self, name: str) -> type[Connector] | None:
        return self.worker.class_of(self.connector_config(name))

    def resolved_config(self, name: str) -> dict[str, str]:
        return self.worker.resolved(name, self.connector_config(name))

    # configs

    def put_connector_config(
        self, name: str, config: Mapping[str, str | None], target: TargetState | None, *, allow_replace: bool
    ) -> Created:
        self._check_config(config)
        self._require_leader()
        with self._change:
            if name not in self._configs.snapshot().connectors:
                self._configs.refresh(REFRESH_S)  # what others wrote for this name a moment ago
            state = self._configs.snapshot()
            exists = name in state.connectors
            if exists and not allow_replace:
                raise AlreadyExistsError(f"Connector {name} already exists")
            if (
                not exists
                and target is None
                and state.target_states.get(name, TargetState.STARTED) is not (TargetState.STARTED)
            ):
                target = TargetState.STARTED  # a state that a dead leader wrote for this name must not decide
            before = tuple(TaskId(name, task) for task in state.tasks(name))
            # One that exists without a slot is on its way from one worker to another.
            slot = None if exists or name in state.placements else self._slot_for(name)
            self._configs.put_connector_config(name, config, target, slot=slot)
            self._after_change(name)
            state = self._configs.snapshot()
        info = self._info(state, name)
        return Created(not exists, self._answered(info, before))

    def _answered(self, info: ConnectorInfo, before: Sequence[TaskId]) -> ConnectorInfo:
        """What the answer to a config request shows: the tasks before the change."""
        return ConnectorInfo(info.name, info.config, before, info.type)

    def patch_connector_config(self, name: str, patch: Mapping[str, str | None]) -> Created:
        self._require_leader()
        with self._change:
            config = self.connector_config(name)
            for key, value in patch.items():
                if value is None:
                    config.pop(key, None)
                else:
                    config[key] = value
            return self.put_connector_config(name, config, None, allow_replace=True)

    def delete_connector(self, name: str) -> None:
        self._require_leader()
        with self._change:
            self._state_with(name, f"Connector {name} not found")
            self._configs.remove_connector_config(name)
            self._after_change(name)

    def _after_change(self, name: str) -> None:
        """The config store has been changed; what runs here follows by its events."""

    def _check_config(self, config: Mapping[str, str | None]) -> None:
        infos = self.validator.validate(config)
        if infos.error_count:
            raise BadRequestError(errors_message(infos))

    # states

    def pause_connector(self, name: str) -> None:
        self._set_target(name, TargetState.PAUSED)

    def resume_connector(self, name: str) -> None:
        self._set_target(name, TargetState.STARTED)

    def _set_target(self, name: str, target: TargetState) -> None:
        self._state_with(name, f"Unknown connector {name}")
        self._configs.put_target_state(name, target)
        self._after_change(name)

    def stop_connector(self, name: str) -> None:
        self._require_leader()
        with self._change:
            self._state_with(name, f"Unknown connector {name}")
            self._configs.remove_task_configs(name)
            self._configs.put_target_state(name, TargetState.STOPPED)
            self._after_change(name)

    # restarts

    def restart_connector(self, name: str) -> None:
        self._require_settled()
        self._state_with(name, f"Unknown connector: {name}")
        self._require_owner(name)
        if not self.local.restart(name, connector=True, tasks=()):
            raise RestError(409, STALE_CONFIG)

    def restart_task(self, task: TaskId) -> None:
        self._require_settled()
        state = self._state_with(task.connector, f"Unknown connector: {task.connector}")
        if not 0 <= task.task < max(state.task_count(task.connector), len(self._statuses.get_tasks(task.connector))):
            if self._would_be_a_task(state, task):
                raise RestError(409, NO_LEADER)
            raise NotFoundError(f"Unknown task: {task}")
        self._require_owner(task.connector)
        if not self.local.restart(task.connector, connector=False, tasks=(task.task,)):
            raise RestError(409, STALE_CONFIG)

    def _would_be_a_task(self, state: ClusterConfigState, task: TaskId) -> bool:
        """Whether a stopped connector would have this task: a Java worker finds no owner for it, and says so."""
        config = state.connector_config(task.connector) or {}
        is_stopped = state.target_state(task.connector) is TargetState.STOPPED
        try:
            limit = tasks_max(self.worker.resolved(task.connector, config))
        except ConnectError:
            return False
        return is_stopped and 0 <= task.task < limit

    def restart_connector_and_tasks(self, name: str, *, include_tasks: bool, only_failed: bool) -> ConnectorStateInfo:
        self._require_settled()
        self._require_leader()
        self._state_with(name, f"Unknown connector: {name}")
        if self._statuses.get_connector(name) is None:
            raise NotFoundError(f"Status for connector {name} not found")
        status = self.connector_status(name)
        plan = _restart_plan(status, include_tasks=include_tasks, only_failed=only_failed)
        self._configs.put_restart_request(name, include_tasks=include_tasks, only_failed=only_failed)
        self._after_restart_request(name)
        return plan

    def _after_restart_request(self, name: str) -> None:
        """The request has been written; the owner learns of it by its event."""

    def _carry_out_restart(self, request: RestartRequested) -> None:
        name = request.name
        if not self._owns(self._configs.snapshot(), name) or self._statuses.get_connector(name) is None:
            return
        status = self.connector_status(name)
        is_failed = status.connector.state == State.FAILED.value
        connector = is_failed or not request.only_failed
        tasks = [
            task.id
            for task in status.tasks
            if request.include_tasks and (task.state == State.FAILED.value or not request.only_failed)
        ]
        if not connector and not tasks:
            return
        self.local.show_restarting(name, connector=connector, tasks=tasks)
        self.local.restart(name, connector=connector, tasks=tasks)

    # offsets

    def _is_exactly_once(self, config: Mapping[str, str | None]) -> bool:
        return self.worker.config.exactly_once and self._type_of(config) == "source"

    def _fence(self, name: str) -> None:
        """End every former task of an exactly-once source; only where there are other workers."""

    # plugins and loggers

    def connector_plugins(self, *, connectors_only: bool) -> list[PluginInfo]:
        return self.validator.connector_plugins(connectors_only=connectors_only)

    def plugin_config(self, plugin: str, version: str | None) -> list[dict[str, Any]]:
        return self.validator.plugin_config(plugin, version)

    def validate_config(self, config: Mapping[str, str | None], *, resolves: bool = True) -> ConfigInfos:
        return self.validator.validate(config, resolves=resolves)

    def all_logger_levels(self) -> dict[str, LoggerLevel]:
        return self._loggers.all_levels()

    def logger_level(self, logger: str) -> LoggerLevel | None:
        return self._loggers.level(logger)

    def set_worker_logger_level(self, logger: str, level: str) -> list[str]:
        return self._loggers.set_level(logger, level)

    def set_cluster_logger_level(self, logger: str, level: str) -> None:
        self._configs.put_logger_level(logger, level)

    # inside

    def _take_event(self, event: ConfigEvent) -> None:
        self._note_config(event)
        self._on_event(event)

    def _on_event(self, event: ConfigEvent) -> None:
        """Told by the config store's reading thread, which must not wait."""
        match event:
            case RestartRequested():
                self._submit(lambda: self._carry_out_restart(event))
            case LoggerLevelUpdated(logger, level):
                self._submit(lambda: self._loggers.set_level(logger, level))
            case SessionKeyUpdated():
                pass
            case _:
                name = event.name
                self._submit(lambda: self.local.reconcile(name))

    def _submit(self, work: Any) -> None:
        def run() -> None:
            try:
                work()
            except PrivilegedWriteError as error:
                log.info("A change is left to the worker that leads now: %s", error)
            except Exception:
                log.exception("A change could not be carried out")

        if not self._stopping.is_set():
            self._pool.submit(run)

    def _tick_forever(self) -> None:
        while not self._stopping.wait(TICK_S):
            try:
                self._tick()
            except PrivilegedWriteError as error:
                log.info("A change is left to the worker that leads now: %s", error)
            except Exception:
                log.exception("The herder's regular work failed, and is tried again")

    def _state_with(self, name: str, message: str) -> ClusterConfigState:
        """A snapshot that has the connector; one that is not known may just be new."""
        state = self._configs.snapshot()
        if name not in state.connectors:
            self._configs.refresh(REFRESH_S)
            state = self._configs.snapshot()
            if name not in state.connectors:
                raise NotFoundError(message)
        return state

    def _info(self, state: ClusterConfigState, name: str) -> ConnectorInfo:
        tasks = tuple(TaskId(name, task) for task in state.tasks(name))
        return ConnectorInfo(name, state.connector_config(name) or {}, tasks, self._type(state, name))

    def _type(self, state: ClusterConfigState, name: str) -> str:
        config = state.connector_config(name)
        return "unknown" if config is None else self._type_of(config)

    def require_owner(self, name: str) -> None:
        self._require_owner(name)

    def connector_type(self, config: Mapping[str, str | None]) -> str:
        return self._type_of(config)

    def _type_of(self, config: Mapping[str, str | None]) -> str:
        try:
            found = self.worker.class_of(config)
        except ConnectError:
            return "unknown"
        if issubclass(found, SourceConnector):
            return "source"
        return "sink" if issubclass(found, SinkConnector) else "unknown"

    def _published(self, name: str, tasks: list[dict[str, str]]) -> list[dict[str, str]]:
        """Task configs as Kafka Connect keeps them: with the task's class, and references instead of secrets."""
        config = self._configs.snapshot().connector_config(name) or {}
        found = self.worker.class_of(config)
        extra = {"task.class": java_task_class(found)}
        if issubclass(found, SinkConnector):
            extra |= {key: value for key in ("topics", "topics.regex") if (value := config.get(key)) is not None}
        return [restore({**task, **extra}, config) for task in tasks]

    def _is_news(self, name: str, tasks: list[dict[str, str]]) -> bool:
        state = self._configs.snapshot()
        return name in state.inconsistent or state.all_task_configs(name) != tasks or not state.is_applied(name)


def java_task_class(connector: type[Any]) -> str:
    """The name of the task's class, such that a Java worker finds its own if it has the same connector."""
    java = Plugins.java_name(connector)
    if java.startswith("org.apache.kafka.") and java.endswith("Connector"):
        return java.removesuffix("Connector") + "Task"
    return Plugins.reference(connector.task_class).replace(":", ".")


def _connector_info(row: ConnectorStatusRow) -> StateInfo:
    return StateInfo(row.state.value, row.worker_id, row.version, row.trace)


def _task_info(row: TaskStatusRow) -> TaskStateInfo:
    return TaskStateInfo(row.state.value, row.worker_id, row.version, row.trace, row.task)


def _restart_plan(status: ConnectorStateInfo, *, include_tasks: bool, only_failed: bool) -> ConnectorStateInfo:
    """The status in which everything that will be restarted is RESTARTING."""
    restarting, failed = State.RESTARTING.value, State.FAILED.value
    connector = status.connector
    if not only_failed or connector.state == failed:
        connector = StateInfo(restarting, connector.worker_id, connector.version, connector.trace)
    tasks = tuple(
        TaskStateInfo(restarting, task.worker_id, task.version, task.trace, task.id)
        if include_tasks and (not only_failed or task.state == failed)
        else task
        for task in status.tasks
    )
    return ConnectorStateInfo(status.name, connector, tasks, status.type)
