"""SASL and TLS settings, written as Java's, on a broker that insists on them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seamark.errors import KafkaError
from seamark.kafka import TopicPartition, TopicSpec
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.broker_storage import free_port
from seamark.kafka.clients import effective_client_config
from seamark.kafka.log import LogRecord, TopicLog
from seamark.kafka.producer import RecordProducer

SECRET = "s3cr3t-word"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1, and a file with it and its key, as a PEM key store has them."""
    folder = tmp_path_factory.mktemp("certificate")
    key, certificate, store = folder / "key.pem", folder / "certificate.pem", folder / "store.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=seamark", "-days", "2",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    store.write_text(key.read_text() + certificate.read_text())
    return certificate, store


@pytest.fixture(scope="module")
def secured(certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bootstrap servers of a broker whose clients log in over TLS."""
    port, secure, controller = (free_port("127.0.0.1") for _ in range(3))
    folder = tmp_path_factory.mktemp("secured")
    extra = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},SECURE://127.0.0.1:{secure},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},SECURE://127.0.0.1:{secure}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": f'{MODULE} required user_alice="{SECRET}";',
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificate[1]),
    }
    with EmbeddedBroker(folder, port=port, heap="256m", extra_properties=extra):
        yield f"127.0.0.1:{secure}"


def settings(secured: str, certificate: tuple[Path, Path], password: str = SECRET) -> dict[str, str]:
    return {
        "bootstrap.servers": secured,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{MODULE} required username="alice" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificate[0]),
    }


@pytest.mark.slow
def test_every_client_of_a_connector_logs_in_with_the_workers_settings(
    secured: str, certificate: tuple[Path, Path]
) -> None:
    worker = settings(secured, certificate)
    producer, consumer, java_admin = (
        effective_client_config(role, worker, {}, connector_name="c", task=0)  # type: ignore[arg-type]
        for role in ("producer", "consumer", "admin")
    )
    records: list[LogRecord] = []
    spec = TopicSpec("secured-log", 1, 1, {"cleanup.policy": "compact"})
    log = TopicLog(
        "secured-log",
        consumer_config=consumer,
        producer_config=producer,
        admin_config=java_admin,
        spec=spec,
        on_record=records.append,
    )
    log.start()
    try:
        log.append_all([(b"k", b"v")])
        log.read_to_end()
    finally:
        log.stop()
    assert [record.value for record in records] == [b"v"]
    where = TopicPartition("secured-log", 0)
    with Admin(java_admin) as admin:
        admin.alter_group_offsets("g", {where: 1})
        admin.delete_group_offsets("g", [where])  # the request that goes through the other client library
        assert admin.group_offsets("g") == {}


@pytest.mark.slow
def test_a_wrong_password_is_a_clear_error_without_the_password(
    secured: str, certificate: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    wrong = "wr0ng-word"
    with Admin(settings(secured, certificate, wrong)) as admin:
        for attempt in (
            lambda: admin.list_topics(timeout_s=3),
            lambda: admin.delete_group_offsets("g", [TopicPartition("t", 0)], timeout_s=3),
        ):
            with pytest.raises(KafkaError) as error:
                attempt()
            assert secured in str(error.value)
            assert not error.value.retriable
            assert wrong not in f"{error.value!s}{error.value.__cause__!r}"
    with RecordProducer(settings(secured, certificate, wrong)) as producer:
        producer.send("t", b"v")
        with pytest.raises(KafkaError, match="did not accept the login"):
            producer.flush(3)
        producer.close(0)
    with RecordProducer(settings(secured, certificate, wrong), "tx") as producer:
        with pytest.raises(KafkaError, match="did not accept the login"):
            producer.init_transactions(3)
    assert wrong not in caplog.text


@pytest.mark.slow
def test_a_broker_with_an_unknown_certificate_is_not_trusted(secured: str, certificate: tuple[Path, Path]) -> None:
    config = settings(secured, certificate)
    del config["ssl.truststore.type"], config["ssl.truststore.location"]
    with Admin(config) as admin, pytest.raises(KafkaError, match=secured):
        admin.list_topics(timeout_s=3)
