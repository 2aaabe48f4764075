from __future__ import annotations

import pickle

import pytest

from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError


def test_defaults_are_those_of_kafka_connect() -> None:
    config = WorkerConfig({})
    assert config.bootstrap_servers is None
    assert (config.offset_flush_interval_ms, config.offset_flush_timeout_ms) == (60000, 5000)
    assert config.exactly_once_source_support == "disabled"
    assert config.exactly_once is False
    assert (config.offset_storage_partitions, config.status_storage_partitions) == (25, 5)
    assert config.offset_storage_replication_factor == 3
    assert config.key_converter == config.value_converter == "org.apache.kafka.connect.json.JsonConverter"
    assert config.header_converter == "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    assert config.task_shutdown_graceful_timeout_ms == 5000
    assert config.topic_creation_enable is True
    assert config.spark_master == "local[*]"


def test_defaults_of_the_engine() -> None:
    config = WorkerConfig({})
    assert (config.epoch_ms, config.idle_ms, config.idle_release) == (300000, 5000, "auto")
    assert (config.lease_ms, config.lease_interval_ms, config.local_slots) == (10000, 1000, 64)


def test_internal_topics_are_named_after_the_group() -> None:
    config = WorkerConfig({"group.id": "blue", "status.storage.topic": "s"})
    names = (config.config_storage_topic, config.offset_storage_topic, config.status_storage_topic)
    assert names == ("blue-configs", "blue-offsets", "s")


def test_keys_that_are_not_defined_are_kept() -> None:
    given = {"spark.master": "spark://h:1", "spark.executor.memory": "1g", "producer.linger.ms": "5", "x": "y"}
    config = WorkerConfig(given)
    assert config.raw == given
    assert config.spark_properties == {"spark.master": "spark://h:1", "spark.executor.memory": "1g"}
    assert config.spark_master == "spark://h:1"
    assert config.with_prefix("producer.") == {"linger.ms": "5"}


def test_it_cannot_be_changed_from_outside() -> None:
    config = WorkerConfig({"group.id": "a"})
    config.raw["group.id"] = "b"
    assert config.group_id == "a"
    with pytest.raises(AttributeError):
        config.group_id = "b"  # type: ignore[misc]


def test_it_travels_to_other_processes() -> None:
    config = WorkerConfig({"exactly.once.source.support": "ENABLED"})
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert copy.exactly_once is True
    assert hash(copy) == hash(config)


def test_secrets_are_not_shown() -> None:
    shown = repr(WorkerConfig({"sasl.jaas.config": "geheim", "ssl.key.password": "geheim", "group.id": "a"}))
    assert "geheim" not in shown
    assert "'group.id': 'a'" in shown


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ({"offset.flush.interval.ms": "often"}, "offset.flush.interval.ms"),
        ({"exactly.once.source.support": "maybe"}, "exactly.once.source.support"),
        ({"seamark.idle.release": "sometimes"}, "seamark.idle.release"),
        ({"seamark.local.slots": "0"}, "seamark.local.slots"),
        ({"seamark.lease.ms": "1000", "seamark.lease.interval.ms": "1000"}, "seamark.lease.interval.ms"),
    ],
)
def test_a_bad_value_names_its_key(properties: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        WorkerConfig(properties)
    assert caught.value.key == key


def test_a_connector_overrides_the_engines_keys_and_nothing_else() -> None:
    worker = WorkerConfig({"seamark.idle.ms": "1", "group.id": "a"})
    config = {"seamark.idle.ms": "2", "seamark.local.slots": "9", "group.id": "b", "offset.flush.interval.ms": "7"}
    changed = worker.for_connector(config)
    assert (changed.idle_ms, changed.local_slots, changed.group_id) == (2, 64, "a")
    assert changed.offset_flush_interval_ms == 60000
    assert worker.for_connector({"name": "x"}) is worker


def test_an_embedded_broker_gets_single_replicas_unless_told_otherwise() -> None:
    config = WorkerConfig({"status.storage.replication.factor": "2"}).with_embedded_broker("localhost:1")
    factors = (config.config_storage_replication_factor, config.offset_storage_replication_factor)
    assert factors == (1, 1)
    assert config.status_storage_replication_factor == 2
    assert config.bootstrap_servers == "localhost:1"
