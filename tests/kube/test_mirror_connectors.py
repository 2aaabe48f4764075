"""The connectors of a KafkaMirrorMaker2: created, changed, restarted and deleted as the resource says."""

from __future__ import annotations

import pytest

from compat.client import path_of
from fixtures.http_proxy import Answer, Request
from fixtures.kube import condition, conditions, warnings
from kube.conftest import SEAMARK_ONLY, MakeMirror
from kube.resources import Mirror
from seamark.testing.waiting import eventually


def exists(mirror: Mirror, connector: str) -> bool:
    return mirror.connect.call("GET", path_of(connector)).status_code == 200


@pytest.mark.requirement("STR-39")
def test_connectors_follow_the_resource(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(places=False).create()
    created = {call.json["name"]: call.json for call in mirror.rest.calls("POST")}
    assert set(created) == {mirror.source, mirror.checkpoint, mirror.heartbeat}
    assert {body["initial_state"] for body in created.values()} == {"STOPPED"}, "none of them ever ran"
    assert mirror.rest.calls("PUT") == []
    status = mirror.get()["status"]
    assert status["url"] == mirror.rest.url
    assert [each["name"] for each in status["connectors"]] == sorted(created)
    mirror.rest.clear()
    mirror.section("source")["config"]["refresh.topics.interval.seconds"] = 7
    mirror.section("heartbeat")["state"] = "paused"
    mirror.cluster.merge(mirror.body, {"spec": {"mirrors": [{**mirror.mirror, "checkpointConnector": None}]}})
    eventually(lambda: not exists(mirror, mirror.checkpoint), 60, "the connector that is not wanted is still there")
    config = path_of(mirror.source, "config")
    eventually(lambda: mirror.connect.call("GET", config).json()["refresh.topics.interval.seconds"] == "7", 60)
    eventually(lambda: mirror.connect.status(mirror.heartbeat)["connector"]["state"] == "PAUSED", 60)
    assert len(mirror.rest.calls("PUT", path="/config")) == 1, "only what has changed is written"
    mirror.cluster.delete(mirror.body)
    eventually(lambda: not exists(mirror, mirror.source) and not exists(mirror, mirror.heartbeat), 60)


def test_a_connector_that_was_there_is_adopted_but_not_deleted(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(sections=("heartbeatConnector",))
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
        "source.cluster.alias": mirror.source_alias,
        "target.cluster.alias": mirror.target_alias,
        "source.cluster.bootstrap.servers": mirror.servers,
        "target.cluster.bootstrap.servers": mirror.servers,
        "heartbeats.topic.replication.factor": "1",
    }
    mirror.connect.create(mirror.heartbeat, config)
    mirror.create()
    assert mirror.rest.calls("POST") == []
    assert len(mirror.rest.calls("PUT", path="/config")) == 1
    other = make_mirror(sections=("heartbeatConnector",)).create()
    for each in (mirror, other):
        each.cluster.delete(each.body)
    eventually(lambda: not exists(other, other.heartbeat), 60)
    assert exists(mirror, mirror.heartbeat)
    assert mirror.rest.calls("DELETE", path=mirror.source_alias) == []


def test_connectors_and_tasks_are_restarted(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(state="running", sections=("heartbeatConnector",)).create()
    eventually(lambda: mirror.get()["status"]["connectors"][0]["tasks"], 60)

    def annotations() -> dict[str, str]:
        found = mirror.get()["metadata"]["annotations"]
        return {key: value for key, value in found.items() if key.startswith("strimzi.io/")}

    def restarts() -> list[str]:
        return [call.path for call in mirror.rest.calls("POST") if "restart" in call.path]

    mirror.cluster.annotate(
        mirror.body,
        restart_connector=f"{mirror.heartbeat}:includeTasks,onlyFailed",
        restart_connector_task=f"{mirror.heartbeat}:0",
    )
    eventually(lambda: not annotations(), 60)
    path = path_of(mirror.heartbeat)
    assert restarts() == [f"{path}/restart?includeTasks=true&onlyFailed=true", f"{path}/tasks/0/restart"]
    mirror.cluster.annotate(mirror.body, restart_task=f"{mirror.heartbeat}:0")
    eventually(lambda: not annotations(), 60)
    assert len(restarts()) == 3
    for value, words in ((f"{mirror.heartbeat}:sometimes", "Invalid annotation format"), ("nobody", "nobody")):
        mirror.cluster.annotate(mirror.body, restart_connector=value)
        eventually(lambda words=words: words in mirror.await_warning("RestartConnector")["message"], 60)
        assert conditions(mirror.get())["Ready"] == "True"
    mirror.rest.refuse("POST", "/restart", 500, "not in the mood")
    mirror.cluster.annotate(mirror.body, restart_connector=mirror.heartbeat)
    message = f"Failed to restart connector {mirror.heartbeat}. not in the mood"
    eventually(lambda: mirror.await_warning("RestartConnector")["message"] == message, 60)
    mirror.rest.before.clear()
    eventually(lambda: not annotations() and not warnings(mirror.get()), 60)


@SEAMARK_ONLY
def test_reconciliation_can_be_paused(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(sections=("heartbeatConnector",)).create()
    observed = mirror.get()["status"]["observedGeneration"]
    mirror.cluster.annotate(mirror.body, pause_reconciliation="true")
    eventually(lambda: conditions(mirror.get()) == {"ReconciliationPaused": "True"}, 60)
    mirror.rest.clear()
    mirror.section("heartbeat")["tasksMax"] = 2
    mirror.update()
    mirror.ask("list", mirror.heartbeat)
    # Others are served meanwhile, so this one would have been.
    make_mirror(sections=("sourceConnector",)).create()
    assert mirror.rest.calls(path=mirror.source_alias) == []
    assert mirror.get()["status"]["observedGeneration"] == observed
    mirror.cluster.annotate(mirror.body, pause_reconciliation="false")
    mirror.await_served(60)
    eventually(mirror.is_ready, 60)


@SEAMARK_ONLY
def test_a_failed_connector_is_told_and_restarted(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(state="running", sections=("heartbeatConnector",)).create()
    broken = {
        "name": mirror.heartbeat,
        "connector": {"state": "FAILED", "worker_id": "w:8083", "trace": "it broke"},
        "tasks": [],
        "type": "source",
    }

    def fail(request: Request) -> Answer | None:
        return Answer(200, body=broken) if request.path.endswith("/status") else None

    mirror.rest.before.append(fail)
    mirror.rest.requests.clear()
    mirror.section("heartbeat")["autoRestart"] = {"enabled": True, "maxRestarts": 1}
    mirror.update()
    eventually(lambda: "NotReady" in conditions(mirror.get()), 60)
    found = condition(mirror.get(), "NotReady")
    assert found is not None and found["message"] == "One or more connectors are in FAILED state"
    assert mirror.get()["status"]["connectors"] == [broken]
    (entry,) = mirror.get()["status"]["autoRestartStatuses"]
    assert (entry["count"], entry["connectorName"]) == (1, mirror.heartbeat)
    mirror.section("heartbeat")["state"] = "paused"
    mirror.update()
    words = f"Connector {mirror.heartbeat} cannot be paused since it is in failed state."
    eventually(lambda: (condition(mirror.get(), "NotReady") or {}).get("message") == words, 60)
    assert len([call for call in mirror.rest.calls("POST") if "restart" in call.path]) == 1
    mirror.rest.before.clear()
    mirror.cluster.annotate(mirror.body, look="again")
    eventually(mirror.is_ready, 60)
