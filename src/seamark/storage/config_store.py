"""Connector and task configurations, target states and what else all workers of a cluster must know.

`KafkaConfigStore` keeps them in the config topic, `MemoryConfigStore` in memory for a standalone worker. Both turn
every change into the same records and learn the state from them by the same rules (`ConfigLogReducer`).
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from seamark.config.states import TargetState
from seamark.errors import ConnectError
from seamark.storage import config_records as records
from seamark.storage.cluster_state import ClusterConfigState, ConfigEvent
from seamark.storage.config_records import ConfigRecord, SessionKey

_log = logging.getLogger(__name__)

READ_WRITE_TIMEOUT_S: Final = 30.0  # Kafka Connect's budget for writing a change and reading it back
LOST_PRIVILEGES: Final = (
    "Failed to write to config topic; this may be due to a transient error and the request can be safely retried"
)


class ConfigStoreError(ConnectError):
    """A change could not be written, or not be read back in time; then it may still take effect."""


class PrivilegedWriteError(ConfigStoreError):
    """A write that is the leader's alone failed, because of a newer leader or an error.

    Nothing was written, unless the broker gave no answer in time; the next claim settles that. The store has given up
    its write privileges: who still leads claims them again and may repeat the write.
    """

    retriable = True

    def __init__(self, message: str = LOST_PRIVILEGES) -> None:
        super().__init__(message)


class ConfigStore(ABC):
    """What all workers of a cluster must know, and the only way to change it.

    A method that writes returns when the change can be seen in `snapshot`, except `put_target_state` and
    `put_logger_level`, whose changes any worker may write and are seen when they have been read back.

    Methods may be called from any thread, but not from `on_event`, which runs in the thread that reads the changes.
    """

    def __init__(self, on_event: Callable[[ConfigEvent], None] | None = None) -> None:
        self.on_event = on_event
        """Told of every change that is read after `start` has returned, one at a time and in order; the snapshot then
        holds it already. Changes from before are told by the snapshot alone, restart requests and logger levels from
        before by nothing. Set it before `start`."""

    # --- life and reading -----------------------------------------------------------------------------------------

    @abstractmethod
    def start(self) -> None:
        """Read everything; afterwards the snapshot is complete.

        Raises:
            ConfigError: the config topic cannot serve, for instance since it has several partitions.
            KafkaError: the broker refused, or did not answer in time.
        """

    @abstractmethod
    def stop(self) -> None:
        """Let go of the broker, and of write privileges."""

    @abstractmethod
    def snapshot(self) -> ClusterConfigState:
        """What is known now; never changes afterwards, and costs next to nothing while there is no change."""

    def contains(self, name: str) -> bool:
        """Whether the connector exists."""
        return name in self.snapshot().connectors

    @abstractmethod
    def refresh(self, timeout_s: float) -> None:
        """Read everything that has been written by anyone up to now.

        Raises:
            KafkaTimeoutError: not in time.
        """

    # --- changes of the leader ------------------------------------------------------------------------------------

    @abstractmethod
    def claim_write_privileges(self) -> None:
        """Make this worker the only one whose privileged writes succeed; for a worker that has become the leader.

        On return the writes of a former leader fail, and all that it wrote is in the snapshot. Does nothing when the
        privileges are held, so a worker that has lost the lead must release them.

        Raises:
            ConfigStoreError: the broker refused, or did not answer in time.
        """

    @abstractmethod
    def release_write_privileges(self) -> None:
        """Give up writing as the leader; for a worker that has lost the lead. May be called at any time."""

    @property
    @abstractmethod
    def has_write_privileges(self) -> bool:
        """Whether privileged writes may be tried: claimed, and neither released nor lost by a failed write since."""

    def put_connector_config(
        self,
        name: str,
        config: Mapping[str, str | None],
        target_state: TargetState | None = None,
        *,
        slot: int | None = None,
    ) -> None:
        """Create a connector or change its configuration.

        Args:
            name: of the connector.
            config: written in the order of the map.
            target_state: written before the configuration, in the same transaction. None leaves that of an existing
                connector; a new one is STARTED, whatever is left over from a former one of its name.
            slot: where it runs, written before the configuration in the same transaction; None leaves what there is.

        Raises:
            PrivilegedWriteError: another worker is the leader, or the write failed.
            ConfigStoreError: the change was written but not read back in time.
        """
        batch: list[ConfigRecord] = []
        if target_state is None and not self._is_started_by_default(name):
            target_state = TargetState.STARTED
        if target_state is not None:
            batch.append(records.target_state_record(name, target_state))
        if slot is not None:
            batch.append(records.placement_record(name, slot))
        batch.append(records.connector_record(name, config))
        self._write_leader(batch, "Error writing connector configuration to Kafka", _deadline())

    def remove_connector_config(self, name: str) -> None:
        """Delete a connector with its target state and its slot; what is known of its fencing stays.

        Raises:
            PrivilegedWriteError: another worker is the leader, or the write failed.
            ConfigStoreError: the change was written but not read back in time.
        """
        batch: list[ConfigRecord] = [(records.CONNECTOR + name, None), (records.TARGET_STATE + name, None)]
        if name in self.snapshot().placements:
            batch.append(records.placement_record(name, None))
        self._write_leader(batch, "Error removing connector configuration from Kafka", _deadline())

    def put_task_configs(self, name: str, configs: Sequence[Mapping[str, str | None]]) -> None:
        """Give a connector new tasks: all configurations, then the commit that makes them count.

        Raises:
            PrivilegedWriteError: another worker is the leader, or the write failed; the former tasks stay.
            ConfigStoreError: the change was written but not read back in time.
        """
        deadline = _deadline()
        failure = "Error writing task configurations to Kafka"
        if configs:
            self._write_leader(
                [records.task_record(name, task, config) for task, config in enumerate(configs)], failure, deadline
            )
        self._write_leader([records.commit_record(name, len(configs))], failure, deadline)

    def remove_task_configs(self, name: str) -> None:
        """Leave a connector without tasks; done before it is STOPPED. Raises as `put_task_configs`."""
        self.put_task_configs(name, [])

    def put_task_count_record(self, name: str, tasks: int) -> None:
        """Note that zombies were fenced for this number of tasks. Raises as `put_connector_config`."""
        self._write_leader(
            [records.fencing_record(name, tasks)], "Error writing task count record to Kafka", _deadline()
        )

    def put_session_key(self, key: SessionKey) -> None:
        """Give all workers a new secret. Raises as `put_connector_config`."""
        self._write_leader([records.session_key_record(key)], "Error writing session key to Kafka", _deadline())

    def put_restart_request(self, name: str, *, include_tasks: bool, only_failed: bool) -> None:
        """Ask the workers that run the connector and its tasks to restart. Raises as `put_connector_config`."""
        record = records.restart_record(name, include_tasks=include_tasks, only_failed=only_failed)
        what = f"restart request for {{connectorName='{name}', onlyFailed={_java(only_failed)}, "
        what += f"includeTasks={_java(include_tasks)}}}"
        self._write_leader([record], f"Error writing {what} to Kafka", _deadline())

    def put_placement(self, name: str, slot: int | None) -> None:
        """Say in which slot a connector runs; None forgets it. Raises as `put_connector_config`."""
        self._write_leader(
            [records.placement_record(name, slot)], "Error writing connector placement to Kafka", _deadline()
        )

    # --- changes of any worker ------------------------------------------------------------------------------------

    def put_target_state(self, name: str, state: TargetState) -> None:
        """Say what is wanted of a connector; written even if it is the same as before.

        Raises:
            ConfigStoreError: it could not be written in time.
        """
        self._write_any([records.target_state_record(name, state)], "Error writing target state to Kafka", _deadline())

    def put_logger_level(self, logger: str, level: str) -> None:
        """Set the level of a logger on every worker.

        Raises:
            ConfigStoreError: it could not be written in time.
        """
        self._write_any([records.logger_record(logger, level)], "Error writing logger level to Kafka", _deadline())

    # --- for implementations --------------------------------------------------------------------------------------

    @abstractmethod
    def _write_leader(self, batch: Sequence[ConfigRecord], failure: str, deadline: float) -> None:
        """Write records in order, all or none, if this worker is the leader, and wait until they have been read."""

    @abstractmethod
    def _write_any(self, batch: Sequence[ConfigRecord], failure: str, deadline: float) -> None:
        """Write records in order."""

    def _is_started_by_default(self, name: str) -> bool:
        # A leader that wrote both records one by one may have died between them and left the first.
        state = self.snapshot()
        return name in state.connectors or state.target_states.get(name) in (None, TargetState.STARTED)

    def _tell(self, events: Sequence[ConfigEvent]) -> None:
        listener = self.on_event
        if listener is None:
            return
        for event in events:
            try:
                listener(event)
            except Exception:
                _log.exception("A listener failed at %s", event)


def _deadline() -> float:
    return time.monotonic() + READ_WRITE_TIMEOUT_S


def _java(flag: bool) -> str:
    return "true" if flag else "false"
