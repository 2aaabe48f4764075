"""What is wrong with a worker's file."""

from __future__ import annotations

import pytest

from seamark.doctor.findings import Finding, Severity
from seamark.doctor.key_names import unknown_keys
from seamark.doctor.properties import is_standalone, judge_properties

FINE = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "orders",
    "config.storage.topic": "orders-configs",
    "offset.storage.topic": "orders-offsets",
    "status.storage.topic": "orders-status",
}


def judged(**changes: str | None) -> list[Finding]:
    named = {key.replace("__", "."): value for key, value in changes.items()}
    merged = {**FINE, **named}
    return judge_properties({key: value for key, value in merged.items() if value is not None})


def test_a_file_that_is_fine() -> None:
    (finding,) = judged()
    assert finding.severity is Severity.OK
    assert "seamark distributed" in finding.found


def test_a_file_with_an_offset_file_is_for_a_standalone_worker() -> None:
    standalone = {"offset.storage.file.filename": "offsets"}
    assert is_standalone(standalone)
    assert not is_standalone({**FINE, **standalone})
    (finding,) = judge_properties(standalone)
    assert "seamark standalone" in finding.found


def test_exactly_once_needs_a_distributed_worker() -> None:
    (finding,) = judge_properties({"offset.storage.file.filename": "offsets", "exactly.once.source.support": "enabled"})
    assert finding.severity is Severity.WARNING
    assert "no effect on a standalone worker" in finding.found


@pytest.mark.parametrize(
    ("changes", "severity", "said", "fix"),
    [
        ({"group__id": None}, Severity.ERROR, "`group.id` is missing", "Add `group.id="),
        ({"offset__storage__topic": None}, Severity.ERROR, "`offset.storage.topic` is missing", "offset.storage.topic"),
        ({"status__storage__topic": "orders-configs"}, Severity.ERROR, "each must be another", "three different"),
        ({"offset__flush__interval__ms": "soon"}, Severity.ERROR, "soon", "`offset.flush.interval.ms`"),
        ({"session__timeout__ms": "900"}, Severity.ERROR, "taken for dead", "`heartbeat.interval.ms`"),
        ({"seamark__lease__ms": "10"}, Severity.ERROR, "seamark.lease.interval.ms", "seamark.lease.interval.ms"),
        ({"ofset__flush__interval__ms": "1"}, Severity.WARNING, "looks like it", "`offset.flush.interval.ms`"),
        ({"seamark__nonsense": "1"}, Severity.WARNING, "not a key of Seamark", "Remove `seamark.nonsense`"),
        (
            {"connector__client__config__override__policy": "com.example.Mine"},
            Severity.ERROR,
            "com.example.Mine",
            "connector.client.config.override.policy",
        ),
        (
            {"connector__client__config__override__policy": "Allowlist"},
            Severity.WARNING,
            "its list is empty",
            "connector.client.config.override.allowlist",
        ),
        (
            {
                "connector__client__config__override__policy": "Allowlist",
                "connector__client__config__override__allowlist": "acks,compression.typ",
            },
            Severity.WARNING,
            "compression.typ, which is no setting",
            "Write compression.type",
        ),
        (
            {"connector__client__config__override__allowlist": "acks"},
            Severity.WARNING,
            "has no effect: the policy is All",
            "Allowlist",
        ),
        (
            {"security__protocol": "SSL", "ssl__truststore__location": "trust.jks"},
            Severity.ERROR,
            "A trust store of type JKS cannot be read",
            "ssl.truststore.type",
        ),
        ({"rest__extension__classes": "com.example.Guard"}, Severity.ERROR, "com.example.Guard", "rest.extension"),
    ],
)
def test_what_is_wrong_is_told_with_its_fix(
    changes: dict[str, str | None], severity: Severity, said: str, fix: str
) -> None:
    (finding,) = judged(**changes)
    assert finding.severity is severity
    assert said in finding.found
    assert fix in (finding.fix or "")


def test_a_misspelt_key_that_is_needed_is_told_twice() -> None:
    found = judged(offset__storage__topic=None, offset__storage__topics="orders-offsets")
    assert {finding.severity for finding in found} == {Severity.ERROR, Severity.WARNING}
    assert any("`offset.storage.topics` is not a key" in finding.found for finding in found)


def test_passwords_are_not_shown() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="s3cr3t"'
    found = judged(security__protocol="SASL_PLAINTEXT", sasl__mechanism="PLAIN", sasl__jaas__config=jaas + " ((")
    assert "s3cr3t" not in repr(found)


def test_unknown_keys_that_look_like_no_other_are_only_named() -> None:
    (*_, finding) = judged(my__own__thing="1")
    assert finding.severity is Severity.OK
    assert "my.own.thing" in finding.found


@pytest.mark.parametrize(
    "key",
    [
        "producer.batch.size",
        "producer.queue.buffering.max.kbytes",
        "consumer.max.poll.records",
        "admin.retries",
        "admin.listeners",
        "admin.listeners.https.ssl.keystore.location",
        "config.providers.file.class",
        "offset.storage.min.insync.replicas",
        "key.converter.schemas.enable",
        "spark.executor.cores",
        "scheduled.rebalance.max.delay.ms",
        "sasl.jaas.config",
        "client.id",
        "metrics.context.connect.group.id",
    ],
)
def test_keys_of_clients_topics_plugins_and_java_workers_are_known(key: str) -> None:
    assert unknown_keys({key: ""}) == []


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("producer.batch.sizes", "producer.batch.size"),
        ("offset.storage.partition", "offset.storage.partitions"),
        ("listeners.https.ssl.keystore.locatin", "listeners.https.ssl.keystore.location"),
        ("bootstrap.server", "bootstrap.servers"),
        ("exactly.once.support", "exactly.once.source.support"),
    ],
)
def test_what_was_meant_is_guessed(key: str, meant: str) -> None:
    (unknown,) = unknown_keys({key: ""})
    assert unknown.meant == meant
