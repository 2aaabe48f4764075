"""Whether a Kafka cluster is fit for workers: its brokers, their versions and settings, and its own topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from seamark.doctor.findings import Finding, error, ok, skipped, warning
from seamark.kafka.inspection import (
    GROUPS_TOPIC,
    TRANSACTIONS_TOPIC,
    BrokerApis,
    ClusterDescription,
    InspectedTopic,
)

KAFKA: Final = "kafka"
TRANSACTIONS: Final = "transactions"
_LATEST_TIMES: Final = (3, 0)
_GROUPS_RF, _GROUPS_ISR = "offsets.topic.replication.factor", "min.insync.replicas"
_TRANSACTIONS_RF, _TRANSACTIONS_ISR = "transaction.state.log.replication.factor", "transaction.state.log.min.isr"


@dataclass(frozen=True, slots=True)
class Addresses:
    """What became of connecting to addresses: None where it worked, else the reason why not."""

    bootstrap: Mapping[str, str | None]
    advertised: Mapping[str, str | None]


def judge_reachability(cluster: ClusterDescription, addresses: Addresses) -> list[Finding]:
    """A cluster that has answered; its brokers tell clients where to go next, and that may lead nowhere."""
    found = []
    for address, reason in addresses.advertised.items():
        if reason is not None:
            found.append(
                error(
                    KAFKA,
                    f"A broker tells its clients to connect to {address}, and from here that fails: {reason}.",
                    "Set `advertised.listeners` of that broker to an address that this machine reaches, or open the "
                    "way to it.",
                )
            )
    for address, reason in addresses.bootstrap.items():
        if reason is not None:
            found.append(
                warning(
                    KAFKA,
                    f"bootstrap.servers names {address}, which cannot be reached: {reason}.",
                    f"Remove {address} from `bootstrap.servers`, or start that broker.",
                )
            )
    count = len(cluster.brokers)
    brokers = f"{count} broker{'s' if count != 1 else ''}"
    return found or [ok(KAFKA, f"Kafka cluster {cluster.cluster_id} answers, with {brokers}.")]


def judge_apis(apis: BrokerApis) -> list[Finding]:
    """What brokers can do."""
    version = ".".join(map(str, apis.version))
    if not apis.has_transactions:
        return [
            error(
                TRANSACTIONS,
                f"The brokers (Kafka {version}) have no transactions, in which the leader writes configurations.",
                "Use brokers of Kafka 3.0 or later.",
            )
        ]
    if apis.version < _LATEST_TIMES:
        return [
            warning(
                KAFKA,
                f"The brokers speak Kafka {version}; they cannot be asked for the latest timestamp of a partition, so "
                "timelines of offsets lack it.",
                "Upgrade the brokers to Kafka 3.0 or later.",
            )
        ]
    return [ok(KAFKA, f"The brokers speak Kafka {version}, and have transactions.")]


def judge_own_topics(
    cluster: ClusterDescription, topics: Mapping[str, InspectedTopic | None], settings: Mapping[str, str] | None
) -> list[Finding]:
    """The cluster's own topics, without which there are no groups and no transactions.

    Args:
        cluster: whose they are.
        topics: those of `GROUPS_TOPIC` and `TRANSACTIONS_TOPIC`; None if there is none yet.
        settings: of a broker; None if they could not be read.
    """
    found = [
        *_own_topic(cluster, GROUPS_TOPIC, topics.get(GROUPS_TOPIC), settings, _GROUPS_RF, _GROUPS_ISR, "groups"),
        *_own_topic(
            cluster,
            TRANSACTIONS_TOPIC,
            topics.get(TRANSACTIONS_TOPIC),
            settings,
            _TRANSACTIONS_RF,
            _TRANSACTIONS_ISR,
            "transactions",
        ),
    ]
    return found or [ok(TRANSACTIONS, f"{GROUPS_TOPIC} and {TRANSACTIONS_TOPIC} are fit for groups and transactions.")]


def _own_topic(
    cluster: ClusterDescription,
    name: str,
    topic: InspectedTopic | None,
    settings: Mapping[str, str] | None,
    factor_key: str,
    isr_key: str,
    what: str,
) -> Iterator[Finding]:
    brokers = len(cluster.brokers)
    if topic is None and settings is None:
        yield skipped(
            TRANSACTIONS,
            f"{name} does not exist yet, and whether it could be created is not known: the settings of the brokers may "
            "not be read.",
        )
        return
    if topic is None:
        factor = int((settings or {}).get(factor_key, "1"))
        if factor > brokers:
            yield error(
                TRANSACTIONS,
                f"{name} does not exist and cannot be created: {factor_key} is {factor}, and there "
                f"{'is' if brokers == 1 else 'are'} {brokers} broker{'s' if brokers != 1 else ''}. Without it there "
                f"are no {what}.",
                f"Set `{factor_key}={brokers}` on the brokers, or start more of them.",
            )
            return
        replicas = factor
    else:
        replicas = topic.replication_factor
        if topic.leaderless:
            yield error(
                TRANSACTIONS,
                f"{topic.leaderless} of the {topic.partitions} partitions of {name} have no leader: some {what} do not "
                "work now.",
                "Start the brokers that hold their replicas.",
            )
    lowest = int((settings or {}).get(isr_key, "1"))
    if lowest > replicas:
        yield error(
            TRANSACTIONS,
            f"{isr_key} is {lowest}, and {name} has {replicas} replica{'s' if replicas != 1 else ''}: nothing can be "
            "written to it.",
            f"Set `{isr_key}={max(1, replicas - 1)}` on the brokers.",
        )
    elif replicas == 1 and brokers > 1:
        yield warning(
            TRANSACTIONS,
            f"{name} has one replica on a cluster of {brokers} brokers: with that broker, {what} are lost.",
            f"Raise its replicas with `kafka-reassign-partitions.sh`, and set `{factor_key}={min(3, brokers)}`.",
        )


def judge_settings(worker: Mapping[str, str], session_timeout_ms: int, settings: Mapping[str, str]) -> list[Finding]:
    """What brokers refuse of the worker's timeouts.

    Args:
        worker: its properties.
        session_timeout_ms: `session.timeout.ms` of the group of workers.
        settings: of a broker.
    """
    found = []
    lowest = int(settings.get("group.min.session.timeout.ms", "0"))
    highest = int(settings.get("group.max.session.timeout.ms", str(2**31 - 1)))
    if not lowest <= session_timeout_ms <= highest:
        found.append(
            error(
                KAFKA,
                f"session.timeout.ms is {session_timeout_ms}; the brokers take {lowest} to {highest}.",
                f"Set `session.timeout.ms={min(max(session_timeout_ms, lowest), highest)}`.",
            )
        )
    limit = int(settings.get("transaction.max.timeout.ms", str(2**31 - 1)))
    wanted = worker.get("producer.transaction.timeout.ms", "").strip()
    if wanted.isdigit() and int(wanted) > limit:
        found.append(
            error(
                TRANSACTIONS,
                f"producer.transaction.timeout.ms is {wanted}; the brokers take at most {limit}.",
                f"Set `producer.transaction.timeout.ms={limit}`, or raise `transaction.max.timeout.ms` of the brokers.",
            )
        )
    return found
