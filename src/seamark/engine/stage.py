"""What a running connector is to the runtime: a stage that is run again and again, an epoch or a batch at a time.

`DirectSourceStage`, `DirectSinkStage`, `FrameSourceStage` and `FrameSinkStage` are the four kinds. A stage holds no
truth of its own: it can be thrown away between two runs, because positions are in the offset store and nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from seamark.kafka.admin_pool import AdminPool

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from seamark.config.worker import WorkerConfig
    from seamark.connector.connector import Connector
    from seamark.connector.sink import TopicPartition
    from seamark.engine.lease_server import LeaseServer
    from seamark.engine.plugins import Plugins
    from seamark.storage.layered import ConnectorOffsetStore


@dataclass(frozen=True)
class StageEnvironment:
    """Everything a stage needs of its worker."""

    name: str
    config: Mapping[str, str]
    task_configs: Sequence[Mapping[str, str]]
    connector: Connector
    worker: WorkerConfig
    spark: SparkSession
    offsets: ConnectorOffsetStore
    plugins: Plugins
    leases: LeaseServer
    exactly_once: bool = False
    admins: AdminPool = field(default_factory=AdminPool)


class Ending(Enum):
    """Why a run of a stage ended."""

    WORKED = "worked"  # an epoch's time is over, or a batch was committed: run again at once
    IDLE = "idle"  # nothing to do: wait until `Stage.has_work`
    STOPPED = "stopped"  # `Stage.request_stop` was called
    FAILED = "failed"  # at least one task failed; `StageOutcome.failures` says which and why
    RECONFIGURE = "reconfigure"  # what there is to read has changed: plan the tasks again


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """How a run of a stage ended."""

    ending: Ending
    failures: Mapping[int, str] = field(default_factory=dict)
    """Task -> trace. Tasks that are not named ended cleanly."""
    retriable: bool = False
    """True if the cause lies outside (a lost executor, a fenced producer): the runner may simply run again."""
    got_on: bool = False
    """Whether a task that failed had committed something before: then it is a new failure, not the last one again."""


@dataclass(slots=True)
class TaskProgress:
    """What a task has done so far, as last reported. JSON-shaped, since it travels over HTTP."""

    task: int
    state: str = "starting"
    records: int = 0
    bytes: int = 0
    commits: int = 0
    commit_ms: float = 0.0
    """How long the last one took."""
    batches: int = 0
    batch_ms: float = 0.0
    """How long all polls that gave records, puts, or Spark jobs took together."""
    batch_max_ms: float = 0.0
    positions: list[dict[str, Any]] = field(default_factory=list)
    """``{"partition".

    {...}, "offset": {...}}`` for sources, ``{"topic", "partition", "offset"}`` for sinks: the last committed.
    """
    error: str | None = None
    errors: dict[str, int] = field(default_factory=dict)
    """Counts of records that could not be processed; see `seamark.engine.tolerance.ErrorCounts`."""
    topics: list[str] = field(default_factory=list)
    """The Kafka topics that it has read or written."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """See `SourceTask.metrics`."""
    updated_ms: int = 0

    def batch_took(self, seconds: float) -> None:
        """Count a poll that gave records, a put, or a Spark job."""
        self.batches += 1
        self.batch_ms += seconds * 1000
        self.batch_max_ms = max(self.batch_max_ms, seconds * 1000)


class Stage(ABC):
    """One connector's work on Spark."""

    def __init__(self, environment: StageEnvironment) -> None:
        self.environment = environment
        self.on_change: Callable[[], None] = lambda: None
        """Called when a task has failed while others go on; set by the runner."""

    @abstractmethod
    def run(self) -> StageOutcome:
        """Run one epoch or one batch; blocks until it ends. Never raises for a failed task: the outcome says it."""

    @abstractmethod
    def request_stop(self) -> None:
        """Make a current `run` commit what is complete and end, within about a second.

        Any thread; a later `run` works again.
        """

    def reconfigure(self, configs: Sequence[Mapping[str, str]]) -> bool:
        """Go on with other task configs, without a new start; False if that is not possible. Any thread."""
        return False

    def drop(self, failures: Mapping[int, str]) -> bool:
        """Go on without these tasks, which have failed for good; False if that leaves nothing to run."""
        return False

    @abstractmethod
    def has_work(self) -> bool | None:
        """A cheap look whether another run would find something; None if that cannot be told."""

    def watch_positions(self) -> Mapping[TopicPartition, int] | None:
        """For an idle sink.

        The next offsets it would read. Many sinks are watched with one look at the ends of the logs.
        """
        return None

    @abstractmethod
    def progress(self) -> list[TaskProgress]:
        """Live progress per task."""

    def close(self) -> None:
        """Release what the stage holds; it is not run again."""
        self.environment.offsets.stop()
