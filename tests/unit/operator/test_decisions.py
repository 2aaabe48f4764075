from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seamark.operator import (
    auto_restarts,
    conditions,
    config_maps,
    connector_specs,
    kafka_access,
    kube,
    mirror_specs,
    offset_requests,
    workloads,
)
from seamark.operator.auto_restarts import Restarts
from seamark.operator.conditions import NotReady, Warning_
from seamark.operator.context import Context
from seamark.operator.kinds import CONNECTOR_OFFSETS, MIRROR_CONNECTOR, Key, written_version
from seamark.operator.offset_requests import Action, OffsetRequest
from seamark.operator.workers import Workers

KEY = Key("KafkaMirrorMaker2", "ns", "mm2")
NAMES = ["a->b.MirrorSourceConnector", "a->b.MirrorCheckpointConnector"]
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def request(**annotations: str) -> OffsetRequest | Warning_ | None:
    names = {"offsets": CONNECTOR_OFFSETS, "connector": MIRROR_CONNECTOR}
    return offset_requests.mirror_request({names[key]: value for key, value in annotations.items()}, NAMES, KEY)


def test_requests() -> None:
    assert request() is None
    assert request(connector=NAMES[0]) is None
    found = request(offsets="alter", connector=NAMES[0])
    assert isinstance(found, OffsetRequest)
    assert (found.action, found.connectors) == (Action.ALTER, (NAMES[0],))
    everything = request(offsets="reset", connector="*")
    assert isinstance(everything, OffsetRequest)
    assert everything.connectors == tuple(NAMES)


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({"offsets": "list"}, "is missing annotation strimzi.io/mirrormaker-connector"),
        ({"offsets": "x"}, "is missing annotation strimzi.io/mirrormaker-connector"),
        ({"offsets": "", "connector": NAMES[0]}, "valid are list, alter and reset"),
        ({"offsets": "list", "connector": "a->b"}, "a->b.MirrorCheckpointConnector"),
        ({"offsets": "list", "connector": ""}, "has no connector ''"),
    ],
)
def test_unclear_requests(annotations: dict[str, str], words: str) -> None:
    found = request(**annotations)
    assert isinstance(found, Warning_)
    assert found.reason == "ManageOffsets"
    assert words in found.message


def test_annotations_are_removed_only_as_they_were_served() -> None:
    served = {CONNECTOR_OFFSETS: "list", MIRROR_CONNECTOR: NAMES[0]}
    steps = offset_requests.removal(served, {MIRROR_CONNECTOR: NAMES[0]})
    assert steps == [
        {"op": "test", "path": "/metadata/annotations/strimzi.io~1mirrormaker-connector", "value": NAMES[0]},
        {"op": "remove", "path": "/metadata/annotations/strimzi.io~1mirrormaker-connector"},
    ]
    assert b"a-\\u003eb" in kube._json(steps)
    assert len(offset_requests.removal(served, served)) == 4


def test_keys_of_config_maps() -> None:
    assert config_maps.mirror_key("east-kafka->west-kafka.MirrorSourceConnector") == (
        "east-kafka--west-kafka.MirrorSourceConnector.json"
    )
    places = {"a--b->c.X": ("map", "a--b--c.X.json"), "a->b--c.X": ("map", "a--b--c.X.json"), "y": ("map", "y")}
    assert offset_requests.colliding(places, "a--b->c.X") == ["a->b--c.X"]
    assert offset_requests.colliding(places, "y") == []


def test_the_place_of_the_connector_comes_before_that_of_the_resource() -> None:
    own, all_ = {"listOffsets": {"toConfigMap": {"name": "own"}}}, {"listOffsets": {"toConfigMap": {"name": "all"}}}
    assert config_maps.target_name(own, all_) == "own"
    assert config_maps.target_name({"listOffsets": {"toConfigMap": {}}}, all_) == "all"
    assert config_maps.target_name({}, {}) is None
    assert config_maps.source_name({"alterOffsets": {"fromConfigMap": {"name": "x"}}}) == "x"


def test_conditions_keep_their_time_and_nothing_is_written_for_it() -> None:
    first = conditions.status_change({}, {"conditions": conditions.build(None, [Warning_("R", "m")])}, "t1")
    assert first is not None
    assert first["conditions"] == [
        {"type": "Ready", "status": "True", "lastTransitionTime": "t1"},
        {"type": "Warning", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "t1"},
    ]
    again = {"conditions": conditions.build(None, [Warning_("R", "m")])}
    assert conditions.status_change(first, again, "t2") is None
    changed = conditions.status_change(first, {"conditions": conditions.build(NotReady("E", "x"), [])}, "t2")
    assert changed is not None
    assert [each["type"] for each in changed["conditions"]] == ["NotReady"]
    assert conditions.status_change({"a": 1, "b": 2}, {"a": None, "b": 2}, "t") == {"a": None}


def test_restarts_come_further_and_further_apart() -> None:
    known: Restarts | None = None
    waits = []
    now = NOW
    for _ in range(9):
        decision = auto_restarts.decide(known, is_failed=True, is_enabled=True, most=None, now=now)
        assert decision.restart
        known = decision.remember
        assert known is not None
        waits.append(known.pause // timedelta(minutes=1))
        too_early = now + known.pause - timedelta(seconds=1)
        assert not auto_restarts.decide(known, is_failed=True, is_enabled=True, most=None, now=too_early).restart
        now += known.pause
    assert waits == [2, 6, 12, 20, 30, 42, 56, 60, 60]
    assert auto_restarts.parse(auto_restarts.entry_of("c", known)) == known  # type: ignore[arg-type]


def test_restarts_end_and_are_forgotten() -> None:
    known = Restarts(2, NOW)
    assert not auto_restarts.decide(known, is_failed=True, is_enabled=True, most=2, now=NOW + timedelta(days=1)).restart
    assert not auto_restarts.decide(None, is_failed=True, is_enabled=True, most=0, now=NOW).restart
    early = auto_restarts.decide(known, is_failed=False, is_enabled=True, most=None, now=NOW + timedelta(minutes=5))
    assert early.remember == known
    late = auto_restarts.decide(known, is_failed=False, is_enabled=True, most=None, now=NOW + timedelta(minutes=7))
    assert late.remember is None
    assert auto_restarts.decide(known, is_failed=True, is_enabled=False, most=None, now=NOW).remember is None


def mirror_spec(**changes: Any) -> dict[str, Any]:
    mirror = {"sourceCluster": "a", "targetCluster": "b", "sourceConnector": {}}
    return {
        "connectCluster": "b",
        "clusters": [
            {"alias": "a", "bootstrapServers": "a:9092", "config": {"x": 1}},
            {"alias": "b", "bootstrapServers": "b:9092"},
        ],
        "mirrors": [{**mirror, **changes}],
    }


def test_connectors_of_a_mirror() -> None:
    spec = mirror_spec(
        sourceConnector={"tasksMax": 2, "state": "stopped", "config": {"topics": "lost", "sync": True, "name": "x"}},
        heartbeatConnector={"pause": True, "autoRestart": {"enabled": True, "maxRestarts": 3}},
        topicsPattern="orders.*",
    )
    source, heartbeat = mirror_specs.parse(spec).connectors
    assert source.name == "a->b.MirrorSourceConnector"
    assert source.state == "stopped"
    assert source.config == {
        "name": "a->b.MirrorSourceConnector",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "tasks.max": "2",
        "source.cluster.alias": "a",
        "source.cluster.bootstrap.servers": "a:9092",
        "source.cluster.x": "1",
        "target.cluster.alias": "b",
        "target.cluster.bootstrap.servers": "b:9092",
        "topics": "orders.*",
        "sync": "true",
    }
    assert (heartbeat.state, heartbeat.restarts, heartbeat.most_restarts) == ("paused", True, 3)


def test_both_layouts_mean_the_same() -> None:
    new = {
        "target": {"alias": "b", "bootstrapServers": "b:9092", "configStorageTopic": "c"},
        "mirrors": [
            {"source": {"alias": "a", "bootstrapServers": "a:9092", "config": {"x": 1}}, "sourceConnector": {}}
        ],
    }
    one, other = mirror_specs.parse(mirror_spec()), mirror_specs.parse(new)
    assert one.connectors[0].config == other.connectors[0].config
    assert (one.config_topic, other.config_topic) == ("mirrormaker2-cluster-configs", "c")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (None, ".spec section is required"),
        ({"mirrors": []}, ".spec.mirrors section is required"),
        ({**mirror_spec(), "connectCluster": "z"}, "connectCluster with alias z cannot be found"),
        (mirror_spec(sourceCluster="z"), "sourceCluster with alias z"),
        (mirror_spec(sourceCluster="b"), "must be unique"),
        (mirror_spec(targetCluster="a"), "is not the same as the actual target cluster alias"),
    ],
)
def test_contradictions(spec: Any, words: str) -> None:
    with pytest.raises(mirror_specs.InvalidResourceError, match=words):
        mirror_specs.parse(spec)


def test_restart_annotations() -> None:
    assert connector_specs.restart_of("true") == connector_specs.Restart()
    assert connector_specs.restart_of("onlyFailed,includeTasks") == connector_specs.Restart(True, True)
    assert connector_specs.restart_of("true,includeTasks") is None
    assert connector_specs.mirror_restart("a->b.X") == ("a->b.X", connector_specs.Restart())
    assert connector_specs.mirror_restart("a->b.X:includeTasks") == ("a->b.X", connector_specs.Restart(True))
    assert connector_specs.mirror_restart("a->b.X:nonsense") is None
    assert connector_specs.task_restart("a->b.X:3") == ("a->b.X", 3)
    assert connector_specs.task_restart("a->b.X") is None


def test_secrets_are_referred_to_and_read_only_where_needed() -> None:
    section = {
        "tls": {"trustedCertificates": [{"secretName": "ca", "certificate": "ca.pem"}]},
        "authentication": {
            "type": "scram-sha-512",
            "username": "me",
            "passwordSecret": {"secretName": "login", "password": "word"},
        },
    }
    settings = kafka_access.client_config(section)
    assert settings["security.protocol"] == "SASL_SSL"
    assert settings["sasl.mechanism"] == "SCRAM-SHA-512"
    assert kafka_access.secrets_of(section) == ["ca", "login"]
    read = kafka_access.with_secrets(settings, lambda secret, key: f"<{secret}.{key}>")
    assert read["ssl.truststore.certificates"] == "<ca.ca.pem>"
    assert 'password="<login.word>"' in read["sasl.jaas.config"]
    assert kafka_access.client_config({}) == {}
    assert kafka_access.client_config({"tls": {}}) == {"security.protocol": "SSL"}


def owner(spec: dict[str, Any], kind: str = "KafkaConnect") -> dict[str, Any]:
    meta = {"name": "c", "namespace": "ns", "uid": "u"}
    return {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": kind, "metadata": meta, "spec": spec}


def test_workers_of_a_connect_cluster() -> None:
    spec = {
        "replicas": 3,
        "bootstrapServers": "k:9092",
        "config": {"group.id": "g", "spark.master": "k8s://api", "offset.flush.interval.ms": 100, "ssl.x": "no"},
        "resources": {"limits": {"memory": "2Gi"}},
    }
    settings = workloads.connect_workers(owner(spec))
    assert settings.properties["group.id"] == "g"
    assert settings.properties["spark.master"] == "k8s://api"
    assert settings.properties["offset.flush.interval.ms"] == "100"
    assert "ssl.x" not in settings.properties
    made = {kind.kind: body for kind, body in workloads.manifests(settings)}
    assert made["Deployment"]["spec"]["replicas"] == 3
    assert made["Service"]["metadata"]["name"] == "c-connect-api"
    assert "bootstrap.servers=k:9092\n" in made["ConfigMap"]["data"]["worker.properties"]
    container = made["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"memory": "2Gi"}}
    assert settings.properties["config.providers"] == "pod", "there is no folder of Secrets to read"
    tls = {"trustedCertificates": [{"secretName": "ca"}]}
    secured = workloads.connect_workers(owner({**spec, "tls": tls, "config": {"config.providers": "mine"}}))
    assert secured.properties["config.providers"] == "secrets,pod,mine"
    pod = {kind.kind: body for kind, body in workloads.manifests(secured)}["Deployment"]["spec"]["template"]["spec"]
    assert {"name": "secret-0", "secret": {"secretName": "ca"}} in pod["volumes"]
    with pytest.raises(mirror_specs.InvalidResourceError):
        workloads.connect_workers(owner({}))


def test_the_version_in_which_a_resource_was_written() -> None:
    resource = owner({})
    assert written_version(resource) == "kafka.strimzi.io/v1beta2"
    resource["metadata"]["managedFields"] = [
        {"apiVersion": "kafka.strimzi.io/v1beta2", "time": "2", "fieldsV1": {"f:status": {}}},
        {"apiVersion": "kafka.strimzi.io/v1", "time": "1", "fieldsV1": {"f:spec": {}}},
    ]
    assert written_version(resource) == "kafka.strimzi.io/v1"


def test_what_may_fail_is_looked_at_more_often_at_first() -> None:
    context = Context(kube.Kube(lambda: pytest.fail("nobody is asked")), Workers())
    delays = [context.next_pass(KEY, is_settled=True, may_fail=True) for _ in range(6)]
    assert delays == [10, 20, 40, 80, 120, 120]
    assert [context.next_pass(KEY, is_settled=False) for _ in range(7)] == [0.5, 1, 2, 4, 8, 15, 15]
    assert context.next_pass(KEY, is_settled=True, may_fail=True) == 10
    assert context.next_pass(KEY, is_settled=True) == 120
