"""Java's settings as librdkafka's. librdkafka itself judges the results: every client here is really made."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from seamark.errors import ConfigError
from seamark.kafka.clients import (
    Role,
    effective_client_config,
    librdkafka_config,
    make_client,
    max_poll_records,
    redacted,
)
from seamark.kafka.security import kafka_python_config, parse_jaas

SERVERS = {"bootstrap.servers": "localhost:1"}
SECRET = "s3cr3t-word"
PLAIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{SECRET}";'


def made(java: Mapping[str, str], role: Role) -> dict[str, Any]:
    """The settings, after librdkafka has accepted them."""
    config = librdkafka_config(java, role)
    quiet = {**config, "logger": logging.getLogger("test"), "log_level": "0"}
    if role == "producer":
        confluent_kafka.Producer(quiet)
    elif role == "consumer":
        confluent_kafka.Consumer({"group.id": "g", **quiet}).close()
    else:
        AdminClient(quiet)
    return config


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A key, its certificate, and a PKCS12 store with both."""
    folder = tmp_path_factory.mktemp("pem")
    key, certificate, store = folder / "key.pem", folder / "certificate.pem", folder / "store.p12"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        ["openssl", "pkcs12", "-export", "-inkey", str(key), "-in", str(certificate), "-out", str(store),
         "-passout", f"pass:{SECRET}"],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, certificate, store


def test_what_connect_sets_for_a_producer_is_accepted() -> None:
    java = effective_client_config("producer", SERVERS, {}, connector_name="c", task=0)
    config = made({**java, "max.block.ms": str(2**63 - 1)}, "producer")
    assert config["delivery.timeout.ms"] == 2**31 - 1
    assert config["acks"] == "all"
    assert config["partitioner"] == "murmur2_random"
    assert config["client.id"] == "connector-producer-c-0"
    assert "max.block.ms" not in config


@pytest.mark.parametrize(
    ("role", "java", "expected"),
    [
        ("producer", {"buffer.memory": "33554432"}, {"queue.buffering.max.kbytes": 32768}),
        ("producer", {"buffer.memory": "1"}, {"queue.buffering.max.kbytes": 1}),
        ("producer", {"batch.size": "0", "linger.ms": "7"}, {"batch.size": 1, "linger.ms": 7}),
        ("producer", {"max.request.size": "2000000"}, {"message.max.bytes": 2000000}),
        ("producer", {"compression.type": "zstd", "compression.zstd.level": "5"}, {"compression.level": 5}),
        ("producer", {"delivery.timeout.ms": str(2**63 - 1)}, {"delivery.timeout.ms": 2**31 - 1}),
        ("producer", {"request.timeout.ms": "30000", "retries": "2147483647"}, {"request.timeout.ms": 30000}),
        ("producer", {"partitioner": "consistent"}, {"partitioner": "consistent"}),
        ("producer", {"statistics.interval.ms": "5"}, {"statistics.interval.ms": "5"}),
        (
            "producer",
            {"transactional.id": "t", "delivery.timeout.ms": "2147483647", "transaction.timeout.ms": "9000"},
            {"delivery.timeout.ms": 9000, "transactional.id": "t"},
        ),
        ("consumer", {"max.poll.interval.ms": "1000"}, {"max.poll.interval.ms": 45000}),
        (
            "consumer",
            {"fetch.max.wait.ms": "10", "fetch.min.bytes": "0"},
            {"fetch.wait.max.ms": 10, "fetch.min.bytes": 1},
        ),
        ("consumer", {"fetch.max.bytes": "100"}, {"fetch.max.bytes": 1000000}),
        ("consumer", {"max.partition.fetch.bytes": "77"}, {"max.partition.fetch.bytes": 77}),
        ("consumer", {"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        ("consumer", {"auto.offset.reset": "Earliest"}, {"auto.offset.reset": "earliest"}),
        ("consumer", {"isolation.level": "READ_COMMITTED"}, {"isolation.level": "read_committed"}),
        ("consumer", {}, {"isolation.level": "read_uncommitted"}),
        ("consumer", {"request.timeout.ms": "30000"}, {"socket.timeout.ms": 30000}),
        (
            "consumer",
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor, roundrobin"},
            {"partition.assignment.strategy": "range,roundrobin"},
        ),
        (
            "consumer",
            {
                "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor,"
                "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
            },
            {"partition.assignment.strategy": "cooperative-sticky"},
        ),
        ("admin", {"request.timeout.ms": "2147483647"}, {"socket.timeout.ms": 300000}),
        ("admin", {"metadata.max.age.ms": "9000", "client.id": "x"}, {"metadata.max.age.ms": 9000, "client.id": "x"}),
        ("admin", {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "1000"}, {"reconnect.backoff.ms": 50}),
        ("admin", {"send.buffer.bytes": "-1"}, {"socket.send.buffer.bytes": 0}),
    ],
)
def test_java_settings_are_translated(role: Role, java: dict[str, str], expected: dict[str, Any]) -> None:
    config = made({**SERVERS, **java}, role)
    assert {key: config[key] for key in expected} == expected


@pytest.mark.parametrize("role", ["producer", "consumer", "admin"])
def test_keys_without_meaning_here_are_left_out(role: Role) -> None:
    foreign = {
        "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
        "value.deserializer": "x",
        "interceptor.classes": "x",
        "metric.reporters": "x",
        "max.block.ms": "1",
        "max.poll.records": "500",
        "offset.storage.topic": "x",
        "security.providers": "x",
        "ssl.truststore.location": "/no/such.jks",  # unused: the protocol is plain
        "sasl.jaas.config": PLAIN,
    }
    assert not set(foreign) & set(made({**SERVERS, **foreign}, role))


@pytest.mark.parametrize(
    ("role", "java", "key"),
    [
        ("producer", {}, "bootstrap.servers"),
        ("producer", {"bootstrap.servers": " , "}, None),
        ("producer", {**SERVERS, "linger.ms": "soon"}, "linger.ms"),
        ("producer", {**SERVERS, "enable.idempotence": "true", "max.in.flight.requests.per.connection": "6"},
         "max.in.flight.requests.per.connection"),
        ("producer", {**SERVERS, "linger.ms": "100", "delivery.timeout.ms": "50"}, "delivery.timeout.ms"),
        ("consumer", {**SERVERS, "auto.offset.reset": "sometimes"}, "auto.offset.reset"),
        ("admin", {**SERVERS, "security.protocol": "TELNET"}, "security.protocol"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(role: Role, java: dict[str, str], key: str | None) -> None:
    with pytest.raises(ConfigError) as error:
        librdkafka_config(java, role)
    assert key is None or error.value.key == key


def test_a_value_that_librdkafka_does_not_know_is_a_config_error() -> None:
    config = librdkafka_config({**SERVERS, "compression.type": "brotli"}, "producer")
    with pytest.raises(ConfigError, match="compression"):
        make_client(confluent_kafka.Producer, config)


# --- SASL ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule"),
        ("SCRAM-SHA-512", "org.apache.kafka.common.security.scram.ScramLoginModule"),
    ],
)
def test_a_jaas_login_becomes_user_and_password(mechanism: str, module: str) -> None:
    java = {
        **SERVERS,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} required\n  username="alice" password="a\\"b;c=d e";',
    }
    config = made(java, "producer")
    assert config["sasl.mechanism"] == mechanism
    assert (config["sasl.username"], config["sasl.password"]) == ("alice", 'a"b;c=d e')
    assert "sasl.jaas.config" not in config
    ours = kafka_python_config(java)
    assert (ours["sasl_plain_username"], ours["sasl_plain_password"]) == ("alice", 'a"b;c=d e')


def test_an_oauth_login_becomes_a_client_id_and_secret() -> None:
    config = made(
        {
            **SERVERS,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "https://localhost:1/token",
            "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            f"clientId='me' clientSecret={SECRET} scope='kafka' ;",
        },
        "consumer",
    )
    assert config["sasl.oauthbearer.client.id"] == "me"
    assert config["sasl.oauthbearer.client.secret"] == SECRET
    assert config["sasl.oauthbearer.method"] == "oidc"


def test_jaas_options_keep_their_values() -> None:
    module, options = parse_jaas('a.b.C required one="1" two=\'2\' three=3 empty="";')
    assert module == "a.b.C"
    assert options == {"one": "1", "two": "2", "three": "3", "empty": ""}


@pytest.mark.parametrize(
    "jaas",
    [
        f"password={SECRET}",
        f'com.example.OwnLoginModule required password="{SECRET}";',
        f'org.apache.kafka.common.security.plain.PlainLoginModule required password="{SECRET}";',
    ],
)
def test_a_login_that_cannot_be_used_is_refused_without_its_secret(jaas: str) -> None:
    with pytest.raises(ConfigError) as error:
        librdkafka_config({**SERVERS, "security.protocol": "SASL_SSL", "sasl.jaas.config": jaas}, "admin")
    assert error.value.key == "sasl.jaas.config"
    assert SECRET not in f"{error.value!s} {error.value!r} {error.value.value}"


def test_secrets_are_hidden_in_logs() -> None:
    secret_keys = ["sasl.password", "sasl.jaas.config", "ssl.key.password", "ssl.keystore.password", "ssl.key.pem",
                   "ssl.keystore.key", "sasl.oauthbearer.client.secret"]  # fmt: skip
    shown = redacted({**dict.fromkeys(secret_keys, SECRET), "ssl.ca.location": "/ca", "sasl.username": "alice"})
    assert SECRET not in str(shown)
    assert shown["ssl.ca.location"] == "/ca"
    assert shown["sasl.username"] == "alice"


# --- TLS ----------------------------------------------------------------------------------------------------


def test_pem_stores_in_files_are_accepted(pem: tuple[Path, Path, Path], tmp_path: Path) -> None:
    both = tmp_path / "both.pem"  # Java keeps key and chain in one file
    both.write_text(pem[0].read_text() + pem[1].read_text())
    java = {
        **SERVERS,
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(pem[1]),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
        "ssl.endpoint.identification.algorithm": "",
        "ssl.enabled.protocols": "TLSv1.3",
        "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384",
    }
    config = made(java, "admin")
    assert config["ssl.ca.location"] == str(pem[1])
    assert config["ssl.certificate.location"] == config["ssl.key.location"] == str(both)
    assert config["ssl.endpoint.identification.algorithm"] == "none"
    context = kafka_python_config(java)["ssl_context"]
    assert not context.check_hostname
    assert len(context.get_ca_certs()) == 1


def test_pem_stores_in_the_settings_are_accepted(pem: tuple[Path, Path, Path]) -> None:
    java = {
        **SERVERS,
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": pem[1].read_text(),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": pem[0].read_text(),
        "ssl.keystore.certificate.chain": pem[1].read_text(),
    }
    config = made(java, "producer")
    assert config["ssl.ca.pem"] == pem[1].read_text()
    assert config["ssl.key.pem"] == pem[0].read_text()
    assert kafka_python_config(java)["ssl_context"].check_hostname


def test_a_pkcs12_key_store_is_accepted(pem: tuple[Path, Path, Path]) -> None:
    java = {
        **SERVERS,
        "security.protocol": "SSL",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(pem[2]),
        "ssl.keystore.password": SECRET,
    }
    assert made(java, "consumer")["ssl.keystore.location"] == str(pem[2])
    with pytest.raises(ConfigError, match="PEM"):
        kafka_python_config(java)


@pytest.mark.parametrize("store", ["truststore", "keystore"])
@pytest.mark.parametrize("kind", [None, "JKS"])
def test_a_jks_store_is_refused_with_the_way_out(store: str, kind: str | None) -> None:
    java = {**SERVERS, "security.protocol": "SSL", f"ssl.{store}.location": "/a.jks", f"ssl.{store}.password": SECRET}
    if kind:
        java[f"ssl.{store}.type"] = kind
    with pytest.raises(ConfigError, match="PEM") as error:
        librdkafka_config(java, "consumer")
    assert error.value.key == f"ssl.{store}.type"
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(("value", "records"), [("7", 7), (" 500 ", 500), ("", None), (None, None)])
def test_records_of_one_poll(value: str | None, records: int | None) -> None:
    assert max_poll_records({} if value is None else {"max.poll.records": value}) == records


@pytest.mark.parametrize("value", ["0", "-3", "many"])
def test_records_of_one_poll_that_cannot_be(value: str) -> None:
    with pytest.raises(ConfigError, match=r"^Invalid value .* for configuration max\.poll\.records: "):
        max_poll_records({"max.poll.records": value})
