"""Copying batches as they are, between two real clusters: all that can be, and what is handed back instead."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fixtures.mirror_flows import WAIT_S, Flow, Kafka, MakeFlow
from seamark.kafka.batch_copier import BatchCopier, Copied
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.batch_copies import leaves_batches_alone
from seamark.testing.waiting import eventually

Make = Callable[..., BatchCopier]


def filled(kafka: Kafka, topic: str, count: int, partition: int = 0, start: int = 0, **settings: str) -> None:
    """Records in large batches."""
    config = {"bootstrap.servers": kafka.servers, "linger.ms": "50", **settings}
    with RecordProducer(config) as producer:
        producer.send_batch(
            topic,
            [f"value {number}".encode() for number in range(start, start + count)],
            [f"key {number}".encode() for number in range(start, start + count)],
            partition,
            [1_700_000_000_000 + number for number in range(count)],
            [[("h", b"\x00"), ("h", None)]] * count,
        )
        assert producer.flush(60) == 0


@pytest.fixture
def make(near: Kafka, far: Kafka, topic_name: str) -> Iterator[Make]:
    """Makes copiers of the topic, from the near cluster to a topic of the same name in the far one."""
    made: list[BatchCopier] = []

    def make(partitions: int = 1, position: int = 0, **consumer: str) -> BatchCopier:
        source = {"bootstrap.servers": near.servers, **{k.replace("__", "."): v for k, v in consumer.items()}}
        wheres = [TopicPartition(topic_name, number) for number in range(partitions)]
        copier = BatchCopier(source, {"bootstrap.servers": far.servers}, {where: (where, position) for where in wheres})
        made.append(copier)
        return copier

    yield make
    for copier in made:
        copier.close()


def copied(copier: BatchCopier, count: int) -> list[Copied]:
    """Poll until so many records are copied."""
    found: list[Copied] = []

    def is_done() -> bool:
        found.extend(copier.poll(0.2))
        return sum(each.count for each in found) >= count

    eventually(is_done, WAIT_S, f"not {count} records are copied")
    return found


def handed_back(copier: BatchCopier) -> dict[TopicPartition, int]:
    """Poll until a partition is handed back."""
    found: dict[TopicPartition, int] = {}

    def is_done() -> bool:
        copier.poll(0.2)
        found.update(copier.handed_back())
        return bool(found)

    eventually(is_done, WAIT_S, "no partition is handed back")
    return found


def shown(kafka: Kafka, topic: str) -> list[tuple[Any, ...]]:
    return [(r.partition, r.offset, r.key, r.value, r.headers, r.timestamp) for r in kafka.records(topic)]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_copies_are_the_same_and_told_exactly(near: Kafka, far: Kafka, topic_name: str, make: Make, codec: str) -> None:
    for kafka in (near, far):
        kafka.create(topic_name, 2)
    filled(near, topic_name, 5000, 0, **{"compression.type": codec})
    filled(near, topic_name, 3000, 1, **{"compression.type": codec})
    copier = make(2)
    found = copied(copier, 8000)
    assert shown(far, topic_name) == shown(near, topic_name)
    for partition, count in ((0, 5000), (1, 3000)):
        own = [each for each in found if each.origin.partition == partition]
        assert [each.first for each in own] == [each.downstream for each in own]
        assert own[0].first == 0
        assert all(a.first + a.count == b.first for a, b in itertools.pairwise(own))
        assert own[-1].first + own[-1].count == count
        assert [each.is_gap for each in own] == [True, *[False] * (len(own) - 1)]
    # It follows.
    filled(near, topic_name, 100, 0, 5000)
    copied(copier, 100)
    assert shown(far, topic_name) == shown(near, topic_name)
    assert copier.handed_back() == {}
    assert copier.positions() == {TopicPartition(topic_name, 0): 5100, TopicPartition(topic_name, 1): 3000}


def test_aborted_transactions_are_not_for_readers_of_committed_records(
    near: Kafka, far: Kafka, topic_name: str, make: Make
) -> None:
    for kafka in (near, far):
        kafka.create(topic_name)
    settings = {"bootstrap.servers": near.servers}
    with RecordProducer(settings, f"{topic_name}-a") as first, RecordProducer(settings, f"{topic_name}-b") as second:
        for producer in (first, second):
            producer.init_transactions()

        def sent(producer: RecordProducer, value: bytes) -> None:
            producer.send_batch(topic_name, [value] * 50, partition=0)
            assert producer.flush(30) == 0

        # Two transactions side by side, of which one is aborted; then the same producers the other way round.
        for keeper, loser in ((first, second), (second, first)):
            for producer in (keeper, loser):
                producer.begin()
            for producer, value in ((loser, b"never"), (keeper, b"kept"), (loser, b"never"), (keeper, b"kept")):
                sent(producer, value)
            loser.abort()
            sent(keeper, b"last")
            keeper.commit()
        filled(near, topic_name, 100)
    near.send_transaction(topic_name, [b"never"] * 50, commits=False)
    near.send(topic_name, [b"end"] * 20)
    expected = 2 * ([b"kept"] * 100 + [b"last"] * 50) + [b"value %d" % number for number in range(100)] + [b"end"] * 20
    copier = make(isolation__level="read_committed")
    copied(copier, len(expected))
    assert far.values(topic_name) == expected == near.values(topic_name)
    assert copier.handed_back() == {}
    # Whoever reads all records gets all of them.
    everything = copied(make(), len(expected) + 250)
    assert sum(each.count for each in everything) == len(expected) + 250


def test_ends_of_transactions_are_passed_over(near: Kafka, far: Kafka, topic_name: str, make: Make) -> None:
    for kafka in (near, far):
        kafka.create(topic_name)
    near.send_transaction(topic_name, [b"a"] * 50)
    near.send_transaction(topic_name, [b"b"] * 50)
    found = copied(make(), 100)
    assert [(each.first, each.downstream, each.is_gap) for each in found] == [(0, 0, True), (51, 50, True)]
    assert far.values(topic_name) == [b"a"] * 50 + [b"b"] * 50


def test_positions_inside_a_batch_and_out_of_range_are_handed_back(
    near: Kafka, far: Kafka, topic_name: str, make: Make
) -> None:
    for kafka in (near, far):
        kafka.create(topic_name)
    filled(near, topic_name, 1000)
    where = TopicPartition(topic_name, 0)
    assert handed_back(make(position=10)) == {where: 10}
    assert handed_back(make(position=5000)) == {where: 5000}
    assert far.ends(topic_name)[0] == 0


def test_small_batches_are_handed_back(near: Kafka, far: Kafka, topic_name: str, make: Make) -> None:
    for kafka in (near, far):
        kafka.create(topic_name)
    with RecordProducer({"bootstrap.servers": near.servers, "batch.size": "1", "linger.ms": "0"}) as producer:
        for number in range(1000):
            producer.send(topic_name, b"%d" % number, partition=0)
        assert producer.flush(60) == 0
    copier = make()
    found = handed_back(copier)[TopicPartition(topic_name, 0)]
    assert far.values(topic_name) == near.values(topic_name)[:found]


def test_a_target_that_is_not_there_is_handed_back(near: Kafka, far: Kafka, topic_name: str, make: Make) -> None:
    near.create(topic_name)
    filled(near, topic_name, 100)
    assert handed_back(make()) == {TopicPartition(topic_name, 0): 0}
    assert topic_name not in far.admin.list_topics()


def test_a_batch_that_is_too_large_for_the_target_is_handed_back(
    near: Kafka, far: Kafka, topic_name: str, make: Make
) -> None:
    near.create(topic_name)
    far.create(topic_name, max__message__bytes="5000")
    filled(near, topic_name, 20)
    filled(near, topic_name, 2000, start=20)
    copier = make()
    found = handed_back(copier)[TopicPartition(topic_name, 0)]
    assert found == far.ends(topic_name)[0] < 2020


def test_a_broker_that_is_killed_ends_it_and_loses_nothing(
    near: Kafka, topic_name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    near.create(topic_name)
    filled(near, topic_name, 20_000, **{"batch.size": "20000"})
    where = TopicPartition(topic_name, 0)
    with EmbeddedBroker(tmp_path_factory.mktemp("killed"), heap="256m") as broker:
        target = Kafka(broker)
        target.create(topic_name)
        copier = BatchCopier(
            {"bootstrap.servers": near.servers}, {"bootstrap.servers": broker.bootstrap_servers}, {where: (where, 0)}
        )
        try:
            acknowledged = sum(each.count for each in copied(copier, 1000))
            broker.kill()
            position = acknowledged

            def is_over() -> bool:
                nonlocal position
                position += sum(each.count for each in copier.poll(0.2))
                back = copier.handed_back()
                assert back in ({}, {where: position})
                return bool(back)

            eventually(is_over, WAIT_S)
        finally:
            copier.close()
        broker.start()
        assert len(target.values(topic_name)) >= position >= 1000
        target.close()


def test_draining_leaves_nothing_untold(near: Kafka, far: Kafka, topic_name: str, make: Make) -> None:
    for kafka in (near, far):
        kafka.create(topic_name)
    filled(near, topic_name, 50_000, **{"batch.size": "20000"})
    copier = make()
    found = copied(copier, 1)
    found += copier.drain(10)
    assert sum(each.count for each in found) == far.ends(topic_name)[0]


def test_settings_that_are_meant_for_records_are_obeyed() -> None:
    plain = {"bootstrap.servers": "a:1"}
    assert leaves_batches_alone(plain, plain)
    assert leaves_batches_alone({**plain, "acks": "-1", "compression.type": "none"}, plain)
    for key, value in {"acks": "1", "compression.type": "gzip", "max.request.size": "10"}.items():
        assert not leaves_batches_alone({**plain, key: value}, plain)
    kerberos = {**plain, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}
    assert not leaves_batches_alone(plain, kerberos)


def stopped_again_and_again(
    flow: Flow, name: str, far: Kafka, remote: str, feed: Callable[[int], None], *, after: int = 1000
) -> None:
    """Stop and resume a mirror three times, each time when it has copied so many of the records that `feed` sends."""
    stopping = threading.Event()

    def feed_on() -> None:
        number = 0
        while not stopping.wait(0.05):
            feed(number)
            number += 500

    def copied_records() -> int:
        return sum(far.ends(remote).values()) if remote in far.admin.list_topics() else 0

    feeder = threading.Thread(target=feed_on)
    feeder.start()
    try:
        for _ in range(3):
            before = copied_records()
            eventually(lambda before=before: copied_records() >= before + after, WAIT_S)
            flow.connect.stop(name)
            flow.connect.resume(name)
    finally:
        stopping.set()
        feeder.join()


def test_a_mirror_that_is_stopped_again_and_again_copies_each_record_once(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str
) -> None:
    near.create(topic_name, 2)
    flow = make_flow(exactly_once=False)
    name = flow.start("Source", topics=topic_name, consumer__isolation__level="read_uncommitted")
    remote = flow.remote(topic_name)

    def feed(number: int) -> None:
        for partition in (0, 1):
            filled(near, topic_name, 500, partition, number)

    stopped_again_and_again(flow, name, far, remote, feed)
    expected = [r.value for r in near.records(topic_name)]
    eventually(lambda: len(far.values(remote)) >= len(expected), WAIT_S)
    assert far.values(remote) == expected
