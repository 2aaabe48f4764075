"""Offsets of a consumer group, committed by a worker for its tasks: also while the broker goes and comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest

from fixtures.worker import Topics
from seamark.connector import TopicPartition
from seamark.errors import BadRequestError, KafkaTimeoutError
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.group_offsets import GroupOffsets
from seamark.storage.sink_offsets import SinkOffsets
from seamark.testing.waiting import eventually


@pytest.fixture
def group(broker: EmbeddedBroker, topic_name: str) -> Iterator[GroupOffsets]:
    made = GroupOffsets({"bootstrap.servers": broker.bootstrap_servers}, f"{topic_name}-group")
    yield made
    made.close()


def test_what_was_committed_is_read(group: GroupOffsets, topics: Topics, topic_name: str) -> None:
    first, second, third = (TopicPartition(topics.create(topic_name, 3), number) for number in range(3))
    assert group.read([first, second]) == {}
    group.commit({first: 5, second: 7})
    group.commit({second: 6})
    assert group.read([first, second, third]) == {first: 5, second: 6}
    assert topics.group_offsets(group.group) == {first: 5, second: 6}
    assert group.read([]) == {}


def test_a_group_with_members_is_left_to_them(broker: EmbeddedBroker, topics: Topics, topic_name: str) -> None:
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    where = TopicPartition(topics.create(topic_name), 0)
    member = confluent_kafka.Consumer({**servers, "group.id": f"{topic_name}-group"})
    member.subscribe([topic_name])
    try:
        eventually(lambda: (member.poll(0.1), member.assignment())[1], 60)
        with SinkOffsets(topic_name, f"{topic_name}-group", servers) as offsets:
            with pytest.raises(BadRequestError, match="still has members"):
                offsets.commit({where: 1})
            assert offsets.read_of([where]) == {}
    finally:
        member.close()


def test_commits_go_on_when_a_killed_broker_is_back(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        topics = Topics(broker.bootstrap_servers)
        where = TopicPartition(topics.create("lines"), 0)
        group = GroupOffsets({"bootstrap.servers": broker.bootstrap_servers}, "readers")
        committed, stopping = [0], threading.Event()

        def commit() -> None:
            while not stopping.is_set():
                group.commit({where: committed[0] + 1}, 60)
                committed[0] += 1

        thread = threading.Thread(target=commit)
        thread.start()
        try:
            eventually(lambda: committed[0] > 3)
            broker.kill()
            broker.start()
            before = committed[0]
            eventually(lambda: committed[0] > before + 3, 60)
        finally:
            stopping.set()
            thread.join()
        assert group.read([where]) == {where: committed[0]}
        broker.kill()
        with pytest.raises(KafkaTimeoutError, match="readers"):
            group.commit({where: 1}, 0.5)
        with pytest.raises(KafkaTimeoutError, match="readers"):
            group.read([where], 0.5)
        group.close()
        topics.close()


@pytest.mark.parametrize("ask", ["read", "alter", "delete", "describe"])
def test_the_first_question_about_a_group_of_a_new_cluster_is_answered(tmp_path: Path, ask: str) -> None:
    with EmbeddedBroker(tmp_path) as new:
        topics, group = Topics(new.bootstrap_servers), "first"
        where = TopicPartition(topics.create("t"), 0)
        began = time.monotonic()
        if ask == "read":
            assert topics.admin.group_offsets(group) == {}
        elif ask == "alter":
            topics.admin.alter_group_offsets(group, {where: 3})
            assert topics.admin.group_offsets(group) == {where: 3}
        elif ask == "delete":
            topics.admin.delete_group(group)
        else:
            assert topics.admin.describe_group(group).state == "DEAD"
        assert time.monotonic() - began < 25, "only after a request was given up"
        topics.close()
