"""Runs one connector: plans its tasks, runs its stage again and again, and says what state it is in.

A runner has one thread. While the connector is idle the thread waits for the worker's `WorkWatcher`; while it is
PAUSED, STOPPED or FAILED it waits for a command. Positions are in the offset store, so a runner can be thrown away
and made anew at any time.

A failure stays until it is dealt with, as in Kafka Connect: a FAILED connector is not moved by pause and resume, nor
is a FAILED task; a restart of it, a stop, or new task configs do.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Collection, Mapping

from seamark.config.connector import tasks_max
from seamark.connector.connector import Connector, ConnectorContext, ConnectorMemory
from seamark.connector.frame import FrameSink, FrameSource
from seamark.connector.sink import SinkConnector
from seamark.connector.source import SourceConnector
from seamark.engine.direct_sink import DirectSinkStage
from seamark.engine.direct_source import DirectSourceStage
from seamark.engine.frame_sink import FrameSinkStage
from seamark.engine.frame_source import FrameSourceStage
from seamark.engine.stage import Ending, Stage, StageEnvironment, StageOutcome, TaskProgress
from seamark.errors import ConnectError, KafkaError, PluginError, cause_of, connector_code
from seamark.runtime.log_context import for_connector
from seamark.runtime.states import ConnectorStatus, State, TargetState, TaskStatus

log = logging.getLogger(__name__)

FIRST_RETRY_S, LONGEST_RETRY_S = 0.5, 10.0
# What a task that cannot reach Kafka takes, besides the retry time, to give up. One that ran for longer did work.
LONGEST_FAILURE_S = 90.0

StageFactory = Callable[[Connector, list[dict[str, str]]], Stage]
Cancelled = Callable[[], bool]
Publish = Callable[[list[dict[str, str]], Cancelled], None]
"""Makes task configs known before the tasks run; gives up with `PublicationCancelledError` once the second argument
says so."""


class PublicationCancelledError(ConnectError):
    """Task configs were not made known, because something else is wanted of the connector by now."""


def keep_to_oneself(configs: list[dict[str, str]], cancelled: Cancelled) -> None:
    """The `Publish` of a worker that nobody else needs to know the tasks of."""


def stage_for(environment: StageEnvironment) -> Stage:
    """The kind of stage that the connector needs."""
    connector = environment.connector
    if isinstance(connector, FrameSource):
        return FrameSourceStage(environment)
    if isinstance(connector, FrameSink):
        return FrameSinkStage(environment)
    if isinstance(connector, SourceConnector):
        return DirectSourceStage(environment)
    if isinstance(connector, SinkConnector):
        return DirectSinkStage(environment)
    raise PluginError(f"{type(connector).__qualname__} is neither a source nor a sink connector.")


class ConnectorRunner:
    """One connector of a worker."""

    def __init__(
        self,
        name: str,
        config: Mapping[str, str],
        *,
        make_connector: Callable[[], Connector],
        make_stage: StageFactory,
        watch: Callable[[Stage, Callable[[], None]], None],
        unwatch: Callable[[Stage], None],
        await_engine: Callable[[Cancelled], bool] = lambda cancelled: True,
        is_usable: Callable[[Stage], bool] = lambda stage: True,
        target: TargetState = TargetState.STARTED,
        known_tasks: int = 0,
        publish: Publish = keep_to_oneself,
        retry_timeout_s: float = 60.0,
        on_status: Callable[[ConnectorStatus], None] = lambda status: None,
        memory: ConnectorMemory | None = None,
    ) -> None:
        """Nothing happens before `start`.

        Args:
            name: of the connector.
            config: of the connector.
            make_connector: makes the connector's object.
            make_stage: makes its stage from its task configs.
            watch: calls back when an idle stage has work.
            unwatch: ends that.
            await_engine: waits until stages can be made; false if it was told before that they are not wanted any more.
            is_usable: whether a stage that has failed could run again; not if the Spark that it was made for is gone.
            target: the state to begin with.
            known_tasks: how many tasks the connector had when it ran last: those of a PAUSED one are shown.
            publish: makes task configs known.
            retry_timeout_s: for how long what may pass is tried again before tasks fail.
            on_status: is told each status.
            memory: what the connector remembers from one start to the next.
        """
        self.name, self.config = name, dict(config)
        self._make_connector, self._make_stage = make_connector, make_stage
        self._watch, self._unwatch = watch, unwatch
        self._await_engine, self._is_usable = await_engine, is_usable
        self._losses = 0
        """How often Spark was lost since it last ran for a while."""
        self._publish = publish
        self._memory = memory
        self._retry_timeout_s, self._on_status = retry_timeout_s, on_status
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._telling = threading.Lock()
        self._target = target
        self._restart = False
        self._closing = False
        self._was_stopped = False
        self._wake = False
        self._asked, self._settled = 1, 0
        self._stage: Stage | None = None
        self._connector: Connector | None = None
        self._state = State.UNASSIGNED
        self._trace: str | None = None
        self._tasks: dict[int, str | None] = dict.fromkeys(range(known_tasks))
        self._forgiven: set[int] = set()
        """Tasks that are to be restarted: what the stage that is about to end still says of them does not count."""
        self._task_configs: list[dict[str, str]] = []
        self._thread = threading.Thread(target=self._run, name=f"connector-{name}", daemon=True)

    # commands, from any thread; what they return can be given to `wait_settled`

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def target(self) -> TargetState:
        """What is wanted."""
        return self._target

    def set_target(self, target: TargetState) -> int:
        """Ask for another state; `wait_for` tells when it is reached."""
        with self._lock:
            if target is self._target:
                return self._asked  # it is being done, or done
            self._target = target
            self._was_stopped |= target is TargetState.STOPPED
            return self._command()

    def restart(self, *, connector: bool = True, tasks: Collection[int] | None = None) -> int:
        """Make the connector anew, and its tasks; those that have failed only if they are named, all by default.

        Without `connector` a connector that has failed itself stays as it is.
        """
        with self._lock:
            if self._state is State.FAILED and not connector:
                return self._asked
            for task in list(self._tasks) if tasks is None else tasks:
                if task in self._tasks:
                    self._tasks[task] = None
                    self._forgiven.add(task)
            self._restart = True
            return self._command()

    def close(self, timeout_s: float = 30.0) -> None:
        """Stop for good."""
        with self._lock:
            self._closing = True
            self._command()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def wait_for(self, state: State, timeout_s: float) -> bool:
        """Wait until the connector is in that state."""
        with self._lock:
            return self._changed.wait_for(lambda: self._state is state, timeout_s)

    def wait_settled(self, asked: int | None = None, timeout_s: float = 60.0) -> bool:
        """Wait until a command, the latest by default, has been carried out, be it by failing."""
        with self._lock:
            asked = self._asked if asked is None else asked
            return self._changed.wait_for(lambda: self._settled >= asked, timeout_s)

    def status(self) -> ConnectorStatus:
        """What the connector and its tasks are."""
        with self._lock:
            tasks = tuple(
                TaskStatus(task, State.FAILED if trace is not None else self._task_state(), trace)
                for task, trace in sorted(self._tasks.items())
            )
            return ConnectorStatus(self.name, self._state, self._trace, tasks)

    def progress(self) -> list[TaskProgress]:
        """Live progress per task."""
        stage = self._stage
        return stage.progress() if stage is not None else []

    @property
    def task_configs(self) -> list[dict[str, str]]:
        """What the tasks were last started with."""
        with self._lock:
            return [dict(config) for config in self._task_configs]

    def _command(self) -> int:
        self._asked += 1
        self._wake = True
        if self._stage is not None:
            self._stage.request_stop()
        self._changed.notify_all()
        return self._asked

    # the thread

    def _run(self) -> None:
        with for_connector(self.name):
            self._follow_commands()

    def _follow_commands(self) -> None:
        while True:
            with self._lock:
                if self._closing:
                    break
                target, asked = self._target, self._asked
                is_failed = self._state is State.FAILED and not self._restart and not self._was_stopped
                if self._was_stopped:
                    self._tasks.clear()
                self._forgiven.clear()
                self._restart = self._wake = self._was_stopped = False
            if target is TargetState.STARTED and not is_failed:
                self._run_started(asked)
            else:
                self._tear_down()
                if not is_failed:
                    self._set_state(State.PAUSED if target is TargetState.PAUSED else State.STOPPED)
            self._settle(asked)
            self._await_command(target)
        self._tear_down()
        self._set_state(State.UNASSIGNED)
        self._settle(self._asked)

    def _settle(self, asked: int) -> None:
        with self._lock:
            self._settled = max(self._settled, asked)
            self._changed.notify_all()

    def _await_command(self, target: TargetState) -> None:
        with self._lock:
            self._changed.wait_for(lambda: self._closing or self._restart or self._wake or self._target is not target)

    def _commanded(self) -> bool:
        return self._closing or self._restart or self._target is not TargetState.STARTED

    def _run_started(self, asked: int) -> None:
        try:
            self._tear_down()
            connector, configs = self._plan()
        except PublicationCancelledError:
            self._tear_down()
            return
        except Exception:
            trace = traceback.format_exc()
            self._tear_down()
            self._fail(trace)
            return
        self._set_state(State.RUNNING)
        self._settle(asked)
        stage: Stage | None = None
        began = time.monotonic()
        try:
            if self._await_engine(self._commanded):
                stage = self._prepare(connector, configs)
                self._run_stage(stage)
        except Exception:
            if stage is not None and not self._is_usable(stage):
                self._start_after_loss(began)
                return
            log.exception("[%s] the stage failed", self.name)
            self._fail_tasks(dict.fromkeys(self._tasks, traceback.format_exc()))
        finally:
            self._tear_down(keep_progress=True)

    def _plan(self) -> tuple[Connector, list[dict[str, str]]]:
        """Start the connector, and make its tasks known."""
        connector = self._make_connector()
        connector.context = ConnectorContext(self.name, self._reconfigure, self._raised, self._memory, self._start_anew)
        with connector_code(self.name, "start"):
            connector.start(self.config)
        self._connector = connector
        limit = tasks_max(self.config)
        with connector_code(self.name, "task_configs"):
            configs = [dict(each) for each in connector.task_configs(limit)]
        if len(configs) > limit:
            raise ConnectError(
                f"The connector {self.name} has generated {len(configs)} tasks, which is greater than {limit}, "
                "the maximum number of tasks it is configured to create (tasks.max)."
            )
        self._publish(configs, self._commanded)
        with self._lock:
            kept = self._tasks if configs == self._task_configs else {}
            self._tasks = {task: kept.get(task) for task in range(len(configs))}
            self._task_configs = configs
        return connector, configs

    def _prepare(self, connector: Connector, configs: list[dict[str, str]]) -> Stage:
        stage = self._make_stage(connector, configs)
        stage.on_change = self._take_failures
        with self._lock:
            self._stage = stage
            if self._commanded():
                stage.request_stop()
        return stage

    def _tear_down(self, keep_progress: bool = False) -> None:
        with self._lock:
            stage, connector = self._stage, self._connector
            self._connector = None
            if not keep_progress:
                self._stage = None
        if stage is not None:
            self._unwatch(stage)
            if not keep_progress:
                stage.close()
        if connector is not None:
            try:
                connector.stop()
            except Exception:
                # Its work has ended; a failing clean-up must not keep it from stopping.
                log.exception("[%s] stop failed", self.name)

    def _run_stage(self, stage: Stage) -> None:
        failed = {task: trace for task, trace in self._tasks.items() if trace is not None}
        if failed and not stage.drop(failed):
            return
        retry_s, failing_since = FIRST_RETRY_S, None
        while not self._commanded():
            began = time.monotonic()
            outcome = self._run_once(stage)
            if outcome.ending is Ending.FAILED and not self._is_usable(stage):
                self._start_after_loss(began)
                return
            if outcome.ending is Ending.FAILED and outcome.retriable:
                now = time.monotonic()
                is_new = outcome.got_on or now - began > 2 * self._retry_timeout_s + LONGEST_FAILURE_S
                if failing_since is None or is_new:
                    failing_since, retry_s = now, FIRST_RETRY_S
                elif now - failing_since >= self._retry_timeout_s:
                    failing_since = None
                    self._fail_tasks(outcome.failures)
                    if stage.drop(outcome.failures):
                        continue
                    return
                log.warning(
                    "[%s] runs again in %.1f s: %s",
                    self.name,
                    retry_s,
                    cause_of(next(iter(outcome.failures.values()), "")),
                )
                self._pause(retry_s)
                retry_s = min(retry_s * 2, LONGEST_RETRY_S)
                continue
            failing_since, retry_s = None, FIRST_RETRY_S
            self._take_failures()
            if outcome.ending is Ending.FAILED:
                self._fail_tasks(outcome.failures)
                return
            if outcome.ending is Ending.RECONFIGURE:
                self._reconfigure()
            elif outcome.ending is Ending.IDLE:
                self._await_work(stage)

    def _run_once(self, stage: Stage) -> StageOutcome:
        try:
            return stage.run()
        except KafkaError as error:
            if not error.retriable:
                raise
            trace = traceback.format_exc()
            return StageOutcome(Ending.FAILED, dict.fromkeys(self._tasks, trace), retriable=True)

    def _await_work(self, stage: Stage) -> None:
        with self._lock:
            self._wake = False
        self._watch(stage, self._woken)
        with self._lock:
            self._changed.wait_for(lambda: self._wake or self._commanded())
            self._wake = self._commanded()  # work has been taken note of; left set it would restart what fails
        self._unwatch(stage)

    def _woken(self) -> None:
        with self._lock:
            self._wake = True
            self._changed.notify_all()

    def _pause(self, seconds: float) -> None:
        with self._lock:
            self._changed.wait_for(self._commanded, seconds)

    def _start_after_loss(self, began: float) -> None:
        """Begin anew on another Spark; the tasks have failed with theirs, through no fault of their own."""
        self._losses = 1 if time.monotonic() - began > LONGEST_FAILURE_S else self._losses + 1
        pause_s = min(FIRST_RETRY_S * 2 ** (self._losses - 1), LONGEST_RETRY_S)
        log.warning("[%s] Spark is lost; it starts on a new one in %.1f s", self.name, pause_s)
        self._pause(pause_s)
        self.restart(tasks=())

    def _start_anew(self) -> None:
        log.info("[%s] starts anew, since it asked for it", self.name)
        self.restart()

    def _reconfigure(self) -> None:
        """Plan the tasks again; what has failed stays so unless there are other tasks now."""
        if not self._replan():
            self.restart(tasks=())

    def _replan(self) -> bool:
        """Give running tasks other configs; False if they have to be started anew for it."""
        with self._lock:
            stage, connector, before = self._stage, self._connector, self._task_configs
        if stage is None or connector is None or self._commanded() or any(self._tasks.values()):
            return False
        try:
            with connector_code(self.name, "task_configs"):
                configs = [dict(each) for each in connector.task_configs(tasks_max(self.config))]
            if configs == before:
                return True
            if not stage.reconfigure(configs):
                return False
            self._publish(configs, self._commanded)
        except Exception as error:  # a new start shows it, if it lasts
            log.warning("[%s] the tasks cannot be configured anew while they run: %s", self.name, error)
            return False
        with self._lock:
            self._task_configs = configs
        return True

    # states

    def _tell(self) -> None:
        with self._telling:  # a status is told only after the one before it
            self._on_status(self.status())

    def _task_state(self) -> State:
        return self._state if self._state in (State.PAUSED, State.RUNNING) else State.UNASSIGNED

    def _set_state(self, state: State, trace: str | None = None) -> None:
        with self._lock:
            self._state, self._trace = state, trace
            if state is State.STOPPED:
                self._tasks.clear()
            self._changed.notify_all()
        self._tell()

    def _fail(self, trace: str) -> None:
        log.error("[%s] the connector failed: %s", self.name, trace)
        self._set_state(State.FAILED, trace)

    def _fail_tasks(self, failures: Mapping[int, str]) -> None:
        with self._lock:
            failures = {
                task: trace
                for task, trace in failures.items()
                if self._tasks.get(task) is None and task not in self._forgiven
            }
            self._tasks.update(failures)
            self._changed.notify_all()
        if not failures:
            return
        for task, trace in failures.items():
            log.error("[%s|task-%d] failed: %s", self.name, task, trace)
        self._tell()

    def _take_failures(self) -> None:
        self._fail_tasks({p.task: p.error or "" for p in self.progress() if p.state == "failed"})

    def _raised(self, error: BaseException) -> None:
        with self._lock:
            self._state, self._trace = State.FAILED, "".join(traceback.format_exception(error))
            self._changed.notify_all()
        self._tell()
