"""A Connect client from the public index works unchanged: `kafka-connect-py` drives every verb."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from kafka_connect import KafkaConnect
from requests.exceptions import HTTPError

from compat.client import Connect
from compat.conftest import Files
from compat.targets import SINK, SOURCE
from seamark.testing.waiting import eventually


@pytest.fixture
def client(connect: Connect) -> KafkaConnect:
    return KafkaConnect(url=connect.url, logger=logging.getLogger("compat.client"))


def test_cluster_and_plugins(client: KafkaConnect, files: Files, name: str) -> None:
    assert set(client.get_cluster_info()) == {"version", "commit", "kafka_cluster_id"}
    assert {SINK, SOURCE} <= {plugin["class"] for plugin in client.list_connector_plugins()}
    config = files.source(name) | {"name": name}
    assert client.validate_connector_config("FileStreamSource", config)["error_count"] == 0
    assert client.validate_connector_config("FileStreamSource", config | {"tasks.max": "0"})["error_count"] == 1


def test_life_of_a_connector(client: KafkaConnect, connect: Connect, files: Files, name: str) -> None:
    config = files.source(name, 1)
    created = client.create_connector({"name": name, "config": config})
    assert created["name"] == name
    connect.await_state(name, "RUNNING")
    assert client.get_connector(name)["config"] == client.get_connector_config(name) == config | {"name": name}
    assert client.get_connector_status(name)["connector"]["state"] == "RUNNING"
    assert [task["id"]["task"] for task in client.list_connector_tasks(name)] == [0]
    assert client.get_connector_task_status(name, 0)["state"] == "RUNNING"
    eventually(lambda: client.list_connector_topics(name) == {name: {"topics": [name]}}, 60)
    client.reset_connector_topics(name)
    eventually(lambda: client.list_connector_topics(name) == {name: {"topics": []}}, 60)
    assert client.update_connector(name, config | {"extra": "1"})["config"]["extra"] == "1"
    eventually(lambda: client.get_connector_config(name)["extra"] == "1", 60)
    connect.await_state(name, "RUNNING")

    client.pause_connector(name)
    connect.await_state(name, "PAUSED")
    client.resume_connector(name)
    connect.await_state(name, "RUNNING")
    patiently(lambda: client.restart_connector(name))
    connect.await_state(name, "RUNNING")
    answer = patiently(lambda: client.restart_connector(name, include_tasks=True, only_failed=False))
    assert answer["connector"]["state"] == "RESTARTING"
    connect.await_state(name, "RUNNING")
    patiently(lambda: client.restart_connector_task(name, 0))
    connect.await_state(name, "RUNNING")
    client.stop_connector(name)
    connect.await_state(name, "STOPPED")

    assert name in client.list_connectors()
    assert client.list_connectors(pattern=name, expand="status")[name]["status"]["connector"]["state"] == "STOPPED"
    assert client.list_connectors(pattern=name, expand="info")[name]["info"]["type"] == "source"
    assert client.list_connectors(pattern=name, state="stopped") == [name]
    client.delete_connector(name)
    eventually(lambda: name not in client.list_connectors(), 60)


def test_all_connectors_of_a_pattern(client: KafkaConnect, connect: Connect, files: Files, name: str) -> None:
    names = [f"{name}-{number}" for number in range(3)]
    for each in names:
        client.create_connector({"name": each, "config": files.source(each, 1)})
    await_all(connect, names, "RUNNING")
    for change, state in (
        (client.pause_all_connectors, "PAUSED"),
        (client.resume_all_connectors, "RUNNING"),
        (client.stop_all_connectors, "STOPPED"),
    ):
        change(pattern=name)
        await_all(connect, names, state)
    patiently(lambda: client.restart_all_connectors(pattern=name))
    patiently(lambda: client.restart_all_connectors(pattern=name, include_tasks=True, only_failed=True))
    await_all(connect, names, "STOPPED")
    client.delete_all_connectors(pattern=name, state="stopped")
    eventually(lambda: not set(names) & set(client.list_connectors()), 60)


def test_errors_reach_the_user(client: KafkaConnect, files: Files, name: str) -> None:
    for request in (
        lambda: client.get_connector(name),
        lambda: client.get_connector_status(name),
        lambda: client.pause_connector(name),
        lambda: client.delete_connector(name),
        lambda: client.restart_connector(name, include_tasks=True),
    ):
        with pytest.raises(HTTPError, match=r"404|Unknown connector"):
            request()
    with pytest.raises(HTTPError, match="400"):
        client.create_connector({"name": name, "config": files.source(name) | {"tasks.max": "0"}})


def await_all(connect: Connect, names: list[str], state: str) -> None:
    for name in names:
        connect.await_state(name, state)


def patiently(request: Any) -> Any:
    """Again while the cluster rebalances, which this client leaves to its user."""
    answers: list[Any] = []

    def is_answered() -> bool:
        try:
            answers.append(request())
        except HTTPError as error:
            if "409" in str(error):
                return False
            raise
        return True

    eventually(is_answered, 30)
    return answers[-1]
