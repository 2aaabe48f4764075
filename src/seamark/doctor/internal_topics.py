"""The topics in which workers and mirrors keep what they know: there and as they must be, or at least creatable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from seamark.doctor.findings import Finding, error, ok, skipped, warning
from seamark.errors import KafkaError
from seamark.kafka.inspection import InspectedTopic
from seamark.kafka.topic_partitions import BROKER_DEFAULT, TopicSpec

CHECK: Final = "internal topics"
_COMPACT: Final = frozenset({"compact"})
_FORBIDDEN: Final = frozenset({"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"})
_BAD_FACTOR: Final = frozenset({"INVALID_REPLICATION_FACTOR"})


@dataclass(frozen=True, slots=True)
class WantedTopic:
    """A topic that there has to be.

    Attributes:
        setting: the key that names it; empty for one whose name is fixed by others.
        factor_key: the key of its replication factor.
        spec: how it is created.
        is_single: it must have one partition.
        has_slots: its partitions are spread over workers, and connectors with them.
    """

    setting: str
    factor_key: str
    spec: TopicSpec
    is_single: bool = False
    has_slots: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is of a wanted topic.

    Attributes:
        topic: None if there is none.
        settings: of the topic; None if they may not be read.
        creation_problem: of a topic that does not exist, why it could not be created; None if it could.
    """

    topic: InspectedTopic | None
    settings: Mapping[str, str] | None = None
    creation_problem: KafkaError | None = None


def judge_topic(wanted: WantedTopic, seen: Seen, brokers: int, servers: str) -> list[Finding]:
    """One topic.

    Args:
        wanted: what it should be.
        seen: what it is.
        brokers: how many the cluster has.
        servers: its bootstrap servers, for the commands that mend something.
    """
    if seen.topic is None:
        return [_missing(wanted, seen.creation_problem, brokers, servers)]
    found = [
        *_partitions(wanted, seen.topic, servers),
        *_cleanup(wanted, seen.settings, servers),
        *_replicas(wanted, seen.topic, seen.settings, brokers, servers),
    ]
    if found:
        return found
    count, replicas = seen.topic.partitions, seen.topic.replication_factor
    return [
        ok(
            CHECK,
            f"{_named(wanted)} exists: {count} partition{'s' if count != 1 else ''}, {replicas} "
            f"replica{'s' if replicas != 1 else ''}, compacted.",
        )
    ]


def _missing(wanted: WantedTopic, problem: KafkaError | None, brokers: int, servers: str) -> Finding:
    spec = wanted.spec
    if problem is None:
        count = "the brokers' default of" if spec.partitions == BROKER_DEFAULT else str(spec.partitions)
        return ok(CHECK, f"{_named(wanted)} does not exist; it can be created, with {count} partition(s).")
    if problem.code in _BAD_FACTOR:
        return error(
            CHECK,
            f"{_named(wanted)} does not exist and cannot be created with {spec.replication_factor} replicas: there "
            f"{'is' if brokers == 1 else 'are'} {brokers} broker{'s' if brokers != 1 else ''}.",
            f"Set `{wanted.factor_key}={min(3, brokers)}`.",
        )
    if problem.code in _FORBIDDEN:
        partitions = f" --partitions {spec.partitions}" if spec.partitions != BROKER_DEFAULT else ""
        factor = f" --replication-factor {spec.replication_factor}" if spec.replication_factor != BROKER_DEFAULT else ""
        return error(
            CHECK,
            f"{_named(wanted)} does not exist, and this client may not create it.",
            f"Create it: `kafka-topics.sh --bootstrap-server {servers} --create --topic {spec.name}{partitions}{factor}"
            " --config cleanup.policy=compact`, or allow the client to.",
        )
    return error(
        CHECK,
        f"{_named(wanted)} does not exist and cannot be created: {problem.message}",
        f"Create {spec.name} by hand, or change the settings that the brokers refuse.",
    )


def _partitions(wanted: WantedTopic, topic: InspectedTopic, servers: str) -> Iterator[Finding]:
    if wanted.is_single and topic.partitions != 1:
        rename = f"Name another topic in `{wanted.setting}`" if wanted.setting else "Delete it"
        yield error(
            CHECK,
            f"{_named(wanted)} has {topic.partitions} partitions and must have one: with more, the order of its "
            "records is lost.",
            f"{rename}, and create it with one: `kafka-topics.sh --bootstrap-server {servers} --create --topic NAME "
            "--partitions 1 --config cleanup.policy=compact`.",
        )
    elif wanted.has_slots and topic.partitions == 1:
        yield warning(
            CHECK,
            f"{_named(wanted)} has one partition: all connectors run on one worker, whatever the number of workers.",
            f"Before the first start, create it with `kafka-topics.sh --bootstrap-server {servers} --create --topic "
            f"{topic.name} --partitions 25 --config cleanup.policy=compact`.",
        )
    if topic.leaderless:
        yield error(
            CHECK,
            f"{topic.leaderless} of the {topic.partitions} partitions of {_named(wanted)} have no leader: they can be "
            "neither read nor written.",
            "Start the brokers that hold their replicas.",
        )
    elif topic.under_replicated:
        yield warning(
            CHECK,
            f"{topic.under_replicated} of the {topic.partitions} partitions of {_named(wanted)} lack a replica that "
            "is in sync.",
            "Find the broker that is away or behind: `kafka-topics.sh --bootstrap-server "
            f"{servers} --describe --under-replicated-partitions`.",
        )


def _cleanup(wanted: WantedTopic, settings: Mapping[str, str] | None, servers: str) -> Iterator[Finding]:
    if settings is None:
        yield skipped(CHECK, f"The settings of {_named(wanted)} may not be read, so its cleanup.policy is not known.")
        return
    policy = settings.get("cleanup.policy", "")
    if {part.strip() for part in policy.split(",") if part.strip()} != _COMPACT:
        yield error(
            CHECK,
            f"{_named(wanted)} has cleanup.policy={policy}: with it, records are deleted in time, and what they say is "
            "lost.",
            f"Run `kafka-configs.sh --bootstrap-server {servers} --alter --entity-type topics --entity-name "
            f"{wanted.spec.name} --add-config cleanup.policy=compact`.",
        )


def _replicas(
    wanted: WantedTopic, topic: InspectedTopic, settings: Mapping[str, str] | None, brokers: int, servers: str
) -> Iterator[Finding]:
    replicas = topic.replication_factor
    if replicas == 1 and brokers > 1:
        yield warning(
            CHECK,
            f"{_named(wanted)} has one replica on a cluster of {brokers} brokers: if that broker is lost, it is, too.",
            f"Raise it to {min(3, brokers)} with `kafka-reassign-partitions.sh --bootstrap-server {servers}`.",
        )
    if settings is None:
        return
    lowest = int(settings.get("min.insync.replicas", "1"))
    alter = (
        f"Run `kafka-configs.sh --bootstrap-server {servers} --alter --entity-type topics --entity-name {topic.name} "
        f"--add-config min.insync.replicas={{}}`."
    )
    if lowest > replicas:
        yield error(
            CHECK,
            f"min.insync.replicas of {_named(wanted)} is {lowest}, more than its replicas ({replicas}): nothing can be "
            "written.",
            alter.format(max(1, replicas - 1)),
        )
    elif lowest == replicas > 1:
        yield warning(
            CHECK,
            f"min.insync.replicas of {_named(wanted)} is {lowest}, as many as its replicas: while one broker is away, "
            "nothing can be written.",
            alter.format(replicas - 1),
        )
    elif lowest == 1 and replicas > 2:
        yield warning(
            CHECK,
            f"min.insync.replicas of {_named(wanted)} is 1: what only one of {replicas} replicas has counts as "
            "written.",
            alter.format(replicas - 1),
        )


def _named(wanted: WantedTopic) -> str:
    return f"{wanted.spec.name} ({wanted.setting})" if wanted.setting else wanted.spec.name
