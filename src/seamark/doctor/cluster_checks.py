"""Checks of one Kafka cluster: can it be reached with these settings, and is it fit for workers?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from seamark.doctor.brokers import (
    KAFKA,
    TRANSACTIONS,
    Addresses,
    judge_apis,
    judge_own_topics,
    judge_reachability,
    judge_settings,
)
from seamark.doctor.checks import Check, unchecked
from seamark.doctor.findings import Finding, error, skipped
from seamark.doctor.tcp import try_addresses
from seamark.errors import KafkaError
from seamark.kafka.clients import broker_set, worker_client_config
from seamark.kafka.inspection import (
    GROUPS_TOPIC,
    TRANSACTIONS_TOPIC,
    ClusterDescription,
    InspectedTopic,
    Inspector,
    coordinator_inspector,
)

CONNECT_S: Final = 3.0
_LOGIN: Final = ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "_SSL", "ILLEGAL_SASL_STATE")
_IDENTITY: Final = ("bootstrap.servers", "security.", "sasl.", "ssl.")


class ClusterChecks:
    """Of the cluster that a worker's properties name; what later checks need is kept."""

    def __init__(self, properties: Mapping[str, str], timeout_s: float, about: str = "") -> None:
        """`about` is the cluster's alias in a mirror-maker file."""
        self._properties, self._timeout_s, self._about = dict(properties), timeout_s, about
        self._prefix = f"{about}." if about else ""
        self.admin_config = worker_client_config("admin", self._properties)
        self.servers = self.admin_config.get("bootstrap.servers", "")
        self.inspector = Inspector(self.admin_config)
        self.coordinators = coordinator_inspector(self.admin_config, timeout_s)
        """None if groups and versions cannot be asked for with these settings."""
        self.cluster: ClusterDescription | None = None
        self.own_topics: dict[str, InspectedTopic | None] = {}
        self._hidden: frozenset[str] = frozenset()

    @property
    def coordinates_groups(self) -> bool:
        """Whether coordinators of groups may be asked without making the cluster create their topic."""
        return self._may_coordinate(GROUPS_TOPIC)

    @property
    def coordinates_transactions(self) -> bool:
        """The same of transactions."""
        return self._may_coordinate(TRANSACTIONS_TOPIC)

    def _may_coordinate(self, topic: str) -> bool:
        # A cluster that hides the topic has users, and so is not new.
        return topic in self._hidden or self.own_topics.get(topic) is not None

    def close(self) -> None:
        """Let go of the brokers."""
        self.inspector.close()
        if self.coordinators is not None:
            self.coordinators.close()

    def checks(self, session_timeout_ms: int | None = None) -> Iterator[Check]:
        """All of them; only the first one if nobody answers.

        Args:
            session_timeout_ms: of the group of workers, to be compared with what brokers take.
        """
        limit_s = 3 * self._timeout_s + CONNECT_S
        yield Check(KAFKA, f"connecting to Kafka at {self.servers}", self._reach, limit_s, self._about)
        if self.cluster is None:
            reason = "Versions, topics, permissions and groups were not looked at: Kafka cannot be reached."
            yield unchecked(TRANSACTIONS, reason, self._about)
            return
        yield Check(KAFKA, "asking brokers for their versions", self._versions, limit_s, self._about)
        yield Check(
            TRANSACTIONS,
            "looking at the cluster's own topics and settings",
            lambda: self._own_topics(session_timeout_ms),
            limit_s,
            self._about,
        )

    def _reach(self) -> list[Finding]:
        bootstrap = try_addresses(self.servers.split(","), CONNECT_S)
        if all(bootstrap.values()):
            reasons = "; ".join(f"{address}: {reason}" for address, reason in bootstrap.items())
            return [
                error(
                    KAFKA,
                    f"No Kafka can be reached ({reasons}).",
                    f"Start it, or correct `{self._prefix}bootstrap.servers`.",
                )
            ]
        try:
            cluster = self.inspector.describe_cluster(timeout_s=self._timeout_s)
        except KafkaError as problem:
            return [self._refused(problem)]
        advertised = try_addresses(map(str, cluster.brokers), CONNECT_S)
        found = judge_reachability(cluster, Addresses(bootstrap, advertised))
        found += self._other_roles(cluster)
        self.cluster = cluster
        return found

    def _refused(self, problem: KafkaError, role: str = "") -> Finding:
        protocol = self._properties.get("security.protocol", "PLAINTEXT").strip().upper()
        prefix = self._prefix + (f"{role}." if role else "")
        if problem.code in _LOGIN:
            fix = f"Correct `{prefix}security.protocol` ({protocol}), `{prefix}sasl.*` and `{prefix}ssl.*`."
        else:
            fix = (
                f"The port takes connections, so check that it speaks {protocol}: set `{prefix}security.protocol` to "
                "that of the listener."
            )
        return error(KAFKA, problem.message, fix)

    def _other_roles(self, cluster: ClusterDescription) -> Iterator[Finding]:
        """Producers and consumers may have settings of their own."""
        own = _identity(self.admin_config)
        for role in ("producer", "consumer"):
            config = worker_client_config("producer" if role == "producer" else "consumer", self._properties)
            if _identity(config) == own:
                continue
            try:
                with Inspector(config) as inspector:
                    found = inspector.cluster_id(timeout_s=self._timeout_s)
            except KafkaError as problem:
                yield self._refused(problem, role)
                continue
            if found != cluster.cluster_id:
                yield error(
                    KAFKA,
                    f"{role}.bootstrap.servers leads to Kafka cluster {found}, bootstrap.servers to "
                    f"{cluster.cluster_id}.",
                    f"Remove `{role}.bootstrap.servers`; a connector that needs another cluster has "
                    f"`{role}.override.bootstrap.servers`.",
                )

    def _versions(self) -> list[Finding]:
        if self.coordinators is None:
            return [
                skipped(KAFKA, "Versions of brokers and groups can only be asked for with PEM and SASL PLAIN or SCRAM.")
            ]
        try:
            return judge_apis(self.coordinators.apis())
        except KafkaError as problem:
            return [skipped(KAFKA, f"Versions of brokers are not known: {problem.message}")]

    def _own_topics(self, session_timeout_ms: int | None) -> list[Finding]:
        assert self.cluster is not None  # noqa: S101 - for the type checker
        found: list[Finding] = []
        settings: dict[str, str] | None = None
        topics = self.inspector.inspect_topics([GROUPS_TOPIC, TRANSACTIONS_TOPIC], timeout_s=self._timeout_s)
        try:
            settings = self.inspector.broker_configs(self.cluster.brokers[0].id, timeout_s=self._timeout_s)
        except KafkaError as problem:
            found.append(skipped(KAFKA, f"The settings of the brokers are not known: {problem.message}"))
        self._hidden = frozenset(name for name, topic in topics.items() if isinstance(topic, KafkaError))
        if self._hidden:
            found.append(skipped(TRANSACTIONS, f"{', '.join(sorted(self._hidden))} may not be described."))
        self.own_topics = {name: None if isinstance(topic, KafkaError) else topic for name, topic in topics.items()}
        if not self._hidden:
            found += judge_own_topics(self.cluster, self.own_topics, settings)
        if settings is not None and session_timeout_ms is not None:
            found += judge_settings(self._properties, session_timeout_ms, settings)
        return found


def _identity(config: Mapping[str, str]) -> dict[str, object]:
    """By what and as whom a client connects."""
    chosen: dict[str, object] = {key: value for key, value in config.items() if key.startswith(_IDENTITY)}
    chosen["bootstrap.servers"] = broker_set(config.get("bootstrap.servers", ""))
    return chosen
