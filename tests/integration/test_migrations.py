"""Migrations of connectors with their offsets, to another name and to another worker."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.herders import WAIT_S, Case, Cluster, MakeCase, path_of
from fixtures.operations import RECORDS, SOURCE, finished, given, phases, positions, running_sink, sink_with_records
from fixtures.worker import Topics
from seamark.testing.waiting import eventually

STEPS = ["QUEUED", "STOPPING", "CREATING", "CHANGING", "STARTING", "DELETING", "DONE"]


def migrate(case: Case, **body: Any) -> dict[str, Any]:
    begun = case.connect.ask("POST", f"{path_of(case.name)}/migrate", body, 202)
    return finished(case.connect, begun["id"])


@pytest.mark.parametrize("kind", ["standalone", "distributed"])
def test_a_sink_gets_another_name(make_case: MakeCase, topics: Topics, kind: str) -> None:
    case = running_sink(make_case, topics, kind)
    old = case.name
    done = migrate(case, name=f"{old}-new", reason="a better name")
    assert (done["phase"], phases(done)) == ("DONE", STEPS)
    assert done["message"] == f"Connector {old}-new goes on where {old} was; {old} is deleted."
    case.rename(f"{old}-new")
    case.connect.await_state(case.name, "RUNNING")
    assert old not in case.connect.ask("GET", "/connectors")
    assert case.connect.ask("GET", f"{path_of(case.name)}/config")["name"] == case.name
    topics.send(case.topic, ["one more"], 0)
    eventually(lambda: positions(case) == {0: RECORDS + 1, 1: RECORDS}, WAIT_S, "the new one does not read")
    assert given(case) == [(0, RECORDS)], "something was read twice or not at all"


def test_a_source_moves_exactly_once(make_case: MakeCase, topics: Topics) -> None:
    case = make_case("exactly-once", SOURCE)
    topics.create(case.topic)
    case.create()
    eventually(lambda: case.connect.offsets(case.name), WAIT_S, "nothing is committed")
    old = case.name
    assert migrate(case, name=f"{old}-b")["phase"] == "DONE"
    case.rename(f"{old}-b")
    case.connect.await_state(case.name, "RUNNING")
    begin = _seq(case)
    eventually(lambda: _seq(case) > begin + 20, WAIT_S, "the new one does not go on")
    case.connect.stop(case.name)
    numbers = [int(value.rpartition("-")[2]) for value in topics.values(case.topic)]
    assert numbers == list(range(1, len(numbers) + 1)), "lost or doubled"


def _seq(case: Case) -> int:
    rows = case.connect.offsets(case.name)
    return int((rows[0][1] or {})["seq"]) if rows else -1


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_state_and_old_one_are_kept_if_wanted(make_case: MakeCase, topics: Topics, state: str) -> None:
    case = sink_with_records(make_case, topics, "distributed").create("stopped")
    case.connect.ask("PATCH", f"{path_of(case.name)}/offsets", {"positions": 4})
    if state == "PAUSED":
        case.connect.pause(case.name, [])
    old = case.name
    done = migrate(case, name=f"{old}-b", keep=True, config={"tasks.max": "2", "observe.polls": None})
    assert (done["phase"], "is left STOPPED" in done["message"]) == ("DONE", True)
    case.connect.await_state(old, "STOPPED")
    case.connect.await_state(f"{old}-b", state, [])
    config = case.connect.ask("GET", f"{path_of(f'{old}-b')}/config")
    assert (config["tasks.max"], "observe.polls" in config) == ("2", False)
    case.delete()
    case.rename(f"{old}-b")
    assert positions(case) == {0: 4, 1: 4}


def test_to_another_worker(make_cluster: Callable[..., Cluster], make_case: MakeCase, topics: Topics) -> None:
    case = running_sink(make_case, topics, "distributed")
    other = make_cluster("distributed")
    done = migrate(case, url=other.nodes[0].server.url)
    assert (done["phase"], done["error"]) == ("DONE", None)
    assert case.name not in case.connect.ask("GET", "/connectors")
    case.connect = other.connect()
    case.connect.await_state(case.name, "RUNNING")
    read = len(given(case))
    topics.send(case.topic, ["one more"], 1)
    eventually(lambda: positions(case) == {0: RECORDS, 1: RECORDS + 1}, WAIT_S, "the new one does not read")
    assert given(case)[read:] == [(1, RECORDS)]
    case.delete()


def test_what_is_refused(make_case: MakeCase, topics: Topics) -> None:
    case = running_sink(make_case, topics, "distributed")
    other = make_case("distributed", SOURCE).create("stopped")
    for body, status, word in (
        ({}, 400, "Say where to"),
        ({"name": case.name}, 400, "Say where to"),
        ({"name": other.name}, 409, "already exists"),
        ({"url": "ftp://somewhere"}, 400, "seamark.migration.urls"),
        ({"url": 3}, 400, '"url"'),
        ({"color": "red"}, 400, "color"),
    ):
        answer = case.connect.message("POST", f"{path_of(case.name)}/migrate", body, settle=False)
        assert (answer[0], word in answer[1]) == (status, True), answer
    assert case.connect.message("POST", "/connectors/nobody/migrate", {"name": "x"})[0] == 404
    assert case.connect.status(case.name)["connector"]["state"] == "RUNNING"


def test_a_worker_that_cannot_be_reached(make_case: MakeCase, topics: Topics) -> None:
    case = running_sink(make_case, topics, "distributed")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    status, message = case.connect.message("POST", f"{path_of(case.name)}/migrate", {"url": url})
    assert (status, url in message) == (500, True)
    assert case.connect.status(case.name)["connector"]["state"] == "RUNNING"


def test_refused_offsets_take_it_back(make_case: MakeCase, topics: Topics) -> None:
    case = running_sink(make_case, topics, "distributed")
    case.say("hook.says", "refuse")
    done = migrate(case, name=f"{case.name}-b")
    assert (done["phase"], "not to be had" in done["error"]) == ("ROLLED_BACK", True)
    case.connect.await_state(case.name, "RUNNING")
    assert f"{case.name}-b" not in case.connect.ask("GET", "/connectors")
    assert positions(case) == {0: RECORDS, 1: RECORDS}
