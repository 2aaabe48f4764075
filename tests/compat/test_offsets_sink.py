"""Offsets of sinks: view, alter, reset, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer

from compat.client import RETRY, Connect, expect, path_of
from compat.conftest import Files, Parked
from compat.test_offsets import ALTERED, RESET
from seamark.testing.waiting import eventually


def part(topic: str, partition: Any = 0) -> dict[str, Any]:
    return {"kafka_topic": topic, "kafka_partition": partition}


def row(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {"partition": part(topic, partition), "offset": {"kafka_offset": offset}}


def run_and_stop(connect: Connect, files: Files, name: str, config: dict[str, str], partitions: int = 1) -> None:
    connect.create(name, config)
    rows = [row(name, number, 3) for number in range(partitions)]
    eventually(lambda: connect.offsets(name) == rows, 60, "the topic is not read")
    assert sorted(files.read(name)) == sorted(["line0", "line1", "line2"] * partitions)
    connect.stop(name)


@pytest.fixture
def stopped(connect: Connect, files: Files, name: str) -> str:
    """A sink of two partitions with three records each that has written them and was stopped."""
    run_and_stop(connect, files, name, files.sink(name, 3, partitions=2), 2)
    return name


@contextmanager
def member_of(group: str, topic: str, bootstrap_servers: str) -> Iterator[None]:
    """A consumer that is a member of the group."""
    config = {"bootstrap.servers": bootstrap_servers, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(config)
    consumer.subscribe([topic])

    def is_member() -> bool:
        consumer.poll(0.1)
        return bool(consumer.assignment())

    try:
        eventually(is_member, 30)
        yield
    finally:
        consumer.close()


@pytest.mark.requirement("K875-05")
@pytest.mark.requirement("K875-08")
@pytest.mark.requirement("K875-40")
@pytest.mark.requirement("K875-47")
def test_alter(connect: Connect, files: Files, stopped: str) -> None:
    assert expect(connect.alter(stopped, (part(stopped), {"kafka_offset": 1})), 200) == ALTERED
    assert connect.offsets(stopped) == [row(stopped, 0, 1), row(stopped, 1, 3)]
    answer = expect(connect.get(path_of(stopped, "offsets")), 200)
    assert expect(connect.patch(path_of(stopped, "offsets"), answer), 200) == ALTERED
    assert connect.offsets(stopped) == [row(stopped, 0, 1), row(stopped, 1, 3)]
    connect.resume(stopped)
    eventually(lambda: len(files.read(stopped)) >= 8, 60)
    assert files.read(stopped)[6:] == ["line1", "line2"]


def test_partitions_without_records_are_listed(connect: Connect, files: Files, name: str) -> None:
    config = files.sink(name, partitions=3)
    files.topics.send(name, ["line0", "line1"], 1)
    connect.create(name, config)
    wanted = [row(name, 0, 0), row(name, 1, 2), row(name, 2, 0)]
    eventually(lambda: connect.offsets(name) == wanted, 60, "not all partitions have an offset")


@pytest.mark.requirement("K875-08")
@pytest.mark.requirement("K875-23")
@pytest.mark.requirement("K875-24")
@pytest.mark.requirement("K875-48")
def test_reset(connect: Connect, files: Files, stopped: str) -> None:
    assert expect(connect.reset(stopped), 200) == RESET
    assert connect.offsets(stopped) == []
    assert files.topics.group_offsets(f"connect-{stopped}") == {}
    assert expect(connect.reset(stopped), 200) == RESET
    response = connect.alter(stopped, (part(stopped), None))
    connect.refuses(response, 500, f"Failed to alter consumer group offsets for connector {stopped}")
    connect.resume(stopped)
    eventually(lambda: len(files.read(stopped)) >= 12, 60)
    assert sorted(files.read(stopped)[6:]) == sorted(["line0", "line1", "line2"] * 2)


@pytest.mark.requirement("K875-06")
@pytest.mark.requirement("K875-07")
def test_null_resets_one_partition(connect: Connect, files: Files, stopped: str) -> None:
    for _ in range(2):
        assert expect(connect.alter(stopped, (part(stopped, 1), None)), 200) == ALTERED
        assert connect.offsets(stopped) == [row(stopped, 0, 3)]
    body = {
        "offsets": [{"partition": part(stopped, 0)}, {"partition": part(stopped, 1), "offset": {"kafka_offset": 2}}]
    }
    assert expect(connect.patch(path_of(stopped, "offsets"), body), 200) == ALTERED
    assert connect.offsets(stopped) == [row(stopped, 1, 2)]
    connect.resume(stopped)
    eventually(lambda: len(files.read(stopped)) >= 10, 60)
    assert sorted(files.read(stopped)[6:]) == ["line0", "line1", "line2", "line2"]


def test_numbers_may_be_text_and_more_keys_are_ignored(connect: Connect, stopped: str) -> None:
    partition = {**part(stopped, "1"), "extra": "x"}
    assert expect(connect.alter(stopped, (partition, {"kafka_offset": "2", "more": 1})), 200) == ALTERED
    assert connect.offsets(stopped) == [row(stopped, 0, 3), row(stopped, 1, 2)]
    expect(
        connect.alter(stopped, (part(stopped, 1), {"kafka_offset": 1}), (part(stopped, 1), {"kafka_offset": 0})), 200
    )
    assert connect.offsets(stopped) == [row(stopped, 0, 3), row(stopped, 1, 0)]


def test_offset_beyond_the_end(connect: Connect, stopped: str) -> None:
    assert expect(connect.alter(stopped, (part(stopped), {"kafka_offset": 1_000_000})), 200) == ALTERED
    assert connect.offsets(stopped) == [row(stopped, 0, 1_000_000), row(stopped, 1, 3)]


def test_topic_is_stringified(connect: Connect, files: Files, name: str) -> None:
    run_and_stop(connect, files, name, files.sink(name, 3))
    response = connect.alter(name, (part("12345", 0) | {"kafka_topic": 12345}, {"kafka_offset": 1}))
    connect.refuses(response, 500, f"Failed to alter consumer group offsets for connector {name}")


KEYS = "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"
NO_OFFSET = "The offset for a sink connector should either be null or contain the key 'kafka_offset'"
BAD_PARTITION = (
    "Failed to parse the following Kafka partition value in the provided offsets: '{}'. "
    "Partition values for sink connectors need to be integers."
)
BAD_OFFSET = (
    "Failed to parse the following Kafka offset value in the provided offsets: '{}'. "
    "Offset values for sink connectors need to be integers."
)
OFFSET = {"kafka_offset": 1}
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "partition-null": (None, OFFSET, "The partition for a sink connector offset cannot be null or missing"),
    "partition-without-topic": ({"kafka_partition": 0}, OFFSET, KEYS),
    "partition-without-number": ({"kafka_topic": "t"}, OFFSET, KEYS),
    "partition-empty": ({}, OFFSET, KEYS),
    "topic-null": (
        {"kafka_topic": None, "kafka_partition": 0},
        OFFSET,
        "Kafka topic names must be valid strings and may not be null",
    ),
    "number-null": (part("t", None), OFFSET, "Kafka partitions must be valid numbers and may not be null"),
    "number-is-text": (part("t", "x"), OFFSET, BAD_PARTITION.format("x")),
    "number-is-a-double": (part("t", 0.5), OFFSET, BAD_PARTITION.format("0.5")),
    "number-is-too-large": (part("t", 2**31), OFFSET, BAD_PARTITION.format(2**31)),
    "offset-empty": (part("t"), {}, NO_OFFSET),
    "offset-without-key": (part("t"), {"position": 1}, NO_OFFSET),
    "offset-is-text": (part("t"), {"kafka_offset": "x"}, BAD_OFFSET.format("x")),
    "offset-is-a-double": (part("t"), {"kafka_offset": 1.5}, BAD_OFFSET.format("1.5")),
    "offset-is-null": (part("t"), {"kafka_offset": None}, BAD_OFFSET.format("null")),
    "offset-is-an-array": (part("t"), {"kafka_offset": [1]}, BAD_OFFSET.format("[1]")),
    "offset-is-too-large": (part("t"), {"kafka_offset": 2**63}, BAD_OFFSET.format(2**63)),
}


@pytest.mark.requirement("K875-39")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(connect: Connect, stopped_sink: Parked, case: str) -> None:
    partition, offset, message = REFUSED[case]
    before = connect.offsets(stopped_sink.name)
    good = {"partition": part(stopped_sink.config["topics"]), "offset": {"kafka_offset": 1}}
    body = {"offsets": [good, {"partition": partition, "offset": offset}]}
    connect.refuses(connect.patch(stopped_sink.offsets, body), 400, message, f"sink-offsets/{case}")
    assert connect.offsets(stopped_sink.name) == before


def test_missing_partition(connect: Connect, stopped_sink: Parked) -> None:
    response = connect.patch(stopped_sink.offsets, {"offsets": [{"offset": {"kafka_offset": 1}}]})
    connect.refuses(response, 400, "The partition for a sink connector offset cannot be null or missing")


@pytest.mark.requirement("K875-10")
def test_offset_that_kafka_does_not_take(connect: Connect, stopped_sink: Parked) -> None:
    name, topic = stopped_sink.name, stopped_sink.config["topics"]
    before = connect.offsets(name)
    connect.refuses(
        connect.alter(name, (part(topic), {"kafka_offset": -1})),
        500,
        f"Failed to modify offsets for sink connector {name}",
    )
    message = f"Failed to alter consumer group offsets for connector {name}"
    for partition in (part("no-such-topic"), part(topic, 7), part(topic, -1)):
        connect.refuses(connect.alter(name, (partition, {"kafka_offset": 1})), 500, message)
        connect.refuses(connect.alter(name, (partition, None)), 500, message)
    assert connect.offsets(name) == before


@pytest.mark.requirement("K875-25")
def test_group_with_members(connect: Connect, files: Files, stopped: str) -> None:
    path = path_of(stopped, "offsets")
    sentence = (
        "Failed to {0} consumer group offsets for connector {1} either because its tasks haven't stopped completely "
        "yet or the connector was resumed before the request to {0} its offsets could be successfully completed. If "
        "the connector is in a stopped state, this operation can be safely retried. If it doesn't eventually succeed, "
        "the Connect cluster may need to be restarted to get rid of the zombie sink tasks."
    )
    assert RETRY in sentence
    expect(connect.alter(stopped, (part(stopped), {"kafka_offset": 2})), 200)
    before = connect.offsets(stopped)
    with member_of(f"connect-{stopped}", stopped, connect.target.bootstrap_servers):
        altered = {"offsets": [row(stopped, 0, 1)]}
        connect.refuses(connect.patch(path, altered), 500, sentence.format("alter", stopped))
        one_reset = {"offsets": [{"partition": part(stopped), "offset": None}]}
        connect.refuses(connect.patch(path, one_reset), 500, sentence.format("alter", stopped))
        connect.refuses(connect.delete(path), 500, sentence.format("reset", stopped))
        assert connect.offsets(stopped) == before
    assert expect(connect.reset(stopped), 200) == RESET


@pytest.mark.requirement("K875-49")
def test_group_of_another_name(connect: Connect, files: Files, name: str) -> None:
    group = f"{name}-own-group"
    run_and_stop(connect, files, name, files.sink(name, 3, consumer__override__group__id=group))
    assert list(files.topics.group_offsets(group).values()) == [3]
    assert expect(connect.alter(name, (part(name), {"kafka_offset": 2})), 200) == ALTERED
    assert list(files.topics.group_offsets(group).values()) == [2]
    assert connect.offsets(name) == [row(name, 0, 2)]
    connect.resume(name)
    eventually(lambda: len(files.read(name)) >= 4, 60)
    connect.stop(name)
    assert files.read(name) == ["line0", "line1", "line2", "line2"]
    assert expect(connect.reset(name), 200) == RESET
    assert files.topics.group_offsets(group) == {}
    assert expect(connect.reset(name), 200) == RESET
    assert connect.offsets(name) == []
