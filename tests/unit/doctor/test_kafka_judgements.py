"""What is said about brokers, internal topics, permissions and groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamark.doctor.brokers import (
    Addresses,
    judge_apis,
    judge_own_topics,
    judge_reachability,
    judge_settings,
)
from seamark.doctor.findings import Severity
from seamark.doctor.groups import judge_group
from seamark.doctor.internal_topics import Seen, WantedTopic, judge_topic
from seamark.doctor.permissions import judge_permissions
from seamark.errors import KafkaError
from seamark.kafka.inspection import (
    GROUPS_TOPIC,
    TRANSACTIONS_TOPIC,
    Broker,
    BrokerApis,
    ClusterDescription,
    InspectedGroup,
    InspectedTopic,
)
from seamark.kafka.topic_partitions import TopicSpec
from unit.doctor.severities import ERROR, OK, SKIPPED, WARNING, severities

CONFIGS = WantedTopic(
    "config.storage.topic", "config.storage.replication.factor", TopicSpec("configs", 1, 3), is_single=True
)
OFFSETS = WantedTopic(
    "offset.storage.topic", "offset.storage.replication.factor", TopicSpec("offsets", 25, 3), has_slots=True
)
COMPACT = {"cleanup.policy": "compact", "min.insync.replicas": "2"}


def cluster(brokers: int) -> ClusterDescription:
    return ClusterDescription("id", tuple(Broker(number, f"b{number}", 9092) for number in range(brokers)), None)


# brokers


def test_a_broker_that_sends_clients_elsewhere_is_an_error() -> None:
    addresses = Addresses({"lb:9092": None}, {"b0:9092": "the name b0 is not known"})
    (finding,) = judge_reachability(cluster(1), addresses)
    assert finding.severity is ERROR
    assert "b0:9092" in finding.found
    assert "advertised.listeners" in (finding.fix or "")


def test_one_dead_bootstrap_server_of_two_is_a_warning() -> None:
    addresses = Addresses({"a:9092": None, "b:9092": "connection refused"}, {"b0:9092": None})
    assert severities(judge_reachability(cluster(1), addresses)) == [WARNING]


def test_brokers_need_transactions() -> None:
    assert severities(judge_apis(BrokerApis((0, 10), has_transactions=False))) == [ERROR]
    assert severities(judge_apis(BrokerApis((2, 8), has_transactions=True))) == [WARNING]
    assert severities(judge_apis(BrokerApis((4, 2), has_transactions=True))) == [OK]


@pytest.mark.parametrize(
    ("brokers", "settings", "expected"),
    [
        (1, {"transaction.state.log.replication.factor": "3", "offsets.topic.replication.factor": "1"}, [ERROR]),
        (1, {"transaction.state.log.replication.factor": "3", "offsets.topic.replication.factor": "3"}, [ERROR, ERROR]),
        (3, {"transaction.state.log.replication.factor": "3", "offsets.topic.replication.factor": "3"}, [OK]),
        (3, {"transaction.state.log.replication.factor": "1", "offsets.topic.replication.factor": "3"}, [WARNING]),
        (1, {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "2"}, [ERROR]),
        (1, None, [SKIPPED, SKIPPED]),
    ],
)
def test_own_topics_that_do_not_exist_yet(
    brokers: int, settings: dict[str, str] | None, expected: list[Severity]
) -> None:
    missing = {GROUPS_TOPIC: None, TRANSACTIONS_TOPIC: None}
    assert severities(judge_own_topics(cluster(brokers), missing, settings)) == expected


def test_own_topics_that_exist() -> None:
    groups = InspectedTopic(GROUPS_TOPIC, 50, 3)
    transactions = InspectedTopic(TRANSACTIONS_TOPIC, 50, 3)
    fine = {GROUPS_TOPIC: groups, TRANSACTIONS_TOPIC: transactions}
    assert severities(judge_own_topics(cluster(3), fine, None)) == [OK]
    lost = {**fine, TRANSACTIONS_TOPIC: replace(transactions, leaderless=4)}
    (finding,) = judge_own_topics(cluster(3), lost, {})
    assert (finding.severity, "4 of the 50" in finding.found) == (ERROR, True)


def test_timeouts_that_brokers_refuse() -> None:
    settings = {
        "group.min.session.timeout.ms": "6000",
        "group.max.session.timeout.ms": "30000",
        "transaction.max.timeout.ms": "900000",
    }
    assert judge_settings({}, 10_000, settings) == []
    (short,) = judge_settings({}, 1000, settings)
    assert short.fix == "Set `session.timeout.ms=6000`."
    (long,) = judge_settings({"producer.transaction.timeout.ms": "1000000"}, 10_000, settings)
    assert "at most 900000" in long.found


# internal topics


@pytest.mark.parametrize(
    ("wanted", "topic", "settings", "brokers", "expected", "said"),
    [
        (CONFIGS, InspectedTopic("configs", 1, 3), COMPACT, 3, [OK], "1 partition, 3 replicas"),
        (OFFSETS, InspectedTopic("offsets", 25, 3), COMPACT, 3, [OK], "25 partitions"),
        (CONFIGS, InspectedTopic("configs", 3, 3), COMPACT, 3, [ERROR], "has 3 partitions and must have one"),
        (OFFSETS, InspectedTopic("offsets", 1, 3), COMPACT, 3, [WARNING], "all connectors run on one worker"),
        (CONFIGS, InspectedTopic("configs", 1, 3), {**COMPACT, "cleanup.policy": "delete"}, 3, [ERROR], "=delete"),
        (
            CONFIGS,
            InspectedTopic("configs", 1, 3),
            {**COMPACT, "cleanup.policy": "compact,delete"},
            3,
            [ERROR],
            "=compact,delete",
        ),
        (CONFIGS, InspectedTopic("configs", 1, 3), None, 3, [SKIPPED], "may not be read"),
        (CONFIGS, InspectedTopic("configs", 1, 1), {"cleanup.policy": "compact"}, 3, [WARNING], "one replica"),
        (CONFIGS, InspectedTopic("configs", 1, 1), {"cleanup.policy": "compact"}, 1, [OK], "1 replica"),
        (CONFIGS, InspectedTopic("configs", 1, 1), COMPACT, 1, [ERROR], "nothing can be written"),
        (CONFIGS, InspectedTopic("configs", 1, 2), COMPACT, 2, [WARNING], "while one broker is away"),
        (
            CONFIGS,
            InspectedTopic("configs", 1, 3),
            {**COMPACT, "min.insync.replicas": "1"},
            3,
            [WARNING],
            "counts as written",
        ),
        (CONFIGS, InspectedTopic("configs", 1, 3, leaderless=1), COMPACT, 3, [ERROR], "no leader"),
        (CONFIGS, InspectedTopic("configs", 1, 3, under_replicated=1), COMPACT, 3, [WARNING], "in sync"),
    ],
)
def test_a_topic_that_exists(
    wanted: WantedTopic,
    topic: InspectedTopic,
    settings: dict[str, str] | None,
    brokers: int,
    expected: list[Severity],
    said: str,
) -> None:
    found = judge_topic(wanted, Seen(topic, settings), brokers, "kafka:9092")
    assert severities(found) == expected
    assert said in found[0].found


def test_a_topic_with_several_faults_has_a_finding_for_each() -> None:
    found = judge_topic(CONFIGS, Seen(InspectedTopic("configs", 3, 1), {"cleanup.policy": "delete"}), 3, "kafka:9092")
    assert severities(found) == [ERROR, ERROR, WARNING]


@pytest.mark.parametrize(
    ("code", "expected", "fix"),
    [
        (None, OK, None),
        ("INVALID_REPLICATION_FACTOR", ERROR, "Set `config.storage.replication.factor=1`."),
        ("TOPIC_AUTHORIZATION_FAILED", ERROR, "kafka-topics.sh --bootstrap-server kafka:9092 --create --topic configs"),
        ("POLICY_VIOLATION", ERROR, "Create configs by hand"),
    ],
)
def test_a_topic_that_does_not_exist(code: str | None, expected: Severity, fix: str | None) -> None:
    problem = None if code is None else KafkaError("refused", code=code)
    (finding,) = judge_topic(CONFIGS, Seen(None, creation_problem=problem), 1, "kafka:9092")
    assert finding.severity is expected
    assert (fix or "") in (finding.fix or "")


# permissions


ALL = frozenset({"DESCRIBE", "READ", "WRITE", "DESCRIBE_CONFIGS"})


def test_all_that_is_allowed_is_one_finding() -> None:
    found = judge_permissions({"configs": ALL}, {"orders": ALL}, {"id": True}, "User:me", "kafka:9092")
    assert severities(found) == [OK]


def test_what_is_not_allowed_comes_with_the_command_that_allows_it() -> None:
    topics = {"configs": ALL - {"WRITE"}, "offsets": ALL - {"DESCRIBE_CONFIGS"}}
    found = judge_permissions(topics, {"orders": frozenset()}, {"id": False}, "User:me", "kafka:9092")
    assert severities(found) == [ERROR, ERROR, WARNING, ERROR]
    assert found[0].found == "User:me may not write topic configs."
    assert "--allow-principal User:me --operation Write --topic configs" in (found[0].fix or "")
    assert "--operation Describe --operation Read --group orders" in (found[1].fix or "")
    assert "--operation DescribeConfigs --topic offsets" in (found[2].fix or "")
    assert "--transactional-id id" in (found[3].fix or "")


def test_what_the_cluster_does_not_tell_is_said() -> None:
    found = judge_permissions({"configs": None}, {"orders": None}, {"id": None}, "User:me", "kafka:9092")
    assert severities(found) == [SKIPPED]
    for name in ("topic configs", "group orders", "transactional id id"):
        assert name in found[0].found


# groups


@pytest.mark.parametrize(
    ("group", "expected", "said"),
    [
        (None, OK, "Nobody uses"),
        (InspectedGroup("connect", "Stable"), ERROR, "cannot be mixed"),
        (InspectedGroup("connect", "Empty"), OK, "can take over"),
        (InspectedGroup("consumer", "Stable", "classic", ("orders@http://w1:8083",)), OK, "http://w1:8083"),
        (InspectedGroup("consumer", "Stable", "classic", ("an-app",)), ERROR, "an-app"),
        (InspectedGroup("consumer", "Empty", "classic", ()), OK, "no members"),
        (InspectedGroup("consumer", "Stable", "consumer"), ERROR, "of another kind"),
        (InspectedGroup("share", "Stable", "share"), ERROR, "of another kind"),
        (InspectedGroup("consumer", "Stable", "classic"), WARNING, "could not be asked"),
    ],
)
def test_who_is_in_the_group(group: InspectedGroup | None, expected: Severity, said: str) -> None:
    finding = judge_group("orders", group)
    assert finding.severity is expected
    assert said in finding.found
    assert (finding.fix is None) == (expected is OK)
