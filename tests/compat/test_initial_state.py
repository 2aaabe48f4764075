"""Connectors that are created in a state (KIP-980)."""

from __future__ import annotations

import time

import pytest

from compat.client import Connect, expect, path_of
from compat.conftest import Files
from seamark.testing.waiting import eventually

NOT_STOPPED = "Connectors must be in the STOPPED state before their offsets can be modified."


@pytest.mark.requirement("K980-01")
@pytest.mark.requirement("K980-02")
@pytest.mark.requirement("K980-06")
@pytest.mark.requirement("K980-24")
@pytest.mark.requirement("K980-25")
@pytest.mark.parametrize("state", ["RUNNING", "Paused", "STOPPED", "running", "PAUSED", "stopped"])
def test_state_in_any_case(connect: Connect, files: Files, name: str, state: str) -> None:
    connect.create(name, files.source(name, 1), state)
    connect.await_state(name, state.upper(), None if state.upper() == "RUNNING" else [])


@pytest.mark.requirement("K980-04")
def test_null_is_as_if_it_were_not_there(connect: Connect, files: Files, name: str) -> None:
    body = {"name": name, "config": files.source(name, 1), "initial_state": None}
    expect(connect.post("/connectors", body), 201)
    connect.await_state(name, "RUNNING")


@pytest.mark.requirement("K980-05")
@pytest.mark.requirement("K980-18")
@pytest.mark.requirement("K980-26")
@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_no_task_until_it_is_resumed(connect: Connect, files: Files, name: str, state: str, kind: str) -> None:
    config = files.source(name, 1) if kind == "source" else files.sink(name, 1)
    created = connect.create(name, config, state)
    assert created["tasks"] == []
    seen: set[str] = set()
    deadline = time.monotonic() + 2  # how long a start would take to show
    while time.monotonic() < deadline or state not in seen:
        status = connect.status(name)
        if status:
            seen.add(status["connector"]["state"])
            assert status["tasks"] == []
        assert expect(connect.get(path_of(name, "tasks")), 200) == []
        assert expect(connect.get(path_of(name)), 200)["tasks"] == []
        assert time.monotonic() < deadline + 60, f"it is never {state}: {seen}"
    assert seen <= {state, "UNASSIGNED"}
    connect.resume(name)
    if kind == "sink":
        eventually(lambda: files.read(name) == ["line0"], 60)
    else:
        eventually(lambda: files.topics.values(name) == ["line0"], 60)


@pytest.mark.requirement("K980-28")
@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_it_can_be_deleted(connect: Connect, files: Files, name: str, state: str) -> None:
    connect.create(name, files.source(name, 1), state)
    connect.await_state(name, state, [])
    expect(connect.delete(path_of(name)), 204)
    eventually(lambda: connect.get(path_of(name)).status_code == 404, 60)
    eventually(lambda: connect.get(path_of(name, "status")).status_code == 404, 60)


@pytest.mark.requirement("K980-28")
@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_it_can_be_resumed(connect: Connect, files: Files, name: str, state: str) -> None:
    connect.create(name, files.source(name, 1), state)
    connect.await_state(name, state, [])
    connect.resume(name)
    eventually(lambda: files.topics.values(name) == ["line0"], 60)


@pytest.mark.requirement("K980-19")
def test_offsets_of_one_created_paused_cannot_be_changed(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name, 1), "PAUSED")
    connect.await_state(name, "PAUSED", [])
    connect.refuses(connect.alter(name, (files.partition(name), {"position": 0})), 400, [NOT_STOPPED])
    connect.refuses(connect.reset(name), 400, [NOT_STOPPED])


@pytest.mark.requirement("K980-29")
def test_offsets_of_one_created_stopped_can_be_changed(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name, 3), "STOPPED")
    connect.await_state(name, "STOPPED")
    expect(connect.alter(name, (files.partition(name), {"position": 6})), 200)
    connect.resume(name)
    eventually(lambda: files.topics.values(name) == ["line1", "line2"], 60)


@pytest.mark.requirement("K980-23")
@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_its_system_need_not_exist(connect: Connect, files: Files, name: str, state: str) -> None:
    missing = files.directory / "later"
    connect.create(name, files.sink(name, 1) | {"file": str(missing / "copy.txt")}, state)
    connect.await_state(name, state, [])
    assert not missing.exists()
    missing.mkdir()
    connect.resume(name)
    eventually(lambda: (missing / "copy.txt").read_text() == "line0\n", 60)


@pytest.mark.requirement("K980-34")
def test_state_in_a_config_is_a_key_like_any_other(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name, 1) | {"initial_state": "STOPPED"}
    created = expect(connect.put(path_of(name, "config"), config), 201)
    assert created["config"]["initial_state"] == "STOPPED"
    connect.await_state(name, "RUNNING")


@pytest.mark.requirement("K980-22")
def test_connector_moves_with_its_offsets(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name, 3)
    connect.create(name, config)
    offsets = [{"partition": files.partition(name), "offset": {"position": 18}}]
    eventually(lambda: connect.offsets(name) == offsets, 60)
    connect.stop(name)
    files.append(name, 2, first=3)
    moved = f"{name}-moved"
    connect.create(moved, config, "STOPPED")
    connect.await_state(moved, "STOPPED")
    expect(connect.patch(path_of(moved, "offsets"), expect(connect.get(path_of(name, "offsets")), 200)), 200)
    connect.resume(moved)
    expect(connect.delete(path_of(name)), 204)
    eventually(lambda: len(files.topics.values(name)) >= 5, 60)
    assert files.topics.values(name) == [f"line{number}" for number in range(5)]
