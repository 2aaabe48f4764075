"""The herder of a standalone worker: configs and states in memory, offsets in a file, every change done at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seamark.errors import NotFoundError
from seamark.runtime.abstract_herder import AbstractHerder
from seamark.runtime.herder import ConnectorInfo, InternalRequest, RestError, TaskId
from seamark.runtime.worker import Worker
from seamark.storage.cluster_state import ConfigEvent, RestartRequested
from seamark.storage.memory_config import MemoryConfigStore
from seamark.storage.memory_status import MemoryStatusStore

SETTLE_S = 60.0


class StandaloneHerder(AbstractHerder):
    """One worker that leads itself and owns everything."""

    is_distributed = False

    def __init__(self, worker: Worker, worker_id: str, *, awaits_files: bool = False) -> None:
        """With `awaits_files` the worker is ready only after `files_created`."""
        super().__init__(worker, MemoryConfigStore(), MemoryStatusStore(), worker_id)
        self._are_files_created = not awaits_files

    def files_created(self) -> None:
        """The connectors of the command line have been created."""
        self._are_files_created = True

    def is_ready(self) -> bool:
        return super().is_ready() and self._are_files_created

    def _on_event(self, event: ConfigEvent) -> None:
        # Changes of connectors are carried out by the thread that makes them.
        if isinstance(event, RestartRequested):
            super()._on_event(event)

    def _after_change(self, name: str) -> None:
        self.local.reconcile(name)
        runner = self.local.runner(name)
        if runner is not None:
            runner.wait_settled(timeout_s=SETTLE_S)

    def _answered(self, info: ConnectorInfo, before: Sequence[TaskId]) -> ConnectorInfo:
        return info  # its tasks run already

    def restart_connector(self, name: str) -> None:
        if not self._configs.contains(name):
            raise RestError(500, f"Connector {name} cannot be restarted: its configuration is null, it does not exist")
        super().restart_connector(name)

    def restart_task(self, task: TaskId) -> None:
        state = self._configs.snapshot()
        if task.connector not in state.connectors:
            raise RestError(500, f"Failed to start task {task} since it is not a recognizable type (source or sink)")
        if not 0 <= task.task < state.task_count(task.connector):
            raise NotFoundError(f"Task {task} not found")
        super().restart_task(task)

    def set_cluster_logger_level(self, logger: str, level: str) -> None:
        self.set_worker_logger_level(logger, level)

    def put_task_configs(self, name: str, configs: Sequence[Mapping[str, str]], request: InternalRequest) -> None:
        raise RestError(
            500, "Kafka Connect in standalone mode does not support externally setting task configurations."
        )

    def fence_zombies(self, name: str, request: InternalRequest) -> None:
        raise RestError(500, "Kafka Connect in standalone mode does not support exactly-once source connectors.")
