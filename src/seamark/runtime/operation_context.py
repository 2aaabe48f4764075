"""What the steps of an operation work with: the herder, the store of operations, and the words for phases."""

from __future__ import annotations

import dataclasses
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from seamark.config.states import TargetState
from seamark.errors import ConnectError
from seamark.runtime.herder import Created, HookRefusedError, status_of
from seamark.runtime.offset_changes import OffsetChanges
from seamark.runtime.offset_plans import OffsetPlans
from seamark.storage.operation_records import DONE, FAILED, ROLLED_BACK, OperationRecord
from seamark.storage.operation_store import OperationStore

QUEUED: Final = "QUEUED"
STOPPING: Final = "STOPPING"
CHANGING: Final = "CHANGING"
RESUMING: Final = "RESUMING"
CREATING: Final = "CREATING"
STARTING: Final = "STARTING"
DELETING: Final = "DELETING"
STOP_TIMEOUT_S: Final = 120.0


class AbandonedError(ConnectError):
    """This worker may not go on with an operation; the one that leads now will."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asks, and why."""

    who: str = ""
    reason: str | None = None


class Host(Protocol):
    """What operations need of a herder. Raises what requests raise."""

    @property
    def kafka_cluster_id(self) -> str: ...
    def require_leader(self) -> None: ...
    def is_stopping(self) -> bool: ...
    def connectors(self) -> list[str]: ...
    def connector_config(self, name: str) -> dict[str, str | None]: ...
    def target_state(self, name: str) -> TargetState | None: ...
    def set_target_state(self, name: str, target: TargetState) -> None: ...
    def await_stopped(self, name: str, timeout_s: float) -> None: ...
    def modify_offsets(self, name: str, work: Callable[[Mapping[str, str | None]], Any]) -> Any: ...
    def put_connector_config(
        self, name: str, config: Mapping[str, str | None], target: TargetState | None, *, allow_replace: bool
    ) -> Created: ...
    def delete_connector(self, name: str) -> None: ...


class OperationContext:
    """Shared by all operations of a worker."""

    def __init__(
        self,
        host: Host,
        plans: OffsetPlans,
        changes: OffsetChanges,
        store: OperationStore,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`tls` is for requests to workers of other clusters."""
        self.host, self.plans, self.changes, self.store, self.tls = host, plans, changes, store, tls
        self._last_ms = 0
        self._lock = threading.Lock()

    def new(
        self, kind: str, connector: str, origin: Origin, request: Mapping[str, Any], phase: str, **fields: Any
    ) -> OperationRecord:
        """An operation that has just been asked for; not written yet."""
        with self._lock:
            # Ids are in the order of requests, also of those within a millisecond.
            self._last_ms = now_ms = max(self._last_ms + 1, self.now_ms())
        return OperationRecord(
            f"{now_ms:011x}-{secrets.token_hex(3)}",
            kind,
            connector,
            phase,
            now_ms,
            now_ms,
            origin.who,
            origin.reason,
            request,
            steps=({"phase": phase, "at": now_ms},),
            **fields,
        )

    def now_ms(self) -> int:
        """The time."""
        return int(time.time() * 1000)

    def advance(self, record: OperationRecord, phase: str, **changes: Any) -> OperationRecord:
        """Write down that the next step begins, or how it ended."""
        self.require_hold()
        record = record.moved_to(phase, self.now_ms(), **changes)
        self.store.put(record)
        if record.is_finished:
            self.store.trim(record.connector)
        return record

    def require_hold(self) -> None:
        """Go on only as long as this worker leads.

        Raises:
            AbandonedError: it does not, or it is stopping.
        """
        if self.host.is_stopping():
            raise AbandonedError("The worker is stopping.")
        try:
            self.host.require_leader()
        except ConnectError as error:
            raise AbandonedError(f"Another worker leads: {error.message}") from error

    # steps that several kinds have

    def stop(self, record: OperationRecord) -> OperationRecord:
        """QUEUED -> STOPPING: the connector is told to stop, after its state is written down."""
        target = self.host.target_state(record.connector) or TargetState.STARTED
        record = self.advance(record, STOPPING, former_state=target.value)
        if target is not TargetState.STOPPED:
            self.host.set_target_state(record.connector, TargetState.STOPPED)
        return record

    def await_stopped(self, record: OperationRecord) -> None:
        """Wait until its tasks have ended."""
        if self.host.target_state(record.connector) is not TargetState.STOPPED:
            # The worker that wrote STOPPING did not live to do it.
            self.host.set_target_state(record.connector, TargetState.STOPPED)
        self.host.await_stopped(record.connector, STOP_TIMEOUT_S)

    def restore(self, record: OperationRecord) -> None:
        """Give the connector its former state back."""
        former = TargetState(record.former_state or TargetState.STARTED.value)
        if self.host.target_state(record.connector) not in (None, former):
            self.host.set_target_state(record.connector, former)

    def roll_back(self, record: OperationRecord, error: ConnectError, undo: Callable[[], None]) -> OperationRecord:
        """End an operation that failed: put things back, and say what could not be."""
        record = failed_with(record, error)
        try:
            undo()
            self.restore(record)
        except AbandonedError:
            raise
        except ConnectError as further:
            state = self.host.target_state(record.connector)
            left = "" if state is None else f" Connector {record.connector} is left {state.value}."
            return self.advance(
                record, FAILED, error=f"{error.message} It could not be put back: {further.message}{left}"
            )
        message = f"Nothing is changed; the connector is {_shown(record.former_state)} as before."
        return self.advance(record, ROLLED_BACK, error=error.message, message=message)

    def done(self, record: OperationRecord, message: str | None) -> OperationRecord:
        """End an operation well."""
        return self.advance(record, DONE, message=message)


def _shown(target: str | None) -> str:
    return "RUNNING" if target in (None, TargetState.STARTED.value) else str(target)


def failed_with(record: OperationRecord, error: ConnectError) -> OperationRecord:
    """The record with the status that a request which waits for it is answered with."""
    # Offsets that a connector refuses are the client's fault; only Kafka Connect's own requests call it a failure.
    status = 400 if isinstance(error, HookRefusedError) else status_of(error)
    return dataclasses.replace(record, details={**record.details, "status": status})


def pairs(stored: Sequence[Mapping[str, Any]]) -> list[tuple[Any, Any]]:
    """Stored offsets as a request to alter offsets has them."""
    return [(row["partition"], row["offset"]) for row in stored]
