"""The part of a herder that is about offsets: when they may be changed, and the operations that change them."""

from __future__ import annotations

import logging
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seamark.config.states import State, TargetState
from seamark.errors import ConnectError, KafkaError, NotFoundError
from seamark.runtime.herder import STALE_CONFIG, Herder, RestError
from seamark.runtime.log_context import for_offsets
from seamark.runtime.offset_changes import OffsetChanges
from seamark.runtime.offset_plans import OffsetPlans
from seamark.runtime.offset_requests import OffsetRequest
from seamark.runtime.offset_views import OffsetViews
from seamark.runtime.operation_context import OperationContext, Origin
from seamark.runtime.operations import Operations
from seamark.runtime.worker import Worker
from seamark.storage.config_store import ConfigStore
from seamark.storage.operation_store import operation_store
from seamark.storage.status_store import StatusStore

log = logging.getLogger(__name__)

REFRESH_S = 20.0
STOPPED_WAIT_S = 30.0  # how long a change of offsets waits for the tasks of a connector that was just stopped
NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
)


class OffsetHerding(Herder):
    """Offsets of connectors, on a config store and a status store."""

    is_distributed = True
    worker: Worker
    _configs: ConfigStore
    _statuses: StatusStore
    _change: threading.RLock
    _stopping: threading.Event

    def _set_up_offsets(self) -> None:
        worker = self.worker
        self._offset_changes = OffsetChanges(worker)
        store = operation_store(worker.config.raw, is_distributed=self.is_distributed)
        plans = OffsetPlans(worker, self._offset_changes)
        self._operations = Operations(
            OperationContext(self, plans, self._offset_changes, store, worker.rest_tls),
            allowed_urls=str(worker.config["seamark.migration.urls"]),
        )
        self._offset_views = OffsetViews(worker, plans, self._offset_changes, self.connector_config)

    @abstractmethod
    def _require_leader(self) -> None:
        """Raises ForwardError unless this worker may change the config store."""

    @abstractmethod
    def _require_settled(self) -> None:
        """Raises RestError 409 while it is not certain who leads and who owns."""

    @abstractmethod
    def _fence(self, name: str) -> None:
        """End every former task of an exactly-once source."""

    @abstractmethod
    def _is_exactly_once(self, config: Mapping[str, str | None]) -> bool:
        """Whether it is a source that runs exactly once."""

    # requests

    @property
    def operations(self) -> Operations:
        return self._operations

    @property
    def offset_views(self) -> OffsetViews:
        return self._offset_views

    def connector_offsets(self, name: str) -> list[dict[str, Any]]:
        config = self.connector_config(name)
        return self._offset_changes.read(name, config)

    def alter_connector_offsets(self, name: str, offsets: Sequence[tuple[Any, Any]]) -> str:
        if not offsets:
            raise RestError(400, "Partitions / offsets need to be provided for an alter offsets request")
        return self._operations.alter(name, OffsetRequest(offsets=tuple(offsets)), Origin())[0]

    def reset_connector_offsets(self, name: str) -> str:
        return self._operations.alter(name, OffsetRequest(is_reset=True), Origin())[0]

    # what operations need

    def require_leader(self) -> None:
        """Raises ForwardError unless this worker leads."""
        self._require_leader()

    def is_stopping(self) -> bool:
        """Whether the worker is about to end."""
        return self._stopping.is_set()

    def target_state(self, name: str) -> TargetState | None:
        """What is wanted of a connector; None if there is none."""
        state = self._configs.snapshot()
        return state.target_state(name) if name in state.connectors else None

    def set_target_state(self, name: str, target: TargetState) -> None:
        """Start, pause or stop a connector."""
        if target is TargetState.STOPPED:
            self.stop_connector(name)
        elif target is TargetState.PAUSED:
            self.pause_connector(name)
        else:
            self.resume_connector(name)
        self._configs.refresh(REFRESH_S)

    def modify_offsets(self, name: str, work: Callable[[Mapping[str, str | None]], Any]) -> Any:
        """Do something with the offsets of a connector that is stopped, and stays so meanwhile."""
        self._require_settled()
        self._require_leader()
        if self._stopped_config(name) is None:
            self._checked_for_offsets(name)
        self.await_stopped(name, STOPPED_WAIT_S)  # without the lock: it may be on its way to another worker
        with self._change:
            config = self._checked_for_offsets(name)
            self.await_stopped(name, 0)
            if self._is_exactly_once(config):
                try:
                    self._fence(name)
                except ConnectError as error:
                    log.warning("[%s] its former tasks could not be fenced: %s", name, error)
                    raise RestError(
                        500, "Failed to perform zombie fencing for source connector prior to modifying offsets"
                    ) from error
                config = self._checked_for_offsets(name)
            self._require_leader()
            with for_offsets(name):
                return work(config)

    def _stopped_config(self, name: str) -> dict[str, str | None] | None:
        """The config of a connector that is to be stopped, as far as is known without asking Kafka."""
        state = self._configs.snapshot()
        is_stopped = state.target_state(name) is TargetState.STOPPED and not state.task_count(name)
        return state.connector_config(name) if is_stopped else None

    def _checked_for_offsets(self, name: str) -> dict[str, str | None]:
        try:
            self._configs.refresh(REFRESH_S)
        except KafkaError as error:
            raise RestError(500, "Failed to read to end of config topic before modifying connector offsets") from error
        config = self._stopped_config(name)
        if config is not None:
            return config
        if self._configs.snapshot().connector_config(name) is None:
            raise NotFoundError(f"Connector {name} not found")
        raise RestError(400, NOT_STOPPED.format(name=name))

    def await_stopped(self, name: str, timeout_s: float) -> None:
        """Wait until the owner says that its tasks have ended: the wish alone does not end them."""
        deadline = time.monotonic() + timeout_s
        while True:
            row = self._statuses.get_connector(name)
            if row is not None and row.state is State.STOPPED:
                return
            if time.monotonic() >= deadline or self._stopping.wait(0.05):
                raise RestError(409, STALE_CONFIG)
