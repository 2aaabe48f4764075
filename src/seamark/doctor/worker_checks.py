"""Checks of what workers of one `group.id` need of their Kafka cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from seamark.config.worker import WorkerConfig
from seamark.doctor import clocks, groups, internal_topics, permissions
from seamark.doctor.checks import Check
from seamark.doctor.cluster_checks import ClusterChecks
from seamark.doctor.findings import Finding, error, ok, skipped
from seamark.doctor.internal_topics import Seen, WantedTopic, judge_topic
from seamark.errors import KafkaError
from seamark.kafka.clients import worker_client_config
from seamark.kafka.inspection import CoordinatorInspector, InspectedTopic, Inspector
from seamark.kafka.security import security_settings
from seamark.kafka.write_probe import write_probe
from seamark.storage.kafka_offsets import offsets_topic_spec
from seamark.storage.topic_specs import internal_topic_spec

log = logging.getLogger(__name__)
PROBE = "write probe"
_STATUS_PARTITIONS = 5


def wanted_topics(config: WorkerConfig) -> list[WantedTopic]:
    """The three internal topics of a distributed worker."""
    raw = config.raw
    return [
        WantedTopic(
            "config.storage.topic",
            "config.storage.replication.factor",
            internal_topic_spec(config.config_storage_topic, raw, "config.storage.", partitions=1, is_single=True),
            is_single=True,
        ),
        WantedTopic(
            "offset.storage.topic",
            "offset.storage.replication.factor",
            offsets_topic_spec(config.offset_storage_topic, raw),
            has_slots=True,
        ),
        WantedTopic(
            "status.storage.topic",
            "status.storage.replication.factor",
            internal_topic_spec(config.status_storage_topic, raw, "status.storage.", partitions=_STATUS_PARTITIONS),
        ),
    ]


class WorkerChecks:
    """Of a group of workers on a cluster that was reached."""

    def __init__(self, config: WorkerConfig, cluster: ClusterChecks, timeout_s: float, about: str = "") -> None:
        self._config, self._cluster, self._timeout_s, self._about = config, cluster, timeout_s, about
        self._topics: dict[str, InspectedTopic | KafkaError | None] = {}

    def checks(self, *, writes: bool) -> Iterator[Check]:
        """All of them; with `writes` also the one that writes a record."""
        limit_s = 4 * self._timeout_s
        wanted = wanted_topics(self._config)
        yield Check(
            internal_topics.CHECK, "looking at the internal topics", lambda: self.topics(wanted), limit_s, self._about
        )
        yield Check(groups.CHECK, f"looking at group {self._config.group_id}", self._group, limit_s, self._about)
        yield Check(permissions.CHECK, "asking what may be done", self._permissions, limit_s, self._about)
        if writes:
            yield Check(PROBE, "writing a record to a topic of its own", self._probe, 4 * limit_s, self._about)
        else:
            yield Check(clocks.CHECK, "looking at clocks", self._no_clock, 1.0, self._about)

    def topics(self, wanted: Sequence[WantedTopic]) -> list[Finding]:
        """Judge topics of this cluster."""
        cluster = self._cluster.cluster
        assert cluster is not None  # noqa: S101 - for the type checker
        found: list[Finding] = []
        inspector = self._cluster.inspector
        seen = inspector.inspect_topics([each.spec.name for each in wanted], timeout_s=self._timeout_s)
        self._topics.update(seen)
        for each in wanted:
            topic = seen[each.spec.name]
            if isinstance(topic, KafkaError):
                found.append(_hidden(each, topic))
            else:
                state = self._seen(inspector, each, topic)
                found += judge_topic(each, state, len(cluster.brokers), self._cluster.servers)
        return found

    def _seen(self, inspector: Inspector, wanted: WantedTopic, topic: InspectedTopic | None) -> Seen:
        if topic is None:
            return Seen(None, creation_problem=inspector.try_creation(wanted.spec, timeout_s=self._timeout_s))
        try:
            return Seen(topic, inspector.topic_configs(wanted.spec.name, timeout_s=self._timeout_s))
        except KafkaError as problem:
            if "AUTHORIZATION" in (problem.code or ""):
                return Seen(topic)
            raise

    def _group(self) -> list[Finding]:
        coordinators = self._cluster.coordinators
        if coordinators is None:
            return [skipped(groups.CHECK, "Who uses the group can only be asked for with PEM and SASL PLAIN or SCRAM.")]
        group = coordinators.group(self._config.group_id, describes=self._cluster.coordinates_groups)
        return [groups.judge_group(self._config.group_id, group)]

    def _permissions(self) -> list[Finding]:
        group, leader = self._config.group_id, f"connect-cluster-{self._config.group_id}"
        may_group: frozenset[str] | None = None
        may_id: bool | None = None
        coordinators = self._cluster.coordinators
        if coordinators is not None and self._cluster.coordinates_groups:
            may_group = self._group_operations(coordinators)
        if coordinators is not None and self._cluster.coordinates_transactions:
            may_id = coordinators.may_describe_transactional_id(leader)
        topics = {name: topic.operations for name, topic in self._topics.items() if isinstance(topic, InspectedTopic)}
        return permissions.judge_permissions(
            topics,
            {group: may_group},
            {leader: may_id},
            principal_of(self._cluster.admin_config),
            self._cluster.servers,
        )

    def _group_operations(self, inspector: CoordinatorInspector) -> frozenset[str] | None:
        try:
            return inspector.group_operations(self._config.group_id)
        except KafkaError as problem:  # of a group of another kind, which the library cannot describe
            log.debug("What may be done to the group is not known: %s", problem)
            return None

    def _no_clock(self) -> list[Finding]:
        return [
            skipped(
                clocks.CHECK,
                "The clock of the brokers is only told by a record that is written.",
                "Add `--write-probe`: it writes one to a topic that it makes and deletes.",
            )
        ]

    def _probe(self) -> list[Finding]:
        raw, group = self._config.raw, self._config.group_id
        try:
            probe = write_probe(
                self._cluster.admin_config,
                worker_client_config("producer", raw),
                f"{group}-seamark-doctor",
                self._timeout_s * 2,
            )
        except KafkaError as problem:
            return [
                error(
                    PROBE,
                    problem.message,
                    f"Let {principal_of(self._cluster.admin_config)} create and write topics, and write the "
                    f"transactional ids {group}-*; see the message for what failed.",
                )
            ]
        skew = clocks.Skew.of(probe.sent_ms, probe.committed_ms, probe.broker_ms)
        return [
            ok(PROBE, f"A record was written to {probe.topic} in a transaction, and the topic deleted."),
            clocks.judge_skew("the broker", skew),
        ]


def principal_of(client: Mapping[str, str]) -> str:
    """Whom brokers take a client for, as far as its settings tell."""
    settings = security_settings(client)
    if "sasl.username" in settings:
        return f"User:{settings['sasl.username']}"
    return "User:ANONYMOUS" if settings["security.protocol"] == "plaintext" else "User:NAME"


def _hidden(wanted: WantedTopic, problem: KafkaError) -> Finding:
    return error(
        internal_topics.CHECK,
        f"{wanted.spec.name} ({wanted.setting}) may not be described: {problem.message}",
        f"Allow the worker's user to describe, read and write topic {wanted.spec.name}.",
    )
