"""What a ResetOffset may refer to: connectors, mirrors and Subscriptions, here and elsewhere."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

import pytest

from compat.client import path_of
from compat.targets import KafkaDistributed, Target
from fixtures.kube import Cluster
from fixtures.worker import Topics
from kube.conftest import MakeOperator
from kube.resources import V1BETA2, Connectors, Sink, rfc3339, subscription
from seamark.kafka import TopicPartition
from seamark.testing.waiting import eventually


@pytest.mark.requirement("RST-09")
@pytest.mark.slow
def test_a_reset_may_be_in_another_namespace(
    cluster: Cluster, namespace: str, make_operator: MakeOperator, make_connectors: Callable[..., Connectors]
) -> None:
    other = f"{namespace}-other"
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    make_operator(namespace, other)
    connectors = make_connectors(namespace)
    sink = connectors.sink(lines=4)
    sink.await_offsets(4)
    ref = {"apiVersion": V1BETA2, "kind": "KafkaConnector", "name": sink.name}
    without = connectors.reset(sink, "earliest", namespace=other, ref=ref).create()
    without.await_failure("RefMapped")
    reset = connectors.reset(sink, "earliest", namespace=other, ref={**ref, "namespace": namespace}).create()
    reset.await_done()
    eventually(lambda: len(sink.lines()) == 8, 60)


@pytest.mark.requirement("RST-15")
@pytest.mark.requirement("RST-36")
@pytest.mark.slow
def test_a_subscription_leads_to_the_connector_of_its_group(connectors: Connectors, topics: Topics) -> None:
    channel = f"channel-{uuid.uuid4().hex[:8]}"
    body, ref = subscription(connectors.namespace, channel)
    reset = connectors.reset(None, "earliest", ref=ref).create()
    assert "failed to get Subscription" in reset.await_failure("RefMapped")["message"]
    made = connectors.cluster.create(body)
    topic = topics.create(f"{connectors.namespace}.{channel}")
    topics.send(topic, ["one", "two"])
    group = f"kafka.{made['metadata']['uid']}"
    assert "no connector consumes as group" in reset.await_failure("AcquireDataPlaneServices")["message"]
    assert (reset.status["topic"], reset.status["group"]) == (topic, group)
    sink = connectors.sink(create=False, consumer__override__group__id=group)
    sink.body["spec"]["config"]["topics"] = topic
    sink.create()
    reset.await_done()
    connectors.cluster.delete(reset.body)
    eventually(lambda: sink.lines()[-2:] == ["one", "two"], 90)
    eventually(lambda: topics.group_offsets(group) == {TopicPartition(topic, 0): 2}, 60)
    again = connectors.reset(None, "earliest", ref=ref).create().await_done()
    assert again.rows() == [(0, 2, 0)]
    eventually(lambda: sink.lines()[-4:] == ["one", "two", "one", "two"], 60)


@pytest.mark.requirement("RST-36")
@pytest.mark.slow
def test_a_mirror_is_reset_to_a_time(connectors: Connectors, topics: Topics) -> None:
    tag = uuid.uuid4().hex[:6]
    topic = topics.create(f"mirrored-{tag}")
    helper = Sink(connectors, topic, 1, "stopped", {})
    now = int(time.time() * 1000)
    helper.send_at(0, *(now - 60_000 + 1000 * number for number in range(10)))
    one = {f"{each}.replication.factor": 1 for each in ("offset-syncs.topic", "checkpoints.topic", "heartbeats.topic")}
    name = f"mirror-{tag}"
    body = {
        "apiVersion": V1BETA2,
        "kind": "KafkaConnector",
        "metadata": {
            "name": name,
            "namespace": connectors.namespace,
            "labels": {"strimzi.io/cluster": connectors.name},
        },
        "spec": {
            "class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "tasksMax": 1,
            "config": {
                "source.cluster.alias": f"a{tag}",
                "target.cluster.alias": f"b{tag}",
                "source.cluster.bootstrap.servers": connectors.servers,
                "target.cluster.bootstrap.servers": connectors.servers,
                "topics": topic,
                "replication.factor": 1,
                "heartbeats.replication.enabled": False,  # other tests may have left such topics
                "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
                "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
                **one,
            },
        },
    }
    connectors.cluster.create(body)
    connectors.remember(body)

    def offsets() -> list[dict[str, object]]:
        found: list[dict[str, object]] = connectors.connect.call("GET", path_of(name, "offsets")).json().get("offsets")
        return found

    eventually(lambda: offsets()[0]["offset"] == {"offset": 9}, 120, "nothing was copied")
    ref = {"apiVersion": V1BETA2, "kind": "KafkaConnector", "name": name}
    reset = connectors.reset(None, rfc3339(now - 60_000 + 6000), ref=ref).create().await_done()
    assert (reset.status["topic"], reset.status["group"]) == (topic, name)
    assert reset.rows() == [(0, 10, 6)]
    eventually(lambda: topics.committed_end(f"a{tag}.{topic}") >= 14, 60)
    again = connectors.reset(None, "earliest", ref=ref).create().await_done()
    assert [row[2] for row in again.rows()] == [0]
    eventually(lambda: topics.committed_end(f"a{tag}.{topic}") >= 24, 60)


@pytest.mark.requirement("RST-31")
def test_what_has_no_group_cannot_be_reset(connectors: Connectors) -> None:
    sink = connectors.sink(create=False, state="stopped")
    config = sink.body["spec"]["config"]
    sink.body["spec"] |= {
        "class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "config": {"file": config["file"], "topic": sink.name},
    }
    sink.create()
    reset = connectors.reset(sink, "latest").create()
    assert "it has no consumer group" in reset.await_failure("RefMapped")["message"]


@pytest.mark.requirement("RST-13")
@pytest.mark.requirement("RST-36")
@pytest.mark.slow
def test_where_kafka_is_not_known_a_seamark_worker_is_asked(connectors: Connectors, target: Target) -> None:
    """A KafkaConnector that names its worker itself, without a KafkaConnect that says where Kafka is."""
    sink = connectors.sink(lines=4, partitions=2, create=False)
    sink.body["metadata"] |= {"labels": {}, "annotations": {"seamark.dev/connect-url": connectors.rest.url}}
    sink.create()
    sink.await_offsets(4)
    reset = connectors.reset(sink, "earliest").create()
    if isinstance(target, KafkaDistributed):
        assert "it is not known where its Kafka is" in reset.await_failure("AcquireDataPlaneServices")["message"]
        known = {"seamark.dev/bootstrap-servers": connectors.servers}
        connectors.cluster.merge(sink.body, {"metadata": {"annotations": known}})
    reset.await_done()
    assert reset.rows() == [(0, 4, 0), (1, 4, 0)]
    assert reset.status["topic"] == sink.name
    eventually(lambda: len(sink.lines()) == 16, 60)
    sink.await_offsets(4)
    early = connectors.reset(sink, "2020-01-01T00:00:00.5Z").create()
    assert early.await_failure("OffsetsUpdated")["reason"] == "FailedToUpdateOffsets"
    assert early.conditions()["ConsumerGroupsStopped"] == "Unknown"
    latest = connectors.reset(sink, "latest").create().await_done()
    assert latest.rows() == [(0, 4, 4), (1, 4, 4)]
    assert sink.calls("stop") == 2
