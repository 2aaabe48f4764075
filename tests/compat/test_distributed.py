"""What distributed workers share: the config topic, and each other's requests."""

from __future__ import annotations

import pytest

from compat.client import Connect, expect, path_of
from compat.config_topic import ConfigTopic
from compat.conftest import Files
from compat.differences import differs
from compat.targets import Target
from seamark.testing.waiting import eventually

TARGET_STATES = {
    "RUNNING": {"state": "STARTED", "state.v2": "STARTED"},
    "PAUSED": {"state": "PAUSED", "state.v2": "PAUSED"},
    "STOPPED": {"state": "PAUSED", "state.v2": "STOPPED"},
}


@pytest.fixture
def topic(distributed: Target) -> ConfigTopic:
    return ConfigTopic(distributed)


@pytest.mark.requirement("K980-17")
@pytest.mark.requirement("K875-41")
@pytest.mark.parametrize("state", TARGET_STATES)
def test_initial_state_is_written_before_the_config(
    connect: Connect, topic: ConfigTopic, files: Files, name: str, state: str
) -> None:
    connect.create(name, files.source(name), state)
    records = [(key, value) for key, value in topic.records() if name in key]
    assert records[0] == (f"target-state-{name}", TARGET_STATES[state])
    assert records[1] == (f"connector-{name}", {"properties": {**files.source(name), "name": name}})


@pytest.mark.requirement("K980-04")
@pytest.mark.requirement("K980-21")
def test_no_state_is_written_for_a_connector_without_one(
    connect: Connect, topic: ConfigTopic, files: Files, name: str
) -> None:
    connect.create(name, files.source(name))
    connect.await_state(name, "RUNNING")
    keys = [key for key, _ in topic.records() if name in key]
    assert keys[0] == f"connector-{name}"
    assert f"target-state-{name}" not in keys


@pytest.mark.requirement("K980-03")
def test_nothing_is_written_for_a_bad_state(connect: Connect, topic: ConfigTopic, files: Files, name: str) -> None:
    body = {"name": name, "config": files.source(name), "initial_state": "BOGUS"}
    assert connect.post("/connectors", body).status_code >= 400
    assert [key for key, _ in topic.records() if name in key] == []


@pytest.mark.requirement("K875-29")
@pytest.mark.requirement("K875-35")
@pytest.mark.requirement("K875-41")
def test_states_in_the_config_topic(connect: Connect, topic: ConfigTopic, files: Files, name: str) -> None:
    connect.create(name, files.source(name))
    connect.await_state(name, "RUNNING")
    assert topic.latest(f"commit-{name}") == {"tasks": 1}
    connect.pause(name)
    assert topic.latest(f"target-state-{name}") == TARGET_STATES["PAUSED"]
    assert topic.latest(f"commit-{name}") == {"tasks": 1}
    connect.stop(name)
    assert topic.latest(f"target-state-{name}") == TARGET_STATES["STOPPED"]
    assert topic.latest(f"commit-{name}") == {"tasks": 0}
    connect.resume(name)
    assert topic.latest(f"target-state-{name}") == TARGET_STATES["RUNNING"]
    assert topic.latest(f"commit-{name}") == {"tasks": 1}
    expect(connect.delete(path_of(name)), 204)
    eventually(lambda: connect.get(path_of(name)).status_code == 404, 60)
    assert topic.latest(f"connector-{name}") is None
    assert topic.latest(f"target-state-{name}") is None


@pytest.mark.requirement("K875-42")
def test_state_written_by_a_worker_of_another_age(
    connect: Connect, topic: ConfigTopic, files: Files, name: str
) -> None:
    connect.create(name, files.source(name))
    connect.await_state(name, "RUNNING")
    topic.write(f"target-state-{name}", {"state": "PAUSED"})
    connect.await_state(name, "PAUSED")
    topic.write(f"target-state-{name}", {"state": "STARTED"})
    connect.await_state(name, "RUNNING")
    topic.write(f"target-state-{name}", {"state": "STARTED", "state.v2": "PAUSED"})
    connect.await_state(name, "PAUSED")


@pytest.mark.requirement("K980-16")
def test_state_left_over_for_a_name(connect: Connect, topic: ConfigTopic, files: Files, name: str) -> None:
    topic.write(f"target-state-{name}", TARGET_STATES["STOPPED"])
    assert name not in expect(connect.get("/connectors"), 200)
    expect(connect.post("/connectors", {"name": name, "config": files.source(name, 1)}), 201)
    connect.await_state(name, "RUNNING" if differs(connect.target, "target-state/left-over") else "STOPPED")


@pytest.mark.requirement("K875-31")
@pytest.mark.requirement("K875-53")
def test_failed_connector(connect: Connect, topic: ConfigTopic, files: Files, name: str) -> None:
    topic.write_connector(name, files.source(name) | {"batch.size": "many"})
    status = connect.await_state(name, "FAILED", [])
    assert list(status["connector"]) == ["state", "worker_id", "version", "trace"]
    assert "batch.size" in status["connector"]["trace"]
    for action in ("pause", "resume"):
        expect(connect.put(path_of(name, action)), 202)
        connect.await_state(name, "FAILED", [])
    answer = expect(connect.post(path_of(name, "restart?onlyFailed=true")), 202)
    assert answer["connector"]["state"] == "RESTARTING"
    assert "batch.size" in answer["connector"]["trace"]
    connect.await_state(name, "FAILED", [])
    expect(connect.put(path_of(name, "stop")), 204)
    status = connect.await_state(name, "STOPPED")
    assert "trace" not in status["connector"]
    expect(connect.put(path_of(name, "config"), files.source(name, 1)), 200)
    connect.resume(name)


def test_connector_of_an_unknown_class(connect: Connect, topic: ConfigTopic, name: str) -> None:
    topic.write_connector(name, {"connector.class": "no.such.Connector", "tasks.max": "1"})
    status = connect.await_state(name, "FAILED", [])
    assert status["type"] == "unknown"
    assert expect(connect.get(path_of(name)), 200)["type"] == "unknown"
    fragment = "Failed to find any class that implements Connector and which name matches no.such.Connector"
    assert fragment in status["connector"]["trace"]
    connect.refuses(connect.get(path_of(name, "offsets")), 500, [fragment])
    expect(connect.put(path_of(name, "stop")), 204)
    connect.await_state(name, "STOPPED" if differs(connect.target, "stop/unknown-class") else "FAILED", [])
    expect(connect.delete(path_of(name)), 204)
    eventually(lambda: connect.get(path_of(name)).status_code == 404, 60)


def test_connector_of_an_unreadable_config(connect: Connect, topic: ConfigTopic, files: Files, name: str) -> None:
    topic.write_connector(name, files.source(name) | {"tasks.max": "abc"})
    status = connect.await_state(name, "FAILED", [])
    assert "tasks.max" in status["connector"]["trace"]
    expect(connect.put(path_of(name, "stop")), 204)
    connect.await_state(name, "STOPPED" if differs(connect.target, "stop/unreadable-config") else "FAILED", [])
    expect(connect.put(path_of(name, "config"), files.source(name, 1)), 200)
    connect.await_state(name, "STOPPED")
    connect.resume(name)


@pytest.mark.requirement("K875-15")
@pytest.mark.requirement("K980-13")
def test_every_worker_takes_every_request(distributed: Target, files: Files, name: str) -> None:
    clients = [Connect(distributed, number) for number in range(distributed.worker_count)]
    try:
        for number, client in enumerate(clients):
            each = f"{name}-{number}"
            config = files.source(each, 2)
            client.create(each, config, "STOPPED")
            for other in clients:
                other.await_state(each, "STOPPED")
                assert expect(other.get(path_of(each, "config")), 200) == {**config, "name": each}
                expect(other.alter(each, (files.partition(each), {"position": 6})), 200)
                assert other.offsets(each) == [{"partition": files.partition(each), "offset": {"position": 6}}]
                expect(other.reset(each), 200)
                assert other.offsets(each) == []
            for other in clients:
                other.resume(each)
                expect(other.post(path_of(each, "restart")), 204)
                other.await_state(each, "RUNNING")
                expect(other.post(path_of(each, "tasks/0/restart")), 204)
                other.await_state(each, "RUNNING")
                answer = expect(other.post(path_of(each, "restart?includeTasks=true")), 202)
                assert answer["connector"]["state"] == "RESTARTING"
                other.await_state(each, "RUNNING")
                other.pause(each)
                other.resume(each)
                other.stop(each)
                assert expect(other.patch(path_of(each, "config"), {"extra": other.url}), 200)["name"] == each
            client.resume(each)
            eventually(lambda each=each: files.topics.values(each) == ["line0", "line1"], 60)
            expect(clients[number - 1].delete(path_of(each)), 204)
            for other in clients:
                eventually(lambda other=other, each=each: other.get(path_of(each)).status_code == 404, 60)
            assert files.topics.values(each) == ["line0", "line1"]
    finally:
        for client in clients:
            client.close()
