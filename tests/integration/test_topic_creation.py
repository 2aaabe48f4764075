"""Administration on a real broker: topics, offsets, groups."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import confluent_kafka
import pytest

from seamark.errors import KafkaError
from seamark.kafka import TopicPartition, TopicSpec
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topics import TopicCreation
from seamark.testing.waiting import eventually


@pytest.fixture
def java(broker: EmbeddedBroker) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.fixture
def admin(java: dict[str, str]) -> Iterator[Admin]:
    with Admin(java) as admin:
        yield admin


def test_a_topic_is_created_with_the_settings_of_its_group(admin: Admin, topic_name: str) -> None:
    creation = TopicCreation.from_config(
        {
            "topic.creation.default.replication.factor": "-1",
            "topic.creation.default.partitions": "2",
            "topic.creation.groups": "compacted",
            "topic.creation.compacted.include": ".*-c",
            "topic.creation.compacted.partitions": "3",
            "topic.creation.compacted.cleanup.policy": "compact",
        },
        {},
    )
    compacted, plain = f"{topic_name}-c", f"{topic_name}-p"
    for topic in (compacted, plain, plain):
        creation.ensure(admin, topic)
    found = admin.describe_topics([compacted, plain])
    assert (found[compacted].partitions, found[plain].partitions) == (3, 2)
    assert found[plain].replication_factor == 1
    assert admin.topic_configs(compacted)["cleanup.policy"] == "compact"
    assert admin.topic_configs(plain)["cleanup.policy"] == "delete"


def test_a_topic_that_exists_is_left_as_it_is(admin: Admin, topic_name: str) -> None:
    admin.ensure_topic(TopicSpec(topic_name, 1, 1))
    creation = TopicCreation.from_config(
        {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "9"}, {}
    )
    creation.ensure(admin, topic_name)
    assert admin.create_topics([TopicSpec(topic_name, 9, 1)]) == set()
    assert admin.describe_topics([topic_name])[topic_name].partitions == 1


def test_a_topic_that_cannot_be_created_says_why(admin: Admin, topic_name: str) -> None:
    creation = TopicCreation.from_config(
        {"topic.creation.default.replication.factor": "3", "topic.creation.default.partitions": "1"}, {}
    )
    with pytest.raises(KafkaError, match="Task failed to create new topic") as error:
        creation.ensure(admin, topic_name)
    assert error.value.code == "INVALID_REPLICATION_FACTOR"
    assert admin.describe_topics([topic_name]) == {}


def test_asking_for_a_topic_does_not_create_it(admin: Admin, topic_name: str) -> None:
    assert admin.describe_topics([topic_name]) == {}
    assert admin.partitions_of([topic_name]) == []
    assert topic_name not in admin.list_topics()


def test_topics_can_be_widened_and_deleted(admin: Admin, topic_name: str) -> None:
    admin.ensure_topic(TopicSpec(topic_name, 1, 1))
    admin.create_partitions(topic_name, 4)
    eventually(lambda: len(admin.partitions_of([topic_name])) == 4, 10)
    admin.delete_topics([topic_name, f"{topic_name}-none"])
    eventually(lambda: not admin.describe_topics([topic_name]), 10)


def test_offsets_are_listed_by_position_and_time(admin: Admin, java: dict[str, str], topic_name: str) -> None:
    admin.ensure_topic(TopicSpec(topic_name, 2, 1))
    with RecordProducer(java) as producer:
        producer.send_batch(topic_name, [b"a", b"b", b"c"], timestamps=[1000, 2000, 3000], partition=0)
        assert producer.flush(10) == 0
    zero, one = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    assert admin.list_offsets({zero: "earliest", one: "latest"}) == {zero: 0, one: 0}
    assert admin.list_offsets({zero: "latest"}) == {zero: 3}
    assert admin.list_offsets({zero: 1500, one: 1500}) == {zero: 1, one: 0}
    assert admin.list_offsets({zero: 9999}) == {zero: 3}
    assert admin.list_offsets({}) == {}


def test_the_committed_end_is_held_back_by_a_transaction(admin: Admin, java: dict[str, str], topic_name: str) -> None:
    admin.ensure_topic(TopicSpec(topic_name, 1, 1))
    where = TopicPartition(topic_name, 0)
    with RecordProducer(java, topic_name) as producer:
        producer.init_transactions()
        producer.begin()
        producer.send(topic_name, b"x")
        assert producer.flush(10) == 0
        assert admin.list_offsets({where: "latest"}, is_committed=True) == {where: 0}
        assert admin.list_offsets({where: "latest"}) == {where: 1}
        producer.commit()
    eventually(lambda: admin.list_offsets({where: "latest"}, is_committed=True) == {where: 2}, 10)


def test_a_groups_offsets_can_be_read_altered_and_deleted(admin: Admin, topic_name: str) -> None:
    admin.ensure_topic(TopicSpec(topic_name, 2, 1))
    zero, one = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    assert admin.group_offsets(topic_name) == {}
    admin.delete_group_offsets(topic_name, [zero])  # no such group: nothing to delete
    admin.delete_group(topic_name)
    admin.alter_group_offsets(topic_name, {zero: 5, one: 7})
    assert admin.group_offsets(topic_name) == {zero: 5, one: 7}
    assert admin.describe_group(topic_name).state == "EMPTY"
    admin.delete_group_offsets(topic_name, [one])
    assert admin.group_offsets(topic_name) == {zero: 5}
    admin.delete_group(topic_name)
    assert admin.group_offsets(topic_name) == {}
    assert admin.describe_group(topic_name).state == "DEAD"


def test_an_unknown_topic_is_refused_at_once(admin: Admin, topic_name: str) -> None:
    started = time.monotonic()
    for attempt in (
        lambda: admin.alter_group_offsets(topic_name, {TopicPartition(topic_name, 0): 1}),
        lambda: admin.topic_configs(topic_name),
        lambda: admin.create_partitions(topic_name, 2),
    ):
        with pytest.raises(KafkaError) as error:
            attempt()
        assert error.value.code == "UNKNOWN_TOPIC_OR_PART"
    assert time.monotonic() - started < 10


def test_a_group_with_members_is_protected(admin: Admin, java: dict[str, str], topic_name: str) -> None:
    admin.ensure_topic(TopicSpec(topic_name, 1, 1))
    where = TopicPartition(topic_name, 0)
    consumer = confluent_kafka.Consumer({**java, "group.id": topic_name, "client.id": "reader"})
    with closing(consumer):
        consumer.subscribe([topic_name])
        eventually(lambda: (consumer.poll(0.1), consumer.assignment())[1], 20)
        group = admin.describe_group(topic_name)
        assert (group.state, group.is_active) == ("STABLE", True)
        assert [(m.client_id, m.assignment) for m in group.members] == [("reader", (where,))]
        for attempt in (
            lambda: admin.alter_group_offsets(topic_name, {where: 1}),
            lambda: admin.delete_group_offsets(topic_name, [where]),
            lambda: admin.delete_group(topic_name),
        ):
            with pytest.raises(KafkaError) as error:
                attempt()
            assert error.value.code in ("UNKNOWN_MEMBER_ID", "GROUP_SUBSCRIBED_TO_TOPIC", "NON_EMPTY_GROUP")


def test_a_broker_that_is_away_is_a_clear_error() -> None:
    started = time.monotonic()
    with Admin({"bootstrap.servers": "127.0.0.1:1"}) as admin:
        for attempt in (
            lambda: admin.list_topics(timeout_s=0.5),
            lambda: admin.describe_topics(["t"], timeout_s=0.5),
            lambda: admin.delete_group_offsets("g", [TopicPartition("t", 0)], timeout_s=0.5),
        ):
            with pytest.raises(KafkaError, match=r"127\.0\.0\.1:1") as error:
                attempt()
            assert error.value.retriable
    assert time.monotonic() - started < 15
