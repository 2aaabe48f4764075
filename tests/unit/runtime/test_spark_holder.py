from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fixtures.drivers import eventually
from seamark.config.worker import WorkerConfig
from seamark.errors import ConnectError
from seamark.runtime import spark_holder
from seamark.runtime.spark_holder import SparkHolder


class _Session:
    def __init__(self) -> None:
        self.is_stopped = self.is_lost = False

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[_Session]:
    made: list[_Session] = []

    def start(config: WorkerConfig) -> Any:
        made.append(_Session())
        return made[-1]

    monkeypatch.setattr(spark_holder, "start_session", start)
    monkeypatch.setattr(spark_holder, "end_jvm", lambda: None)
    monkeypatch.setattr(spark_holder, "forget_session", lambda: None)
    monkeypatch.setattr(spark_holder, "is_lost", lambda session: session.is_lost)
    return made


@pytest.fixture
def make(sessions: list[_Session]) -> Iterator[Callable[..., SparkHolder]]:
    holders: list[SparkHolder] = []

    def make(is_used: Callable[[], bool], release_ms: int = 20, given: Any = None) -> SparkHolder:
        config = WorkerConfig({"bootstrap.servers": "localhost:1", "seamark.spark.release.ms": str(release_ms)})
        holders.append(SparkHolder(config, is_used, given))
        return holders[-1]

    yield make
    for holder in holders:
        holder.stop()


def test_unused_spark_is_given_back_and_started_again(
    make: Callable[..., SparkHolder], sessions: list[_Session]
) -> None:
    holder = make(lambda: False)
    holder.start()
    eventually(lambda: not holder.is_held, 10)
    assert sessions[0].is_stopped
    again: Any = holder.session
    assert again is sessions[1]


def test_a_lost_spark_is_replaced(make: Callable[..., SparkHolder], sessions: list[_Session]) -> None:
    holder = make(lambda: True)
    holder.start()
    first: Any = holder.session
    assert holder.is_current(first)
    first.is_lost = True
    assert not holder.is_current(first)
    second: Any = holder.session
    assert second is sessions[1]
    assert holder.is_current(second)
    assert not holder.is_current(first)
    assert not first.is_stopped  # there is nothing left to stop


def test_used_spark_is_kept_until_it_is_not_used(make: Callable[..., SparkHolder], sessions: list[_Session]) -> None:
    used, looked = threading.Event(), threading.Semaphore(0)
    used.set()

    def is_used() -> bool:
        looked.release()
        return used.is_set()

    holder = make(is_used)
    holder.start()
    for _ in range(5):
        assert looked.acquire(timeout=10)
    assert holder.is_held
    assert not sessions[0].is_stopped
    used.clear()
    eventually(lambda: not holder.is_held, 10)


def test_a_connector_that_starts_at_the_last_moment_keeps_it(
    make: Callable[..., SparkHolder], sessions: list[_Session]
) -> None:
    holder = make(lambda: True, release_ms=60_000)
    holder.start()
    assert holder.session
    holder._release()  # decided on before the connector came
    assert holder.is_held
    assert not sessions[0].is_stopped


def test_never(make: Callable[..., SparkHolder], sessions: list[_Session]) -> None:
    holder = make(lambda: False, release_ms=-1)
    holder.start()
    assert holder.session
    assert holder._thread is None
    holder.stop()
    assert sessions[0].is_stopped


def test_a_given_session_is_neither_started_nor_stopped(
    make: Callable[..., SparkHolder], sessions: list[_Session]
) -> None:
    given = _Session()
    holder = make(lambda: False, given=given)
    holder.start()
    holder.stop()
    session: Any = holder.session
    assert session is given
    assert not given.is_stopped
    assert not sessions


def test_a_start_that_takes_long_does_not_hold_up_the_stop(
    make: Callable[..., SparkHolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over, forgotten = threading.Event(), []
    monkeypatch.setattr(spark_holder, "START_GRACE_S", 0.01)
    monkeypatch.setattr(spark_holder, "start_session", lambda config: is_over.wait(60))
    monkeypatch.setattr(spark_holder, "forget_session", lambda: forgotten.append(True))
    holder = make(lambda: True)
    holder.start()
    stop = threading.Thread(target=holder.stop)
    stop.start()
    try:
        eventually(lambda: not stop.is_alive(), 10)
        assert (forgotten, holder.is_held) == ([True], False)
    finally:
        is_over.set()


def test_a_failed_start_is_told(make: Callable[..., SparkHolder], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(config: WorkerConfig) -> Any:
        raise RuntimeError("no room")

    monkeypatch.setattr(spark_holder, "start_session", fail)
    holder = make(lambda: True)
    holder.start()
    with pytest.raises(RuntimeError, match="no room"):
        holder.session  # noqa: B018 - waits
    with pytest.raises(ConnectError, match=r"Spark could not be started: .*no room"):
        holder.check()
