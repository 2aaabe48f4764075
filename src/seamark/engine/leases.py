"""Leases: who may run which task of which epoch, and what it is told.

Only decisions here, no I/O and no clock: `lease_server` brings requests and times. An *epoch* is one Spark job of a
direct stage; each of its tasks holds one lease. A lease belongs to one attempt of the Spark task: a retried attempt
takes it over, and whatever the former attempt still says is refused. That, and the transactional fencing of the
producer, is why a zombie can do no harm.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Protocol

from seamark.engine.stage import Ending, TaskProgress
from seamark.errors import LeaseLostError

STARVING_AFTER_S = 5.0  # a Spark slot is normally had at once; longer, and others hold them all
TURN_S = 15.0  # an epoch that runs while others starve ends after this time and queues again


class Directive(StrEnum):
    """What a task is told when it renews its lease."""

    CONTINUE = "continue"
    STOP = "stop"
    PAUSE = "pause"


class EpochServices(Protocol):
    """What tasks may ask of their worker while they hold a lease."""

    def read_offsets(self) -> dict[str, Any]:
        """Committed source offsets of the connector, and the raw keys they are stored under."""

    def write_offsets(self, task: int, body: Mapping[str, Any]) -> None:
        """Store source offsets."""

    def commit_sink(self, task: int, body: Mapping[str, Any]) -> None:
        """Commit consumer-group offsets."""


class LeaseState(Enum):
    """Where a lease is in its life."""

    WAITING = "waiting"  # the Spark task has not begun
    HELD = "held"
    RELEASED = "released"  # the task ended and said how
    LOST = "lost"  # not renewed in time


@dataclass(slots=True)
class Lease:
    """One task's right to work."""

    id: str
    task: int
    progress: TaskProgress
    state: LeaseState = LeaseState.WAITING
    attempt: int = -1
    renewed_at: float = 0.0
    idle_ms: int = 0
    sequence: dict[str, int] = field(default_factory=dict)
    result: str | None = None
    error: str | None = None
    retriable: bool = False
    was_served: bool = False
    """Whether the task got a Spark slot before its epoch was told to stop."""


@dataclass(slots=True)
class Epoch:
    """One Spark job of a direct stage."""

    id: str
    connector: str
    services: EpochServices
    leases: list[Lease]
    opened_at: float
    epoch_ms: int
    lease_ms: int
    idle_ms: int | None
    """After how much idle time of all tasks the epoch ends; None if it does not."""
    stop_reason: Ending | None = None
    served_at: float | None = None
    """When the first of its tasks got a Spark slot: its time runs from then on, not while it waits."""
    has_yielded: bool = False
    """Whether it ended so that others get their turn."""
    on_stop: Callable[[], None] = lambda: None
    configs: Sequence[Mapping[str, str]] = ()
    """By task, once they have changed since the epoch began."""
    configs_version: int = 0

    def reconfigure(self, configs: Sequence[Mapping[str, str]]) -> None:
        """Let tasks know of other configs when they next renew their leases."""
        self.configs, self.configs_version = configs, self.configs_version + 1

    def news_for(self, task: int, known_version: int) -> Mapping[str, Any]:
        """What a task is told besides its directive."""
        version = self.configs_version
        return {} if version <= known_version else {"config": self.configs[task], "config_version": version}

    @property
    def held(self) -> list[Lease]:
        """The leases whose tasks work now."""
        return [lease for lease in self.leases if lease.state is LeaseState.HELD]

    def stop(self, reason: Ending) -> None:
        """Tell every task to stop; the first reason counts, except that a request to stop always does."""
        if self.stop_reason is None or reason is Ending.STOPPED:
            self.stop_reason = reason
            self.on_stop()

    def decide(self, now: float, starving: bool) -> Directive:
        """What tasks of this epoch are told now."""
        if self.stop_reason is None:
            age_ms = (now - (self.opened_at if self.served_at is None else self.served_at)) * 1000
            if age_ms >= self.epoch_ms or (starving and age_ms >= TURN_S * 1000):
                self.has_yielded = starving
                self.stop(Ending.WORKED)
            elif self.idle_ms is not None and self._is_idle():
                self.stop(Ending.IDLE)
        return Directive.CONTINUE if self.stop_reason is None else Directive.STOP

    def _is_idle(self) -> bool:
        assert self.idle_ms is not None  # noqa: S101 - for the type checker
        if any(lease.state is LeaseState.WAITING for lease in self.leases):
            return False
        held = self.held
        return bool(held) and all(lease.idle_ms >= self.idle_ms for lease in held)


class LeaseTable:
    """All leases of a worker. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._epochs: dict[str, Epoch] = {}
        self._by_lease: dict[str, tuple[Epoch, Lease]] = {}

    def open(self, epoch: Epoch) -> None:
        """Begin an epoch."""
        with self._lock:
            self._epochs[epoch.id] = epoch
            for lease in epoch.leases:
                self._by_lease[lease.id] = (epoch, lease)

    def close(self, epoch: Epoch) -> None:
        """Forget an epoch: its leases are void."""
        with self._lock:
            self._epochs.pop(epoch.id, None)
            for lease in epoch.leases:
                self._by_lease.pop(lease.id, None)

    def close_unless_held(self, epoch: Epoch) -> bool:
        """Forget an epoch if each of its tasks has said that it ended, or has not begun; returns whether it is so."""
        with self._lock:
            if any(lease.state in (LeaseState.HELD, LeaseState.LOST) for lease in epoch.leases):
                return False
            self.close(epoch)
            return True

    def is_starving(self, now: float) -> bool:
        """Whether some Spark task has been waiting for a slot for long."""
        return any(
            lease.state is LeaseState.WAITING and now - epoch.opened_at > STARVING_AFTER_S
            for epoch in list(self._epochs.values())
            if epoch.stop_reason is None
            for lease in epoch.leases
        )

    def has_waiting(self, opened_before: float) -> bool:
        """Whether a Spark task of an epoch that is older than this time still waits for a slot."""
        return any(
            lease.state is LeaseState.WAITING
            for epoch in list(self._epochs.values())
            if epoch.stop_reason is None and epoch.opened_at < opened_before
            for lease in epoch.leases
        )

    def acquire(self, lease_id: str, attempt: int, now: float) -> tuple[Epoch, Lease]:
        """Give the lease to this attempt of its Spark task.

        Raises:
            LeaseLostError: the epoch is over, the task has ended, or a later attempt holds the lease.
        """
        with self._lock:
            epoch, lease = self._find(lease_id)
            if lease.state is LeaseState.RELEASED:
                raise LeaseLostError(f"Lease {lease_id} was released: its task has ended.")
            if attempt <= lease.attempt:
                raise LeaseLostError(
                    f"Lease {lease_id} is held by attempt {lease.attempt}; attempt {attempt} is older."
                )
            lease.attempt, lease.state, lease.renewed_at = attempt, LeaseState.HELD, now
            lease.was_served = lease.was_served or epoch.stop_reason is None
            epoch.served_at = now if epoch.served_at is None else epoch.served_at
            lease.sequence.clear()
            lease.idle_ms = 0
            return epoch, lease

    def check(self, lease_id: str, attempt: int, channel: str, sequence: int, now: float) -> tuple[Epoch, Lease]:
        """The lease, if this attempt holds it, the request is no replay, and it was renewed in time.

        Raises:
            LeaseLostError: it does not hold it any more.
        """
        with self._lock:
            epoch, lease = self._find(lease_id)
            if lease.state is not LeaseState.HELD or lease.attempt != attempt:
                raise LeaseLostError(f"Lease {lease_id} is not held by attempt {attempt} (it is {lease.state.value}).")
            if sequence <= lease.sequence.get(channel, -1):
                raise LeaseLostError(f"Request {sequence} for lease {lease_id} was answered before.")
            if (now - lease.renewed_at) * 1000 > epoch.lease_ms:
                lease.state = LeaseState.LOST
                raise LeaseLostError(f"Lease {lease_id} ran out: it was not renewed within {epoch.lease_ms} ms.")
            lease.sequence[channel] = sequence
            return epoch, lease

    def renew(self, lease: Lease, progress: TaskProgress, idle_ms: int, now: float) -> None:
        """Note that the task lives and how far it is."""
        with self._lock:
            lease.renewed_at, lease.progress, lease.idle_ms = now, progress, idle_ms

    def release(self, lease: Lease, result: str, error: str | None, retriable: bool) -> None:
        """The task has ended."""
        with self._lock:
            lease.state, lease.result, lease.error, lease.retriable = LeaseState.RELEASED, result, error, retriable

    def expire(self, epoch: Epoch, now: float) -> Sequence[Lease]:
        """Mark and return the leases of an epoch that were not renewed in time."""
        with self._lock:
            late = [lease for lease in epoch.held if (now - lease.renewed_at) * 1000 > epoch.lease_ms]
            for lease in late:
                lease.state = LeaseState.LOST
            return late

    def _find(self, lease_id: str) -> tuple[Epoch, Lease]:
        try:
            return self._by_lease[lease_id]
        except KeyError:
            raise LeaseLostError(f"Lease {lease_id} is not known: its epoch is over.") from None
