"""Mirror-maker files: flows, workers, connectors."""

from __future__ import annotations

import logging

import pytest

from seamark.errors import ConfigError
from seamark.mirror.config import SourceSettings, validate_checkpoint, validate_heartbeat, validate_source
from seamark.mirror.maker_config import MirrorMakerConfig, SourceAndTarget

AB, BA = SourceAndTarget("a", "b"), SourceAndTarget("b", "a")
FILE = {
    "clusters": "a, b",
    "a.bootstrap.servers": "a1:9092",
    "b.bootstrap.servers": "b1:9092",
    "a->b.enabled": "true",
    "a->b.topics": "orders.*",
    "replication.factor": "1",
}


def test_every_pair_is_a_flow_for_its_heartbeats() -> None:
    assert MirrorMakerConfig(FILE).flows() == [AB, BA]
    three = MirrorMakerConfig({"clusters": "a,b,c"})
    assert [str(flow) for flow in three.flows()] == ["a->b", "a->c", "b->a", "b->c", "c->a", "c->b"]


def test_without_heartbeats_only_enabled_flows_remain() -> None:
    assert MirrorMakerConfig({**FILE, "emit.heartbeats.enabled": "false"}).flows() == [AB]
    assert MirrorMakerConfig({**FILE, "b->a.emit.heartbeats.enabled": "false"}).flows() == [AB]
    both = {**FILE, "emit.heartbeats.enabled": "false", "b->a.emit.heartbeats.enabled": "true"}
    assert MirrorMakerConfig(both).flows() == [AB, BA]


def test_only_flows_into_some_clusters() -> None:
    assert MirrorMakerConfig(FILE).flows(["a"]) == [BA]


@pytest.mark.parametrize("only", [["c"], []])
def test_no_flow_at_all_is_an_error(only: list[str]) -> None:
    config = MirrorMakerConfig({"clusters": "a,b", "emit.heartbeats.enabled": "false"})
    with pytest.raises(ConfigError, match=r"^No source->target replication flows\. .* the clusters are a, b\.$"):
        config.flows(only)


@pytest.mark.parametrize(
    ("properties", "message"), [({}, "Missing required"), ({"clusters": " "}, "must not be empty")]
)
def test_clusters_must_be_named(properties: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        MirrorMakerConfig(properties)
    assert caught.value.key == "clusters"


def test_a_flow_between_unknown_clusters_is_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        MirrorMakerConfig({**FILE, "a->c.enabled": "true", "a->b.emit.checkpoints.enabled": "true"})
    assert [record.getMessage() for record in caplog.records] == [
        "a->c is ignored: it is not a flow between clusters of 'clusters = a, b'"
    ]


def test_the_worker_of_a_flow_runs_on_its_target() -> None:
    bytes_ = "org.apache.kafka.connect.converters.ByteArrayConverter"
    assert MirrorMakerConfig(FILE).worker_config(AB) == {
        "bootstrap.servers": "b1:9092",
        "producer.bootstrap.servers": "b1:9092",
        "consumer.bootstrap.servers": "b1:9092",
        "admin.bootstrap.servers": "b1:9092",
        "client.id": "a->b",
        "group.id": "a-mm2",
        "offset.storage.topic": "mm2-offsets.a.internal",
        "status.storage.topic": "mm2-status.a.internal",
        "config.storage.topic": "mm2-configs.a.internal",
        "key.converter": bytes_,
        "value.converter": bytes_,
        "header.converter": bytes_,
    }


def test_settings_of_workers() -> None:
    own = {
        "b.offset.flush.interval.ms": "5",
        "b.exactly.once.source.support": "enabled",
        "a.group.id": "of the other direction",
        "offset.storage.replication.factor": "1",
        "seamark.master": "local[2]",
        "listeners": "http://:0",
    }
    worker = MirrorMakerConfig({**FILE, **own}).worker_config(AB)
    assert worker["offset.flush.interval.ms"] == "5"
    assert worker["exactly.once.source.support"] == "enabled"
    assert worker["group.id"] == "a-mm2"
    assert worker["offset.storage.replication.factor"] == "1"
    assert worker["seamark.master"] == "local[2]"
    assert "listeners" not in worker


def test_a_connector_gets_clusters_defaults_and_the_flow_s_own_settings() -> None:
    own = {
        "a.consumer.isolation.level": "read_committed",
        "topics": "weak",
        "unknown": "dropped",
        "mirror.start": "latest",
    }
    config = MirrorMakerConfig({**FILE, **own}).connector_config(AB, "MirrorSourceConnector")
    assert config == {
        "name": "MirrorSourceConnector",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "enabled": "true",
        "topics": "orders.*",
        "replication.factor": "1",
        "mirror.start": "latest",
        "source.cluster.bootstrap.servers": "a1:9092",
        "source.producer.bootstrap.servers": "a1:9092",
        "source.consumer.bootstrap.servers": "a1:9092",
        "source.admin.bootstrap.servers": "a1:9092",
        "source.consumer.isolation.level": "read_committed",
        "target.cluster.bootstrap.servers": "b1:9092",
        "target.producer.bootstrap.servers": "b1:9092",
        "target.consumer.bootstrap.servers": "b1:9092",
        "target.admin.bootstrap.servers": "b1:9092",
    }
    assert SourceSettings.of(config).client("source", "consumer")["isolation.level"] == "read_committed"


def test_what_is_made_of_a_file_is_valid() -> None:
    config = MirrorMakerConfig(FILE)
    for flow in config.flows():
        for name, validate in (
            ("MirrorSourceConnector", validate_source),
            ("MirrorCheckpointConnector", validate_checkpoint),
            ("MirrorHeartbeatConnector", validate_heartbeat),
        ):
            made = config.connector_config(flow, name)  # type: ignore[arg-type]
            assert [report for report in validate(made) if report.errors] == []
    assert config.connector_config(BA, "MirrorSourceConnector")["enabled"] == "false"


def test_security_for_all_clusters_and_for_one() -> None:
    config = MirrorMakerConfig({**FILE, "security.protocol": "SSL", "b.security.protocol": "PLAINTEXT"})
    made = config.connector_config(AB, "MirrorSourceConnector")
    assert SourceSettings.of(made).client("source", "admin")["security.protocol"] == "SSL"
    assert SourceSettings.of(made).client("target", "admin")["security.protocol"] == "PLAINTEXT"
    assert config.worker_config(BA)["security.protocol"] == "SSL"


def test_references_are_resolved_for_workers_and_kept_for_connectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_PASSWORD", "tiger")
    provider = {
        "config.providers": "env",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }
    config = MirrorMakerConfig({**FILE, **provider, "b.ssl.key.password": "${env:MIRROR_PASSWORD}"})
    assert config.worker_config(AB)["ssl.key.password"] == "tiger"
    assert config.worker_config(AB).items() >= provider.items()
    made = config.connector_config(AB, "MirrorSourceConnector")
    assert made["target.cluster.ssl.key.password"] == "${env:MIRROR_PASSWORD}"
    assert config.client_config("b")["admin.ssl.key.password"] == "tiger"
