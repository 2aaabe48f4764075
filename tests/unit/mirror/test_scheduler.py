"""Steps of connectors on a clock: in order, again and again, whatever happens to some of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from seamark.errors import ConnectError
from seamark.mirror.scheduler import Scheduler
from seamark.testing.waiting import eventually


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    made = Scheduler("test", timeout_s=5)
    yield made
    made.stop()


def test_steps_run_in_order_and_one_at_a_time(scheduler: Scheduler) -> None:
    seen: list[str] = []
    first_may_end = threading.Event()

    def first() -> None:
        seen.append("first began")
        assert first_may_end.wait(5)
        seen.append("first ended")

    scheduler.execute_async(first, "first")
    scheduler.execute_async(lambda: seen.append("second"), "second")
    eventually(lambda: seen == ["first began"], 5)
    first_may_end.set()
    assert scheduler.execute(lambda: seen.append("third"), "third")
    assert seen == ["first began", "first ended", "second", "third"]


def test_a_step_that_fails_is_logged_with_its_cause_and_comes_again(
    scheduler: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[int] = []

    def step() -> None:
        calls.append(1)
        raise ConnectError("no broker") if len(calls) % 2 else ValueError("odd value")

    scheduler.repeat(step, 0.01, "listing topics")
    eventually(lambda: len(calls) >= 4, 5)
    scheduler.stop()
    assert "test caught exception in scheduled task: listing topics: no broker" in caplog.text
    assert "ValueError: odd value" in caplog.text


def test_a_delayed_step_waits_for_an_interval(scheduler: Scheduler) -> None:
    began, times = time.monotonic(), list[float]()
    scheduler.repeat(lambda: times.append(time.monotonic() - began), 0.2, "late", is_delayed=True)
    eventually(lambda: len(times) >= 2, 5)
    assert times[0] >= 0.2
    assert times[1] >= 0.4  # at a fixed rate from the start


@pytest.mark.parametrize("interval_s", [None, -1.0])
def test_a_step_that_is_switched_off_never_runs(scheduler: Scheduler, interval_s: float | None) -> None:
    calls: list[int] = []
    scheduler.repeat(lambda: calls.append(1), interval_s, "off")
    assert scheduler.execute(lambda: None, "a step that comes later")
    assert calls == []


def test_an_interval_of_zero_is_refused(scheduler: Scheduler) -> None:
    with pytest.raises(ConnectError, match="every 0 seconds"):
        scheduler.repeat(lambda: None, 0, "too often")


def test_a_step_slower_than_its_interval_is_not_made_up_for(scheduler: Scheduler) -> None:
    calls: list[int] = []
    gate = threading.Event()

    def step() -> None:
        calls.append(1)
        if len(calls) == 1:
            assert gate.wait(5)

    scheduler.repeat(step, 0.05, "slow")
    eventually(lambda: calls, 5)
    missed_until = time.monotonic() + 0.5
    eventually(lambda: time.monotonic() > missed_until, 5)
    gate.set()
    scheduler.execute(lambda: None, "right behind it")
    assert len(calls) <= 3  # ten intervals had passed


def test_execute_gives_up_waiting_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    scheduler, gate = Scheduler("test", timeout_s=0.05), threading.Event()
    try:
        assert not scheduler.execute(lambda: gate.wait(5), "stuck")
        assert "test timed out running task: stuck" in caplog.text
    finally:
        gate.set()
        scheduler.stop()


def test_after_stop_no_step_begins(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    scheduler, calls = Scheduler("test", timeout_s=5), list[int]()
    scheduler.repeat(lambda: calls.append(1), 0.01, "often")
    eventually(lambda: calls, 5)
    scheduler.stop()
    stopped_at = len(calls)
    assert scheduler.execute(lambda: calls.append(2), "too late")
    assert len(calls) == stopped_at
    assert scheduler.is_stopping
    assert "skipping task due to shutdown: too late" in caplog.text


def test_stop_waits_for_the_step_that_runs() -> None:
    scheduler, began, ended = Scheduler("test", timeout_s=5), threading.Event(), list[int]()

    def step() -> None:
        began.set()
        eventually(lambda: scheduler.is_stopping, 5)
        ended.append(1)

    scheduler.execute_async(step, "running")
    assert began.wait(5)
    scheduler.stop()
    assert ended == [1]
