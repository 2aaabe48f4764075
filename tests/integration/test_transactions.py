"""The producer on a real broker: transactions, fencing, back-pressure, acknowledgements."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from seamark.errors import ConnectError, FencedError, KafkaError
from seamark.kafka import TopicPartition, TopicSpec
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.partitioner import partition_for
from seamark.kafka.producer import DeliveryReport, RecordProducer
from seamark.testing.waiting import eventually

Read = Callable[..., list[Any]]


@pytest.fixture
def java(broker: EmbeddedBroker) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers, "linger.ms": "0"}


@pytest.fixture
def admin(java: dict[str, str]) -> Iterator[Admin]:
    with Admin(java) as admin:
        yield admin


@pytest.fixture
def topic(admin: Admin, topic_name: str) -> str:
    admin.ensure_topic(TopicSpec(topic_name, 2, 1))
    return topic_name


@pytest.fixture
def read(java: dict[str, str], topic: str) -> Read:
    """Waits for that many records of the topic as a read_committed consumer sees them, and for no more to come."""

    def read(count: int) -> list[Any]:
        config = {**java, "group.id": topic, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        config.pop("linger.ms")
        messages: list[Any] = []
        with closing(confluent_kafka.Consumer(config)) as consumer:
            consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(2)])
            eventually(
                lambda: (
                    ([messages.append(m) for m in consumer.consume(100, 0.2)] and len(messages) >= count)
                    or len(messages) >= count
                ),
                20,
            )
            messages += consumer.consume(10, 0.3)
        return messages

    return read


def values(messages: list[Any]) -> list[bytes]:
    return sorted(message.value() for message in messages)


def test_committed_records_are_seen_and_aborted_ones_are_not(java: dict[str, str], topic: str, read: Read) -> None:
    with RecordProducer(java, f"{topic}-tx") as producer:
        producer.init_transactions()
        for value, is_kept in ((b"one", True), (b"two", False), (b"three", True)):
            producer.begin()
            producer.send(topic, value)
            if is_kept:
                producer.commit()
            else:
                assert producer.flush(10) == 0
                producer.abort()
        producer.begin()
        producer.send(topic, b"queued only")
        producer.abort()
        producer.begin()
        producer.commit()  # a transaction without records is no error
    assert values(read(2)) == [b"one", b"three"]


def test_a_newer_producer_fences_the_older(java: dict[str, str], topic: str, read: Read) -> None:
    with RecordProducer(java, f"{topic}-tx") as older, RecordProducer(java, f"{topic}-tx") as newer:
        older.init_transactions()
        older.begin()
        older.send(topic, b"older")
        assert older.flush(10) == 0
        newer.init_transactions()
        with pytest.raises(FencedError) as error:
            older.commit()
        assert not error.value.retriable
        assert f"{topic}-tx" in str(error.value)
        for attempt in (older.begin, older.commit, older.abort, lambda: older.send(topic, b"again"), older.check):
            with pytest.raises(FencedError):
                attempt()
        newer.begin()
        newer.send(topic, b"newer")
        newer.commit()
    assert values(read(1)) == [b"newer"]


def test_admin_fences_producers(java: dict[str, str], admin: Admin, topic: str, read: Read) -> None:
    ids = [f"{topic}-{number}" for number in range(3)]
    producers = [RecordProducer(java, transactional_id) for transactional_id in ids]
    try:
        for producer in producers:
            producer.init_transactions()
            producer.begin()
            producer.send(topic, b"zombie")
            assert producer.flush(10) == 0
        admin.fence_producers([*ids, f"{topic}-never-used"])
        for producer in producers:
            with pytest.raises(FencedError):
                producer.commit()
        with RecordProducer(java) as plain:
            plain.send(topic, b"after")
            assert plain.flush(10) == 0
        assert values(read(1)) == [b"after"]  # the open transactions hold nothing back
    finally:
        for producer in producers:
            producer.close()


def test_a_record_that_fails_aborts_its_transaction(java: dict[str, str], topic: str, read: Read) -> None:
    with RecordProducer({**java, "max.request.size": "2000000"}, f"{topic}-tx") as producer:
        producer.init_transactions()
        producer.begin()
        producer.send(topic, b"fine")
        producer.send(topic, b"x" * 1_500_000)  # more than the broker takes
        with pytest.raises(KafkaError) as error:
            producer.commit()
        assert error.value.code == "MSG_SIZE_TOO_LARGE"
        assert topic in str(error.value)
        assert "aborted" in str(error.value)
        _commit_as_the_engine_does(producer, topic, b"next")
    assert values(read(1)) == [b"next"]


def _commit_as_the_engine_does(producer: RecordProducer, topic: str, value: bytes) -> None:
    # librdkafka's first batch after it renewed its epoch may be refused as out of order. That is said to be retriable.
    for _ in range(3):
        producer.begin()
        producer.send(topic, value)
        try:
            return producer.commit()
        except KafkaError as error:
            assert error.retriable, error
            assert error.code == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    pytest.fail("three transactions in a row were refused as out of order")


def test_keys_timestamps_headers_and_partitions_arrive(java: dict[str, str], topic: str, read: Read) -> None:
    with RecordProducer(java) as producer:
        producer.send(topic, b"v", b"key", timestamp_ms=1234, headers=[("h", b"1"), ("h", b"2"), ("n", None)])
        producer.send(topic, None, b"tombstone", partition=1)
        producer.send_batch(topic, [b"a", b"b"], [b"k1", None], timestamps=[5, None], partitions=[0, 1])
        producer.send_batch(topic, [b"c"], headers=[[("x", b"y")]], partition=1)
        assert producer.flush(10) == 0
    found = {(m.value(), m.key()): m for m in read(5)}
    first = found[b"v", b"key"]
    assert first.timestamp()[1] == 1234
    assert first.headers() == [("h", b"1"), ("h", b"2"), ("n", None)]
    assert first.partition() == partition_for(b"key", 2)
    assert found[None, b"tombstone"].partition() == 1
    assert (found[b"a", b"k1"].partition(), found[b"a", b"k1"].timestamp()[1]) == (0, 5)
    assert found[b"b", None].partition() == 1
    assert abs(found[b"b", None].timestamp()[1] / 1000 - time.time()) < 60
    assert (found[b"c", None].headers(), found[b"c", None].partition()) == ([("x", b"y")], 1)


def test_a_full_queue_holds_the_sender_up_and_loses_nothing(java: dict[str, str], admin: Admin, topic: str) -> None:
    waits = []
    small = {**java, "buffer.memory": "65536"}
    batch = [b"x" * 100 for _ in range(5_000)]
    with RecordProducer(small, on_wait=lambda: waits.append(1)) as producer:
        producer.send_batch(topic, batch)
        producer.send_batch(topic, batch, [b"k%d" % number for number in range(5_000)])
        producer.send_batch(topic, batch, timestamps=[1] * 5_000)
        assert producer.sent == 15_000
        assert producer.flush(30) == 0
    assert waits
    where: dict[TopicPartition, Any] = dict.fromkeys([TopicPartition(topic, 0), TopicPartition(topic, 1)], "latest")
    assert sum(admin.list_offsets(where).values()) == 15_000


def test_a_waiting_sender_can_be_called_off(topic_name: str) -> None:
    class CalledOffError(ConnectError):
        pass

    def call_off() -> None:
        raise CalledOffError("enough")

    nowhere = {"bootstrap.servers": "127.0.0.1:1", "buffer.memory": "4096"}
    with pytest.raises(CalledOffError), RecordProducer(nowhere, on_wait=call_off) as producer:
        producer.send_batch(topic_name, [b"x" * 100] * 1000)


def test_flush_says_what_is_still_on_its_way(topic_name: str) -> None:
    with RecordProducer({"bootstrap.servers": "127.0.0.1:1"}) as producer:
        producer.send(topic_name, b"v")
        assert producer.flush(0.2) == 1
        assert producer.in_flight == 1
        producer.close(0)


def test_a_failed_record_is_not_taken_for_acknowledged(java: dict[str, str], topic: str) -> None:
    with RecordProducer({**java, "max.request.size": "2000000"}) as producer:
        producer.send_batch(topic, [b"fine", b"x" * 1_500_000, b"fine"])
        with pytest.raises(KafkaError) as error:
            producer.flush(10)
        assert error.value.code == "MSG_SIZE_TOO_LARGE"
        with pytest.raises(KafkaError):
            producer.flush(10)  # stays until it is dealt with
        assert producer.forget_failures() == 1
        assert producer.flush(10) == 0


def test_reports_tell_where_each_record_went(java: dict[str, str], topic: str) -> None:
    reports: list[DeliveryReport] = []
    with RecordProducer({**java, "max.request.size": "2000000"}, reports_successes=True) as producer:
        producer.send(topic, b"a", partition=1, on_delivery=reports.append)
        producer.send(topic, b"b", partition=1, on_delivery=reports.append)
        producer.send(topic, b"x" * 1_500_000, partition=0, on_delivery=reports.append)
        with pytest.raises(KafkaError):
            producer.flush(10)
    assert [(r.partition, r.offset) for r in reports if r.error is None] == [(1, 0), (1, 1)]
    assert [r.error.code for r in reports if r.error is not None] == ["MSG_SIZE_TOO_LARGE"]


def test_closing_aborts_what_is_open(java: dict[str, str], topic: str, read: Read) -> None:
    with RecordProducer(java, f"{topic}-tx") as producer:
        producer.init_transactions()
        producer.begin()
        producer.send(topic, b"open")
        assert producer.flush(10) == 0
    with RecordProducer(java) as plain:
        plain.send_batch(topic, [b"after"] * 2)
        assert plain.flush(10) == 0
    assert values(read(2)) == [b"after"] * 2  # nothing is held back
    producer.close()
    with pytest.raises(KafkaError, match="closed"):
        producer.begin()


@pytest.mark.slow
def test_closing_does_not_wait_for_a_broker_that_is_away(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "broker", heap="256m") as own:
        config = {"bootstrap.servers": own.bootstrap_servers}
        plain, transactional = RecordProducer(config), RecordProducer(config, "tx")
        transactional.init_transactions()
        transactional.begin()
        for producer in (plain, transactional):
            producer.send("t", b"v")
            assert producer.flush(20) == 0
            producer.send("t", b"v")
        own.kill()
        for producer in (plain, transactional):
            started = time.monotonic()
            producer.close(1)
            assert time.monotonic() - started < 4


def test_reports_need_a_producer_that_gives_them(java: dict[str, str], topic: str) -> None:
    with RecordProducer(java) as producer, pytest.raises(ValueError, match="reports_successes"):
        producer.send(topic, b"a", on_delivery=lambda report: None)


def test_columns_of_another_length_are_refused(java: dict[str, str], topic: str) -> None:
    with RecordProducer(java) as producer, pytest.raises(ValueError, match="keys has 1 entries for 2 values"):
        producer.send_batch(topic, [b"a", b"b"], [b"k"])


def test_an_unknown_partition_is_an_error(java: dict[str, str], topic: str) -> None:
    with RecordProducer(java) as producer:
        with pytest.raises(KafkaError) as error:
            producer.send(topic, b"a", partition=7)
            producer.flush(10)
        assert error.value.code == "_UNKNOWN_PARTITION"
