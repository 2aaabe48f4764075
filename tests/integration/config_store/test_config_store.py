"""The config store on a real broker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.config_topics import CONFIG, PAUSED, STARTED, STOPPED, Started, raw_records, written
from seamark.errors import ConfigError, DataError, KafkaError
from seamark.kafka import TopicPartition, TopicSpec
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.storage import cluster_state as events
from seamark.storage import config_store
from seamark.storage.cluster_state import ConfigEvent, ConfigLogReducer
from seamark.storage.config_records import SessionKey
from seamark.storage.config_store import LOST_PRIVILEGES, ConfigStoreError, PrivilegedWriteError
from seamark.storage.kafka_config import KafkaConfigStore
from seamark.testing.waiting import eventually


@pytest.mark.requirement("K875-41")
@pytest.mark.requirement("K980-17")
def test_every_operation_writes_its_records_in_order(leader: KafkaConfigStore, worker: dict[str, str]) -> None:
    leader.put_session_key(SessionKey(b"\x00\x01\x02", "HmacSHA256", 1700000000000))
    leader.put_connector_config("c", CONFIG)
    leader.put_task_configs("c", [{"topic": "t", "partition": "1", "cluster": "x"}, {"a": "2"}])
    leader.put_task_count_record("c", 2)
    leader.put_target_state("c", PAUSED)
    leader.put_restart_request("c", include_tasks=True, only_failed=False)
    leader.put_logger_level("org.apache", "warn")
    leader.remove_task_configs("c")
    leader.put_target_state("c", STOPPED)
    leader.put_placement("c", 4)
    leader.put_connector_config("d-1", {"name": "d-1"}, STOPPED, slot=3)
    leader.remove_connector_config("c")
    leader.put_placement("d-1", None)
    leader.remove_connector_config("d-1")
    assert written(worker) == [
        ("session-key", '{"key":"AAEC","algorithm":"HmacSHA256","creation-timestamp":1700000000000}'),
        ("connector-c", '{"properties":{"connector.class":"FileStreamSource","file":"a","name":"c"}}'),
        ("task-c-0", '{"properties":{"cluster":"x","partition":"1","topic":"t"}}'),
        ("task-c-1", '{"properties":{"a":"2"}}'),
        ("commit-c", '{"tasks":2}'),
        ("tasks-fencing-c", '{"task-count":2}'),
        ("target-state-c", '{"state":"PAUSED","state.v2":"PAUSED"}'),
        ("restart-connector-c", '{"include-tasks":true,"only-failed":false}'),
        ("logger-cluster-org.apache", '{"level":"warn"}'),
        ("commit-c", '{"tasks":0}'),
        ("target-state-c", '{"state":"PAUSED","state.v2":"STOPPED"}'),
        ("placement-c", '{"version":1,"slot":4}'),
        ("target-state-d-1", '{"state":"PAUSED","state.v2":"STOPPED"}'),
        ("placement-d-1", '{"version":1,"slot":3}'),
        ("connector-d-1", '{"properties":{"name":"d-1"}}'),
        ("connector-c", None),
        ("target-state-c", None),
        ("placement-c", None),
        ("placement-d-1", None),
        ("connector-d-1", None),
        ("target-state-d-1", None),
    ]


def test_a_change_of_the_leader_can_be_seen_when_it_returns_and_soon_by_the_others(
    leader: KafkaConfigStore, started: Started
) -> None:
    other = started()
    for number in range(10):
        leader.put_connector_config("c", {"number": str(number)})
        assert leader.snapshot().connector_config("c") == {"number": str(number)}
        other.refresh(30)
        assert other.snapshot() == leader.snapshot()
    leader.put_task_configs("c", [{"a": str(number)} for number in range(20)])
    assert leader.snapshot().all_task_configs("c") == [{"a": str(number)} for number in range(20)]
    leader.remove_connector_config("c")
    assert not leader.contains("c")
    other.refresh(30)
    assert other.snapshot() == leader.snapshot()
    assert started().snapshot() == leader.snapshot()


@pytest.mark.requirement("K980-13")
@pytest.mark.requirement("K980-14")
@pytest.mark.requirement("K980-15")
def test_state_and_configuration_are_one_transaction_the_state_first(
    leader: KafkaConfigStore, worker: dict[str, str]
) -> None:
    leader.put_connector_config("c", CONFIG, PAUSED)
    leader.put_connector_config("d", CONFIG, STOPPED)
    # One commit marker follows each pair: it takes an offset that no reader is shown.
    assert [(record.offset, record.key) for record in raw_records(worker)] == [
        (0, "target-state-c"),
        (1, "connector-c"),
        (3, "target-state-d"),
        (4, "connector-d"),
    ]
    assert leader.snapshot().target_states == {"c": PAUSED, "d": STOPPED}


@pytest.mark.requirement("K980-14")
@pytest.mark.requirement("K980-16")
def test_a_leader_that_dies_between_state_and_configuration_leaves_neither(
    started: Started, worker: dict[str, str]
) -> None:
    dying = RecordProducer(worker, f"connect-cluster-{worker['group.id']}")
    successor = started()
    dying.init_transactions()
    dying.begin()
    dying.send(worker["config.storage.topic"], b'{"state":"PAUSED","state.v2":"STOPPED"}', b"target-state-c")
    assert dying.flush(10) == 0
    dying.close(0)
    successor.claim_write_privileges()
    successor.put_connector_config("d", CONFIG)
    assert [record.key for record in raw_records(worker, "read_uncommitted")] == ["target-state-c", "connector-d"]
    for store in (successor, started()):
        assert set(store.snapshot().connectors) == {"d"}
        assert store.snapshot().target_states == {"d": STARTED}


@pytest.mark.requirement("K980-16")
def test_a_state_left_by_a_leader_without_transactions_does_not_decide(
    leader: KafkaConfigStore, worker: dict[str, str]
) -> None:
    leader.put_target_state("c", STOPPED)
    leader.refresh(30)
    assert not leader.contains("c")
    leader.put_connector_config("c", CONFIG)
    assert leader.snapshot().target_state("c") is STARTED
    assert [key for key, _ in written(worker)] == ["target-state-c", "target-state-c", "connector-c"]


def test_a_deposed_leader_can_write_nothing_more(started: Started, worker: dict[str, str]) -> None:
    old, new = started(), started()
    old.claim_write_privileges()
    old.put_connector_config("c", CONFIG)
    new.claim_write_privileges()
    assert new.contains("c")
    had_privileges = old.has_write_privileges  # it does not know yet
    with pytest.raises(PrivilegedWriteError) as error:
        old.put_connector_config("late", CONFIG, PAUSED)
    assert error.value.message == LOST_PRIVILEGES
    assert error.value.retriable
    assert (had_privileges, old.has_write_privileges) == (True, False)
    with pytest.raises(PrivilegedWriteError, match="without claiming write privileges first"):
        old.remove_connector_config("c")
    new.put_connector_config("d", CONFIG)
    old.put_target_state("c", PAUSED)  # any worker may
    new.refresh(30)
    assert new.snapshot().target_states == {"c": PAUSED, "d": STARTED}

    old.claim_write_privileges()
    assert old.contains("d")
    old.put_connector_config("late", CONFIG)
    with pytest.raises(PrivilegedWriteError):
        new.put_task_configs("late", [{}])
    assert [key for key, _ in written(worker)] == ["connector-c", "connector-d", "target-state-c", "connector-late"]


@pytest.mark.parametrize("write", ["config", "tasks", "key", "restart", "placement", "fencing", "remove"])
def test_writing_needs_privileges(started: Started, worker: dict[str, str], write: str) -> None:
    store = started()
    writes: dict[str, Callable[[], None]] = {
        "config": lambda: store.put_connector_config("c", CONFIG),
        "tasks": lambda: store.put_task_configs("c", []),
        "key": lambda: store.put_session_key(SessionKey(b"k", "HmacSHA256", 1)),
        "restart": lambda: store.put_restart_request("c", include_tasks=False, only_failed=False),
        "placement": lambda: store.put_placement("c", 1),
        "fencing": lambda: store.put_task_count_record("c", 1),
        "remove": lambda: store.remove_connector_config("c"),
    }
    with pytest.raises(PrivilegedWriteError):
        writes[write]()
    store.claim_write_privileges()
    store.release_write_privileges()
    store.release_write_privileges()
    with pytest.raises(PrivilegedWriteError):
        writes[write]()
    assert written(worker) == []


def test_leaders_that_fight_lose_no_write_that_was_answered(started: Started, worker: dict[str, str]) -> None:
    accepted: dict[str, list[str]] = {"one": [], "two": []}
    failures: list[BaseException] = []

    def lead(who: str, store: KafkaConfigStore) -> None:
        try:
            for number in range(15):
                config = f"{who}-{number}"
                try:
                    store.claim_write_privileges()
                    store.put_connector_config(config, CONFIG, PAUSED)
                except ConfigStoreError:
                    continue
                accepted[who].append(config)
        except BaseException as error:
            failures.append(error)

    stores = {who: started() for who in accepted}
    threads = [threading.Thread(target=lead, args=item) for item in stores.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    reader = started()
    found = reader.snapshot()
    assert set(accepted["one"] + accepted["two"]) <= set(found.connectors)
    assert set(found.target_states) == set(found.connectors)  # never one record of two
    assert accepted["one"] or accepted["two"]


def test_a_write_that_is_refused_costs_the_privileges_and_leaves_nothing(
    leader: KafkaConfigStore, worker: dict[str, str]
) -> None:
    with pytest.raises(PrivilegedWriteError) as error:
        leader.put_connector_config("c", {"file": "x" * 3_000_000}, PAUSED)
    assert error.value.message == LOST_PRIVILEGES
    assert isinstance(error.value.__cause__, KafkaError)
    leader.claim_write_privileges()
    leader.put_connector_config("d", CONFIG)
    assert [key for key, _ in written(worker)] == ["connector-d"]
    assert set(leader.snapshot().target_states) == {"d"}


def test_what_cannot_be_written_is_refused_and_costs_nothing(leader: KafkaConfigStore, worker: dict[str, str]) -> None:
    for name, config in (("\ud800", {}), ("c", {"file": "\ud800"})):
        with pytest.raises(DataError):
            leader.put_connector_config(name, config)
    assert leader.has_write_privileges
    assert written(worker) == []


def test_changes_are_told_in_order_and_only_those_after_the_start(leader: KafkaConfigStore, started: Started) -> None:
    leader.put_connector_config("old", CONFIG)
    leader.put_restart_request("old", include_tasks=True, only_failed=True)
    leader.put_logger_level("root", "DEBUG")
    leader.put_target_state("old", PAUSED)
    leader.refresh(30)
    heard: list[ConfigEvent] = []
    listener = started(heard.append)
    assert heard == []
    leader.put_connector_config("c", CONFIG, PAUSED)
    leader.put_task_configs("c", [{"a": "1"}])
    leader.put_target_state("c", PAUSED)
    leader.put_target_state("c", STARTED)
    leader.put_restart_request("c", include_tasks=True, only_failed=False)
    leader.put_logger_level("root", "WARN")
    leader.put_session_key(SessionKey(b"k" * 32, "HmacSHA256", 5))
    leader.remove_connector_config("c")
    listener.refresh(30)
    assert heard == [
        events.ConnectorConfigUpdated("c"),
        events.TaskConfigsUpdated("c", (0,)),
        events.TargetStateChanged("c"),
        events.RestartRequested("c", True, False),
        events.LoggerLevelUpdated("root", "WARN"),
        events.SessionKeyUpdated(),
        events.ConnectorConfigRemoved("c"),
    ]


def test_a_listener_sees_the_change_in_the_snapshot(leader: KafkaConfigStore, started: Started) -> None:
    seen: list[bool] = []
    listener: KafkaConfigStore = started()
    listener.on_event = lambda _event: seen.append("c" in listener.snapshot().connectors)
    leader.put_connector_config("c", CONFIG)
    leader.remove_connector_config("c")
    listener.refresh(30)
    assert seen == [True, False]


def test_records_that_make_no_sense_are_skipped(leader: KafkaConfigStore, worker: dict[str, str]) -> None:
    with RecordProducer({"bootstrap.servers": worker["bootstrap.servers"]}) as producer:
        for key, value in ((b"", b"{}"), (b"\xff", b"{}"), (b"connector-c", b"junk"), (b"connector-c", b"[]")):
            producer.send(leader.topic, value, key)
        producer.send(leader.topic, b'{"properties":{"a":null}}', b"connector-d")
        assert producer.flush(10) == 0
    leader.refresh(30)
    assert leader.snapshot().connectors == {"d": {"a": None}}
    assert leader.snapshot().offset == 5


def test_the_topic_is_created_as_the_worker_says(leader: KafkaConfigStore, worker: dict[str, str]) -> None:
    with Admin(worker) as admin:
        assert admin.describe_topics([leader.topic])[leader.topic].partitions == 1
        configs = admin.topic_configs(leader.topic)
    assert (configs["cleanup.policy"], configs["segment.bytes"]) == ("compact", "1048576")


def test_settings_that_cannot_be_are_ignored(started: Started, worker: dict[str, str]) -> None:
    changed = {**worker, "config.storage.partitions": "7", "config.storage.cleanup.policy": "delete"}
    store = started(None, changed)
    with Admin(worker) as admin:
        assert admin.partitions_of([store.topic]) == [TopicPartition(store.topic, 0)]
        assert admin.topic_configs(store.topic)["cleanup.policy"] == "compact"


def test_the_topic_has_a_default_name(worker: dict[str, str]) -> None:
    assert KafkaConfigStore.for_worker({"bootstrap.servers": "x:1", "group.id": "g"}).topic == "g-configs"


@pytest.mark.parametrize("replicas", ["0", "-2", "x"])
def test_replicas_have_to_be_a_number(worker: dict[str, str], replicas: str) -> None:
    with pytest.raises(ConfigError) as error:
        KafkaConfigStore.for_worker({**worker, "config.storage.replication.factor": replicas})
    assert error.value.key == "config.storage.replication.factor"


def test_a_topic_with_several_partitions_is_refused(worker: dict[str, str]) -> None:
    topic = worker["config.storage.topic"]
    with Admin(worker) as admin:
        admin.ensure_topic(TopicSpec(topic, 3, 1, {"cleanup.policy": "compact"}))
    with pytest.raises(ConfigError) as error:
        KafkaConfigStore.for_worker(worker).start()
    assert error.value.message == (
        f"Topic '{topic}' supplied via the 'config.storage.topic' property is required to have a single partition in "
        "order to guarantee consistency of connector configurations, but found 3 partitions."
    )


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_topic_that_is_not_only_compacted_is_refused(worker: dict[str, str], policy: str) -> None:
    topic = worker["config.storage.topic"]
    with Admin(worker) as admin:
        admin.ensure_topic(TopicSpec(topic, 1, 1, {"cleanup.policy": policy}))
    with pytest.raises(ConfigError) as error:
        KafkaConfigStore.for_worker(worker).start()
    assert error.value.message.startswith(
        f"Topic '{topic}' supplied via the 'config.storage.topic' property is required to have "
        "'cleanup.policy=compact' to guarantee consistency and durability of connector configurations, but found the "
        f"topic currently has 'cleanup.policy={policy}'."
    )


@pytest.mark.slow
def test_a_broker_that_is_away_is_waited_for_in_vain_and_then_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedBroker(tmp_path / "broker", heap="256m") as own:
        worker = {
            "bootstrap.servers": own.bootstrap_servers,
            "group.id": "g",
            "config.storage.topic": "g-configs",
            "config.storage.replication.factor": "1",
            "reconnect.backoff.max.ms": "500",
        }
        store = KafkaConfigStore.for_worker(worker)
        store.start()
        try:
            store.claim_write_privileges()
            store.put_connector_config("c", CONFIG)
            own.kill()
            monkeypatch.setattr(config_store, "READ_WRITE_TIMEOUT_S", 2.0)
            with pytest.raises(ConfigStoreError, match=r"^Error writing target state to Kafka$"):
                store.put_target_state("c", PAUSED)
            with pytest.raises(ConfigStoreError, match=r"^Error writing logger level to Kafka$"):
                store.put_logger_level("root", "WARN")
            with pytest.raises(PrivilegedWriteError) as error:
                store.put_connector_config("d", CONFIG)
            assert error.value.message == LOST_PRIVILEGES
            assert store.contains("c")  # what is known stays known
            own.start()
            monkeypatch.setattr(config_store, "READ_WRITE_TIMEOUT_S", 60.0)
            store.claim_write_privileges()
            store.put_connector_config("e", CONFIG)
            eventually(lambda: store.snapshot().target_state("c") is PAUSED, 30, "the state is written late")
            assert store.contains("e")
            own.kill()
        finally:
            store.stop()


def test_the_reducer_alone_reads_the_same(leader: KafkaConfigStore, worker: dict[str, str]) -> None:
    leader.put_connector_config("c", CONFIG, PAUSED)
    leader.put_task_configs("c", [{"a": "1"}])
    reducer = ConfigLogReducer()
    for record in raw_records(worker):
        reducer.apply(record.key, None if record.value is None else record.value.encode(), record.offset)
    assert reducer.snapshot() == leader.snapshot()
