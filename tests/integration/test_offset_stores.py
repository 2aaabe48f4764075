"""Offset stores on a real broker, and against the real Kafka Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import confluent_kafka
import pytest

from seamark.connector.offsets import Offsets, SourcePartition
from seamark.errors import BadRequestError, ConfigError, DataError, FencedError, KafkaError
from seamark.kafka import TopicPartition, TopicSpec
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.partitioner import partition_for
from seamark.kafka.producer import RecordProducer
from seamark.storage.intents import IntentStore
from seamark.storage.kafka_offsets import KafkaOffsetStore
from seamark.storage.layered import ConnectorOffsetStore, offset_store_for, worker_offset_store
from seamark.storage.offsets import OffsetStore, encode_key, encode_value
from seamark.storage.sink_offsets import SinkOffsets
from seamark.testing.java_connect import JavaConnect
from seamark.testing.waiting import eventually

A, B = SourcePartition(filename="a"), SourcePartition(filename="b")
Started = Callable[[OffsetStore], Any]


@pytest.fixture
def worker(broker: EmbeddedBroker, topic_name: str) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": topic_name,
        "offset.storage.topic": topic_name,
        "offset.storage.replication.factor": "1",
        "offset.storage.partitions": "5",
        "offset.storage.segment.bytes": "1048576",
    }


@pytest.fixture
def started() -> Iterator[Started]:
    """Starts stores, and stops them after the test."""
    stores: list[OffsetStore] = []

    def start(store: OffsetStore) -> OffsetStore:
        stores.append(store)
        store.start()
        return store

    yield start
    for store in reversed(stores):
        store.stop()


@pytest.fixture
def store(worker: dict[str, str], started: Started) -> KafkaOffsetStore:
    found = started(worker_offset_store(worker))
    assert isinstance(found, KafkaOffsetStore)
    return found


@pytest.fixture
def produce(worker: dict[str, str]) -> Iterator[Callable[[str, bytes, bytes | None], None]]:
    """Writes raw records, as some other program would."""
    with RecordProducer({"bootstrap.servers": worker["bootstrap.servers"]}) as producer:

        def produce(topic: str, key: bytes, value: bytes | None) -> None:
            producer.send(topic, value, key)
            assert producer.flush(10) == 0

        yield produce


def raw_records(worker: dict[str, str], topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Every record of the topic, in order per partition."""
    config = {"bootstrap.servers": worker["bootstrap.servers"], "group.id": "raw", "isolation.level": "read_committed"}
    with Admin(worker) as admin, closing(confluent_kafka.Consumer(config)) as consumer:
        partitions = admin.partitions_of([topic])
        ends = admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=True)
        consumer.assign([confluent_kafka.TopicPartition(topic, where.partition, 0) for where in partitions])
        found: list[tuple[bytes | None, bytes | None]] = []

        def is_read() -> bool:
            found.extend((message.key(), message.value()) for message in consumer.consume(100, 0.2))
            positions = consumer.position([confluent_kafka.TopicPartition(topic, p.partition) for p in partitions])
            return all(max(p.offset, 0) >= ends[TopicPartition(topic, p.partition)] for p in positions)

        eventually(is_read, 20)
        return found


def test_the_topic_is_created_as_the_worker_says(store: KafkaOffsetStore, worker: dict[str, str]) -> None:
    with Admin(worker) as admin:
        assert admin.describe_topics([store.topic])[store.topic].partitions == 5
        configs = admin.topic_configs(store.topic)
    assert (configs["cleanup.policy"], configs["segment.bytes"]) == ("compact", "1048576")


def test_offsets_are_read_back_by_any_store(store: KafkaOffsetStore, worker: dict[str, str], started: Started) -> None:
    store.write("lines", {A: {"position": 4}, B: {"position": 7, "extra": None}})
    store.write("other", {A: {"position": 1}})
    for reader in (store, started(KafkaOffsetStore.for_worker(worker))):
        assert reader.read("lines") == Offsets({A: {"position": 4}, B: {"position": 7, "extra": None}})
        assert reader.partitions("lines") == {A, B}
        assert reader.read("nobody") == Offsets()


def test_records_have_javas_bytes_on_javas_partitions(store: KafkaOffsetStore, worker: dict[str, str]) -> None:
    mm = SourcePartition(topic="t", partition=0, cluster="src")
    store.write("mm", {mm: {"offset": 15}})
    key = b'["mm",{"cluster":"src","partition":0,"topic":"t"}]'
    assert raw_records(worker, store.topic) == [(key, b'{"offset":15}')]
    with Admin(worker) as admin:
        ends = admin.list_offsets(dict.fromkeys(admin.partitions_of([store.topic]), "latest"))
    assert ends[TopicPartition(store.topic, partition_for(key, 5))] == 1


def test_none_writes_a_tombstone(store: KafkaOffsetStore, worker: dict[str, str], started: Started) -> None:
    store.write("lines", {A: {"position": 4}, B: {"position": 5}})
    store.write("lines", {A: None})
    assert store.read("lines") == Offsets({B: {"position": 5}})
    assert store.partitions("lines") == {B}
    assert (encode_key("lines", A), None) in raw_records(worker, store.topic)
    assert started(KafkaOffsetStore.for_worker(worker)).read("lines") == Offsets({B: {"position": 5}})


def test_a_foreign_key_is_used_again_byte_for_byte(
    store: KafkaOffsetStore, worker: dict[str, str], produce: Callable[..., None]
) -> None:
    spaced = b'["lines", {"filename": "a"}]'
    produce(store.topic, spaced, b'{"position": 1}')
    assert store.read("lines") == Offsets({A: {"position": 1}})
    assert store.raw_keys("lines") == {A: spaced}
    assert encode_key("lines", A, store.raw_keys("lines")) == spaced
    store.write("lines", {A: {"position": 2}})
    store.write("lines", {A: None})
    assert store.read("lines") == Offsets()
    assert raw_records(worker, store.topic) == [
        (spaced, b'{"position": 1}'),
        (spaced, b'{"position":2}'),
        (spaced, None),
    ]


def test_javas_key_counts_and_the_others_are_cleared_away(
    store: KafkaOffsetStore, produce: Callable[..., None]
) -> None:
    canonical = encode_key("lines", A)
    produce(store.topic, canonical, b'{"position":1}')
    produce(store.topic, b'["lines", {"filename": "a"}]', b'{"position":2}')
    assert store.read("lines") == Offsets({A: {"position": 1}})
    store.write("lines", {A: {"position": 3}})
    produce(store.topic, canonical, None)
    assert store.read("lines") == Offsets()  # nothing shines through


def test_records_that_are_no_offsets_are_skipped(store: KafkaOffsetStore, produce: Callable[..., None]) -> None:
    for key, value in ((b"junk", b"{}"), (b'["c"]', b"{}"), (b'["c",null]', b"{}"), (b'["c",{"f":1}]', b"junk")):
        produce(store.topic, key, value)
    produce(store.topic, encode_key("c", {"f": 2}), b'{"p":1}')
    assert store.read("c") == Offsets([({"f": 2}, {"p": 1})])


def test_what_cannot_be_stored_is_refused_before_anything_is_written(
    store: KafkaOffsetStore, worker: dict[str, str]
) -> None:
    with pytest.raises(DataError):
        store.write("c", {A: {"p": 1}, B: {"p": {"deep": 1}}})
    assert raw_records(worker, store.topic) == []


def test_a_tasks_offsets_are_seen_when_its_transaction_commits(
    store: KafkaOffsetStore, worker: dict[str, str], topic_name: str
) -> None:
    with RecordProducer({"bootstrap.servers": worker["bootstrap.servers"]}, f"{topic_name}-c-0") as task:
        task.init_transactions()
        for position, is_kept in ((1, True), (2, False), (3, True)):
            task.begin()
            key = encode_key("c", A, store.raw_keys("c"))
            task.send(store.topic, encode_value({"position": position}), key)
            if is_kept:
                task.commit()
            else:
                assert task.flush(10) == 0
                assert store.read("c") == Offsets({A: {"position": 1}})  # the open transaction hides it
                task.abort()
            expected = {1: 1, 2: 1, 3: 3}[position]
            eventually(lambda expected=expected: store.read("c") == Offsets({A: {"position": expected}}), 10)
        # A successor that has taken over the id sees what its predecessor committed, without waiting.
        task.begin()
        task.send(store.topic, encode_value({"position": 4}), encode_key("c", A))
        task.commit()
    with RecordProducer({"bootstrap.servers": worker["bootstrap.servers"]}, f"{topic_name}-c-0") as successor:
        successor.init_transactions()
        assert store.read("c") == Offsets({A: {"position": 4}})


def test_a_transactional_write_fences_the_task_and_is_visible_at_once(
    store: KafkaOffsetStore, worker: dict[str, str], topic_name: str
) -> None:
    with RecordProducer({"bootstrap.servers": worker["bootstrap.servers"]}, f"{topic_name}-c-0") as zombie:
        zombie.init_transactions()
        zombie.begin()
        zombie.send(store.topic, encode_value({"position": 99}), encode_key("c", A))
        assert zombie.flush(10) == 0
        for position in range(5):
            offsets = {A: {"position": position}, B: {"position": position}}
            store.write("c", offsets, transactional_id=f"{topic_name}-c-0")
            assert store.read("c") == Offsets(offsets)
        with pytest.raises(FencedError):
            zombie.commit()
    assert store.read("c") == Offsets({A: {"position": 4}, B: {"position": 4}})


def test_an_offsets_topic_that_loses_records_is_refused(worker: dict[str, str], started: Started) -> None:
    with Admin(worker) as admin:
        admin.ensure_topic(TopicSpec(worker["offset.storage.topic"], 1, 1, {"cleanup.policy": "delete"}))
    with pytest.raises(ConfigError, match=r"source connector offsets, but found .*'cleanup\.policy=delete'"):
        started(KafkaOffsetStore.for_worker(worker))


@pytest.mark.parametrize("is_exactly_once", [False, True])
def test_a_connectors_own_topic_comes_first_and_the_workers_is_a_copy(
    store: KafkaOffsetStore, worker: dict[str, str], started: Started, is_exactly_once: bool
) -> None:
    store.write("c", {A: {"position": 1}, B: {"position": 1}})
    config = {"name": "c", "offsets.storage.topic": f"{store.topic}-own"}
    layered = started(offset_store_for(config, worker, store, is_exactly_once))
    assert isinstance(layered, ConnectorOffsetStore)
    assert layered.topic == f"{store.topic}-own"
    assert layered.read("c") == Offsets({A: {"position": 1}, B: {"position": 1}})  # the gaps are filled
    layered.write("c", {A: {"position": 2}})
    assert layered.read("c") == Offsets({A: {"position": 2}, B: {"position": 1}})
    assert store.read("c") == Offsets({A: {"position": 2}, B: {"position": 1}})
    layered.write("c", {A: None, B: {"position": 3}})
    for reader in (layered, store):
        assert reader.read("c") == Offsets({B: {"position": 3}})
    assert (encode_key("c", A), None) in raw_records(worker, f"{store.topic}-own")


def test_a_connector_without_a_topic_of_its_own_shares_the_workers_store(
    store: KafkaOffsetStore, worker: dict[str, str], started: Started, topic_name: str
) -> None:
    shared = offset_store_for({"name": "c"}, worker, store, exactly_once=True)
    started(shared)
    shared.write("c", {A: {"position": 2}})
    shared.stop()
    assert store.read("c") == Offsets({A: {"position": 2}})  # the worker's store still runs


def test_intents_are_durable_and_nobodys_offsets(
    store: KafkaOffsetStore, worker: dict[str, str], started: Started
) -> None:
    IntentStore(store).write("c", "batch", {"id": 7, "start": "0"})
    again = started(KafkaOffsetStore.for_worker(worker))
    assert IntentStore(again).read("c", "batch") == {"id": 7, "start": "0"}
    assert again.read("c") == Offsets()
    assert raw_records(worker, store.topic) == [(b'["__seamark:c",{"intent":"batch"}]', b'{"start":"0","id":7}')]


def test_sink_offsets_live_in_the_consumer_group(worker: dict[str, str], topic_name: str) -> None:
    with Admin(worker) as admin:
        admin.ensure_topic(TopicSpec(topic_name, 2, 1))
        zero, one = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
        with SinkOffsets.for_connector({"name": topic_name}, worker) as offsets:
            assert offsets.group_id == f"connect-{topic_name}"
            assert offsets.read() == {}
            offsets.reset()  # nothing to reset is no error
            offsets.alter({zero: 5, one: 6})
            assert offsets.read() == admin.group_offsets(f"connect-{topic_name}") == {zero: 5, one: 6}
            offsets.alter({zero: 7, one: None})
            assert offsets.read() == {zero: 7}
            offsets.reset()
            assert offsets.read() == {}
        own = {"name": topic_name, "consumer.override.group.id": f"{topic_name}-own"}
        with SinkOffsets.for_connector(own, worker) as offsets:
            offsets.alter({zero: 1})
            assert admin.group_offsets(f"{topic_name}-own") == {zero: 1}


def test_sink_offsets_cannot_change_under_a_running_task(worker: dict[str, str], topic_name: str) -> None:
    with Admin(worker) as admin:
        admin.ensure_topic(TopicSpec(topic_name, 1, 1))
    where = TopicPartition(topic_name, 0)
    config = {"bootstrap.servers": worker["bootstrap.servers"], "group.id": f"connect-{topic_name}"}
    with closing(confluent_kafka.Consumer(config)) as task:
        task.subscribe([topic_name])
        eventually(lambda: (task.poll(0.1), task.assignment())[1], 20)
        with SinkOffsets.for_connector({"name": topic_name}, worker) as offsets:
            for attempt in (
                lambda: offsets.alter({where: 1}),
                lambda: offsets.alter({where: None}),
                lambda: offsets.reset(),
            ):
                with pytest.raises(BadRequestError, match="still has members"):
                    attempt()


def test_sink_offsets_of_a_topic_that_does_not_exist_are_refused(worker: dict[str, str], topic_name: str) -> None:
    with SinkOffsets.for_connector({"name": topic_name}, worker) as offsets, pytest.raises(KafkaError) as error:
        offsets.alter({TopicPartition(f"{topic_name}-none", 0): 1})
    assert error.value.code == "UNKNOWN_TOPIC_OR_PART"


@pytest.mark.java
def test_kafka_connect_sees_changes_and_deletes_our_offsets_and_we_see_its(
    java_connect: JavaConnect, broker: EmbeddedBroker, started: Started, topic_name: str
) -> None:
    worker = {
        key: value for key, value in java_connect.config.items() if key.startswith(("offset.", "bootstrap.", "group."))
    }
    store = started(KafkaOffsetStore.for_worker(worker))
    java_connect.create(
        topic_name,
        {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "file": "x",
            "topic": topic_name,
        },
        initial_state="STOPPED",
    )
    try:
        java_connect.wait_state(topic_name, "STOPPED", tasks=0)
        names = ["/data/in.txt", 'quo"te\\', "tab\t\x01", "ünï€😀", "\u2028/"]
        ours = Offsets([({"filename": name}, {"position": number}) for number, name in enumerate(names)])
        store.write(topic_name, ours)
        # Kafka Connect takes the list of partitions before it reads to the end, so its first answer may be old.
        eventually(lambda: as_offsets(java_connect.offsets(topic_name)) == ours, 20)
        changed = Offsets([({"filename": name}, {"position": 100 + number}) for number, name in enumerate(names)])
        java_connect.alter_offsets(topic_name, [{"partition": dict(p), "offset": o} for p, o in changed.items()])
        assert store.read(topic_name) == changed
        keys = {encode_key(topic_name, partition) for partition in ours}
        assert set(store.raw_keys(topic_name).values()) == keys  # Java wrote to the very keys that we wrote
        store.write(topic_name, {SourcePartition(filename=names[0]): None})
        left = Offsets([(p, o) for p, o in changed.items() if p["filename"] != names[0]])
        eventually(lambda: as_offsets(java_connect.offsets(topic_name)) == left, 20)
        status, answer = java_connect.request("DELETE", f"/connectors/{topic_name}/offsets")
        assert status == 200, answer
        assert store.read(topic_name) == Offsets()
    finally:
        java_connect.delete(topic_name)


def as_offsets(listed: list[dict[str, Any]]) -> Offsets:
    return Offsets([(entry["partition"], entry["offset"]) for entry in listed])
