"""The direct stage, worker's side: one Spark job per epoch, one Spark partition per Connect task.

`DirectStage.run` opens an epoch with a lease per task, starts the Spark job and watches it. What the tasks do is in
`direct_task`; what they may ask of the worker while they hold a lease is in the two `EpochServices` here.
"""

from __future__ import annotations

import base64
import logging
import threading
import time
import traceback
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from seamark.config.worker import WorkerConfig
from seamark.connector.connector import Connector
from seamark.connector.source import SourceTask
from seamark.engine.direct_task import run_partition
from seamark.engine.lease_client import LeaseTicket
from seamark.engine.leases import Epoch, EpochServices, Lease, LeaseState
from seamark.engine.plugins import Plugins
from seamark.engine.session import cancel_jobs, run_job
from seamark.engine.stage import Ending, Stage, StageEnvironment, StageOutcome, TaskProgress
from seamark.engine.task_spec import TaskSpec

log = logging.getLogger(__name__)

WATCH_S = 0.25
STOP_WATCH_S = 0.02  # somebody waits
QUEUED_S = 1.0


class DirectStage(Stage):
    """What source and sink stages have in common."""

    kind = ""

    def __init__(self, environment: StageEnvironment) -> None:
        super().__init__(environment)
        self._worker: WorkerConfig = environment.worker.for_connector(environment.config)
        self._epoch: Epoch | None = None
        self._stop_requested = threading.Event()
        self._news = threading.Event()
        """The Spark job has ended, or a stop is wanted."""
        self._failed: dict[int, str] = {}
        self._last: dict[int, TaskProgress] = {}
        self._unserved: set[int] = set()
        self._yielded_at: float | None = None
        self._task_class = Plugins.reference(environment.connector.task_class)

    # what the kinds differ in

    @abstractmethod
    def plan(self) -> dict[int, dict[str, Any]]:
        """Which tasks run in the next epoch, each with the fields of `TaskSpec` that are its own."""

    @abstractmethod
    def services(self) -> EpochServices:
        """What tasks may ask of the worker."""

    @property
    def idle_ms(self) -> int | None:
        """After how much idle time an epoch ends, if it may."""
        release = self._worker.idle_release
        if release == "never" or (release == "auto" and not self.can_tell_work()):
            return None
        return self._worker.idle_ms

    def can_tell_work(self) -> bool:
        """Whether `has_work` gives an answer for this connector."""
        return self.has_work() is not None

    def is_outdated(self) -> bool:
        """Whether what there is to read has changed since `plan`."""
        return False

    def on_closed(self, epoch: Epoch) -> None:
        """The Spark job has ended and the leases are void; a process that Spark gave up may still be there."""

    # the run

    def run(self) -> StageOutcome:
        self._await_turn()
        if self._stop_requested.is_set():
            self._stop_requested.clear()
            return StageOutcome(Ending.STOPPED)
        if len(self._failed) >= len(self.environment.task_configs) > 0:
            return StageOutcome(Ending.FAILED, dict(self._failed))
        planned = {task: fields for task, fields in self.plan().items() if task not in self._failed}
        if not planned:
            return StageOutcome(Ending.IDLE)
        # Spark starts partitions in order: who had no slot in the last epoch comes first in this one.
        planned = dict(sorted(planned.items(), key=lambda entry: (entry[0] not in self._unserved, entry[0])))
        epoch = self._open(planned)
        try:
            error = self._run_job(
                epoch, [self._spec(epoch, task, fields).to_json() for task, fields in planned.items()]
            )
        finally:
            self.environment.leases.close(epoch)
            self._epoch = None
        self.on_closed(epoch)
        return self._outcome(epoch, error)

    def request_stop(self) -> None:
        self._stop_requested.set()
        epoch = self._epoch
        if epoch is not None:
            epoch.stop(Ending.STOPPED)
            self._news.set()

    def progress(self) -> list[TaskProgress]:
        epoch = self._epoch
        for lease in epoch.leases if epoch is not None else ():
            self._last[lease.task] = lease.progress
        tasks = []
        for task in range(len(self.environment.task_configs)):
            progress = self._last.get(task) or TaskProgress(task, state="running")
            if task in self._failed:
                progress.state, progress.error = "failed", self._failed[task]
            tasks.append(progress)
        return tasks

    def reconfigure(self, configs: Sequence[Mapping[str, str]]) -> bool:
        if len(configs) != len(self.environment.task_configs) or not _takes_configs(self.environment.connector):
            return False
        self.environment = replace(self.environment, task_configs=[dict(config) for config in configs])
        epoch = self._epoch
        if epoch is not None:
            epoch.reconfigure(self.environment.task_configs)
        return True

    def drop(self, failures: Mapping[int, str]) -> bool:
        self._failed.update(failures)
        return len(self._failed) < len(self.environment.task_configs)

    def _await_turn(self) -> None:
        """After giving way to others: wait until those that waited then have been served."""
        while self._yielded_at is not None and not self._stop_requested.wait(WATCH_S / 2):
            if not self.environment.leases.table.has_waiting(self._yielded_at):
                self._yielded_at = None

    def _open(self, planned: Mapping[int, Any]) -> Epoch:
        epoch_id = uuid.uuid4().hex
        epoch = Epoch(
            id=epoch_id,
            connector=self.environment.name,
            services=self.services(),
            leases=[Lease(f"{epoch_id}-{task}", task, self._carried(task)) for task in planned],
            opened_at=time.monotonic(),
            epoch_ms=self._worker.epoch_ms,
            lease_ms=self._worker.lease_ms,
            idle_ms=self.idle_ms,
        )
        self.environment.leases.open(epoch)
        self._epoch = epoch
        if self._stop_requested.is_set():
            epoch.stop(Ending.STOPPED)
        return epoch

    def _carried(self, task: int) -> TaskProgress:
        last = self._last.get(task)
        if last is None:
            return TaskProgress(task)
        return TaskProgress(task, positions=last.positions, topics=last.topics)

    def _spec(self, epoch: Epoch, task: int, fields: Mapping[str, Any]) -> TaskSpec:
        environment = self.environment
        ticket = LeaseTicket(
            url=environment.leases.url,
            id=f"{epoch.id}-{task}",
            key=base64.b64encode(environment.leases.key).decode(),
            lease_ms=self._worker.lease_ms,
            interval_ms=self._worker.lease_interval_ms,
            certificate=environment.leases.certificate,
        )
        return TaskSpec(
            kind=self.kind,
            connector=environment.name,
            task=task,
            task_class=self._task_class,
            plugin_path=self._worker.plugin_path,
            lease=ticket,
            worker=environment.worker.raw,
            config=dict(environment.config),
            task_config=dict(environment.task_configs[task]),
            **fields,
        )

    def _run_job(self, epoch: Epoch, specs: list[str]) -> str | None:
        """Run the Spark job and watch its leases; returns the trace if the job itself failed."""
        spark, name = self.environment.spark, self.environment.name
        failure: list[str] = []

        def work() -> None:
            context = spark.sparkContext
            context.parallelize(specs, len(specs)).mapPartitionsWithIndex(run_partition).collect()

        def job() -> None:
            try:
                run_job(spark, name, epoch.id, work, description=f"{name}: epoch of {len(specs)} tasks")
            except Exception:
                failure.append(traceback.format_exc())
            finally:
                self._news.set()

        thread = threading.Thread(target=job, name=f"epoch-{name}", daemon=True)
        thread.start()
        try:
            self._watch(epoch, thread)
        except BaseException:
            cancel_jobs(spark, epoch.id)  # nobody watches its tasks any more
            raise
        self._unserved = {lease.task for lease in epoch.leases if not lease.was_served}
        self._yielded_at = time.monotonic() if epoch.has_yielded else None
        return failure[0] if failure else None

    def _watch(self, epoch: Epoch, job: threading.Thread) -> None:
        grace_s = self._worker.task_shutdown_graceful_timeout_ms / 1000
        cancel_at: float | None = None
        is_done = False
        while job.is_alive():
            if self._is_over(epoch):
                # Those that had a slot have done their work, and those that wait for one will find their leases void.
                if any(lease.state is LeaseState.WAITING for lease in epoch.leases):
                    cancel_jobs(self.environment.spark, epoch.id)
                return
            self._news.wait(STOP_WATCH_S if epoch.stop_reason is Ending.STOPPED else WATCH_S)
            self._news.clear()
            now = time.monotonic()
            for lease in self.environment.leases.table.expire(epoch, now):
                log.warning("[%s|task-%d] has not renewed its lease in time", self.environment.name, lease.task)
            self._take_results(epoch)
            lost = any(lease.state is LeaseState.LOST for lease in epoch.leases)
            if epoch.stop_reason is None and self.is_outdated():
                epoch.stop(Ending.WORKED)
            if epoch.stop_reason is None and not lost:
                cancel_at = None  # a new attempt of the Spark task has taken over what was lost
            elif cancel_at is None:
                # A task that neither ends nor answers is given the time to notice by itself before Spark ends it; one
                # that still waits for a slot has nothing to notice.
                is_queued = not epoch.held and any(lease.state is LeaseState.WAITING for lease in epoch.leases)
                cancel_at = now + (min(QUEUED_S, grace_s) if is_queued else grace_s)
            if cancel_at is not None and now >= cancel_at and job.is_alive():
                late = [lease.task for lease in epoch.leases if lease.state is not LeaseState.RELEASED]
                if not late and not is_done:
                    # Every task has done its work; only Spark, on a busy machine, is slow to end the job.
                    is_done, cancel_at = True, now + 3 * grace_s
                    continue
                reason = "lost their leases" if epoch.stop_reason is None else "were told to end"
                log.warning("[%s] tasks %s %s and have not ended; Spark ends them", self.environment.name, late, reason)
                cancel_jobs(self.environment.spark, epoch.id)
                cancel_at = now + grace_s

    def _is_over(self, epoch: Epoch) -> bool:
        """Whether a request to stop is fulfilled, before Spark knows that the job has ended."""
        return epoch.stop_reason is Ending.STOPPED and self.environment.leases.close_unless_held(epoch)

    def _take_results(self, epoch: Epoch) -> None:
        for lease in epoch.leases:
            self._last[lease.task] = lease.progress
            if lease.result == "failed" and not lease.retriable and lease.task not in self._failed:
                self._failed[lease.task] = lease.error or "The task failed without saying why."
                self.on_change()
            elif lease.result in ("failed", "fenced") and lease.retriable:
                # It has to start again, and a Spark job cannot be joined: all tasks of the connector do.
                epoch.stop(Ending.WORKED)

    def _outcome(self, epoch: Epoch, error: str | None) -> StageOutcome:
        self._take_results(epoch)
        if self._stop_requested.is_set():
            self._stop_requested.clear()
            return StageOutcome(Ending.STOPPED, dict(self._failed))
        retriable = {
            lease.task: lease.error or lease.result
            for lease in epoch.leases
            if lease.retriable and lease.result in ("failed", "fenced")
        }
        if retriable:
            got_on = any(lease.progress.commits > 0 for lease in epoch.leases if lease.task in retriable)
            return StageOutcome(Ending.FAILED, retriable, retriable=True, got_on=got_on)
        if error is not None and any(lease.state is not LeaseState.RELEASED for lease in epoch.leases):
            got_on = any(lease.progress.commits > 0 for lease in epoch.leases)
            failures = {lease.task: error for lease in epoch.leases}
            return StageOutcome(Ending.FAILED, failures, retriable=True, got_on=got_on)
        if len(self._failed) >= len(self.environment.task_configs):
            return StageOutcome(Ending.FAILED, dict(self._failed))
        ended = epoch.stop_reason or Ending.WORKED
        return StageOutcome(ended, dict(self._failed))


def _takes_configs(connector: Connector) -> bool:
    """Whether the connector's tasks can go on with another config."""
    method = getattr(connector.task_class, "reconfigure", None)
    return method is not None and method is not SourceTask.reconfigure
