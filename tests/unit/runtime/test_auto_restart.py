"""When failed connectors are restarted."""

from __future__ import annotations

import itertools

import pytest

from seamark.config.worker import WorkerConfig
from seamark.runtime.auto_restart import AutoRestart
from seamark.runtime.states import ConnectorStatus, State, TaskStatus

RUNNING = ConnectorStatus("c", State.RUNNING, tasks=(TaskStatus(0, State.RUNNING),))
FAILED = ConnectorStatus("c", State.FAILED, "trace")
TASK_FAILED = ConnectorStatus("c", State.RUNNING, tasks=(TaskStatus(0, State.FAILED, "trace"),))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def restarts(clock: Clock, **settings: str) -> AutoRestart:
    keys = {f"seamark.auto.restart.{name.replace('_', '.')}": value for name, value in settings.items()}
    return AutoRestart(WorkerConfig({"seamark.auto.restart.enabled": "true", **keys}), clock)


def test_is_off_by_default() -> None:
    clock = Clock()
    restart = AutoRestart(WorkerConfig({}), clock)
    clock.now = 1e6
    assert not restart.is_enabled
    assert restart.tick({"c": FAILED}) == []
    assert restart.shown("c") is None


@pytest.mark.parametrize("failed", [FAILED, TASK_FAILED], ids=["connector", "task"])
def test_delays_double_up_to_the_longest(failed: ConnectorStatus) -> None:
    clock = Clock()
    restart = restarts(clock, delay_ms="1000", delay_max_ms="4000", max_attempts="5")
    restarted_at = []
    while clock.now < 60:
        if restart.tick({"c": failed}):
            restarted_at.append(clock.now)
        clock.now += 0.5
    gaps = [later - earlier for earlier, later in itertools.pairwise(restarted_at)]
    assert restarted_at[0] == 1.0
    assert gaps == [2.5, 4.5, 4.5, 4.5]  # the next look after a restart is half a second later
    assert restart.shown("c") == {"attempts": 5, "next_at": None}


def test_counts_anew_after_it_ran_well() -> None:
    clock = Clock()
    restart = restarts(clock, delay_ms="1000", delay_max_ms="4000", max_attempts="1")
    assert restart.tick({"c": FAILED}) == []
    clock.now = 1.0
    assert restart.tick({"c": FAILED}) == ["c"]
    restart.tick({"c": RUNNING})
    clock.now = 3.0
    restart.tick({"c": FAILED})
    assert restart.shown("c") == {"attempts": 1, "next_at": None}
    restart.tick({"c": RUNNING})
    clock.now = 7.5
    restart.tick({"c": RUNNING})
    assert restart.shown("c") is None


def test_forgets_connectors_that_are_gone() -> None:
    clock = Clock()
    restart = restarts(clock)
    restart.tick({"c": FAILED})
    assert restart.shown("c") is not None
    restart.tick({})
    assert restart.shown("c") is None
