"""A topic as a log, on a real broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from seamark.errors import ConfigError, KafkaError, KafkaTimeoutError
from seamark.kafka import TopicPartition, TopicSpec
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.log import LogRecord, TopicLog
from seamark.kafka.partitioner import partition_for
from seamark.kafka.producer import RecordProducer
from seamark.testing.waiting import eventually

Make = Callable[..., tuple[TopicLog, list[LogRecord]]]


@pytest.fixture
def java(broker: EmbeddedBroker) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.fixture
def make(java: dict[str, str], topic_name: str) -> Iterator[Make]:
    """Makes logs on a compacted topic of the test's own, and stops them."""
    logs = []

    def make(**more: Any) -> tuple[TopicLog, list[LogRecord]]:
        records: list[LogRecord] = []
        arguments: dict[str, Any] = {
            "consumer_config": {**java, "isolation.level": "read_committed"},
            "producer_config": java,
            "spec": TopicSpec(topic_name, 3, 1, {"cleanup.policy": "compact"}),
            "on_record": records.append,
            **more,
        }
        log = TopicLog(topic_name, **arguments)
        logs.append(log)
        log.start()
        return log, records

    yield make
    for log in logs:
        log.stop()


def pairs(records: list[LogRecord]) -> set[tuple[bytes | None, bytes | None]]:
    return {(record.key, record.value) for record in records}


def test_a_log_creates_its_topic_and_gives_back_what_is_appended(make: Make, java: dict[str, str]) -> None:
    log, records = make()
    assert records == []
    assert log.partitions == 3
    log.append_all([(b"k%d" % number, b"v%d" % number) for number in range(50)])
    log.append(b"k1", None).result(10)
    log.read_to_end()
    assert pairs(records) == {(b"k%d" % number, b"v%d" % number) for number in range(50)} | {(b"k1", None)}
    # The key decides the partition as in Java, and order within it is kept.
    assert all(record.partition == partition_for(record.key or b"", 3) for record in records)
    assert [record.value for record in records if record.key == b"k1"] == [b"v1", None]
    assert abs(records[0].timestamp_ms / 1000 - time.time()) < 60


def test_a_log_that_starts_later_reads_from_the_beginning_and_follows(make: Make) -> None:
    first, _ = make()
    first.append_all([(b"a", b"1")])
    second, records = make()
    assert pairs(records) == {(b"a", b"1")}
    first.append_all([(b"b", b"2")])
    eventually(lambda: len(records) == 2, 10)
    second.read_to_end()
    assert pairs(records) == {(b"a", b"1"), (b"b", b"2")}


def test_the_end_is_where_an_open_transaction_begins(make: Make, java: dict[str, str], topic_name: str) -> None:
    log, records = make()
    log.append_all([(b"before", b"1")])
    with RecordProducer(java, f"{topic_name}-tx") as producer:
        producer.init_transactions()
        producer.begin()
        producer.send(topic_name, b"2", b"inside", partition=partition_for(b"before", 3))
        assert producer.flush(10) == 0
        log.append_all([(b"before", b"3")])
        log.read_to_end(10)  # returns although records lie behind the open transaction
        assert pairs(records) == {(b"before", b"1")}
        producer.commit()
    eventually(lambda: pairs(records) == {(b"before", b"1"), (b"inside", b"2"), (b"before", b"3")}, 10)


def test_an_end_of_nothing_but_aborted_records_is_reached(make: Make, java: dict[str, str], topic_name: str) -> None:
    log, records = make()
    with RecordProducer(java, f"{topic_name}-tx") as producer:
        producer.init_transactions()
        for _ in range(3):
            producer.begin()
            for number in range(20):
                producer.send(topic_name, b"no", b"k%d" % number)
            assert producer.flush(10) == 0
            producer.abort()
    with Admin(java) as admin:
        where = [TopicPartition(topic_name, number) for number in range(3)]
        ends = eventually(
            lambda: min(admin.list_offsets(dict.fromkeys(where, "latest"), is_committed=True).values()) > 0, 10
        )
        assert ends
    started = time.monotonic()
    log.read_to_end(20)
    assert time.monotonic() - started < 5
    assert records == []
    again, seen = make()  # a log that starts on such a topic gets to its end too
    again.read_to_end(20)
    assert seen == []


def test_an_uncommitted_reader_sees_open_transactions(make: Make, java: dict[str, str], topic_name: str) -> None:
    log, records = make(consumer_config=java)
    with RecordProducer(java, f"{topic_name}-tx") as producer:
        producer.init_transactions()
        producer.begin()
        producer.send(topic_name, b"2", b"inside")
        assert producer.flush(10) == 0
        log.read_to_end(10)
        assert pairs(records) == {(b"inside", b"2")}
        producer.abort()


def test_readers_to_the_end_may_come_in_crowds(make: Make) -> None:
    log, records = make()
    seen = []

    def write_and_read(number: int) -> None:
        log.append_all([(b"k%d" % number, b"v")])
        log.read_to_end(30)
        seen.append(any(record.key == b"k%d" % number for record in records))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write_and_read, range(64)))
    assert seen == [True] * 64


def test_a_record_that_cannot_be_taken_in_does_not_stop_the_log(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    taken: list[LogRecord] = []

    def fussy(record: LogRecord) -> None:
        if record.value == b"bad":
            raise ValueError("bad record")
        taken.append(record)

    log, _ = make(on_record=fussy)
    log.append_all([(b"k", b"bad"), (b"k", b"good")])
    log.read_to_end()
    assert [record.value for record in taken] == [b"good"]
    assert "bad record" in caplog.text


def test_a_topic_that_is_not_compacted_is_refused(make: Make, java: dict[str, str], topic_name: str) -> None:
    with Admin(java) as admin:
        admin.create_topics([TopicSpec(topic_name, 3, 1, {"cleanup.policy": "compact,delete"})])
    with pytest.raises(ConfigError) as error:
        make(setting="offset.storage.topic", purpose="source connector offsets")
    assert error.value.key == "offset.storage.topic"
    assert (
        f"Topic '{topic_name}' supplied via the 'offset.storage.topic' property is required to have "
        "'cleanup.policy=compact' to guarantee consistency and durability of source connector offsets, but found the "
        "topic currently has 'cleanup.policy=compact,delete'."
    ) in str(error.value)


def test_a_log_of_one_partition_refuses_more(make: Make) -> None:
    with pytest.raises(ConfigError, match=r"required to have a single partition .* but found 3 partitions"):
        make(setting="config.storage.topic", purpose="connector configurations", is_single_partition=True)


def test_a_missing_topic_is_an_error_without_a_spec(make: Make) -> None:
    with pytest.raises(KafkaError, match="does not exist"):
        make(spec=None)


def test_a_log_only_for_reading_cannot_be_appended_to(make: Make) -> None:
    log, _ = make(producer_config=None)
    with pytest.raises(KafkaError, match="not started for writing"):
        log.append(b"k", b"v")


@pytest.mark.alone
def test_stop_is_prompt_and_ends_all_threads(make: Make, topic_name: str) -> None:
    log, _ = make()
    log.append(b"k", b"v").result(10)
    started = time.monotonic()
    log.stop()
    log.stop()
    assert time.monotonic() - started < 3
    assert not [thread for thread in threading.enumerate() if topic_name in thread.name]
    with pytest.raises(KafkaError):
        log.read_to_end(1)


@pytest.mark.alone
def test_an_idle_log_costs_next_to_nothing(make: Make) -> None:
    process = psutil.Process()
    others = {thread.id for thread in process.threads()}  # of other tests, which may be at work

    def spent() -> float:
        return sum(thread.user_time + thread.system_time for thread in process.threads() if thread.id not in others)

    log, _ = make()
    log.append(b"k", b"v").result(10)
    log.read_to_end()
    before, started = spent(), time.monotonic()
    threading.Event().wait(3)  # the measurement: nothing is waited for
    assert (spent() - before) / (time.monotonic() - started) < 0.05


@pytest.mark.slow
def test_a_log_survives_its_broker(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "broker", heap="256m") as own:
        java = {"bootstrap.servers": own.bootstrap_servers, "reconnect.backoff.max.ms": "500"}
        records: list[LogRecord] = []
        log = TopicLog(
            "log",
            consumer_config=java,
            producer_config={**java, "acks": "all"},
            spec=TopicSpec("log", 1, 1, {"cleanup.policy": "compact"}),
            on_record=records.append,
        )
        log.start()
        try:
            log.append_all([(b"k", b"1")])
            log.read_to_end()
            own.kill()
            with pytest.raises(KafkaTimeoutError, match=own.bootstrap_servers):
                log.read_to_end(1.5)
            with pytest.raises(KafkaTimeoutError):
                log.append_all([(b"k", b"2")], timeout_s=1)
            own.start()
            log.append_all([(b"k", b"3")], timeout_s=60)
            log.read_to_end(60)
            # What was appended while the broker was away is written late, not lost, and not out of order.
            assert [record.value for record in records] == [b"1", b"2", b"3"]
            own.kill()
            started = time.monotonic()
            log.stop()
            assert time.monotonic() - started < 5
        finally:
            log.stop()


def test_a_broker_that_is_away_is_named() -> None:
    log = TopicLog(
        "t",
        consumer_config={"bootstrap.servers": "127.0.0.1:1"},
        spec=TopicSpec("t", 1, 1),
        on_record=lambda record: None,
    )
    with pytest.raises(KafkaError, match=r"127\.0\.0\.1:1") as error:
        log.start(timeout_s=1.5)
    assert error.value.retriable
