"""The status store on a real broker, and against the real Kafka Connect."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import confluent_kafka
import pytest

from seamark.config.states import State
from seamark.errors import ConfigError, KafkaTimeoutError
from seamark.kafka import TopicPartition, TopicSpec
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.partitioner import partition_for
from seamark.kafka.producer import RecordProducer
from seamark.storage.kafka_status import KafkaStatusStore
from seamark.storage.status_store import ConnectorStatusRow, TaskStatusRow
from seamark.testing.java_connect import JavaConnect
from seamark.testing.waiting import eventually

Started = Callable[..., KafkaStatusStore]


def raw_records(worker: dict[str, str]) -> list[tuple[int, str, str | None]]:
    """Every record of the status topic: partition, key and value, in order per partition."""
    topic = worker["status.storage.topic"]
    config = {"bootstrap.servers": worker["bootstrap.servers"], "group.id": "raw"}
    found: list[tuple[int, str, str | None]] = []
    with Admin(worker) as admin, closing(confluent_kafka.Consumer(config)) as consumer:
        partitions = admin.partitions_of([topic])
        ends = admin.list_offsets(dict.fromkeys(partitions, "latest"))
        consumer.assign([confluent_kafka.TopicPartition(topic, where.partition, 0) for where in partitions])

        def is_read() -> bool:
            for message in consumer.consume(500, 0.2):
                value = message.value()
                found.append((message.partition(), message.key().decode(), None if value is None else value.decode()))
            positions = consumer.position([confluent_kafka.TopicPartition(topic, p.partition) for p in partitions])
            return all(max(p.offset, 0) >= ends[TopicPartition(topic, p.partition)] for p in positions)

        eventually(is_read, 20)
    return found


def values_of(worker: dict[str, str], key: str) -> list[str | None]:
    return [value for _, found, value in raw_records(worker) if found == key]


def connector(state: State, generation: int = 1, worker: str = "w:1", trace: str | None = None) -> ConnectorStatusRow:
    return ConnectorStatusRow("c", state, worker, generation, trace, "4.2.0" if state is State.RUNNING else None)


def task(state: State, generation: int = 1, worker: str = "w:1", number: int = 0) -> TaskStatusRow:
    return TaskStatusRow("c", number, state, worker, generation, None, "4.2.0" if state is State.RUNNING else None)


@pytest.fixture
def worker(broker: EmbeddedBroker, topic_name: str) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": topic_name,
        "status.storage.topic": f"{topic_name}-status",
        "status.storage.replication.factor": "1",
        "status.storage.segment.bytes": "1048576",
    }


@pytest.fixture
def started(worker: dict[str, str]) -> Iterator[Started]:
    """Starts stores, and stops them after the test."""
    stores: list[KafkaStatusStore] = []

    def start(settings: dict[str, str] | None = None) -> KafkaStatusStore:
        store = KafkaStatusStore.for_worker(settings or worker)
        stores.append(store)
        store.start()
        return store

    yield start
    for store in reversed(stores):
        store.stop()


@pytest.fixture
def store(started: Started) -> KafkaStatusStore:
    return started()


def test_rows_are_bytes_of_a_java_worker_at_its_partitions(store: KafkaStatusStore, worker: dict[str, str]) -> None:
    before = time.time_ns() // 1_000_000
    store.put_connector(connector(State.RUNNING, 6))
    store.put_task(task(State.RUNNING, 6))
    store.put_task(task(State.UNASSIGNED, 7))
    store.put_topic("t", "c", 0)
    store.flush(30)
    found = raw_records(worker)
    assert {(partition, key) for partition, key, _ in found} == {
        (partition_for(key.encode(), 5), key)
        for key in ("status-connector-c", "status-task-c-0", "status-topic-t:connector-c")
    }
    assert values_of(worker, "status-connector-c") == [
        '{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":6,"version":"4.2.0"}'
    ]
    assert values_of(worker, "status-task-c-0") == [
        '{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":6,"version":"4.2.0"}',
        '{"state":"UNASSIGNED","trace":null,"worker_id":"w:1","generation":7,"version":null}',
    ]
    (topic,) = values_of(worker, "status-topic-t:connector-c")
    assert topic is not None
    discovered = json.loads(topic)["topic"]["discoverTimestamp"]
    assert before <= discovered <= time.time_ns() // 1_000_000
    assert topic == f'{{"topic":{{"name":"t","connector":"c","task":0,"discoverTimestamp":{discovered}}}}}'


def test_what_was_written_before_a_flush_can_be_read_after_it_and_by_others(
    store: KafkaStatusStore, started: Started
) -> None:
    rows = [task(State.RUNNING, number=number) for number in range(50)]
    store.put_connector(connector(State.FAILED, trace="because\n\tof"))
    for row in rows:
        store.put_task(row)
    for topic in ("b", "a"):
        store.put_topic(topic, "c", 3)
    store.flush(30)
    for reader in (store, started()):
        assert reader.get_connector("c") == connector(State.FAILED, trace="because\n\tof")
        assert reader.get_tasks("c") == rows
        assert reader.get_task("c", 7) == rows[7]
        assert [(row.topic, row.connector, row.task) for row in reader.get_topics("c")] == [
            ("a", "c", 3),
            ("b", "c", 3),
        ]
        assert reader.connectors() == {"c"}
        assert (reader.get_connector("x"), reader.get_task("x", 0), reader.get_tasks("x")) == (None, None, [])
        assert reader.get_topics("x") == []


def test_rows_of_one_key_arrive_in_order(store: KafkaStatusStore, worker: dict[str, str]) -> None:
    for generation in range(200):
        store.put_connector(connector(State.RUNNING, generation))
    store.flush(30)
    generations = [json.loads(value or "")["generation"] for value in values_of(worker, "status-connector-c")]
    assert generations == list(range(200))


def test_deleting_leaves_tombstones(store: KafkaStatusStore, worker: dict[str, str]) -> None:
    store.put_connector(connector(State.RUNNING))
    for number in range(3):
        store.put_task(task(State.RUNNING, number=number))
    store.flush(30)
    store.delete_task("c", 2)
    store.delete_task("c", 9)
    store.flush(30)
    assert [row.task for row in store.get_tasks("c")] == [0, 1]
    assert values_of(worker, "status-task-c-9") == [None]
    store.delete_connector("c")
    store.flush(30)
    assert (store.get_connector("c"), store.get_tasks("c"), store.connectors()) == (None, [], set())
    for key in ("status-connector-c", "status-task-c-0", "status-task-c-1"):
        assert values_of(worker, key)[-1] is None


def test_a_safe_write_gives_way_to_a_later_owner(store: KafkaStatusStore, started: Started) -> None:
    other = started()
    other.put_connector(connector(State.RUNNING, 5, "w:2"))
    other.put_task(task(State.RUNNING, 5, "w:2"))
    other.flush(30)
    store.flush(30)
    store.put_connector_safe(connector(State.FAILED, 4))
    store.put_task_safe(task(State.FAILED, 4))
    store.flush(30)
    assert store.get_connector("c") == connector(State.RUNNING, 5, "w:2")
    assert store.get_task("c", 0) == task(State.RUNNING, 5, "w:2")
    store.put_connector_safe(connector(State.FAILED, 5))
    store.put_task_safe(task(State.FAILED, 5))
    store.flush(30)
    assert store.get_connector("c") == connector(State.FAILED, 5)
    assert store.get_task("c", 0) == task(State.FAILED, 5)


def test_who_gave_a_task_up_does_not_overrule_who_runs_it(store: KafkaStatusStore) -> None:
    store.put_task(task(State.RUNNING, 5, "w:2"))
    store.put_task(task(State.UNASSIGNED, 5))
    store.flush(30)
    assert store.get_task("c", 0) == task(State.RUNNING, 5, "w:2")
    store.put_task(task(State.UNASSIGNED, 6))
    store.flush(30)
    assert store.get_task("c", 0) == task(State.UNASSIGNED, 6)


def test_a_topic_is_written_once_until_it_is_reset(store: KafkaStatusStore, worker: dict[str, str]) -> None:
    key = "status-topic-t:connector-c"
    for _ in range(100):
        store.put_topic("t", "c", 0)
    store.flush(30)
    store.put_topic("t", "c", 1)
    store.put_topic("t", "other", 1)
    store.flush(30)
    assert [value is None for value in values_of(worker, key)] == [False]
    store.delete_topics("c")
    store.put_topic("t", "c", 2)  # at once, before the reset has come back
    store.flush(30)
    assert [row.task for row in store.get_topics("c")] == [2]
    store.delete_topics("c")
    store.flush(30)
    assert store.get_topics("c") == []
    assert [value is None for value in values_of(worker, key)] == [False, True, False, True]
    assert [row.topic for row in store.get_topics("other")] == ["t"]


def test_a_topic_that_was_just_found_can_be_reset(store: KafkaStatusStore) -> None:
    store.put_topic("t", "c", 0)
    store.delete_topics("c")
    store.flush(30)
    assert store.get_topics("c") == []


def test_records_that_make_no_sense_are_skipped(store: KafkaStatusStore, worker: dict[str, str]) -> None:
    with RecordProducer({"bootstrap.servers": worker["bootstrap.servers"]}) as producer:
        for key, value in ((b"junk", b"{}"), (b"\xff", b"{}"), (b"status-connector-c", b"junk")):
            producer.send(store.topic, value, key)
        assert producer.flush(10) == 0
    store.put_connector(connector(State.RUNNING))
    store.flush(30)
    assert store.get_connector("c") == connector(State.RUNNING)
    assert store.connectors() == {"c"}


def test_the_topic_is_created_as_the_worker_says(started: Started, worker: dict[str, str]) -> None:
    store = started({**worker, "status.storage.partitions": "2", "status.storage.cleanup.policy": "delete"})
    with Admin(worker) as admin:
        assert admin.describe_topics([store.topic])[store.topic].partitions == 2
        configs = admin.topic_configs(store.topic)
    assert (configs["cleanup.policy"], configs["segment.bytes"]) == ("compact", "1048576")
    assert KafkaStatusStore.for_worker({"bootstrap.servers": "x:1", "group.id": "g"}).topic == "g-status"


def test_a_topic_that_is_not_compacted_is_refused(worker: dict[str, str]) -> None:
    topic = worker["status.storage.topic"]
    with Admin(worker) as admin:
        admin.ensure_topic(TopicSpec(topic, 1, 1, {"cleanup.policy": "delete"}))
    with pytest.raises(ConfigError) as error:
        KafkaStatusStore.for_worker(worker).start()
    assert error.value.message.startswith(
        f"Topic '{topic}' supplied via the 'status.storage.topic' property is required to have "
        "'cleanup.policy=compact' to guarantee consistency and durability of connector and task statuses, but found "
        "the topic currently has 'cleanup.policy=delete'."
    )


@pytest.mark.slow
@pytest.mark.parametrize("delivery_ms", ["2147483647", "1500"])
def test_rows_written_while_the_broker_is_away_arrive_when_it_is_back(tmp_path: Path, delivery_ms: str) -> None:
    """With the short limit the producer gives up and the store tries again; with the other the producer does."""
    with EmbeddedBroker(tmp_path / "broker", heap="256m") as own:
        worker = {
            "bootstrap.servers": own.bootstrap_servers,
            "group.id": "g",
            "status.storage.topic": "g-status",
            "status.storage.replication.factor": "1",
            "reconnect.backoff.max.ms": "500",
            "producer.delivery.timeout.ms": delivery_ms,
            "producer.request.timeout.ms": "1000",
            "producer.linger.ms": "0",
        }
        store = KafkaStatusStore.for_worker(worker)
        store.start()
        try:
            store.put_connector(connector(State.RUNNING, 1))
            store.flush(30)
            own.kill()
            store.put_connector(connector(State.PAUSED, 1))
            store.put_connector(connector(State.STOPPED, 1))
            store.put_task(task(State.RUNNING, 1))
            store.put_topic("t", "c", 0)
            with pytest.raises(KafkaTimeoutError, match="g-status"):
                store.flush(4)
            assert store.get_connector("c") == connector(State.RUNNING, 1)
            own.start()
            store.flush(60)
            assert store.get_connector("c") == connector(State.STOPPED, 1)
            assert store.get_task("c", 0) == task(State.RUNNING, 1)
            assert [row.topic for row in store.get_topics("c")] == ["t"]
        finally:
            store.stop()


# --- the real Kafka Connect -------------------------------------------------------------------------------------------


@pytest.mark.java
def test_rows_of_kafka_connect_are_read_and_ours_are_the_same_bytes(
    java_connect: JavaConnect,
    store: KafkaStatusStore,
    worker: dict[str, str],
    started: Started,
    tmp_path: Path,
    topic_name: str,
) -> None:
    wanted = ("status.", "bootstrap.", "group.")
    theirs = {key: value for key, value in java_connect.config.items() if key.startswith(wanted)}
    reader = started(theirs)
    lines = tmp_path / "lines.txt"
    lines.write_text("one\ntwo\n")
    name = topic_name
    java_connect.create(name, {"connector.class": "FileStreamSource", "file": str(lines), "topic": f"{name}-t"})
    java_connect.wait_state(name, "RUNNING", tasks=1)
    eventually(lambda: java_connect.request("GET", f"/connectors/{name}/topics")[1][name]["topics"], 60)
    reader.flush(30)
    of_connector, of_task, (topic,) = reader.get_connector(name), reader.get_task(name, 0), reader.get_topics(name)
    assert of_connector is not None
    assert of_task is not None
    assert (of_connector.state, of_task.state, topic.topic) == (State.RUNNING, State.RUNNING, f"{name}-t")
    assert of_connector.worker_id == f"127.0.0.1:{java_connect.rest_port}"
    assert (of_connector.version, of_task.version) == ("4.2.0", "4.2.0")
    assert 0 < of_connector.generation <= of_task.generation
    store.put_connector(of_connector)
    store.put_task(of_task)
    store.flush(30)
    for key in (f"status-connector-{name}", f"status-task-{name}-0"):
        assert values_of(worker, key) == values_of(theirs, key)[-1:]

    java_connect.pause(name)
    reader.flush(30)
    assert [row.state for row in reader.get_tasks(name)] == [State.PAUSED]
    java_connect.stop_connector(name)
    eventually(lambda: not reader.get_tasks(name))
    stopped = reader.get_connector(name)
    assert stopped is not None
    assert stopped.state is State.STOPPED
    states = [state(value) for value in values_of(theirs, f"status-task-{name}-0")]
    assert states[-1] is None  # once, or once by each who saw it
    assert [each for each in states if each is not None][-1] == "UNASSIGNED"
    java_connect.delete(name)
    eventually(lambda: (reader.get_connector(name), reader.get_topics(name)) == (None, []))


def state(value: str | None) -> str | None:
    return None if value is None else str(json.loads(value)["state"])


@pytest.mark.java
def test_kafka_connect_shows_rows_that_we_wrote(java_connect: JavaConnect, started: Started, topic_name: str) -> None:
    wanted = ("status.", "bootstrap.", "group.")
    store = started({key: value for key, value in java_connect.config.items() if key.startswith(wanted)})
    source = {"connector.class": "FileStreamSource", "file": "none", "topic": topic_name}
    java_connect.create(topic_name, source, initial_state="STOPPED")
    java_connect.wait_state(topic_name, "STOPPED", tasks=0)
    try:
        store.put_connector(ConnectorStatusRow(topic_name, State.FAILED, "w:1", 99, "ü\ttrace", "7"))
        store.put_task(TaskStatusRow(topic_name, 4, State.RUNNING, "w:2", 99))
        store.put_topic("a.topic", topic_name, 4)
        store.flush(30)
        shown = eventually(
            lambda: s if (s := java_connect.status(topic_name))["connector"]["state"] == "FAILED" else {}
        )
        assert shown["connector"] == {"state": "FAILED", "worker_id": "w:1", "trace": "ü\ttrace", "version": "7"}
        assert [(row["id"], row["state"], row["worker_id"]) for row in shown["tasks"]] == [(4, "RUNNING", "w:2")]
        path = f"/connectors/{topic_name}/topics"
        eventually(lambda: java_connect.request("GET", path)[1][topic_name]["topics"] == ["a.topic"])
        store.delete_topics(topic_name)
        store.delete_task(topic_name, 4)
        store.flush(30)
        eventually(lambda: java_connect.request("GET", path)[1][topic_name]["topics"] == [])
        eventually(lambda: java_connect.status(topic_name)["tasks"] == [])
    finally:
        java_connect.delete(topic_name)
