"""The part of a herder that lets others look on: what it knows, for `seamark.runtime.observation`, and what happens."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from seamark.config.states import State
from seamark.errors import cause_of
from seamark.runtime.events import EventLog, config_changes
from seamark.runtime.herder import Herder
from seamark.runtime.log_context import redact
from seamark.storage.cluster_state import (
    ClusterConfigState,
    ConfigEvent,
    ConnectorConfigRemoved,
    ConnectorConfigUpdated,
)
from seamark.storage.config_store import ConfigStore
from seamark.storage.status_store import ConnectorStatusRow, StatusStore, TaskStatusRow

if TYPE_CHECKING:
    from seamark.kafka.group_members import Member
    from seamark.runtime.local_connectors import LocalConnectors
    from seamark.runtime.metrics import Metrics
    from seamark.runtime.observation import Observation
    from seamark.runtime.worker import Worker

log = logging.getLogger(__name__)

_LONGEST: Final = 300
_UNUSUAL: Final = (State.FAILED, State.RESTARTING)


class ObservedHerder(Herder):
    """What can be seen of a herder on a config store and a status store."""

    worker: Worker
    local: LocalConnectors
    metrics: Metrics | None
    observation: Observation
    _configs: ConfigStore
    _statuses: StatusStore
    _noted: Mapping[str, Mapping[str, str | None]]

    # what the kinds differ in

    @property
    def is_leader(self) -> bool:
        """Whether this worker leads its group."""
        return True

    @property
    def group_id(self) -> str | None:
        """Of the group of workers; None without one."""
        return None

    def group_members(self) -> list[Member]:
        """The workers of the group, this one among them. Raises KafkaError."""
        return []

    def membership_problem(self) -> str | None:
        """Why this worker is not in its group; None if it is, or needs none."""
        return None

    def url_of(self, worker_id: str) -> str:
        """The address of a worker of the same group."""
        return f"{self.worker.config.advertised_protocol}://{worker_id}/"

    def require_owner(self, name: str) -> None:
        """Raises ForwardError unless the connector runs on this worker."""

    # what is known

    def config_state(self) -> ClusterConfigState:
        """What the config store says."""
        return self._configs.snapshot()

    def has_connector(self, name: str) -> bool:
        """Whether there is one, as far as this worker knows."""
        return name in self._configs.snapshot().connectors

    def status_row(self, name: str) -> ConnectorStatusRow | None:
        """What a connector is."""
        return self._statuses.get_connector(name)

    def task_rows(self, name: str) -> list[TaskStatusRow]:
        """What its tasks are."""
        return self._statuses.get_tasks(name)

    def connector_type(self, config: Mapping[str, str | None]) -> str:
        """``source``, ``sink`` or ``unknown``."""
        return "unknown"

    # what happens

    @property
    def events(self) -> EventLog:
        """Where to note what happens to a connector."""
        return self.observation.events

    def _note_config(self, event: ConfigEvent) -> None:
        """Told of every change of the config store; the leader notes it for all."""
        if not isinstance(event, ConnectorConfigUpdated | ConnectorConfigRemoved):
            return
        before, self._noted = self._noted, self._configs.snapshot().connectors
        if not self.is_leader:
            return
        name = event.name
        if isinstance(event, ConnectorConfigRemoved):
            self.events.add(name, "deleted", "deleted")
        elif name not in before:
            self.events.add(name, "created", "created")
        elif changed := config_changes(before[name], self._noted.get(name, {})):
            keys = [key for found in changed.values() for key in found]
            shown = ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
            self.events.add(name, "config", f"configuration changed: {shown}", detail=changed)

    def _note_state(self, name: str, task: int | None, before: State | None, state: State, trace: str | None) -> None:
        """Told of every change of what runs here. Of tasks only what is out of the ordinary: there may be thousands."""
        self._count_start(task, before, state)
        cause = None if trace is None else redact(cause_of(trace))[:_LONGEST]
        said = state.value if cause is None else f"{state.value}: {cause}"
        detail = {"worker": self.worker_id, "state": state.value}
        if state is not State.FAILED:  # that is logged with its trace
            self.observation.say(log, f"[{name}] is {said}" if task is None else f"[{name}|task-{task}] is {said}")
        if task is None:
            self.events.add(name, "state", said, detail=detail)
        elif state in _UNUSUAL or before in _UNUSUAL:
            self.events.add(name, "task", f"task {task} is {said}", detail={**detail, "task": task})

    def _count_start(self, task: int | None, before: State | None, state: State) -> None:
        """A task is taken to have started when it is handed to Spark; what ran before it failed did start."""
        if self.metrics is not None and state in (State.RUNNING, State.FAILED) and before not in (state, State.RUNNING):
            started = self.metrics.connector_started if task is None else self.metrics.task_started
            started(ok=state is State.RUNNING)

    def _note_restart(self, name: str, connector: bool, tasks: Collection[int] | None) -> None:
        what = ["connector"] if connector else []
        if tasks is None:
            what.append("all tasks")
        elif tasks:
            what.append("task" + (" " if len(tasks) == 1 else "s ") + ", ".join(map(str, sorted(tasks)[:10])))
        self.events.add(name, "restart", f"restart of {' and '.join(what) or 'nothing'}")
