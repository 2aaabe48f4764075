"""Changes of offsets in one step, previews, history and undo, against live workers."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.herders import WAIT_S, Cluster, MakeCase, path_of
from fixtures.operations import (
    RECORDS,
    SOURCE,
    change,
    finished,
    given,
    history,
    phases,
    positions,
    running_sink,
    sink_with_records,
)
from fixtures.worker import Topics
from seamark.testing.waiting import eventually

KINDS = ("standalone", "distributed")


@pytest.mark.parametrize("kind", KINDS)
def test_a_running_sink_is_rewound_in_one_step(make_case: MakeCase, topics: Topics, kind: str) -> None:
    case = running_sink(make_case, topics, kind)
    before = len(given(case))
    done = change(case, positions={f"{case.topic}:0": "-5", f"{case.topic}:1": "earliest"}, reason="a test")
    assert (done["phase"], done["error"], done["reason"]) == ("DONE", None, "a test")
    assert phases(done) == ["QUEUED", "STOPPING", "CHANGING", "RESUMING", "DONE"]
    moved = {row["partition"]["kafka_partition"]: (row["before"], row["after"]) for row in done["changes"]}
    assert moved == {
        0: ({"kafka_offset": RECORDS}, {"kafka_offset": RECORDS - 5}),
        1: ({"kafka_offset": RECORDS}, {"kafka_offset": 0}),
    }
    case.connect.await_state(case.name, "RUNNING")
    again = {(0, n) for n in range(RECORDS - 5, RECORDS)} | {(1, n) for n in range(RECORDS)}
    eventually(lambda: set(given(case)[before:]) == again, WAIT_S, "not exactly these are read again")
    eventually(lambda: positions(case) == {0: RECORDS, 1: RECORDS}, WAIT_S, "it is not at the end again")


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_it_gets_its_state_back(make_case: MakeCase, topics: Topics, state: str) -> None:
    case = running_sink(make_case, topics, "distributed")
    if state == "PAUSED":
        case.connect.pause(case.name)
    else:
        case.connect.stop(case.name)
    done = change(case, positions=3)
    assert (done["phase"], done["former_state"]) == ("DONE", state)
    case.connect.await_state(case.name, state, [])
    assert positions(case) == {0: 3, 1: 3}


def test_preview_changes_nothing(make_case: MakeCase, topics: Topics) -> None:
    case = running_sink(make_case, topics, "distributed")
    path = f"{path_of(case.name)}/offsets"
    for method, where, body in (
        ("PATCH", path, {"positions": "earliest"}),
        ("POST", f"{path}/change", {"positions": "earliest"}),
        ("PATCH", path, {"offsets": [{"partition": {"kafka_topic": case.topic, "kafka_partition": "0"}}]}),
        ("DELETE", path, None),
    ):
        shown = case.connect.ask(method, f"{where}?dry_run=true", body)
        assert (shown["dry_run"], shown["state"]) == (True, "RUNNING")
        assert {row["before"]["kafka_offset"] for row in shown["changes"]} == {RECORDS}
        assert {(row["after"] or {"kafka_offset": 0})["kafka_offset"] for row in shown["changes"]} == {0}
    assert positions(case) == {0: RECORDS, 1: RECORDS}
    assert history(case) == []
    assert case.connect.status(case.name)["connector"]["state"] == "RUNNING"


@pytest.mark.parametrize("kind", KINDS)
def test_positions_of_a_stopped_sink(make_case: MakeCase, topics: Topics, kind: str) -> None:
    case = sink_with_records(make_case, topics, kind).create("stopped")
    path = f"{path_of(case.name)}/offsets"
    answer = case.connect.ask("PATCH", path, {"positions": {"*": "latest", f"{case.topic}:1": 7}})
    assert answer["message"] == "The offsets for this connector have been altered successfully"
    assert [(row["before"], row["after"]["kafka_offset"]) for row in answer["changes"]] == [(None, RECORDS), (None, 7)]
    assert positions(case) == {0: RECORDS, 1: 7}
    answer = case.connect.ask("PATCH", path, {"positions": "+100", "clamp": True})
    assert all("clamped" in row for row in answer["changes"])
    assert positions(case) == {0: RECORDS, 1: RECORDS}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"positions": {"nowhere": "earliest"}}, ["no topic 'nowhere'", "Valid: {topic}"]),
        ({"positions": {"{topic}:9": "earliest"}}, ["no partition 9", "0 to 1"]),
        ({"positions": {"{topic}:0": 21}}, ["21", "20"]),
        ({"positions": "+1"}, ["20"]),
        ({"positions": "2026-13-01T00:00:00Z"}, ["2026-13-01", "earliest"]),
        ({"positions": "yesterday"}, ["yesterday", "earliest", "-2h"]),
        ({"positions": {}}, ["no position"]),
        ({}, ["positions", "offsets", "nothing"]),
        ({"positions": "latest", "reset": True}, ["positions", "reset"]),
        ({"offsets": [{"partition": {"kafka_topic": "{topic}"}, "offset": None}]}, ["kafka_partition"]),
        ({"positions": "latest", "color": "red"}, ["color", "positions"]),
    ],
)
def test_bad_requests_change_nothing(make_case: MakeCase, topics: Topics, wanted: Any, words: list[str]) -> None:
    case = running_sink(make_case, topics, "distributed")
    body = _filled(wanted, case.topic)
    status, message = case.connect.message("POST", f"{path_of(case.name)}/offsets/change", body)
    assert status == 400, message
    for word in words:
        assert word.format(topic=case.topic) in message
    assert case.connect.status(case.name)["connector"]["state"] == "RUNNING"
    assert positions(case) == {0: RECORDS, 1: RECORDS}
    assert history(case) == []


def _filled(value: Any, topic: str) -> Any:
    if isinstance(value, dict):
        return {_filled(key, topic): _filled(each, topic) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, topic) for each in value]
    return value.replace("{topic}", topic) if isinstance(value, str) else value


def test_positions_need_a_connector_with_logs(make_case: MakeCase) -> None:
    case = make_case("distributed", SOURCE).create("stopped")
    status, message = case.connect.message("PATCH", f"{path_of(case.name)}/offsets", {"positions": "earliest"})
    assert status == 400
    assert "does not say where what it reads begins" in message


def test_plain_requests_of_a_running_connector_stay_refused(make_case: MakeCase, topics: Topics) -> None:
    case = running_sink(make_case, topics, "distributed")
    status, message = case.connect.message("PATCH", f"{path_of(case.name)}/offsets", {"positions": "earliest"})
    assert (status, "must be in the STOPPED state" in message) == (400, True)


def test_a_refused_change_is_taken_back(make_case: MakeCase, topics: Topics) -> None:
    case = running_sink(make_case, topics, "distributed")
    case.say("hook.says", "refuse")
    done = change(case, positions="earliest")
    assert (done["phase"], done["error"]) == ("ROLLED_BACK", "these offsets are not to be had")
    assert "RUNNING as before" in done["message"]
    case.connect.await_state(case.name, "RUNNING")
    assert positions(case) == {0: RECORDS, 1: RECORDS}


@pytest.mark.parametrize("kind", KINDS)
def test_history_and_undo(make_case: MakeCase, topics: Topics, kind: str) -> None:
    case = sink_with_records(make_case, topics, kind).create("stopped")
    path = f"{path_of(case.name)}/offsets"
    case.connect.ask("PATCH", f"{path}?reason=first", {"positions": 5})
    case.connect.ask("PATCH", path, {"positions": {f"{case.topic}:0": 9}})
    case.connect.ask("DELETE", f"{path}?reason=anew")
    entries = history(case)
    assert [(entry["kind"], entry["phase"], entry["reason"]) for entry in entries] == [
        ("reset", "DONE", "anew"),
        ("alter", "DONE", None),
        ("alter", "DONE", "first"),
    ]
    assert all("127.0.0.1" in entry["who"] for entry in entries)
    undone = finished(case.connect, case.connect.ask("POST", f"{path}/undo", {}, 202)["id"])
    assert (undone["phase"], undone["kind"]) == ("DONE", "undo")
    assert positions(case) == {0: 9, 1: 5}
    begun = case.connect.ask("POST", f"{path}/undo", {"entry": entries[1]["id"]}, 202)
    assert finished(case.connect, begun["id"])["phase"] == "DONE"
    assert positions(case) == {0: 5, 1: 5}
    begun = case.connect.ask("POST", f"{path}/undo", {"entry": entries[2]["id"]}, 202)
    assert finished(case.connect, begun["id"])["phase"] == "DONE"
    assert case.connect.offsets(case.name) == []
    status, message = case.connect.message("POST", f"{path}/undo", {"entry": "nothing"})
    assert (status, entries[2]["id"] in message) == (400, True)


def test_changes_of_one_connector_queue(make_case: MakeCase, topics: Topics) -> None:
    case = running_sink(make_case, topics, "distributed")
    case.say("hook.blocks", "first")
    path = f"{path_of(case.name)}/offsets"
    first = case.connect.ask("POST", f"{path}/change", {"positions": 3}, 202)["id"]
    second = case.connect.ask("POST", f"{path}/change", {"positions": "-2"}, 202)["id"]
    eventually(lambda: case.observed.calls("alter_offsets"), WAIT_S, "the hook is not called")
    assert case.connect.ask("GET", f"/operations/{first}")["phase"] == "CHANGING"
    assert case.connect.ask("GET", f"/operations/{second}")["phase"] == "QUEUED"
    unfinished = case.connect.ask("GET", f"/operations?connector={case.name}&unfinished=true")
    assert [each["id"] for each in unfinished] == [second, first]
    status, message = case.connect.message("DELETE", path, settle=False)
    assert (status, "conflicting operation on the offsets" in message) == (409, True)
    case.say("hook.blocks", "")
    case.observed.release("first")
    assert finished(case.connect, first)["phase"] == "DONE"
    done = finished(case.connect, second)
    assert done["phase"] == "DONE"
    # The second one starts from wherever the first one and the connector itself have come to by then.
    assert all(row["after"]["kafka_offset"] == row["before"]["kafka_offset"] - 2 for row in done["changes"])


@pytest.mark.parametrize("kind", KINDS)
def test_created_with_positions(make_case: MakeCase, topics: Topics, kind: str) -> None:
    case = sink_with_records(make_case, topics, kind)
    body = {"name": case.name, "config": case.config, "positions": {f"{case.topic}:0": "latest", f"{case.topic}:1": 15}}
    case.connect.ask("POST", "/connectors", body, 201)
    case.connect.await_state(case.name, "RUNNING")
    eventually(lambda: positions(case) == {0: RECORDS, 1: RECORDS}, WAIT_S, "it is not at the end")
    assert given(case) == [(1, n) for n in range(15, RECORDS)]


def test_created_with_offsets_in_a_state(make_case: MakeCase) -> None:
    case = make_case("distributed", SOURCE)
    rows = [{"partition": {"source": "0.0"}, "offset": {"seq": 4}}]
    body = {"name": case.name, "config": case.config, "initial_state": "PAUSED", "offsets": rows}
    case.connect.ask("POST", "/connectors", body, 201)
    case.connect.await_state(case.name, "PAUSED", [])
    assert case.connect.offsets(case.name) == [({"source": "0.0"}, {"seq": 4})]


@pytest.mark.parametrize("says", ["refuse", "wrong position"])
def test_not_created_if_its_offsets_are_refused(make_case: MakeCase, topics: Topics, says: str) -> None:
    case = sink_with_records(make_case, topics, "distributed")
    case.say("hook.says", says if says == "refuse" else "true")
    where = 3 if says == "refuse" else 99
    body = {"name": case.name, "config": case.config, "positions": where}
    status, message = case.connect.message("POST", "/connectors", body)
    assert (status, ("not to be had" if says == "refuse" else "99") in message) == (400, True)
    assert case.name not in case.connect.ask("GET", "/connectors")


@pytest.mark.parametrize("kind", KINDS)
def test_deleted_with_offsets(make_case: MakeCase, topics: Topics, kind: str) -> None:
    case = running_sink(make_case, topics, kind)
    case.connect.ask("DELETE", f"{path_of(case.name)}?include_offsets=true", status=204)
    assert case.name not in case.connect.ask("GET", "/connectors")
    case.create("stopped")
    assert case.connect.offsets(case.name) == []
    assert history(case)[0]["kind"] == "delete"


def test_many_at_once(make_case: MakeCase, topics: Topics) -> None:
    cases = [running_sink(make_case, topics, "distributed") for _ in range(2)]
    prefix = f"bulk-{uuid.uuid4().hex[:6]}"
    connect = cases[0].connect
    for number, case in enumerate(cases):
        connect.ask("DELETE", path_of(case.name), status=204)
        case.rename(f"{prefix}-{number}")
        case.create("stopped")
    body = {"connectors": f"{prefix}-*", "action": "change", "change": {"positions": 2}}
    shown = connect.ask("POST", "/operations?dry_run=true", body)
    assert [len(row["preview"]["changes"]) for row in shown["connectors"]] == [2, 2]
    done = connect.ask("POST", "/operations", body)
    for row in done["connectors"]:
        assert finished(connect, row["operation"])["phase"] == "DONE"
    assert [positions(case) for case in cases] == [{0: 2, 1: 2}] * 2
    connect.ask("POST", "/operations", {"connectors": f"{prefix}-?", "action": "resume"})
    for case in cases:
        connect.await_state(case.name, "RUNNING")
    status, message = connect.message("POST", "/operations", {"connectors": "*", "action": "explode"})
    assert (status, "pause, resume" in message) == (400, True)


def test_any_worker_may_be_asked(make_cluster: Callable[..., Cluster], make_case: MakeCase, topics: Topics) -> None:
    cluster = make_cluster("distributed", workers=2)
    case = sink_with_records(make_case, topics, cluster)
    case.connect = connect = cluster.connect(cluster.other())
    connect.ask("POST", "/connectors", {"name": case.name, "config": case.config, "positions": "latest"}, 201)
    connect.await_state(case.name, "RUNNING")
    response = connect.call("POST", f"{path_of(case.name)}/offsets/change", {"positions": 5, "reason": "elsewhere"})
    assert response.status_code == 202
    operation = response.json()["id"]
    assert response.headers["Location"].endswith(f"/operations/{operation}")
    for node in cluster.nodes:
        done = finished(cluster.connect(node), operation)
        assert (done["phase"], done["reason"], done["who"]) == ("DONE", "elsewhere", "127.0.0.1")
    connect.await_state(case.name, "RUNNING")
    eventually(lambda: set(given(case)) == {(p, n) for p in (0, 1) for n in range(5, RECORDS)}, WAIT_S)
    for action, state in (("pause", "PAUSED"), ("resume", "RUNNING"), ("restart", "RUNNING"), ("stop", "STOPPED")):
        rows = connect.ask("POST", "/operations", {"connectors": case.name, "action": action})["connectors"]
        assert rows == [{"connector": case.name}]
        connect.await_state(case.name, state)
    connect.ask("PATCH", f"{path_of(case.name)}/offsets", {"positions": "earliest"})
    begun = connect.ask("POST", f"{path_of(case.name)}/offsets/undo", {}, 202)
    assert finished(connect, begun["id"])["phase"] == "DONE"
    connect.ask("DELETE", f"{path_of(case.name)}?include_offsets=true", status=204)
    assert connect.ask("GET", "/connectors") == []
