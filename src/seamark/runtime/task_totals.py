"""What tasks have done since their worker started: sums over all their starts, rates, and times in states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from seamark.engine.stage import TaskProgress
from seamark.runtime.series import Sums
from seamark.runtime.states import ConnectorStatus

WINDOW_S: Final = 60.0
"""Rates and ratios are of about this time; what is older counts less and less."""
_SHORTEST_S: Final = 0.5  # a rate over less than that says nothing


@dataclass(frozen=True, slots=True)
class ConnectorView:
    """A connector of this worker, as it is now."""

    status: ConnectorStatus
    type: str
    """``source``, ``sink`` or ``unknown``."""
    class_name: str = ""
    version: str | None = None
    progress: Sequence[TaskProgress] = ()
    is_transactional: bool = False
    """Whether its records and offsets are written in transactions."""


@dataclass(slots=True)
class Rate:
    """How fast a sum has grown lately, per second."""

    value: float = 0.0
    at: float | None = None
    total: float = 0.0

    def take(self, total: float, now: float) -> None:
        """The sum is that now."""
        if self.at is None:
            self.at, self.total = now, total
        elif now - self.at >= _SHORTEST_S:
            grown, seconds = total - self.total, now - self.at
            self.at, self.total = now, total
            if grown or self.value:
                weight = math.exp(-seconds / WINDOW_S)
                self.value = self.value * weight + grown / seconds * (1 - weight)


@dataclass(slots=True)
class StateTimes:
    """Which part of its time a task has lately been running, and paused."""

    state: str
    since: float
    running: float = 0.0
    paused: float = 0.0

    def take(self, state: str, now: float) -> None:
        """It is in that state now."""
        if state != self.state:
            self.running, self.paused = self.ratios(now)
            self.state, self.since = state, now

    def ratios(self, now: float) -> tuple[float, float]:
        """Of running and paused, from 0 to 1."""
        weight = math.exp(-(now - self.since) / WINDOW_S)
        is_running, is_paused = self.state == "RUNNING", self.state == "PAUSED"
        return self.running * weight + is_running * (1 - weight), self.paused * weight + is_paused * (1 - weight)

    @classmethod
    def begun(cls, state: str, now: float) -> StateTimes:
        """Of a task that is seen for the first time."""
        return cls(state, now, float(state == "RUNNING"), float(state == "PAUSED"))


@dataclass(slots=True)
class Totals:
    """What a task has done since the worker started, over all its starts."""

    last: TaskProgress
    records: int = 0
    bytes: int = 0
    commits: int = 0
    commit_ms: float = 0.0
    commit_max_ms: float = 0.0
    largest_batch: int = 0
    smallest_batch: int | None = None
    batches: int = 0
    batch_ms: float = 0.0
    batch_max_ms: float = 0.0
    errors: dict[str, int] = field(default_factory=dict)
    record_rate: Rate = field(default_factory=Rate)
    partitions: int = 0
    """That it has reported positions of."""
    skip_rate: Rate = field(default_factory=Rate)
    commit_rate: Rate = field(default_factory=Rate)

    @property
    def skipped(self) -> int:
        """Records that were skipped because of errors."""
        return self.errors.get("total_records_skipped", 0)

    def add(self, progress: TaskProgress, now: float) -> None:
        """Count what is new since the last look."""
        last = self.last
        is_anew = (
            progress.records < last.records
            or progress.bytes < last.bytes
            or progress.commits < last.commits
            or progress.batches < last.batches
        )
        base = TaskProgress(progress.task) if is_anew else last
        records, commits = progress.records - base.records, progress.commits - base.commits
        self.records += records
        self.bytes += progress.bytes - base.bytes
        self.commits += commits
        if commits > 0:
            self.commit_ms += progress.commit_ms * commits
            self.commit_max_ms = max(self.commit_max_ms, progress.commit_ms)
            size = records // commits
            self.largest_batch = max(self.largest_batch, size)
            if size > 0:
                self.smallest_batch = size if self.smallest_batch is None else min(self.smallest_batch, size)
        self.batches += progress.batches - base.batches
        self.batch_ms += progress.batch_ms - base.batch_ms
        self.batch_max_ms = max(self.batch_max_ms, progress.batch_max_ms)
        for name, count in progress.errors.items():
            before = base.errors.get(name, 0)
            new = count if name == "last_error_timestamp" or count < before else count - before
            self.errors[name] = new if name == "last_error_timestamp" else self.errors.get(name, 0) + new
        self.partitions = len(progress.positions)
        self.last = _copy(progress)
        self.record_rate.take(self.records, now)
        self.skip_rate.take(self.skipped, now)
        self.commit_rate.take(self.commits, now)


def sums(totals: Sequence[Totals]) -> Sums:
    """Of all tasks of a connector."""
    return Sums(
        records=sum(each.records for each in totals),
        bytes=sum(each.bytes for each in totals),
        batches=sum(each.batches for each in totals),
        batch_ms=sum(each.batch_ms for each in totals),
        commits=sum(each.commits for each in totals),
        commit_ms=sum(each.commit_ms for each in totals),
        errors=sum(each.errors.get("total_record_errors", 0) for each in totals),
    )


def _copy(progress: TaskProgress) -> TaskProgress:
    """A task's progress is changed in place while it runs."""
    return TaskProgress(
        progress.task,
        records=progress.records,
        bytes=progress.bytes,
        commits=progress.commits,
        batches=progress.batches,
        batch_ms=progress.batch_ms,
        errors=dict(progress.errors),
    )
