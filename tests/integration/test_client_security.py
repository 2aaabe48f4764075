"""SASL and TLS settings, written as Java's, on a broker that insists on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.secured import settings
from seamark.errors import KafkaError
from seamark.kafka import TopicPartition, TopicSpec
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config
from seamark.kafka.log import LogRecord, TopicLog
from seamark.kafka.producer import RecordProducer


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
