"""Administration for many topics and groups at a time, on a real broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import confluent_kafka
import pytest

from fixtures.mirror_connectors import Flow
from seamark.errors import ConfigError, KafkaError
from seamark.kafka import TopicPartition, TopicSpec
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.broker_storage import free_port
from seamark.kafka.mirror_admin import ConfigChange, GroupOffset, MirrorAdmin
from seamark.testing.waiting import eventually


@pytest.fixture(params=["kafka-python", "librdkafka"])
def groups_of(request: pytest.FixtureRequest, broker: EmbeddedBroker) -> Iterator[MirrorAdmin]:
    """An admin whose requests to coordinators go through one client or the other."""
    made = MirrorAdmin({"bootstrap.servers": broker.bootstrap_servers})
    if request.param == "librdkafka":
        made._python = None  # as with a login that only librdkafka knows
    yield made
    made.close()


@pytest.fixture
def flow(broker: EmbeddedBroker) -> Iterator[Flow]:
    with Flow(broker.bootstrap_servers) as made:
        yield made


def test_topics_are_created_widened_and_changed_each_with_an_answer_of_its_own(flow: Flow, topic_name: str) -> None:
    admin = flow.admin
    specs = [TopicSpec(f"{topic_name}-{number}", 2, 1, {"retention.ms": "1000"}) for number in range(5)]
    refused = admin.create_many([*specs, TopicSpec("not/legal", 1, 1), TopicSpec(f"{topic_name}-many", 1, 3)])
    assert {topic: error.code for topic, error in refused.items()} == {
        "not/legal": "TOPIC_EXCEPTION",
        f"{topic_name}-many": "INVALID_REPLICATION_FACTOR",
    }
    assert admin.create_many(specs) == {}  # those that exist are no failure
    names = [spec.name for spec in specs]
    eventually(lambda: [admin.partition_counts().get(name) for name in names] == [2] * 5)

    assert admin.widen_many({names[0]: 3, names[1]: 1, f"{topic_name}-none": 2}).keys() == {f"{topic_name}-none"}
    eventually(lambda: admin.partition_counts()[names[0]] == 3)
    assert admin.partition_counts()[names[1]] == 2

    described = admin.describe_topic_configs([*names, f"{topic_name}-none"])
    assert described.keys() == set(names)
    configs = {config.name: config for config in described[names[0]]}
    assert (configs["retention.ms"].value, configs["retention.ms"].is_default) == ("1000", False)
    assert configs["cleanup.policy"].is_default

    failed = admin.alter_topic_configs(
        {
            names[0]: [ConfigChange("retention.ms", None), ConfigChange("cleanup.policy", "compact")],
            names[1]: [ConfigChange("retention.ms", "no number")],
            names[2]: [],
        }
    )
    assert {topic: error.code for topic, error in failed.items()} == {names[1]: "INVALID_CONFIG"}

    def changed() -> bool:
        now = {config.name: config for config in admin.describe_topic_configs([names[0]])[names[0]]}
        return now["retention.ms"].is_default and now["cleanup.policy"].value == "compact"

    eventually(changed)


def test_offsets_of_groups_come_with_their_metadata(groups_of: MirrorAdmin, flow: Flow, topic_name: str) -> None:
    first, second = (TopicPartition(flow.create(topic_name, 2), number) for number in range(2))
    names = [f"{topic_name}-{number}" for number in range(3)]
    groups_of.commit_for(names[0], {first: GroupOffset(5, "a note"), second: GroupOffset(0)})
    groups_of.commit_for(names[1], {first: GroupOffset(7)})
    found, failed = groups_of.committed(names)
    assert failed == {}
    assert found == {
        names[0]: {first: GroupOffset(5, "a note"), second: GroupOffset(0)},
        names[1]: {first: GroupOffset(7)},
        names[2]: {},
    }
    listed = groups_of.list_groups()
    assert (listed[names[0]], listed[names[1]], listed.get(names[2])) == ("EMPTY", "EMPTY", None)


def test_a_group_with_members_is_not_committed_for(groups_of: MirrorAdmin, flow: Flow, topic_name: str) -> None:
    where = TopicPartition(flow.create(topic_name), 0)
    member = confluent_kafka.Consumer({**flow.servers, "group.id": topic_name})
    member.subscribe([topic_name])
    try:
        eventually(lambda: (member.poll(0.1), member.assignment())[1], 60)
        with pytest.raises(KafkaError) as refused:
            groups_of.commit_for(topic_name, {where: GroupOffset(1)})
        assert refused.value.code == "UNKNOWN_MEMBER_ID"
        assert groups_of.list_groups()[topic_name] == "STABLE"
    finally:
        member.close()


def test_a_topic_that_does_not_exist_is_answered_at_once(groups_of: MirrorAdmin, topic_name: str) -> None:
    began = time.monotonic()
    with pytest.raises(KafkaError) as refused:
        groups_of.commit_for(topic_name, {TopicPartition(topic_name, 0): GroupOffset(1)}, timeout_s=60)
    assert str(refused.value.code).startswith("UNKNOWN_TOPIC_OR_PART")
    assert time.monotonic() - began < 30


def test_a_cluster_without_an_authorizer_has_no_acls(flow: Flow) -> None:
    assert flow.admin.topic_acls() is None


def test_hosts_without_an_address_are_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"No resolvable bootstrap urls given in bootstrap\.servers: nowhere"):
        MirrorAdmin({"bootstrap.servers": "nowhere.invalid:9092"})


def test_brokers_that_are_away_are_given_up_in_time() -> None:
    admin = MirrorAdmin({"bootstrap.servers": f"127.0.0.1:{free_port('127.0.0.1')}"})
    questions: list[Callable[[], object]] = [
        lambda: admin.committed(["g"], timeout_s=1.5),
        lambda: admin.list_groups(timeout_s=1.5),
        lambda: admin.topic_acls(timeout_s=1.5),
    ]
    for ask in questions:
        began = time.monotonic()
        with pytest.raises(KafkaError) as refused:
            ask()
        assert refused.value.retriable
        assert time.monotonic() - began < 20
    admin.close()
    with pytest.raises(KafkaError, match="closed"):
        admin.committed(["g"])
