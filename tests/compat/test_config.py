"""`PUT` and `PATCH /connectors/{name}/config`."""

from __future__ import annotations

from typing import Any

import pytest

from compat.client import Connect, expect, path_of
from compat.conftest import Files, Parked
from compat.test_create import invalid
from seamark.testing.waiting import eventually


def test_put_creates(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name, 1)
    response = connect.put(path_of(name, "config"), config)
    info = expect(response, 201)
    tasks = [] if connect.target.is_distributed else [{"connector": name, "task": 0}]
    assert info == {"name": name, "config": {**config, "name": name}, "tasks": tasks, "type": "source"}
    assert response.headers["location"].endswith(f"/connectors/{name}")
    connect.await_state(name, "RUNNING")


def test_put_replaces(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name, 1)
    connect.create(name, config | {"extra": "1"})
    connect.await_state(name, "RUNNING")
    other = files.source(f"{name}-2", 2) | {"topic": f"{name}-2"}
    response = connect.put(path_of(name, "config"), other)
    info = expect(response, 200)
    assert info["config"] == {**other, "name": name}
    assert info["tasks"] == [{"connector": name, "task": 0}]
    assert "location" not in response.headers
    eventually(lambda: files.topics.values(f"{name}-2") == ["line0", "line1"], 60)
    eventually(lambda: connect.get(path_of(name, "config")).json() == {**other, "name": name}, 60)
    (task,) = expect(connect.get(path_of(name, "tasks")), 200)
    assert task["config"]["file"] == other["file"]


def test_put_of_the_same_config(connect: Connect, running_source: Parked) -> None:
    config = {**running_source.config, "name": running_source.name}
    assert expect(connect.put(f"{running_source.path}/config", config), 200)["config"] == config
    connect.await_state(running_source.name, "RUNNING")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "other"}, None),
        ({"tasks.max": "0"}, invalid("Invalid value 0 for configuration tasks.max: Value must be at least 1")),
        ({"topic": ...}, invalid('Missing required configuration "topic" which has no default value.')),
        ({"connector.class": ...}, ["contains no connector type"]),
        ({"connector.class": "NoSuch"}, ["Failed to find any class that implements Connector"]),
    ],
    ids=["other-name", "invalid", "missing", "no-class", "unknown-class"],
)
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "new"])
def test_put_of_a_bad_config(
    connect: Connect, stopped_source: Parked, name: str, changes: dict[str, Any], message: Any, is_known: bool
) -> None:
    used = stopped_source.name if is_known else name
    config = {key: value for key, value in (stopped_source.config | changes).items() if value is not ...}
    message = message or f"Connector name configuration (other) doesn't match connector name in the URL ({used})"
    connect.refuses(connect.put(path_of(used, "config"), config), 400, message)
    if is_known:
        found = expect(connect.get(f"{stopped_source.path}/config"), 200)
        assert found == {**stopped_source.config, "name": stopped_source.name}
    else:
        connect.refuses(connect.get(path_of(name)), 404, f"Connector {name} not found")


def test_put_of_an_empty_config(connect: Connect, stopped_source: Parked) -> None:
    connect.refuses(connect.put(f"{stopped_source.path}/config", {}), 400, ["contains no connector type"])


def test_patch(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name, 1)
    connect.create(name, config | {"goes": "1", "stays": "1", "changes": "1"}, "STOPPED")
    info = expect(connect.patch(path_of(name, "config"), {"goes": None, "changes": 2, "comes": True}), 200)
    wanted = {**config, "name": name, "stays": "1", "changes": "2", "comes": "true"}
    assert info == {"name": name, "config": wanted, "tasks": [], "type": "source"}
    eventually(lambda: connect.get(path_of(name, "config")).json() == wanted, 60)
    assert expect(connect.patch(path_of(name, "config"), {}), 200)["config"] == wanted
    assert expect(connect.patch(path_of(name, "config"), {"never.there": None}), 200)["config"] == wanted


def test_patch_of_an_unknown_connector(connect: Connect, name: str) -> None:
    connect.refuses(connect.patch(path_of(name, "config"), {"a": "b"}), 404, f"Connector {name} not found")
    connect.refuses(connect.patch(path_of(name, "config"), {}), 404, f"Connector {name} not found")


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"topic": None}, invalid('Missing required configuration "topic" which has no default value.')),
        ({"name": None}, invalid('Missing required configuration "name" which has no default value.')),
        ({"connector.class": None}, ["contains no connector type"]),
        ({"connector.class": "NoSuch"}, ["Failed to find any class that implements Connector"]),
        ({"tasks.max": "-1"}, invalid("Invalid value -1 for configuration tasks.max: Value must be at least 1")),
    ],
)
def test_patch_to_a_bad_config(connect: Connect, stopped_source: Parked, patch: dict[str, Any], message: Any) -> None:
    connect.refuses(connect.patch(f"{stopped_source.path}/config", patch), 400, message)
    found = expect(connect.get(f"{stopped_source.path}/config"), 200)
    assert found == {**stopped_source.config, "name": stopped_source.name}


def test_patch_does_not_check_the_name(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name), "STOPPED")
    info = expect(connect.patch(path_of(name, "config"), {"name": "other"}), 200)
    assert (info["name"], info["config"]["name"]) == (name, "other")


@pytest.mark.requirement("K980-34")
@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_state_stays(connect: Connect, files: Files, name: str, state: str, method: str) -> None:
    config = files.source(name, 1)
    connect.create(name, config, state)
    connect.await_state(name, state, [])
    change = config | {"extra": "1"} if method == "PUT" else {"extra": "1"}
    expect(connect.call(method, path_of(name, "config"), change), 200)
    eventually(lambda: connect.get(path_of(name, "config")).json().get("extra") == "1", 60)
    connect.await_state(name, state, [])
    assert expect(connect.get(path_of(name, "tasks")), 200) == []
