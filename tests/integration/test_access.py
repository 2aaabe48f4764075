"""Login in a real cluster: users are known to one worker, requests are carried out by another."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fixtures.herders import Cluster, MakeCluster
from seamark.rest.signed_identity import HEADER
from seamark.testing.waiting import eventually
from unit.rest import users

SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@pytest.fixture(scope="module")
def cluster(make_module_cluster: MakeCluster, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    path = users.write(tmp_path_factory.mktemp("users") / "users")
    found = make_module_cluster("distributed", 1, **users.settings(path))
    found.add()
    return found


@pytest.fixture
def follower(cluster: Cluster) -> Iterator[httpx.Client]:
    """A client of the worker that sends changes on to the leader."""
    with httpx.Client(base_url=cluster.other().server.url, timeout=100, trust_env=False, verify=False) as client:
        yield client


def as_user(client: httpx.Client, user: str, method: str, path: str, body: Any = None) -> httpx.Response:
    def settled() -> httpx.Response:
        answer = client.request(method, path, json=body, auth=users.login(user))
        assert answer.status_code != 409, answer.text
        return answer

    return eventually(settled)


def test_users_reach_the_leader_through_another_worker(
    cluster: Cluster, follower: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "seamark.audit")
    config = {"connector.class": SINK, "topics": "t", "file": "/dev/null"}
    created = {"name": "guarded", "config": config, "initial_state": "STOPPED"}
    assert as_user(follower, "olga", "POST", "/connectors", created).status_code == 403
    assert as_user(follower, "eda", "POST", "/connectors", created).status_code == 201
    assert as_user(follower, "vera", "PUT", "/connectors/guarded/pause").status_code == 403
    assert as_user(follower, "olga", "PUT", "/connectors/guarded/pause").status_code == 202
    lines = [json.loads(each.getMessage()) for each in caplog.records if each.name == "seamark.audit"]
    carried_out = [
        (line["user"], line["role"], line["method"], line["status"]) for line in lines if line["status"] < 400
    ]
    assert carried_out == [("eda", "editor", "POST", 201), ("olga", "operator", "PUT", 202)], "each told once"
    events = as_user(follower, "vera", "GET", "/connectors/guarded/events").json()["events"]
    assert [event["who"] for event in events if event["kind"] == "audit"] == ["olga", "eda"]
    assert as_user(follower, "eda", "DELETE", "/connectors/guarded").status_code == 204


def test_workers_ask_each_other_for_a_viewer(cluster: Cluster, follower: httpx.Client) -> None:
    shown = as_user(follower, "vera", "GET", "/cluster").json()
    assert [worker["error"] for worker in shown["workers"]] == [None, None]


def test_a_stranger_is_nobody_with_or_without_a_header(cluster: Cluster, follower: httpx.Client) -> None:
    assert follower.get("/connectors").status_code == 401
    assert follower.get("/health").status_code == 200
    for node in cluster.nodes:
        url = f"{node.server.url}/connectors/x/pause?forward=true"
        assert httpx.put(url, headers={HEADER: "e30.AAAA"}, trust_env=False, verify=False).status_code == 403
