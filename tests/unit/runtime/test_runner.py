"""Commands that reach a runner at awkward moments."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from seamark.connector.connector import Connector
from seamark.engine.stage import Ending, Stage, StageOutcome, TaskProgress
from seamark.runtime.runner import ConnectorRunner
from seamark.runtime.states import State, TargetState
from seamark.testing.waiting import eventually

TRACE = "it failed"


class Plan(Connector):
    task_class = object

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{}]


class Failing(Stage):
    """Its only task fails at once, but the run ends only when it is told to stop; the next stage works."""

    def __init__(self, fails: bool) -> None:
        self._fails, self._stop = fails, threading.Event()
        self.on_change = lambda: None

    def run(self) -> StageOutcome:
        if self._fails:
            self.on_change()
        self._stop.wait(30)
        if self._fails:
            return StageOutcome(Ending.FAILED, {0: TRACE})
        return StageOutcome(Ending.STOPPED)

    def request_stop(self) -> None:
        self._stop.set()

    def has_work(self) -> bool | None:
        return None

    def progress(self) -> list[TaskProgress]:
        return [TaskProgress(0, state="failed", error=TRACE)] if self._fails else [TaskProgress(0, state="running")]

    def close(self) -> None:
        pass


def runner(stages: list[Stage], **settings: Any) -> ConnectorRunner:
    def no_watch(stage: Stage, wake: Any) -> None:
        pass

    def make(connector: Connector, tasks: list[dict[str, str]]) -> Stage:
        return stages.pop(0)

    config: Mapping[str, str] = {"name": "c", "tasks.max": "1"}
    return ConnectorRunner(
        "c", config, make_connector=Plan, make_stage=make, watch=no_watch, unwatch=lambda stage: None, **settings
    )


def states(running: ConnectorRunner) -> tuple[State, list[State]]:
    status = running.status()
    return status.state, [task.state for task in status.tasks]


def test_task_restarted_while_its_former_run_still_ends() -> None:
    running = runner([Failing(True), Failing(False)])
    running.start()
    eventually(lambda: states(running) == (State.RUNNING, [State.FAILED]))
    asked = running.restart(connector=False, tasks=(0,))
    assert running.wait_settled(asked, 10)
    assert states(running) == (State.RUNNING, [State.RUNNING])
    running.close()
    assert states(running)[0] is State.UNASSIGNED


def test_failed_task_stays_so_through_pause_and_resume_but_not_a_stop() -> None:
    running = runner([Failing(True), Failing(False), Failing(False)])
    running.start()
    eventually(lambda: states(running) == (State.RUNNING, [State.FAILED]))
    for target, expected in ((TargetState.PAUSED, State.PAUSED), (TargetState.STARTED, State.RUNNING)):
        assert running.wait_settled(running.set_target(target), 10)
        assert states(running) == (expected, [State.FAILED])
    assert running.wait_settled(running.set_target(TargetState.STOPPED), 10)
    assert states(running) == (State.STOPPED, [])
    assert running.wait_settled(running.set_target(TargetState.STARTED), 10)
    assert states(running) == (State.RUNNING, [State.RUNNING])
    running.close()


class Growing(Connector):
    """Asks for another plan as soon as it is told to."""

    task_class = object
    made = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.partitions = 1

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{"partitions": str(self.partitions)}]


class Taking(Failing):
    """Takes other configs, or does not."""

    def __init__(self, takes: bool) -> None:
        super().__init__(False)
        self._takes = takes
        self.taken: list[list[dict[str, str]]] = []

    def reconfigure(self, configs: Any) -> bool:
        self.taken.append(list(configs))
        return self._takes


def test_a_new_plan_reaches_running_tasks_or_starts_them_anew() -> None:
    for takes in (True, False):
        Growing.made = 0
        stages: list[Stage] = [Taking(takes), Taking(takes)]
        first = stages[0]
        assert isinstance(first, Taking)
        published: list[list[dict[str, str]]] = []
        running = runner(stages, publish=lambda configs, cancelled, to=published: to.append(configs))
        running._make_connector = Growing
        running.start()
        eventually(lambda running=running: states(running) == (State.RUNNING, [State.RUNNING]))
        connector = running._connector
        assert isinstance(connector, Growing)
        connector.partitions = 2
        connector.context.request_task_reconfiguration()
        assert first.taken == [[{"partitions": "2"}]]
        assert running.wait_settled(timeout_s=10)
        eventually(lambda takes=takes: Growing.made == (1 if takes else 2))
        if takes:
            assert published[-1] == running.task_configs == [{"partitions": "2"}]
            connector.context.request_task_reconfiguration()  # nothing has changed
            assert len(first.taken) == 1
        running.close()
