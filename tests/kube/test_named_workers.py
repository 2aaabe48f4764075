"""Workers that only an annotation leads to, wherever it is, and connectors that change their workers."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from compat.client import path_of
from compat.targets import KafkaDistributed, Target
from fixtures.kube import Object, condition, conditions, warnings
from fixtures.worker import Topics
from kube.conftest import SEAMARK_ONLY
from kube.resources import Connectors, Sink, subscription
from seamark.kafka.broker_storage import free_port
from seamark.testing.waiting import eventually

URL = "seamark.dev/connect-url"


@pytest.fixture
def alone(connectors: Connectors) -> Connectors:
    """Connectors without a KafkaConnect: nothing leads to their worker."""
    connectors.cluster.delete(connectors.body)
    return connectors


def annotated(body: Object, **annotations: str) -> None:
    """Annotations of Seamark; ``_`` stands for a dash."""
    named = {f"seamark.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    body["metadata"]["annotations"] = {**(body["metadata"].get("annotations") or {}), **named}


def create_by_hand(sink: Sink) -> None:
    """A connector without a resource."""
    spec = sink.body["spec"]
    config = {**spec["config"], "connector.class": spec["class"], "tasks.max": str(spec["tasksMax"])}
    sink.owner.connect.create(sink.name, config)


def where_kafka_is(connectors: Connectors, target: Target) -> dict[str, str]:
    """A Java worker cannot be asked where logs begin and end."""
    return {"bootstrap_servers": connectors.servers} if isinstance(target, KafkaDistributed) else {}


@pytest.mark.requirement("RST-15")
@pytest.mark.requirement("RST-36")
@pytest.mark.parametrize("place", ["Subscription", "ResetOffset"])
@pytest.mark.slow
def test_the_worker_of_a_subscription_is_named_by_an_annotation(
    alone: Connectors, topics: Topics, target: Target, place: str
) -> None:
    channel = f"channel-{uuid.uuid4().hex[:8]}"
    topic = topics.create(f"{alone.namespace}.{channel}")
    topics.send(topic, ["one", "two", "three"])
    body, ref = subscription(alone.namespace, channel)
    named = {"connect_url": alone.rest.url, **where_kafka_is(alone, target)}
    if place == "Subscription":
        annotated(body, **named)
    group = f"kafka.{alone.cluster.create(body)['metadata']['uid']}"
    sink = alone.sink(create=False, consumer__override__group__id=group)
    sink.body["spec"]["config"]["topics"] = topic
    create_by_hand(sink)
    eventually(lambda: sink.offsets() == {0: 3}, 90)
    reset = alone.reset(None, "earliest", ref=ref)
    if place == "ResetOffset":
        annotated(reset.body, **named)
    reset.create().await_done()
    assert (reset.status["topic"], reset.status["group"]) == (topic, group)
    assert reset.rows() == [(0, 3, 0)]
    eventually(lambda: sink.lines() == ["one", "two", "three"] * 2, 90)
    assert sink.live_state() == "RUNNING"


@pytest.mark.requirement("RST-18")
@pytest.mark.requirement("RST-20")
@pytest.mark.requirement("RST-36")
@pytest.mark.parametrize("place", ["KafkaConnector", "ResetOffset"])
@pytest.mark.slow
def test_consumers_without_a_resource_are_stopped_and_started_too(
    alone: Connectors, target: Target, place: str
) -> None:
    """Their worker is known from the annotation alone, also when they are to be started again."""
    group = f"together-{uuid.uuid4().hex[:8]}"
    first = alone.sink(lines=4, create=False, consumer__override__group__id=group)
    other = alone.sink(lines=2, create=False, consumer__override__group__id=group)
    create_by_hand(other)
    named = {"connect_url": alone.rest.url, **where_kafka_is(alone, target)}
    reset = alone.reset(first, "earliest")
    first.body["metadata"]["labels"] = {}
    if place == "ResetOffset":
        create_by_hand(first)
        annotated(reset.body, **named)
    else:
        annotated(first.body, **named)
    first.create()
    first.await_offsets(4)
    eventually(lambda: len(other.lines()) == 2, 90)
    reset.create().await_done()
    assert reset.rows() == [(0, 4, 0)]
    assert {each["connector"] for each in reset.status["consumers"]} == {first.name, other.name}
    for sink in (first, other):
        assert (sink.calls("stop"), sink.calls("resume"), sink.live_state()) == (1, 1, "RUNNING")
    eventually(lambda: len(first.lines()) == 8, 90)


@pytest.mark.requirement("RST-32")
def test_a_named_worker_that_is_away_is_waited_for(alone: Connectors) -> None:
    body, ref = subscription(alone.namespace, "channel", namespace="elsewhere")
    away = f"http://127.0.0.1:{free_port('127.0.0.1')}"
    annotated(body, connect_url=away)
    alone.cluster.create(body)
    reset = alone.reset(None, "latest", ref=ref).create()
    failure = reset.await_failure("AcquireDataPlaneServices")
    assert failure["reason"] == "FailedToAcquireDataPlaneServices"
    assert f"no answer from {away}" in failure["message"]
    assert reset.status["topic"] == "elsewhere.channel"


@pytest.mark.requirement("RST-36")
@SEAMARK_ONLY
@pytest.mark.slow
def test_where_kafka_does_not_answer_a_seamark_worker_is_asked(connectors: Connectors) -> None:
    """`bootstrapServers` may hold only where the workers are."""
    nobody = f"127.0.0.1:{free_port('127.0.0.1')}"
    connectors.cluster.merge(connectors.body, {"spec": {"bootstrapServers": nobody}})
    sink = connectors.sink(lines=4)
    sink.await_offsets(4)
    reset = connectors.reset(sink, "earliest").create().await_done()
    assert reset.rows() == [(0, 4, 0)]
    eventually(lambda: len(sink.lines()) == 8, 60)


@SEAMARK_ONLY
def test_a_connector_moves_with_its_label(
    connectors: Connectors, make_connectors: Callable[..., Connectors], seamark_worker: Target, make_proxy: Any
) -> None:
    sink = connectors.sink(state="stopped")
    eventually(lambda: conditions(sink.get()) == {"Ready": "True"}, 60)
    created = lambda owner: (owner.cluster.get(owner.body).get("status") or {}).get("createdConnectors")  # noqa: E731
    assert created(connectors) == [sink.name]
    # Of the same workers: it stays as it is, and goes with its resource.
    same = make_connectors()
    connectors.rest.clear()
    connectors.cluster.merge(sink.body, {"metadata": {"labels": {"strimzi.io/cluster": same.name}}})
    eventually(lambda: (created(connectors), created(same)) == ([], [sink.name]), 30)
    assert connectors.rest.calls("DELETE") == []
    assert connectors.rest.calls("POST") == []
    # Of others, as far as the operator can tell: it is deleted here.
    elsewhere = make_connectors(through=make_proxy(seamark_worker.urls[0]))
    connectors.cluster.merge(sink.body, {"metadata": {"labels": {"strimzi.io/cluster": elsewhere.name}}})
    path = path_of(sink.name)
    eventually(lambda: [str(call) for call in connectors.rest.calls("DELETE")] == [f"DELETE {path}"], 30)
    eventually(lambda: created(same) == [], 30)


@SEAMARK_ONLY
def test_a_connector_that_names_its_worker_goes_with_its_resource(connectors: Connectors) -> None:
    """Also if it belongs to a KafkaConnect with other workers."""
    sink = connectors.sink(create=False, state="stopped")
    annotated(sink.body, connect_url=connectors.rest.url)
    connectors.cluster.merge(connectors.body, {"metadata": {"annotations": {URL: "http://127.0.0.1:1"}}})
    sink.create()
    eventually(lambda: conditions(sink.get()) == {"Ready": "True"}, 60)
    connectors.cluster.delete(sink.body)
    eventually(lambda: connectors.connect.call("GET", path_of(sink.name)).status_code == 404, 60)


@pytest.mark.requirement("STR-21")
@pytest.mark.requirement("STR-40")
@SEAMARK_ONLY
def test_a_request_to_a_connector_without_workers_is_told(alone: Connectors) -> None:
    sink = alone.sink(create=False, state="stopped")
    sink.body["spec"]["listOffsets"] = {"toConfigMap": {"name": f"{sink.name}-offsets"}}
    sink.body["metadata"]["annotations"] = {"strimzi.io/connector-offsets": "list"}
    sink.create()
    eventually(lambda: [each["reason"] for each in warnings(sink.get())] == ["ListOffsets"], 30)
    problem = condition(sink.get(), "NotReady")
    assert problem is not None and problem["reason"] == "NoSuchResourceException"
    assert problem["message"] in warnings(sink.get())[0]["message"]
    alone.cluster.merge(sink.body, {"metadata": {"annotations": {URL: alone.rest.url}}})
    eventually(lambda: "strimzi.io/connector-offsets" not in sink.get()["metadata"]["annotations"], 30)
    assert conditions(sink.get()) == {"Ready": "True"}


@SEAMARK_ONLY
def test_workers_that_the_api_server_refuses_are_told(connectors: Connectors) -> None:
    cluster, namespace = connectors.cluster, connectors.namespace
    wrong = {"limits": {"memory": "plenty"}}
    for kind, spec in (
        ("KafkaConnect", {"bootstrapServers": "k:9092"}),
        (
            "KafkaMirrorMaker2",
            {
                "connectCluster": "b",
                "clusters": [{"alias": alias, "bootstrapServers": f"{alias}:9092"} for alias in ("a", "b")],
                "mirrors": [{"sourceCluster": "a", "sourceConnector": {}}],
            },
        ),
    ):
        body: Object = {
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": kind,
            "metadata": {"name": f"refused-{uuid.uuid4().hex[:6]}", "namespace": namespace},
            "spec": {**spec, "replicas": 1, "resources": wrong},
        }
        cluster.create(body)
        problem = eventually(lambda body=body: condition(cluster.get(body), "NotReady"), 30)
        assert problem["reason"] == "KubernetesClientException"
        assert "plenty" in problem["message"] or "quantities" in problem["message"]
        cluster.delete(body)
