"""Pause, resume, stop: from every state, and of what is not there."""

from __future__ import annotations

import httpx
import pytest

from compat.client import NO_LEADER, STALE, Connect, expect, path_of
from compat.conftest import Files
from compat.targets import Target
from seamark.testing.waiting import eventually

UNKNOWN = "no-such-connector"
ACTIONS = {"pause": (202, "PAUSED"), "resume": (202, "RUNNING"), "stop": (204, "STOPPED")}


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_unknown_connector(connect: Connect, action: str) -> None:
    connect.refuses(connect.put(path_of(UNKNOWN, action)), 404, f"Unknown connector {UNKNOWN}")


@pytest.mark.requirement("K875-26")
def test_stop_of_an_unknown_connector(connect: Connect) -> None:
    response = connect.put(path_of(UNKNOWN, "stop"))
    if connect.target.is_distributed:
        connect.refuses(response, 404, f"Unknown connector {UNKNOWN}")
    else:
        connect.refuses(response, 500, f"No connector `{UNKNOWN}` configured", "standalone/stop-unknown")


@pytest.mark.requirement("K875-26")
@pytest.mark.requirement("K875-34")
@pytest.mark.requirement("K875-52")
@pytest.mark.parametrize("kind", ["source", "sink"])
@pytest.mark.parametrize("state", ["RUNNING", "PAUSED", "STOPPED"])
@pytest.mark.parametrize("action", ACTIONS)
def test_action_in_a_state(connect: Connect, files: Files, name: str, kind: str, state: str, action: str) -> None:
    connect.create(name, files.source(name, 1) if kind == "source" else files.sink(name, 1))
    connect.await_state(name, "RUNNING")
    if state == "PAUSED":
        connect.pause(name)
    elif state == "STOPPED":
        connect.stop(name)
    status, wanted = ACTIONS[action]
    response = connect.put(path_of(name, action))
    assert (response.status_code, response.content) == (status, b"")
    tasks = [] if wanted == "STOPPED" or (state, action) == ("STOPPED", "pause") else [wanted]
    connect.await_state(name, wanted, tasks)


@pytest.mark.requirement("K875-27")
@pytest.mark.requirement("K875-30")
def test_stopped_connector_keeps_its_config_and_has_no_tasks(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name, 1)
    connect.create(name, config)
    connect.await_state(name, "RUNNING")
    connect.stop(name)
    info = expect(connect.get(path_of(name)), 200)
    assert info == {"name": name, "config": {**config, "name": name}, "tasks": [], "type": "source"}
    assert expect(connect.get(path_of(name, "config")), 200) == info["config"]
    connect.refuses(connect.get(path_of(name, "tasks/0/status")), 404, f"No status found for task {name}-0")
    expanded = expect(connect.get("/connectors?expand=info&expand=status"), 200)[name]
    assert expanded["info"]["tasks"] == expanded["status"]["tasks"] == []


def test_nothing_runs_while_it_is_stopped_or_paused(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name, 1))
    eventually(lambda: files.topics.values(name) == ["line0"], 60)
    connect.stop(name)
    files.append(name, 1, first=1)
    connect.pause(name, [])
    assert expect(connect.get(path_of(name, "tasks")), 200) == []
    connect.resume(name)
    eventually(lambda: files.topics.values(name) == ["line0", "line1"], 60)
    connect.pause(name)
    (task,) = connect.status(name)["tasks"]
    assert task["state"] == "PAUSED"
    files.append(name, 1, first=2)
    connect.stop(name)
    assert files.topics.values(name) == ["line0", "line1"]
    connect.resume(name)
    eventually(lambda: files.topics.values(name) == ["line0", "line1", "line2"], 60)


@pytest.mark.requirement("K875-52")
def test_stopped_connector_can_be_deleted(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name, 1))
    connect.await_state(name, "RUNNING")
    connect.stop(name)
    expect(connect.delete(path_of(name)), 204)
    eventually(lambda: connect.get(path_of(name)).status_code == 404, 60)


@pytest.fixture
def failed_task(connect: Connect, files: Files, name: str) -> str:
    """A sink whose task fails until the directory `later` exists."""
    connect.create(name, files.sink(name, 1) | {"file": str(files.directory / "later" / "copy.txt")})
    connect.await_state(name, "RUNNING", ["FAILED"])
    return name


def mend(files: Files) -> None:
    (files.directory / "later").mkdir()


@pytest.mark.requirement("K875-31")
@pytest.mark.requirement("K875-53")
def test_failed_task_follows_neither_pause_nor_resume(connect: Connect, files: Files, failed_task: str) -> None:
    expect(connect.put(path_of(failed_task, "pause")), 202)
    connect.await_state(failed_task, "PAUSED", ["FAILED"])
    expect(connect.put(path_of(failed_task, "resume")), 202)
    connect.await_state(failed_task, "RUNNING", ["FAILED"])
    mend(files)
    connect.stop(failed_task)
    connect.resume(failed_task)
    eventually(lambda: (files.directory / "later" / "copy.txt").read_text() == "line0\n", 60)


def restart(connect: Connect, name: str, query: str = "") -> object:
    return connect.post(path_of(name, f"restart{query}"))


@pytest.mark.parametrize("query", ["", "?includeTasks=true", "?onlyFailed=true", "?includeTasks=true&onlyFailed=true"])
def test_restart_of_an_unknown_connector(distributed: Target, connect: Connect, query: str) -> None:
    connect.refuses(connect.post(path_of(UNKNOWN, f"restart{query}")), 404, f"Unknown connector: {UNKNOWN}")


@pytest.mark.parametrize(
    ("query", "connector", "task"),
    [
        ("?includeTasks=true", "RESTARTING", "RESTARTING"),
        ("?includeTasks=true&onlyFailed=false", "RESTARTING", "RESTARTING"),
        ("?includeTasks=true&onlyFailed=true", "RUNNING", "RUNNING"),
        ("?onlyFailed=true", "RUNNING", "RUNNING"),
    ],
)
def test_restart_with_parameters(
    connect: Connect, files: Files, name: str, query: str, connector: str, task: str
) -> None:
    connect.create(name, files.source(name, 1))
    connect.await_state(name, "RUNNING")
    answer = expect(connect.post(path_of(name, f"restart{query}")), 202)
    assert list(answer) == ["name", "connector", "tasks", "type"]
    assert (answer["name"], answer["type"]) == (name, "source")
    assert answer["connector"]["state"] == connector
    assert [(row["id"], row["state"]) for row in answer["tasks"]] == [(0, task)]
    connect.await_state(name, "RUNNING")


def test_restart_of_a_running_connector(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name, 1))
    eventually(lambda: files.topics.values(name) == ["line0"], 60)
    response = connect.post(path_of(name, "restart"))
    assert (response.status_code, response.content) == (204, b"")
    connect.await_state(name, "RUNNING")
    response = connect.post(path_of(name, "tasks/0/restart"))
    assert (response.status_code, response.content) == (204, b"")
    connect.await_state(name, "RUNNING")
    files.append(name, 1, first=1)
    eventually(lambda: files.topics.values(name) == ["line0", "line1"], 60)


@pytest.mark.requirement("K875-33")
@pytest.mark.parametrize("query", ["", "?includeTasks=true", "?includeTasks=true&onlyFailed=true"])
@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_restart_leaves_the_state(connect: Connect, files: Files, name: str, state: str, query: str) -> None:
    connect.create(name, files.source(name, 1))
    connect.await_state(name, "RUNNING")
    if state == "PAUSED":
        connect.pause(name)
    else:
        connect.stop(name)
    answer = expect(connect.post(path_of(name, f"restart{query}")), 202 if query else 204)
    if query == "?includeTasks=true":
        assert answer["connector"]["state"] == "RESTARTING"
        assert [task["state"] for task in answer["tasks"]] == ([] if state == "STOPPED" else ["RESTARTING"])
    elif query:
        assert answer["connector"]["state"] == state
    connect.await_state(name, state)


def test_restart_of_a_failed_task(connect: Connect, files: Files, failed_task: str) -> None:
    path = path_of(failed_task, "restart")
    trace = connect.status(failed_task)["tasks"][0]["trace"]
    expect(connect.post(path), 204)
    connect.await_state(failed_task, "RUNNING", ["FAILED"])
    answer = expect(connect.post(f"{path}?onlyFailed=true"), 202)
    assert (answer["connector"]["state"], answer["tasks"][0]["state"]) == ("RUNNING", "FAILED")
    mend(files)
    answer = expect(connect.post(f"{path}?onlyFailed=true&includeTasks=true"), 202)
    assert (answer["connector"]["state"], answer["tasks"][0]["state"]) == ("RUNNING", "RESTARTING")
    assert answer["tasks"][0]["trace"] == trace
    connect.await_state(failed_task, "RUNNING")
    eventually(lambda: (files.directory / "later" / "copy.txt").read_text() == "line0\n", 60)


def test_restart_of_only_the_failed_task(connect: Connect, files: Files, failed_task: str) -> None:
    mend(files)
    expect(connect.post(path_of(failed_task, "tasks/0/restart")), 204)
    status = connect.await_state(failed_task, "RUNNING")
    assert "trace" not in status["tasks"][0]


def test_restart_of_an_unknown_task(distributed: Target, connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name))
    connect.await_state(name, "RUNNING")
    connect.refuses(connect.post(path_of(name, "tasks/7/restart")), 404, f"Unknown task: {name}-7")
    connect.refuses(connect.post(path_of(UNKNOWN, "tasks/0/restart")), 404, f"Unknown connector: {UNKNOWN}")


def test_restart_of_a_task_of_a_stopped_connector(
    distributed: Target, connect: Connect, files: Files, name: str
) -> None:
    connect.create(name, files.source(name))
    connect.await_state(name, "RUNNING")
    connect.stop(name)

    def ask() -> list[httpx.Response]:
        response = connect.call("POST", path_of(name, "tasks/0/restart"), settle=False)
        assert STALE not in response.text
        return [response]

    (response,) = eventually(ask, 60)
    connect.refuses(response, 409, NO_LEADER, "restart/task-of-stopped")
