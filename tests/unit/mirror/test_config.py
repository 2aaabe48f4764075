"""Settings of the mirror connectors: defaults, what is refused, what Kafka clients get."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from seamark.errors import ConfigError
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.config import (
    CheckpointSettings,
    HeartbeatSettings,
    SourceSettings,
    client_config,
    uses_read_committed,
    validate_checkpoint,
    validate_heartbeat,
    validate_source,
)
from seamark.mirror.filters import DefaultTopicFilter

BASE = {"name": "m", "source.cluster.alias": "a", "target.cluster.alias": "b"}


def errors(reports: list[Any]) -> dict[str, list[str]]:
    return {report.name: report.errors for report in reports if report.errors}


def test_defaults_of_the_source_connector() -> None:
    settings = SourceSettings.of({"name": "m", "source.cluster.alias": "a"})
    assert (settings.source_alias, settings.target_alias, settings.enabled) == ("a", "target", True)
    assert settings.admin_timeout_s == 60.0
    assert settings.refresh_topics_interval_s == 600.0
    assert settings.sync_topic_configs_interval_s == 600.0
    assert settings.sync_topic_acls_interval_s == 600.0
    assert (settings.replication_factor, settings.offset_syncs_topic_replication_factor) == (2, 3)
    assert (settings.offset_lag_max, settings.consumer_poll_timeout_ms) == (100, 1000)
    assert (settings.emit_offset_syncs, settings.heartbeats_replication) == (True, True)
    assert (settings.on_data_loss, settings.start) == ("fail", "")
    assert isinstance(settings.topic_filter(), DefaultTopicFilter)
    assert settings.config_property_filter().should_replicate_config_property("retention.ms")
    assert (settings.task_index, settings.task_partitions) == (None, [])


def test_defaults_of_the_checkpoint_connector() -> None:
    settings = CheckpointSettings.of(BASE)
    assert settings.emit_checkpoints_interval_s == 60.0
    assert settings.refresh_groups_interval_s == 600.0
    assert settings.sync_group_offsets_interval_s is None
    assert settings.checkpoints_topic_replication_factor == 3
    assert settings.checkpoints_topic == "a.checkpoints.internal"
    assert not settings.group_filter().should_replicate_group("connect-sink")
    assert settings.topic_filter().should_replicate_topic("orders")


def test_defaults_of_the_heartbeat_connector() -> None:
    settings = HeartbeatSettings.of(BASE)
    assert settings.emit_heartbeats_interval_s == 1.0
    assert settings.heartbeats_topic_replication_factor == 3
    assert settings.heartbeats_topic == "heartbeats"


def test_what_is_not_to_be_done_has_no_interval() -> None:
    off = {"refresh.topics.enabled": "false", "sync.topic.acls.enabled": "false", "sync.topic.configs.enabled": "false"}
    settings = SourceSettings.of({**BASE, **off})
    assert settings.refresh_topics_interval_s is None
    assert settings.sync_topic_acls_interval_s is None
    assert settings.sync_topic_configs_interval_s is None
    assert CheckpointSettings.of({**BASE, "sync.group.offsets.enabled": "true"}).sync_group_offsets_interval_s == 60.0
    assert HeartbeatSettings.of({**BASE, "emit.heartbeats.enabled": "false"}).emit_heartbeats_interval_s is None


@pytest.mark.parametrize("settings", [SourceSettings, CheckpointSettings])
@pytest.mark.parametrize(
    ("location", "topic"),
    [("source", "mm2-offset-syncs.b.internal"), ("target", "mm2-offset-syncs.a.internal")],
)
def test_the_topic_of_syncs_is_named_after_the_other_cluster(settings: Any, location: str, topic: str) -> None:
    assert settings.of({**BASE, "offset-syncs.topic.location": location}).offset_syncs_topic == topic


def test_a_task_gets_its_partitions_and_index() -> None:
    partitions = [TopicPartition("or-ders", 0), TopicPartition("x", 12)]
    config = SourceSettings.of(BASE).task_config(partitions, 3)
    assert config == {**BASE, "task.assigned.partitions": "or-ders-0,x-12", "task.index": "3"}
    task = SourceSettings.of(config)
    assert task.task_partitions == partitions
    assert (task.task_index, task.label) == (3, "a->b|m-3")


def test_a_task_gets_its_groups_and_index() -> None:
    config = CheckpointSettings.of(BASE).task_config(["g1", "g 2"], 0)
    assert config == {**BASE, "task.assigned.groups": "g1,g 2", "task.index": "0"}
    assert CheckpointSettings.of(config).task_groups == ["g1", "g 2"]


def test_settings_show_no_password_and_can_travel() -> None:
    settings = SourceSettings.of({**BASE, "source.cluster.ssl.key.password": "tiger"})
    assert "tiger" not in repr(settings)
    assert pickle.loads(pickle.dumps(settings)).config == settings.config


def test_duplicates_that_were_stored_before_are_dropped() -> None:
    assert SourceSettings.of({**BASE, "topics": "a,a"}).topic_filter().should_replicate_topic("a")
    assert errors(validate_source({**BASE, "topics": "a,a"})) == {
        "topics": ["Configuration 'topics' values must not be duplicated."]
    }


@pytest.mark.parametrize(
    ("validate", "config", "key", "message"),
    [
        (
            validate_source,
            {"exactly.once.support": "required"},
            "exactly.once.support",
            "MirrorSourceConnector can only provide exactly-once guarantees when its source consumer is configured "
            "with isolation.level set to 'read_committed'; otherwise, records from aborted and uncommitted "
            "transactions will be replicated from the source cluster to the target cluster.",
        ),
        (
            validate_source,
            {"emit.offset-syncs.enabled": "false", "offset-syncs.topic.location": "target"},
            "emit.offset-syncs.enabled",
            "MirrorSourceConnector can't setup offset-syncs feature while emit.offset-syncs.enabled set to false",
        ),
        (
            validate_source,
            {"offset-syncs.topic.location": "nowhere"},
            "offset-syncs.topic.location",
            "Invalid value nowhere for configuration offset-syncs.topic.location: String must be one of: "
            "source, target",
        ),
        (
            validate_checkpoint,
            {"emit.checkpoints.enabled": "false"},
            "emit.checkpoints.enabled",
            "MirrorCheckpointConnector can't run with emit.checkpoints.enabled set to false",
        ),
        (
            validate_checkpoint,
            {"emit.offset-syncs.enabled": "false"},
            "emit.offset-syncs.enabled",
            "MirrorCheckpointConnector can't run without offset syncs",
        ),
        (
            validate_heartbeat,
            {"emit.heartbeats.interval.seconds": "soon"},
            "emit.heartbeats.interval.seconds",
            "Invalid value soon for configuration emit.heartbeats.interval.seconds: Not a number of type LONG",
        ),
        (
            validate_heartbeat,
            {"forwarding.admin.class": "com.example.Admin"},
            "forwarding.admin.class",
            "Invalid value com.example.Admin for configuration forwarding.admin.class: only "
            "org.apache.kafka.clients.admin.ForwardingAdmin can be used; classes of one's own need a Java worker",
        ),
    ],
)
def test_what_is_refused(
    validate: Callable[[dict[str, str]], list[Any]], config: dict[str, str], key: str, message: str
) -> None:
    assert errors(validate(BASE)) == {}
    assert errors(validate({**BASE, **config})) == {key: [message]}


def test_a_disabled_checkpoint_connector_may_lack_what_it_does_not_need() -> None:
    config = {**BASE, "emit.checkpoints.enabled": "false", "emit.offset-syncs.enabled": "false", "enabled": "false"}
    assert errors(validate_checkpoint(config)) == {}


@pytest.mark.parametrize(
    "start", ["", "earliest", "latest", "2026-05-01T12:00:00Z", "2026-05-01T14:00:00+02:00", '{"orders": {"0": 17}}']
)
def test_where_to_start(start: str) -> None:
    assert errors(validate_source({**BASE, "mirror.start": start})) == {}
    assert SourceSettings.of({**BASE, "mirror.start": start}).start == start


@pytest.mark.parametrize("start", ["Earliest", "now", "2026-05-01", '{"orders": 17}', '{"orders": {"0": -1}}', "{"])
def test_where_not_to_start(start: str) -> None:
    assert list(errors(validate_source({**BASE, "mirror.start": start}))) == ["mirror.start"]
    with pytest.raises(ConfigError):
        SourceSettings.of({**BASE, "mirror.start": start})


@pytest.mark.parametrize(("text", "is_known"), [("fail", True), ("reset", True), ("skip", True), ("ignore", False)])
def test_what_to_do_when_records_were_lost(text: str, is_known: bool) -> None:
    assert (errors(validate_source({**BASE, "mirror.on.data.loss": text})) == {}) is is_known


def test_the_source_cluster_must_be_named() -> None:
    with pytest.raises(ConfigError, match=r'Missing required configuration "source\.cluster\.alias"'):
        SourceSettings.of({"name": "m"})


def test_the_nearest_setting_wins_for_a_client() -> None:
    config = {
        **BASE,
        "source.cluster.bootstrap.servers": "a:1",
        "source.cluster.security.protocol": "SSL",
        "source.cluster.fetch.max.bytes": "1",
        "target.cluster.bootstrap.servers": "b:1",
        "consumer.security.protocol": "PLAINTEXT",
        "consumer.fetch.min.bytes": "2",
        "source.consumer.fetch.min.bytes": "3",
        "consumer.enable.auto.commit": "true",
    }
    assert client_config(config, "source", "consumer", "replication-consumer") == {
        "bootstrap.servers": "a:1",
        "security.protocol": "PLAINTEXT",
        "fetch.min.bytes": "3",
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "client.id": "a->b|m|replication-consumer",
    }
    assert client_config(config, "target", "producer") == {"bootstrap.servers": "b:1", "client.id": "a->b|m"}
    assert client_config(config, "source", "admin")["security.protocol"] == "SSL"


def test_a_consumer_starts_where_it_is_told_to() -> None:
    config = {**BASE, "consumer.auto.offset.reset": "latest", "target.consumer.auto.offset.reset": "none"}
    assert client_config(config, "source", "consumer")["auto.offset.reset"] == "latest"
    assert client_config(config, "target", "consumer")["auto.offset.reset"] == "none"


def test_a_client_id_of_ones_own_stays_in_front() -> None:
    config = {**BASE, "admin.client.id": "mine", "task.index": "4"}
    assert client_config(config, "target", "admin", "replication-target-admin")["client.id"] == (
        "mine|a->b|m-4|replication-target-admin"
    )


def test_only_the_consumer_of_the_source_must_read_committed() -> None:
    assert uses_read_committed({"consumer.isolation.level": "read_committed"})
    assert uses_read_committed({"source.consumer.isolation.level": "read_committed"})
    assert not uses_read_committed({"target.consumer.isolation.level": "read_committed"})
    assert not uses_read_committed({"source.cluster.isolation.level": "read_committed"})
