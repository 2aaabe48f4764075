"""What both frame stages have in common: one batch per run, prompt stops, and what a failure means."""

from __future__ import annotations

import logging
import re
import threading
import time
import traceback
import uuid
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from seamark.config.worker import WorkerConfig
from seamark.connector.frame import ReadLimit
from seamark.engine.frame_chain import add_counts
from seamark.engine.frame_steps import FailedStepError
from seamark.engine.session import cancel_jobs, run_job
from seamark.engine.stage import Ending, Stage, StageEnvironment, StageOutcome, TaskProgress
from seamark.errors import ConnectError, FencedError

T = TypeVar("T")
log = logging.getLogger(__name__)

# From executors only text returns. Whatever is listed here lies outside the connector: the same batch may succeed
# when run again.
_PASSING: Final = re.compile(
    r"FencedError|KafkaTimeoutError|RetriableError|ExecutorLostFailure|Python worker exited unexpectedly|"
    r"no Kafka broker can be reached|FetchFailed|SparkContext was shut down|"
    # a database that is away, or was while Spark read from it
    r"SQLTransient\w*Exception|SQLRecoverableException|SQLNonTransientConnectionException|"
    r"java\.net\.(Connect|Socket\w*|NoRouteToHost|UnknownHost)Exception|"
    r"PSQLException: (FATAL: (terminating connection|the database system|sorry, too many)|Connection to \S+ refused|"
    r"An I/O error|This connection has been closed|The connection attempt failed)"
)
SMALLEST_BATCH: Final = 1000
_FAILED_TASK: Final = re.compile(r"Task (\d+) in stage [\d.]+ failed")


class FrameStage(Stage):
    """Runs a frame connector, a batch at a time."""

    def __init__(self, environment: StageEnvironment) -> None:
        super().__init__(environment)
        self.name = environment.name
        self.worker: WorkerConfig = environment.worker.for_connector(environment.config)
        self._records_per_s: float | None = None
        self._stopping = threading.Event()
        self._group: str | None = None
        self._tasks = [TaskProgress(task) for task in range(max(1, len(environment.task_configs)))]

    @abstractmethod
    def run_batch(self) -> bool:
        """Plan, run and commit one batch; False if there was nothing to do."""

    def cancelled(self) -> None:
        """A stop has cancelled the batch: make sure that nothing of it is committed from now on."""

    def abandon(self) -> None:
        """A batch has failed: let go of what may have become unusable. The next run starts from what is stored."""

    def run(self) -> StageOutcome:
        if self._take_stop():
            return StageOutcome(Ending.STOPPED)
        self._set_state("running")
        began, before = time.monotonic(), sum(task.records for task in self._tasks)
        try:
            has_worked = self.run_batch()
            self._note_pace(sum(task.records for task in self._tasks) - before, time.monotonic() - began)
        except Exception as error:
            return self._ended_by(error)
        if self._take_stop():
            return StageOutcome(Ending.STOPPED)
        self._set_state("running" if has_worked else "idle")
        return StageOutcome(Ending.WORKED if has_worked else Ending.IDLE)

    @property
    def limit(self) -> ReadLimit:
        """How much the next batch may hold: no more than fits into its time at the pace of the last ones."""
        records = self.worker.batch_max_records
        if self._records_per_s is not None:
            in_time = int(self._records_per_s * self.worker.batch_max_ms / 1000)
            records = max(min(records, in_time), min(records, SMALLEST_BATCH))
        return ReadLimit(records=records, bytes=self.worker.batch_max_bytes)

    def _note_pace(self, records: int, took_s: float) -> None:
        # A small batch says little: what it costs is mostly the cost of any Spark job.
        if records >= SMALLEST_BATCH:
            pace = records / max(took_s, 0.001)
            self._records_per_s = pace if self._records_per_s is None else (self._records_per_s + pace) / 2

    def request_stop(self) -> None:
        self._stopping.set()
        group = self._group
        if group is not None:
            cancel_jobs(self.environment.spark, group)

    def progress(self) -> list[TaskProgress]:
        return list(self._tasks)

    def run_spark(self, description: str, work: Callable[[], T]) -> T:
        """Run Spark jobs in the connector's pool; `request_stop` cancels them, and then this raises."""
        group = f"{self.name}-{uuid.uuid4().hex}"
        self._group = group
        try:
            if self._stopping.is_set():
                raise _StopRequestedError
            started = time.monotonic()
            result = run_job(self.environment.spark, self.name, group, work, description=f"{self.name}: {description}")
            for task in self._tasks:
                task.batch_took(time.monotonic() - started)
            return result
        finally:
            self._group = None

    @property
    def parallelism(self) -> int:
        """How many Spark tasks a batch may have."""
        return max(1, len(self.environment.task_configs))

    def note_errors(self, errors: Mapping[int, Mapping[str, int]]) -> None:
        """Count the records that could not be processed in a batch, by Spark task."""
        for task, counts in errors.items():
            add_counts(self._tasks[task % len(self._tasks)].errors, counts)

    def report(self, task: int, *, records: int, bytes_: int, committed_in_s: float) -> None:
        """Count what a task has done in a batch that is now committed."""
        progress = self._tasks[task % len(self._tasks)]
        progress.records += records
        progress.bytes += bytes_
        progress.commits += 1
        progress.commit_ms = committed_in_s * 1000
        progress.updated_ms = int(time.time() * 1000)

    def _take_stop(self) -> bool:
        is_set = self._stopping.is_set()
        self._stopping.clear()
        if is_set:
            self._set_state("stopped")
        return is_set

    def _set_state(self, state: str) -> None:
        for task in self._tasks:
            task.state = state
            if state != "failed":
                task.error = None

    def _cleaned_up(self, clean_up: Callable[[], None]) -> None:
        try:
            clean_up()
        except Exception as error:
            # What ended the batch is what the outcome has to tell; a client that is beyond repair may fail to close.
            log.warning("[%s] Cleaning up after a batch failed: %s: %s", self.name, type(error).__name__, error)

    def _ended_by(self, error: Exception) -> StageOutcome:
        if self._stopping.is_set():
            self._cleaned_up(self.cancelled)
            self._take_stop()
            return StageOutcome(Ending.STOPPED)
        self._cleaned_up(self.abandon)
        trace = "".join(traceback.format_exception(error))
        failed = _FAILED_TASK.search(str(error))
        number = int(failed[1]) if failed else 0
        if isinstance(error, FailedStepError):
            number = error.task
            self.note_errors({error.task: error.errors})
        task = number % len(self._tasks)
        self._tasks[task].state, self._tasks[task].error = "failed", trace
        return StageOutcome(Ending.FAILED, {task: trace}, retriable=_is_passing(error))


class _StopRequestedError(ConnectError):
    """The stage was told to stop before its Spark job began."""

    def __init__(self) -> None:
        super().__init__("The connector was told to stop.")


def _is_passing(error: BaseException) -> bool:
    """Whether the error, or what led to it, lies outside the connector."""
    if isinstance(error, FencedError) or (isinstance(error, ConnectError) and error.retriable):
        return True
    if not isinstance(error, ConnectError) and _PASSING.search(str(error)) is not None:
        return True
    return error.__cause__ is not None and _is_passing(error.__cause__)
