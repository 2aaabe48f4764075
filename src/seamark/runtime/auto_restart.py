"""Restarts what has failed, with growing delays, if the worker is told to."""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from seamark.config.worker import WorkerConfig
from seamark.runtime.states import ConnectorStatus, State

log = logging.getLogger(__name__)


@dataclass
class _Failing:
    """A connector that has failed, or has done so lately."""

    attempts: int = 0
    due: float | None = None
    """When it will be restarted; None while it runs, or will not be restarted any more."""
    well_since: float | None = None


class AutoRestart:
    """Decides when to restart the connectors of a worker. Not thread-safe: `tick` is called by one thread."""

    def __init__(self, config: WorkerConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_enabled: bool = config["seamark.auto.restart.enabled"]
        self._max: int = config["seamark.auto.restart.max.attempts"]
        self._delay_s: float = config["seamark.auto.restart.delay.ms"] / 1000
        self._longest_s: float = config["seamark.auto.restart.delay.max.ms"] / 1000
        self._clock = clock
        self._failing: dict[str, _Failing] = {}

    def tick(self, statuses: Mapping[str, ConnectorStatus]) -> list[str]:
        """The connectors to restart now, with those of their tasks that have failed."""
        if not self.is_enabled:
            return []
        now = self._clock()
        for name in self._failing.keys() - statuses.keys():
            del self._failing[name]
        return [name for name, status in statuses.items() if self._is_due(name, status, now)]

    def _is_due(self, name: str, status: ConnectorStatus, now: float) -> bool:
        has_failed = status.state is State.FAILED or any(task.state is State.FAILED for task in status.tasks)
        failing = self._failing.get(name)
        if not has_failed:
            if failing is not None:
                failing.due = None
                failing.well_since = failing.well_since or now
                if now - failing.well_since >= self._longest_s:
                    del self._failing[name]
            return False
        if failing is None:
            failing = self._failing[name] = _Failing()
        failing.well_since = None
        if 0 <= self._max <= failing.attempts:
            failing.due = None
            return False
        if failing.due is None:
            failing.due = now + min(self._longest_s, self._delay_s * 2**failing.attempts)
        if now < failing.due:
            return False
        failing.due, failing.attempts = None, failing.attempts + 1
        log.info("[%s] has failed and is restarted; attempt %d", name, failing.attempts)
        return True

    def shown(self, name: str) -> dict[str, object] | None:
        """What a status says about it: how often, and when next; None if there was nothing to restart."""
        failing = self._failing.get(name)
        if failing is None:
            return None
        due = failing.due
        at = None
        if due is not None:
            moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=due - self._clock())
            at = moment.isoformat(timespec="milliseconds")
        return {"attempts": failing.attempts, "next_at": at}
