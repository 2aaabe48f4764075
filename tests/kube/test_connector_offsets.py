"""KafkaConnector: its connector, and `strimzi.io/connector-offsets` on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compat.client import path_of
from fixtures.kube import condition, conditions, config_map, warnings
from kube.resources import OFFSETS, Connectors
from seamark.testing.waiting import eventually


@pytest.mark.requirement("STR-40")
@pytest.mark.slow
def test_offsets_of_a_sink_are_listed_altered_and_reset(connectors: Connectors) -> None:
    sink = connectors.sink(lines=100, create=False)
    place = {"name": f"{sink.name}-offsets"}
    sink.body["spec"] |= {"listOffsets": {"toConfigMap": place}, "alterOffsets": {"fromConfigMap": place}}
    sink.create()
    sink.await_offsets(100)
    cluster = connectors.cluster

    def served() -> bool:
        return OFFSETS not in (sink.get()["metadata"].get("annotations") or {})

    cluster.annotate(sink.body, connector_offsets="list")
    eventually(served, 30)
    made = cluster.config_map(connectors.namespace, place["name"])
    assert made is not None
    answer = connectors.connect.call("GET", path_of(sink.name, "offsets")).json()
    assert {key: json.loads(text) for key, text in made["data"].items()} == {"offsets.json": answer}
    assert made["metadata"]["ownerReferences"][0]["kind"] == "KafkaConnector"
    assert answer["offsets"][0]["offset"] == {"kafka_offset": 100}
    # stop and alter in one edit
    text = made["data"]["offsets.json"].replace("100", "20")
    cluster.merge(made, {"data": {"offsets.json": text}})
    cluster.annotate(sink.body, connector_offsets="alter")
    eventually(lambda: [each["reason"] for each in warnings(sink.get())] == ["AlterOffsets"], 30)
    assert "Connector is not in STOPPED state" in warnings(sink.get())[0]["message"]
    cluster.merge(sink.body, {"spec": {"state": "stopped"}})
    eventually(served, 60)
    assert sink.offsets() == {0: 20}
    assert warnings(sink.get()) == []
    cluster.annotate(sink.body, connector_offsets="reset")
    eventually(served, 30)
    assert sink.offsets() == {}


@pytest.mark.requirement("STR-40")
def test_requests_that_cannot_be_served_are_told(connectors: Connectors) -> None:
    sink = connectors.sink(state="stopped")
    eventually(lambda: conditions(sink.get()) == {"Ready": "True"}, 60)
    cluster = connectors.cluster

    def reasons() -> list[str]:
        return [each["reason"] for each in warnings(sink.get())]

    cluster.annotate(sink.body, connector_offsets="list")
    eventually(lambda: reasons() == ["ListOffsets"], 30)
    assert warnings(sink.get())[0]["message"] == (
        f"Failed to list the connector offsets for {sink.name} due to missing property listOffsets in "
        "KafkaConnector CR."
    )
    cluster.annotate(sink.body, connector_offsets="everything")
    eventually(lambda: reasons() == ["ManageOffsets"], 30)
    sink.body["spec"]["alterOffsets"] = {"fromConfigMap": {"name": f"{sink.name}-offsets"}}
    cluster.merge(sink.body, {"spec": sink.body["spec"]})
    cluster.create(config_map(connectors.namespace, f"{sink.name}-offsets", {"offsets.json": "nonsense"}))
    cluster.annotate(sink.body, connector_offsets="alter")
    eventually(lambda: reasons() == ["AlterOffsets"] and "not valid JSON" in warnings(sink.get())[0]["message"], 30)
    assert connectors.rest.calls("PATCH") == []
    assert conditions(sink.get())["Ready"] == "True"


@pytest.mark.requirement("STR-39")
def test_a_connector_is_created_changed_paused_stopped_and_deleted(connectors: Connectors) -> None:
    sink = connectors.sink(state="stopped")
    cluster, client = connectors.cluster, connectors.connect
    eventually(lambda: conditions(sink.get()) == {"Ready": "True"}, 60)
    assert [str(call) for call in connectors.rest.calls("POST")] == ["POST /connectors"]
    assert connectors.rest.calls("POST")[0].json["initial_state"] == "STOPPED"
    assert sink.get()["status"]["connectorStatus"]["connector"]["state"] == "STOPPED"
    cluster.merge(sink.body, {"spec": {"tasksMax": 2, "config": {"errors.log.enable": True, "batch.size": None}}})
    eventually(lambda: client.call("GET", path_of(sink.name, "config")).json().get("tasks.max") == "2", 30)
    assert client.call("GET", path_of(sink.name, "config")).json()["errors.log.enable"] == "true"
    for state in ("paused", "running", "stopped"):
        cluster.merge(sink.body, {"spec": {"state": state}})
        eventually(
            lambda state=state: (
                sink.get()["status"]["connectorStatus"]["connector"]["state"] == state.upper()
                and sink.get()["status"]["observedGeneration"] == sink.get()["metadata"]["generation"]
            ),
            60,
        )
    cluster.delete(sink.body)
    eventually(lambda: client.call("GET", path_of(sink.name)).status_code == 404, 60)


def test_a_connector_that_was_there_is_adopted_but_not_deleted(connectors: Connectors) -> None:
    sink = connectors.sink(create=False)
    config = {**sink.body["spec"]["config"], "connector.class": sink.body["spec"]["class"], "tasks.max": "1"}
    connectors.connect.create(sink.name, config)
    sink.create()
    eventually(lambda: conditions(sink.get()) == {"Ready": "True"}, 60)
    assert connectors.rest.calls("POST") == []
    connectors.rest.clear()
    connectors.cluster.delete(sink.body)
    eventually(lambda: connectors.rest.calls("GET", path="/connector-plugins"), 30)
    assert connectors.rest.calls("DELETE") == []
    assert connectors.connect.call("GET", path_of(sink.name)).status_code == 200


def test_what_is_missing_is_told(connectors: Connectors) -> None:
    cluster = connectors.cluster
    sink = connectors.sink(create=False)
    sink.body["metadata"]["labels"] = {}
    sink.create()

    def problem() -> str:
        found = next((each for each in sink.get()["status"]["conditions"] if each["type"] == "NotReady"), {})
        return str(found.get("message"))

    eventually(lambda: "lacks label 'strimzi.io/cluster'" in problem(), 30)
    cluster.merge(sink.body, {"metadata": {"labels": {"strimzi.io/cluster": "nobody"}}})
    eventually(lambda: "KafkaConnect resource 'nobody' identified by label" in problem(), 30)
    cluster.merge(connectors.body, {"metadata": {"annotations": {"strimzi.io/use-connector-resources": None}}})
    cluster.merge(sink.body, {"metadata": {"labels": {"strimzi.io/cluster": connectors.name}}})
    eventually(lambda: "is not configured with annotation strimzi.io/use-connector-resources" in problem(), 30)
    cluster.merge(connectors.body, {"metadata": {"annotations": {"strimzi.io/use-connector-resources": "true"}}})
    eventually(lambda: conditions(sink.get()) == {"Ready": "True"}, 60)


def test_restarts_and_pauses_of_reconciliation(connectors: Connectors) -> None:
    sink = connectors.sink()
    cluster = connectors.cluster
    eventually(lambda: sink.get()["status"]["connectorStatus"]["tasks"], 60)
    cluster.annotate(sink.body, restart="includeTasks", restart_task="0")
    eventually(lambda: not sink.get()["metadata"].get("annotations"), 30)
    calls = [call.path for call in connectors.rest.calls("POST") if "restart" in call.path]
    assert calls == [
        f"/connectors/{sink.name}/restart?includeTasks=true&onlyFailed=false",
        f"/connectors/{sink.name}/tasks/0/restart",
    ]
    cluster.annotate(sink.body, pause_reconciliation="true")
    eventually(lambda: conditions(sink.get()) == {"ReconciliationPaused": "True"}, 30)
    connectors.rest.clear()
    observed = sink.get()["status"]["observedGeneration"]
    cluster.merge(sink.body, {"spec": {"state": "stopped"}})
    cluster.annotate(sink.body, connector_offsets="reset")
    eventually(lambda: sink.get()["metadata"]["generation"] > observed, 10)
    cluster.annotate(sink.body, pause_reconciliation="false")
    eventually(lambda: OFFSETS not in sink.get()["metadata"]["annotations"], 60)
    assert sink.live_state() == "STOPPED"


def test_a_failed_connector_is_restarted(connectors: Connectors) -> None:
    sink = connectors.sink(create=False)
    sink.body["spec"]["autoRestart"] = {"enabled": True, "maxRestarts": 1}
    sink.body["spec"]["config"]["file"] = "/does/not/exist/anywhere.txt"
    sink.create()
    sink.send(1)

    # Nothing but the worker tells of it: the operator looks again by itself.
    restarts: dict[str, Any] = eventually(lambda: sink.get()["status"].get("autoRestart"), 60)
    # It runs until the restarted task has failed too, and then for good.
    eventually(lambda: "NotReady" in conditions(sink.get()), 90)
    failure = condition(sink.get(), "NotReady")
    assert failure is not None
    assert failure["message"] == "The following tasks have failed: 0, see connectorStatus for more details."
    assert restarts["count"] == 1
    assert restarts["connectorName"] == sink.name
    calls = [call.path for call in connectors.rest.calls("POST") if "restart" in call.path]
    assert calls == [f"/connectors/{sink.name}/restart?includeTasks=true&onlyFailed=true"]
