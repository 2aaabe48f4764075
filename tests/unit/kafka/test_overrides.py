from __future__ import annotations

import pytest

from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError
from seamark.kafka.overrides import (
    OverridePolicy,
    check_override_policy,
    effective_client_config,
    sink_group_id,
    worker_client_config,
)

WORKER = {
    "bootstrap.servers": "a:1",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "ssl.truststore.type": "PEM",
    "group.id": "workers",
    "offset.storage.topic": "offsets",
    "request.timeout.ms": "1234",
    "producer.linger.ms": "9",
    "producer.batch.size": "1",
    "consumer.max.poll.records": "5",
    "admin.client.id": "boss",
}


def test_the_stronger_setting_wins() -> None:
    config = effective_client_config(
        "producer",
        WORKER,
        {"producer.override.linger.ms": "20", "consumer.override.x": "y"},
        connector_name="c",
        task=3,
    )
    assert config["linger.ms"] == "20"
    assert config["batch.size"] == "1"
    assert config["request.timeout.ms"] == "1234"
    assert (config["acks"], config["enable.idempotence"]) == ("all", "true")
    assert config["client.id"] == "connector-producer-c-3"
    assert not {"group.id", "offset.storage.topic", "x"} & set(config)


@pytest.mark.parametrize(
    ("role", "task", "expected"),
    [
        ("producer", 0, "connector-producer-c-0"),
        ("consumer", 1, "connector-consumer-c-1"),
        ("admin", None, "boss"),
        ("consumer", None, "connector-consumer-c"),
    ],
)
def test_client_ids_are_those_of_kafka_connect(role: str, task: int | None, expected: str) -> None:
    config = effective_client_config(role, WORKER, {}, connector_name="c", task=task)  # type: ignore[arg-type]
    assert config["client.id"] == expected


def test_consumers_start_at_the_beginning_and_commit_nothing_by_themselves() -> None:
    config = effective_client_config("consumer", WORKER, {}, connector_name="c", task=0)
    assert config["group.id"] == "connect-c"
    assert config["auto.offset.reset"] == "earliest"
    assert config["enable.auto.commit"] == "false"
    assert config["max.poll.records"] == "5"


@pytest.mark.parametrize(
    ("worker", "connector", "expected"),
    [
        ({}, {}, "connect-c"),
        ({"consumer.group.id": "w"}, {}, "w"),
        ({"consumer.group.id": "w"}, {"consumer.override.group.id": "o"}, "o"),
        ({"group.id": "workers"}, {}, "connect-c"),
    ],
)
def test_the_sinks_group(worker: dict[str, str], connector: dict[str, str], expected: str) -> None:
    assert sink_group_id(worker, connector, "c") == expected
    worker = {"bootstrap.servers": "a:1", **worker}
    assert effective_client_config("consumer", worker, connector, connector_name="c", task=0)["group.id"] == expected


def test_the_workers_security_goes_to_its_own_cluster_only() -> None:
    same = effective_client_config("producer", WORKER, {}, connector_name="c", task=0)
    assert same["security.protocol"] == "SASL_SSL"
    other = effective_client_config(
        "producer", WORKER, {"producer.override.bootstrap.servers": "b:1"}, connector_name="c", task=0
    )
    assert other["bootstrap.servers"] == "b:1"
    assert not {"security.protocol", "sasl.mechanism", "ssl.truststore.type"} & set(other)
    by_worker = worker_client_config("consumer", {**WORKER, "consumer.bootstrap.servers": "b:1"})
    assert "security.protocol" not in by_worker


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"acks": "1"}, "false"),
        ({"retries": "0"}, "false"),
        ({"max.in.flight.requests.per.connection": "10"}, "false"),
        ({"acks": "-1", "max.in.flight.requests.per.connection": "5"}, "true"),
        ({"acks": "1", "enable.idempotence": "true"}, "true"),
    ],
)
def test_idempotence_gives_way_unless_asked_for(settings: dict[str, str], expected: str) -> None:
    overrides = {f"producer.override.{key}": value for key, value in settings.items()}
    by_connector = effective_client_config("producer", WORKER, overrides, connector_name="c", task=0)
    assert by_connector["enable.idempotence"] == expected
    by_worker = effective_client_config(
        "producer", {**WORKER, **{f"producer.{k}": v for k, v in settings.items()}}, {}, connector_name="c", task=0
    )
    assert by_worker["enable.idempotence"] == expected


def test_a_transactional_id_of_the_users_own_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    connector = {"producer.override.transactional.id": "mine"}
    assert "transactional.id" not in effective_client_config("producer", WORKER, connector, connector_name="c", task=0)
    assert "transactional.id" in caplog.text


@pytest.mark.parametrize(
    ("policy", "key", "is_allowed"),
    [
        ("All", "producer.override.linger.ms", True),
        ("None", "producer.override.linger.ms", False),
        ("None", "producer.linger.ms", True),
        ("Principal", "consumer.override.sasl.jaas.config", True),
        ("Principal", "consumer.override.group.id", False),
        (
            "org.apache.kafka.connect.connector.policy.NoneConnectorClientConfigOverridePolicy",
            "admin.override.x",
            False,
        ),
        ("AllConnectorClientConfigOverridePolicy", "admin.override.x", True),
        ("Allowlist", "producer.override.linger.ms", True),
        ("Allowlist", "producer.override.acks", False),
    ],
)
def test_the_override_policy(policy: str, key: str, is_allowed: bool) -> None:
    allowlist = {"connector.client.config.override.allowlist": "linger.ms, batch.size"}
    worker = {**WORKER, **allowlist, "connector.client.config.override.policy": policy}
    if is_allowed:
        check_override_policy(worker, {key: "secret"})
    else:
        with pytest.raises(ConfigError) as error:
            effective_client_config("producer", worker, {key: "secret"}, connector_name="c", task=0)
        assert error.value.key == key
        assert "secret" not in str(error.value)


def test_an_unknown_policy_is_refused() -> None:
    settings = {"connector.client.config.override.policy": "com.example.OwnConnectorClientConfigOverridePolicy"}
    for read in (OverridePolicy.of, WorkerConfig):
        with pytest.raises(ConfigError, match="All, None, Principal, Allowlist"):
            read(settings)


def test_a_setting_that_is_no_number_is_a_config_error() -> None:
    connector = {"producer.override.max.in.flight.requests.per.connection": "many"}
    with pytest.raises(ConfigError):
        effective_client_config("producer", WORKER, connector, connector_name="c", task=0)
