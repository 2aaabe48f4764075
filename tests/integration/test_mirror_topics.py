"""Topics of a source, their copies, settings and ACLs, on real brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.mirror_connectors import Flow
from seamark.kafka import TopicPartition
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.mirror_admin import ConfigChange, TopicAcl
from seamark.mirror.config import SourceSettings
from seamark.mirror.internal_topics import create_compacted_topic
from seamark.mirror.topic_sync import TopicSync
from seamark.testing.waiting import eventually


@pytest.fixture
def flow(broker: EmbeddedBroker) -> Iterator[Flow]:
    with Flow(broker.bootstrap_servers, heartbeats__replication__enabled="false") as made:
        yield made


def topic_sync(flow: Flow, **settings: str) -> TopicSync:
    return TopicSync(SourceSettings.of(flow.config(**settings)), flow.admin, flow.admin, raise_error=flow.errors.append)


def configs_of(flow: Flow, topic: str) -> dict[str, str | None]:
    """The settings that a topic has of its own."""
    return {each.name: each.value for each in flow.admin.describe_topic_configs([topic])[topic] if not each.is_default}


def test_copies_are_created_with_the_partitions_and_settings_of_their_sources(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name, 3, {"retention.ms": "123456", "min.insync.replicas": "1", "cleanup.policy": "compact"})
    other = flow.create(f"{topic_name}-other")
    topics = topic_sync(flow, topics=f"{topic_name}.*", topics__exclude=".*-other")
    topics.load()
    assert topics.source_partitions == [TopicPartition(topic_name, number) for number in range(3)]
    assert topics.target_partitions == []
    topics.create_missing()
    eventually(lambda: topics.find_target_partitions() != [])
    topics.refresh_target()
    remote = flow.remote(topic_name)
    assert topics.target_partitions == [TopicPartition(remote, number) for number in range(3)]
    own = configs_of(flow, remote)
    assert (own["retention.ms"], own["cleanup.policy"]) == ("123456", "compact")
    assert flow.remote(other) not in flow.admin.partition_counts()
    assert not topics.refresh()


def test_new_topics_and_partitions_are_found_and_created(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name)
    topics = topic_sync(flow, topics=f"{topic_name}.*")
    topics.load()
    topics.create_missing()
    flow.admin.widen_many({topic_name: 4})
    second = flow.create(f"{topic_name}-second", 2)
    eventually(lambda: len(topics.find_source_partitions()) == 6)
    assert topics.refresh()
    assert len(topics.source_partitions) == 6
    wanted = {flow.remote(topic_name): 4, flow.remote(second): 2}
    eventually(lambda: wanted.items() <= flow.admin.partition_counts().items())
    eventually(lambda: not topics.refresh())

    flow.admin.delete_topics([second])
    eventually(lambda: len(topics.find_source_partitions()) == 4)
    assert topics.refresh()
    assert flow.remote(second) in flow.admin.partition_counts()  # copies are never deleted

    flow.admin.delete_topics([flow.remote(topic_name)])
    eventually(lambda: flow.remote(topic_name) not in flow.admin.partition_counts())
    assert topics.refresh()  # missing on the target
    eventually(lambda: flow.admin.partition_counts().get(flow.remote(topic_name)) == 4)


def test_a_topic_that_cannot_be_created_does_not_keep_others_from_it(
    flow: Flow, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    too_long = flow.create(f"{topic_name}-{'x' * 249}"[:249])  # there is no room for the alias
    good = flow.create(topic_name)
    topics = topic_sync(flow, topics=f"{topic_name}.*")
    topics.load()
    topics.create_missing()
    assert f"Could not create topic {flow.remote(too_long)}." in caplog.text
    eventually(lambda: flow.remote(good) in flow.admin.partition_counts())


def test_changed_settings_follow_and_removed_ones_fall_back(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name, 1, {"retention.ms": "1000", "segment.ms": "50000"})
    topics, remote = topic_sync(flow, topics=topic_name), flow.remote(topic_name)
    topics.load()
    topics.create_missing()
    eventually(lambda: topics.find_target_partitions() != [])
    topics.refresh_target()
    flow.admin.alter_topic_configs(
        {
            topic_name: [ConfigChange("retention.ms", "2000"), ConfigChange("segment.ms", None)],
            remote: [ConfigChange("max.message.bytes", "5000"), ConfigChange("min.insync.replicas", "1")],
        }
    )
    eventually(lambda: configs_of(flow, topic_name).get("retention.ms") == "2000")
    topics.sync_topic_configs()
    eventually(lambda: configs_of(flow, remote).get("retention.ms") == "2000")
    own = configs_of(flow, remote)
    assert "segment.ms" not in own
    assert "max.message.bytes" not in own  # the source has its default
    assert own["min.insync.replicas"] == "1"  # excluded from the sync: left as it is
    assert flow.errors == []


def test_defaults_of_the_source_are_written_if_asked_for(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name)
    topics, remote = topic_sync(flow, topics=topic_name, use__defaults__from="source"), flow.remote(topic_name)
    topics.load()
    topics.create_missing()
    eventually(lambda: remote in flow.admin.partition_counts())
    assert configs_of(flow, remote)["cleanup.policy"] == "delete"  # a default, but set
    topics.refresh_target()
    flow.admin.alter_topic_configs({remote: [ConfigChange("cleanup.policy", "compact")]})
    topics.sync_topic_configs()
    eventually(lambda: configs_of(flow, remote)["cleanup.policy"] == "delete")


def test_a_source_without_an_authorizer_is_mentioned_once(flow: Flow, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "seamark.mirror.topic_sync")
    topics = topic_sync(flow)
    topics.sync_topic_acls()
    topics.sync_topic_acls()
    assert caplog.text.count("No ACL authorizer is configured on the source Kafka cluster") == 1


def test_internal_topics_are_compacted_and_created_once(flow: Flow, topic_name: str) -> None:
    for _ in range(2):
        create_compacted_topic(flow.admin, topic_name, 1, 30)
    eventually(lambda: flow.admin.partition_counts().get(topic_name) == 1)
    assert configs_of(flow, topic_name)["cleanup.policy"] == "compact"


def test_acls_are_copied_to_the_remote_topic(tmp_path_factory: pytest.TempPathFactory) -> None:
    extra = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with (
        EmbeddedBroker(tmp_path_factory.mktemp("acls"), heap="256m", extra_properties=extra) as broker,
        Flow(broker.bootstrap_servers) as flow,
    ):
        acls = [
            TopicAcl("orders", "User:reader", "*", "READ", "ALLOW"),
            TopicAcl("orders", "User:writer", "*", "WRITE", "ALLOW"),
            TopicAcl("orders", "User:admin", "10.0.0.1", "ALL", "ALLOW"),
            TopicAcl("orders", "User:banned", "*", "DESCRIBE", "DENY"),
            TopicAcl("other", "User:reader", "*", "READ", "ALLOW"),
        ]
        assert flow.admin.create_topic_acls(acls) == {}
        eventually(lambda: flow.admin.topic_acls() == sorted(acls))
        topics = topic_sync(flow, topics="orders")
        topics.sync_topic_acls()
        topics.sync_topic_acls()
        remote = flow.remote("orders")
        wanted = [
            TopicAcl(remote, "User:admin", "10.0.0.1", "READ", "ALLOW"),
            TopicAcl(remote, "User:banned", "*", "DESCRIBE", "DENY"),
            TopicAcl(remote, "User:reader", "*", "READ", "ALLOW"),
        ]
        eventually(lambda: flow.admin.topic_acls() == sorted([*acls, *wanted]))
        flow.admin._python = None  # as with a login that only librdkafka knows
        assert flow.admin.topic_acls() == sorted([*acls, *wanted])
