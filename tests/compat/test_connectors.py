"""Reading connectors: list, expand, info, config, status, tasks, topics; and deleting them."""

from __future__ import annotations

import pytest

from compat.client import NOT_FOUND, Connect, expect, path_of
from compat.conftest import Files, Parked
from compat.targets import SINK, SOURCE, Target
from seamark.testing.waiting import eventually

UNKNOWN = "no-such-connector"


def worker_ids(connect: Connect) -> set[str]:
    return {url.removeprefix("http://") for url in connect.target.urls}


def test_list(connect: Connect, running_source: Parked, running_sink: Parked) -> None:
    names = expect(connect.get("/connectors"), 200)
    assert {running_source.name, running_sink.name} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("expand=status", ["status"]),
        ("expand=info", ["info"]),
        ("expand=info&expand=status", ["info", "status"]),
        ("expand=bogus", []),
        ("expand=info,status", []),
        ("expand=bogus&expand=info", ["info"]),
        ("expand=", []),
    ],
)
def test_expand(connect: Connect, running_source: Parked, query: str, parts: list[str]) -> None:
    found = expect(connect.get(f"/connectors?{query}"), 200)
    expanded = found[running_source.name]
    assert sorted(expanded) == sorted(parts)
    if "info" in parts:
        assert expanded["info"] == expect(connect.get(running_source.path), 200)
    if "status" in parts:
        assert expanded["status"] == expect(connect.get(f"{running_source.path}/status"), 200)


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_info(connect: Connect, running_source: Parked, running_sink: Parked, kind: str) -> None:
    parked = running_source if kind == "source" else running_sink
    info = expect(connect.get(parked.path), 200)
    assert list(info) == ["name", "config", "tasks", "type"]
    assert info == {
        "name": parked.name,
        "config": {**parked.config, "name": parked.name},
        "tasks": [{"connector": parked.name, "task": 0}],
        "type": kind,
    }
    assert expect(connect.get(f"{parked.path}/config"), 200) == info["config"]


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_status(connect: Connect, running_source: Parked, running_sink: Parked, kind: str) -> None:
    parked = running_source if kind == "source" else running_sink
    status = expect(connect.get(f"{parked.path}/status"), 200)
    assert list(status) == ["name", "connector", "tasks", "type"]
    assert (status["name"], status["type"]) == (parked.name, kind)
    assert list(status["connector"]) == ["state", "worker_id", "version"]
    assert status["connector"]["state"] == "RUNNING"
    assert status["connector"]["worker_id"] in worker_ids(connect)
    (task,) = status["tasks"]
    assert list(task) == ["id", "state", "worker_id", "version"]
    assert (task["id"], task["state"]) == (0, "RUNNING")
    assert task["worker_id"] in worker_ids(connect)
    assert expect(connect.get(f"{parked.path}/tasks/0/status"), 200) == task


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_tasks(connect: Connect, running_source: Parked, running_sink: Parked, kind: str) -> None:
    parked = running_source if kind == "source" else running_sink
    (task,) = expect(connect.get(f"{parked.path}/tasks"), 200)
    assert list(task) == ["id", "config"]
    assert task["id"] == {"connector": parked.name, "task": 0}
    task_class = (SOURCE if kind == "source" else SINK).removesuffix("Connector") + "Task"
    assert task["config"]["task.class"] == task_class
    assert task["config"]["file"] == parked.config["file"]
    if kind == "sink":
        assert task["config"]["topics"] == parked.config["topics"]


def test_several_tasks_are_sorted(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.sink(name, 1, partitions=12, tasks__max="12"))
    status = connect.await_state(name, "RUNNING", ["RUNNING"] * 12)
    assert [task["id"] for task in status["tasks"]] == list(range(12))
    info = expect(connect.get(path_of(name)), 200)
    assert info["tasks"] == [{"connector": name, "task": number} for number in range(12)]
    tasks = expect(connect.get(path_of(name, "tasks")), 200)
    assert [task["id"]["task"] for task in tasks] == list(range(12))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", f"Connector {UNKNOWN} not found"),
        ("/config", f"Connector {UNKNOWN} not found"),
        ("/status", f"No status found for connector {UNKNOWN}"),
        ("/tasks", f"Connector {UNKNOWN} not found"),
        ("/tasks/0/status", f"No status found for task {UNKNOWN}-0"),
        ("/offsets", f"Connector {UNKNOWN} not found"),
        ("/tasks-config", NOT_FOUND),
    ],
)
@pytest.mark.requirement("K875-02")
def test_unknown_connector(connect: Connect, path: str, message: str) -> None:
    connect.refuses(connect.get(f"/connectors/{UNKNOWN}{path}"), 404, message)


def test_unknown_task(connect: Connect, running_source: Parked) -> None:
    response = connect.get(f"{running_source.path}/tasks/7/status")
    connect.refuses(response, 404, f"No status found for task {running_source.name}-7")


def test_tasks_config_is_gone(connect: Connect, running_source: Parked) -> None:
    connect.refuses(connect.get(f"{running_source.path}/tasks-config"), 404, NOT_FOUND)


def test_failed_task_has_a_trace_at_the_end(connect: Connect, files: Files, name: str) -> None:
    config = files.sink(name, 1) | {"file": str(files.directory / "none" / "x")}
    connect.create(name, config)
    status = connect.await_state(name, "RUNNING", ["FAILED"])
    (task,) = status["tasks"]
    assert list(task) == ["id", "state", "worker_id", "version", "trace"]
    assert "FileStreamSinkTask" in task["trace"]
    assert config["file"] in task["trace"]
    assert "trace" not in status["connector"]
    assert expect(connect.get(path_of(name, "tasks/0/status")), 200) == task


def test_topics_of_a_source(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name, 1))
    path = path_of(name, "topics")
    eventually(lambda: connect.get(path).json() == {name: {"topics": [name]}}, 60, "the topic is not listed")
    expect(connect.post(path_of(name, "restart?includeTasks=true")), 202)
    connect.await_state(name, "RUNNING")
    assert expect(connect.get(path), 200) == {name: {"topics": [name]}}
    response = connect.put(f"{path}/reset")
    assert (response.status_code, response.content) == (202, b"")
    eventually(lambda: connect.get(path).json() == {name: {"topics": []}}, 60, "the topics are not reset")


def test_topics_of_a_sink_end_with_it(distributed: Target, connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.sink(name, 1))
    path = path_of(name, "topics")
    eventually(lambda: connect.get(path).json() == {name: {"topics": [name]}}, 60, "the topic is not listed")
    expect(connect.delete(path_of(name)), 204)
    eventually(lambda: connect.get(path).json() == {name: {"topics": []}}, 60, "the topics are still listed")


def test_topics_of_an_unknown_connector(connect: Connect) -> None:
    assert expect(connect.get(path_of(UNKNOWN, "topics")), 200) == {UNKNOWN: {"topics": []}}
    response = connect.put(path_of(UNKNOWN, "topics/reset"))
    assert (response.status_code, response.content) == (202, b"")


def test_delete(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name))
    connect.await_state(name, "RUNNING")
    response = connect.delete(path_of(name))
    assert (response.status_code, response.content) == (204, b"")
    eventually(lambda: name not in connect.get("/connectors").json(), 60)
    connect.refuses(connect.get(path_of(name)), 404, f"Connector {name} not found")
    eventually(lambda: connect.get(path_of(name, "status")).status_code == 404, 60, "the status is still there")
    connect.refuses(connect.delete(path_of(name)), 404, f"Connector {name} not found")


def test_delete_of_an_unknown_connector(connect: Connect) -> None:
    connect.refuses(connect.delete(path_of(UNKNOWN)), 404, f"Connector {UNKNOWN} not found")


def test_source_of_the_same_name_goes_on_where_the_deleted_one_was(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name, 2)
    connect.create(name, config)
    offsets = [{"partition": files.partition(name), "offset": {"position": 12}}]
    eventually(lambda: connect.offsets(name) == offsets, 60)
    expect(connect.delete(path_of(name)), 204)
    eventually(lambda: connect.get(path_of(name, "status")).status_code == 404, 60)
    connect.create(name, config)
    assert connect.offsets(name) == offsets
    files.append(name, 1, first=2)
    eventually(lambda: files.topics.values(name) == ["line0", "line1", "line2"], 60)
    assert files.topics.values(name) == ["line0", "line1", "line2"]


def test_sink_of_the_same_name_goes_on_where_the_deleted_one_was(connect: Connect, files: Files, name: str) -> None:
    config = files.sink(name, 2)
    connect.create(name, config)
    eventually(lambda: files.topics.group_offsets(f"connect-{name}"), 60)
    eventually(lambda: list(files.topics.group_offsets(f"connect-{name}").values()) == [2], 60)
    expect(connect.delete(path_of(name)), 204)
    eventually(lambda: connect.get(path_of(name, "status")).status_code == 404, 60)
    assert list(files.topics.group_offsets(f"connect-{name}").values()) == [2]
    connect.create(name, config)
    files.topics.send(name, ["more"])
    eventually(lambda: files.read(name) == ["line0", "line1", "more"], 60)
