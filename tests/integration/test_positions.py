"""Positions by time, against a real log and Kafka's own answers."""

from __future__ import annotations

import time

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from fixtures.worker import Topics
from seamark.config.position_plans import LogRange, PositionPlan, PositionsRefusedError, plan_positions
from seamark.config.positions import parse_rule
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.topic_partitions import TopicPartition

HOUR_MS = 3_600_000
PARTITIONS = 3


@pytest.fixture
def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def topic(broker: EmbeddedBroker, topics: Topics, topic_name: str, now_ms: int) -> str:
    """Ten records an hour apart in each partition, the last one an hour old; the second partition lost four of them."""
    topics.create(topic_name, PARTITIONS)
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for partition in range(PARTITIONS):
        for number in range(10):
            at_ms = now_ms - (10 - number) * HOUR_MS
            producer.produce(topic_name, b"%d" % number, partition=partition, timestamp=at_ms)
    assert producer.flush(30) == 0
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.delete_records([confluent_kafka.TopicPartition(topic_name, 1, 4)]).values():
        future.result()
    return topic_name


def plan(topics: Topics, topic: str, now_ms: int, *rules: str, clamp: bool = False) -> PositionPlan:
    partitions = topics.admin.partitions_of([topic])
    starts = topics.admin.list_offsets(dict.fromkeys(partitions, "earliest"))
    ends = topics.admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=True)
    logs = {(where.topic, where.partition): LogRange(starts[where], ends[where]) for where in partitions}

    def find(wanted):  # type: ignore[no-untyped-def]
        return topics.admin.find_times({TopicPartition(*where): at_ms for where, at_ms in wanted.items()})

    return plan_positions([parse_rule(rule) for rule in rules], {}, logs, find, now_ms=now_ms, clamp=clamp)


def offsets(found: PositionPlan) -> list[int]:
    return [change.new for change in found.require()]


def test_times_are_kafkas_own_answers(broker: EmbeddedBroker, topics: Topics, topic: str, now_ms: int) -> None:
    assert offsets(plan(topics, topic, now_ms, "earliest")) == [0, 4, 0]
    assert offsets(plan(topics, topic, now_ms, "latest")) == [10, 10, 10]
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": topic})
    try:
        for hours in (6, 5, 3, 1):
            at_ms = now_ms - hours * HOUR_MS
            asked = [confluent_kafka.TopicPartition(topic, number, at_ms) for number in range(PARTITIONS)]
            kafkas = [each.offset for each in consumer.offsets_for_times(asked, timeout=30)]
            assert offsets(plan(topics, topic, now_ms, f"-{hours}h")) == kafkas == [10 - hours] * 3
    finally:
        consumer.close()
    assert offsets(plan(topics, topic, now_ms, "-30m")) == [10, 10, 10], "later than the last record"


def test_a_time_of_deleted_records_is_refused(topics: Topics, topic: str, now_ms: int) -> None:
    with pytest.raises(PositionsRefusedError) as caught:
        plan(topics, topic, now_ms, "-8h").require()
    assert [str(refusal.selector) for refusal in caught.value.refusals] == [f"{topic}:1"]
    assert "offset 4 of" in str(caught.value)
    assert offsets(plan(topics, topic, now_ms, "-8h", clamp=True)) == [2, 4, 2]
    assert "offset 0 of" in str(plan(topics, topic, now_ms, f"{topic}:0=-20h").refusals[0].message)
    assert offsets(plan(topics, topic, now_ms, f"{topic}:0=-20h", clamp=True)) == [0]
