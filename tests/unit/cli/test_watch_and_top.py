"""`seamark watch` and `seamark top`."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from seamark.cli import watch
from seamark.cli.top import Sample, _top, rate, rows, samples
from seamark.client import ConnectClient, StateNotReached
from unit.cli.conftest import FleetHerder, sink_offset
from unit.client.scripted import scripted


@pytest.fixture
def client(worker_url: str) -> Iterator[ConnectClient]:
    with ConnectClient(worker_url) as client:
        yield client


def test_differences_are_lines() -> None:
    before = {"a": "RUNNING", "b": "FAILED: x", "c": "RUNNING"}
    now = {"a": "RUNNING", "b": "RUNNING", "d": "FAILED: y"}
    assert watch.differences(before, now) == ["b  FAILED -> RUNNING", "c  RUNNING -> gone", "d  FAILED: y"]


def test_a_state_is_reached_when_all_are_there() -> None:
    assert watch.is_reached({"a": "RUNNING", "a task 0": "RUNNING"}, "RUNNING")
    assert not watch.is_reached({"a": "RUNNING", "a task 0": "FAILED: x"}, "RUNNING")
    assert not watch.is_reached({}, "RUNNING")
    assert watch.is_reached({}, "gone")


def test_watch_prints_changes_until_a_state(
    client: ConnectClient, fleet: FleetHerder, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.add("orders")
    fleet.failed.add("orders")
    looks = 0

    class Stopping(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            nonlocal looks
            looks += 1
            fleet.states["orders"] = "STOPPED" if looks == 2 else "RUNNING"
            return super().wait(0)

    watch._watch(client, ["ord*"], "stopped", 1, 60, Stopping())
    shown = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()]
    assert shown == [
        "orders  RUNNING",
        "orders task 0  FAILED: ValueError: no such table",
        "orders  RUNNING -> STOPPED",
        "orders task 0  FAILED -> gone",
    ]


def test_watch_ends_at_its_time(client: ConnectClient, fleet: FleetHerder) -> None:
    fleet.add("orders")
    watch._watch(client, [], None, 0.01, 0.02, threading.Event())
    with pytest.raises(StateNotReached):
        watch._watch(client, [], "PAUSED", 0.01, 0.02, threading.Event())


def test_rates_come_from_two_moments() -> None:
    assert rate(Sample("a", None, 10, 100), Sample("a", None, 12, 300)) == 100
    assert rate(Sample("a", None, 10, 100), Sample("a", None, 12, 50)) == 25, "tasks that began anew"
    assert rate(None, Sample("a", None, 12, 50)) is None
    assert rate(Sample("a", None, 10, None), Sample("a", None, 12, 50)) is None


def test_the_fastest_comes_first() -> None:
    before = {name: Sample(name, None, 0, 0) for name in "abc"}
    now = {"a": Sample("a", None, 1, 5), "b": Sample("b", None, 1, 9, 3), "c": Sample("c", None, 1, 5)}
    assert [(row.name, row.rate, row.lag) for row in rows(before, now)] == [("b", 9, 3), ("a", 5, None), ("c", 5, None)]


def test_seamark_tells_rate_and_lag(
    client: ConnectClient, fleet: FleetHerder, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.add("orders")
    assert (samples(client, [])["orders"].records, samples(client, [])["orders"].lag) == (5, 2)
    _top(client, ["orders"], 0.01, True, threading.Event())
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["NAME", "TYPE", "STATE", "TASKS", "RECORDS/S", "LAG"]
    assert row.split() == ["orders", "sink", "RUNNING", "1/1", "0", "2"]


def test_of_a_java_worker_sinks_have_a_rate(fleet: FleetHerder) -> None:
    import json

    state = {"state": "RUNNING", "worker_id": "w"}
    status = {name: {"status": {"name": name, "connector": state, "tasks": [], "type": kind}}
              for name, kind in (("k", "sink"), ("s", "source"))}  # fmt: skip
    offsets = {"offsets": [sink_offset("t", 0, 5), sink_offset("t", 1, 6)]}
    no_route = (404, '{"error_code":404,"message":"HTTP 404 Not Found"}')
    # In the order of the questions: status, whether it is Seamark, offsets of the sink.
    with (
        scripted((200, json.dumps(status)), no_route, (200, json.dumps(offsets))) as java,
        ConnectClient(java.url) as c,
    ):
        found = samples(c, [])
    assert (found["k"].records, found["k"].lag, found["s"].records) == (11, None, None)
    assert len(java.asked) == 3
