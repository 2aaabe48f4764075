"""The connectors that this worker runs: made to follow the config store, and their states written down.

`reconcile` compares what the config store wants of one connector with what runs here and does what is missing. It may
be called at any time, any number of times; nothing depends on having seen every change.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from seamark.config.states import State, TargetState
from seamark.errors import ConnectError
from seamark.runtime.log_context import redact
from seamark.runtime.plugin_catalog import plugin_version
from seamark.runtime.runner import Cancelled, ConnectorRunner
from seamark.runtime.states import ConnectorStatus
from seamark.runtime.worker import Worker
from seamark.storage.cluster_state import ClusterConfigState
from seamark.storage.config_store import ConfigStore
from seamark.storage.status_store import ConnectorStatusRow, StatusStore, TaskStatusRow

log = logging.getLogger(__name__)

OnState = Callable[[str, int | None, State | None, State, str | None], None]
"""Told of a connector's name, task (None: itself), state before and now, and trace."""
OnRestart = Callable[[str, bool, Collection[int] | None], None]
PublishTasks = Callable[[str, list[dict[str, str]], Cancelled], None]
_UNVERSIONED = (State.UNASSIGNED, State.RESTARTING)


@dataclass
class _Local:
    """A connector that runs here, or could not be started here."""

    config: dict[str, str | None]
    version: str | None
    runner: ConnectorRunner | None = None
    told: dict[int | None, tuple[State, str | None]] = field(default_factory=dict)
    """What was last written: task number, None for the connector, to state and trace."""


class LocalConnectors:
    """Runs what `owns` says is this worker's."""

    def __init__(
        self,
        worker: Worker,
        configs: ConfigStore,
        statuses: StatusStore,
        worker_id: str,
        *,
        owns: Callable[[ClusterConfigState, str], bool],
        generation: Callable[[], int],
        publish: PublishTasks,
        on_state: OnState = lambda name, task, before, state, trace: None,
        on_restart: OnRestart = lambda name, connector, tasks: None,
    ) -> None:
        self._worker, self._configs, self._statuses, self._worker_id = worker, configs, statuses, worker_id
        self._owns, self._generation, self._publish = owns, generation, publish
        self._on_state, self._on_restart = on_state, on_restart
        self._lock = threading.Lock()
        self._locks: dict[str, threading.RLock] = {}
        self._local: dict[str, _Local] = {}

    # following the config store

    def reconcile(self, name: str) -> None:
        """Make what runs here what is wanted; returns when that is under way, and for an end when it is done."""
        with self._locked(name):
            state = self._configs.snapshot()
            config = state.connector_config(name)
            if config is None or not self._owns(state, name):
                self._end(name, is_deleted=config is None)
                return
            target = state.target_state(name) or TargetState.STARTED
            local = self._local.get(name)
            if local is None or local.config != config:
                self._begin(name, config, target, state)
            elif local.runner is not None:
                local.runner.set_target(target)
            elif target is TargetState.STOPPED or local.told.get(None, (None, None))[0] is State.STOPPED:
                # It could not be started: pause and resume leave it FAILED, a stop does not.
                self._begin(name, config, target, state)

    def end(self, names: Iterable[str]) -> None:
        """Stop connectors here because another worker takes them over, or this one leaves."""
        wanted = list(names)
        if not wanted:
            return
        with ThreadPoolExecutor(max_workers=min(32, len(wanted)), thread_name_prefix="end") as pool:
            for future in [pool.submit(self._end_locked, name) for name in wanted]:
                future.result()

    def _end_locked(self, name: str) -> None:
        with self._locked(name):
            self._end(name, is_deleted=False)

    def names(self) -> list[str]:
        """What runs here."""
        with self._lock:
            return sorted(self._local)

    def runner(self, name: str) -> ConnectorRunner | None:
        """The runner of a connector that runs here."""
        local = self._local.get(name)
        return local.runner if local is not None else None

    def statuses(self) -> dict[str, ConnectorStatus]:
        """What the connectors that run here are, by name; those that could not be started have FAILED."""
        found = {}
        for name in self.names():
            local = self._local.get(name)
            if local is not None and local.runner is not None:
                found[name] = local.runner.status()
            elif local is not None and None in local.told:
                found[name] = ConnectorStatus(name, *local.told[None])
        return found

    # restarts

    def restart(self, name: str, *, connector: bool, tasks: Collection[int] | None) -> bool:
        """Restart a connector, its running tasks, and those failed tasks that are named (None: all).

        Returns once it runs again or has failed again; False if it does not run here.
        """
        with self._locked(name):
            local = self._local.get(name)
            if local is None:
                return False
            self._on_restart(name, connector, tasks)
            if local.runner is None:  # it could not even be started: try again, whatever is asked for
                config = self._configs.snapshot().connector_config(name)
                if config is not None and connector:
                    state = self._configs.snapshot()
                    self._begin(name, config, state.target_state(name) or TargetState.STARTED, state)
                    local = self._local[name]
                if local.runner is None:
                    return True
                asked = None
            else:
                asked = local.runner.restart(connector=connector, tasks=tasks)
            runner = local.runner
        runner.wait_settled(asked)
        return True

    def show_restarting(self, name: str, *, connector: bool, tasks: Collection[int]) -> None:
        """Write RESTARTING for what is about to be restarted."""
        with self._locked(name):
            local = self._local.get(name)
            if local is None:
                return
            if connector:
                self._write(name, local, None, State.RESTARTING, None)
            for task in tasks:
                self._write(name, local, task, State.RESTARTING, None)

    # inside

    def _begin(self, name: str, config: dict[str, str | None], target: TargetState, state: ClusterConfigState) -> None:
        before = self._local.get(name)
        if before is not None and before.runner is not None:
            self._worker.stop_connector(name)
        local = self._local[name] = _Local(config, self._version(config))
        if before is not None:
            local.told = before.told
        try:
            local.runner = self._worker.start_connector(
                name,
                config,
                target,
                lambda status: self._on_status(local, status),
                known_tasks=state.task_count(name),
                publish=lambda tasks, cancelled: self._publish(name, tasks, cancelled),
            )
        except ConnectError:
            trace = traceback.format_exc()
            log.error("[%s] cannot be started: %s", name, trace)
            if target is TargetState.STOPPED:
                self._on_status(local, ConnectorStatus(name, State.STOPPED))
            else:
                self._on_status(local, ConnectorStatus(name, State.FAILED, trace))

    def _end(self, name: str, *, is_deleted: bool) -> None:
        local = self._local.get(name)
        if local is not None:
            if local.runner is not None:
                self._worker.stop_connector(name)
            else:
                self._on_status(local, ConnectorStatus(name, State.UNASSIGNED))
            with self._lock:
                self._local.pop(name, None)
            if is_deleted:
                self._statuses.delete_connector(name)
                for task in (task for task in local.told if task is not None):
                    self._statuses.delete_task(name, task)
                self._statuses.delete_topics(name)

    def _version(self, config: dict[str, str | None]) -> str | None:
        try:
            return plugin_version(self._worker.class_of(config))
        except ConnectError:
            return None  # the start will say what is wrong

    def _locked(self, name: str) -> threading.RLock:
        with self._lock:
            return self._locks.setdefault(name, threading.RLock())

    # statuses

    def _on_status(self, local: _Local, status: ConnectorStatus) -> None:
        """Called by the runner, one status after the other."""
        if status.state is State.UNASSIGNED and not self._is_shown(local):
            return
        self._write(status.name, local, None, status.state, status.trace)
        tasks = {task.id: task for task in status.tasks}
        for task in status.tasks:
            self._write(status.name, local, task.id, task.state, task.trace)
        if status.state is State.UNASSIGNED:
            return
        for number in [number for number in local.told if number is not None and number not in tasks]:
            self._write(status.name, local, number, State.UNASSIGNED, None)
            self._statuses.delete_task(status.name, number)
            del local.told[number]

    def _is_shown(self, local: _Local) -> bool:
        return bool(local.told)

    def _write(self, name: str, local: _Local, task: int | None, state: State, trace: str | None) -> None:
        if local.told.get(task) == (state, trace):
            return
        before = local.told.get(task, (None, None))[0]
        local.told[task] = (state, trace)
        self._on_state(name, task, before, state, trace)
        trace = None if trace is None else redact(trace)
        version = None if state in _UNVERSIONED else local.version
        is_safe = state in (State.FAILED, State.UNASSIGNED)
        if task is None:
            row = ConnectorStatusRow(name, state, self._worker_id, self._generation(), trace, version)
            (self._statuses.put_connector_safe if is_safe else self._statuses.put_connector)(row)
        else:
            task_row = TaskStatusRow(name, task, state, self._worker_id, self._generation(), trace, version)
            (self._statuses.put_task_safe if is_safe else self._statuses.put_task)(task_row)

    def note_topics(self) -> None:
        """Write down which topics the tasks have used, for those connectors that run here."""
        for name in self.names():
            runner = self.runner(name)
            for progress in runner.progress() if runner is not None else ():
                for topic in progress.topics:
                    self._statuses.put_topic(topic, name, progress.task)
