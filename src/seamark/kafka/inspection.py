"""Looking at a cluster without changing anything in it: brokers, topics, groups, and what this client may do.

Nothing here writes. But a cluster creates the topic of a coordinator, of groups or of transactions, when somebody asks
it for one: who does not want that looks first whether the topic exists.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import confluent_kafka
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType

from seamark.errors import KafkaError
from seamark.kafka.admin import Admin
from seamark.kafka.errors import code_of, kafka_error
from seamark.kafka.group_members import kafka_python
from seamark.kafka.python_admin import PythonAdmin, can_serve
from seamark.kafka.topic_partitions import TopicSpec

_T = TypeVar("_T")
GROUPS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
_NOT_THERE: Final = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"})
_FORBIDDEN: Final = "[Error 30]"  # GROUP_AUTHORIZATION_FAILED, as errors are shown in descriptions of groups
_NO_SUCH_ID: Final = "TRANSACTIONAL_ID_NOT_FOUND"
_TRANSACTION_APIS: Final = frozenset({"InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"})


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker, at the address that it tells clients."""

    id: int
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """A cluster; `operations` are those that this client may do to it, None if the cluster does not say."""

    cluster_id: str
    brokers: tuple[Broker, ...]
    operations: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class InspectedTopic:
    """A topic that exists.

    Attributes:
        name: of the topic.
        partitions: how many.
        replication_factor: the lowest of its partitions.
        leaderless: partitions that nobody can read or write now.
        under_replicated: partitions that lack a replica in sync.
        operations: what this client may do to it, None if the cluster does not say.
    """

    name: str
    partitions: int
    replication_factor: int
    leaderless: int = 0
    under_replicated: int = 0
    operations: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class InspectedGroup:
    """A group that exists, in Kafka's own words.

    Attributes:
        protocol_type: ``consumer``, ``connect``, or whatever its members are.
        state: ``Stable``, ``Empty`` and so on.
        group_type: ``classic`` or ``consumer`` and so on; empty if the brokers are too old to say.
        client_ids: of the members; None if they could not be asked for.
        operations: what this client may do to it, None if the cluster does not say.
    """

    protocol_type: str
    state: str
    group_type: str = ""
    client_ids: tuple[str, ...] | None = None
    operations: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class BrokerApis:
    """What brokers speak: the version of Kafka that is told by it, and whether transactions are part of it."""

    version: tuple[int, ...]
    has_transactions: bool


class Inspector(Admin):
    """An admin client that only looks."""

    def __enter__(self) -> Inspector:
        return self

    def describe_cluster(self, *, timeout_s: float) -> ClusterDescription:
        """Brokers, and what this client may do to the cluster."""

        def describe(client: Any, remaining_s: float) -> ClusterDescription:
            asked = client.describe_cluster(include_authorized_operations=True, request_timeout=remaining_s)
            found = asked.result()
            brokers = tuple(Broker(node.id, node.host, node.port) for node in found.nodes)
            return ClusterDescription(str(found.cluster_id), brokers, _operations(found.authorized_operations))

        return self._repeat("describe the cluster", describe, timeout_s)

    def inspect_topics(
        self, topics: Iterable[str], *, timeout_s: float
    ) -> dict[str, InspectedTopic | KafkaError | None]:
        """Each topic; None if there is none of the name, an error if it cannot be described."""
        names = list(dict.fromkeys(topics))

        def describe(client: Any, remaining_s: float) -> dict[str, InspectedTopic | KafkaError | None]:
            collection = confluent_kafka.TopicCollection(names)
            asked = client.describe_topics(collection, include_authorized_operations=True, request_timeout=remaining_s)
            return {name: self._topic(name, future) for name, future in asked.items()}

        return self._repeat("describe topics", describe, timeout_s) if names else {}

    def _topic(self, name: str, future: Any) -> InspectedTopic | KafkaError | None:
        try:
            found = future.result()
        except confluent_kafka.KafkaException as error:
            ours = kafka_error(error, f"describe topic {name!r}", self.brokers)
            if code_of(error) in _NOT_THERE:
                return None
            if ours.retriable:
                raise
            return ours
        parts = found.partitions
        return InspectedTopic(
            name,
            len(parts),
            min((len(part.replicas) for part in parts), default=0),
            sum(part.leader is None or part.leader.id < 0 for part in parts),
            sum(len(part.isr) < len(part.replicas) for part in parts),
            _operations(found.authorized_operations),
        )

    def broker_configs(self, broker: int, *, timeout_s: float) -> dict[str, str]:
        """The settings of a broker, defaults included.

        Raises:
            KafkaError: this client may not see them, or nobody answers.
        """
        resource = ConfigResource(ResourceType.BROKER, str(broker))

        def describe(client: Any, remaining_s: float) -> dict[str, str]:
            entries = client.describe_configs([resource], request_timeout=remaining_s)[resource].result()
            return {name: entry.value for name, entry in entries.items() if entry.value is not None}

        return self._repeat(f"read the settings of broker {broker}", describe, timeout_s)

    def try_creation(self, spec: TopicSpec, *, timeout_s: float) -> KafkaError | None:
        """Why a topic could not be created, None if it could: the controller checks the request and does no more."""
        new = NewTopic(
            spec.name,
            num_partitions=spec.partitions,
            replication_factor=spec.replication_factor,
            config=dict(spec.configs),
        )

        def attempt(client: Any, remaining_s: float) -> None:
            client.create_topics([new], validate_only=True, request_timeout=remaining_s)[spec.name].result()

        try:
            self._repeat(f"create topic {spec.name!r}", attempt, timeout_s)
        except KafkaError as error:
            return error
        return None


class CoordinatorInspector(PythonAdmin):
    """Asks what librdkafka's Python binding cannot tell: versions, groups of all kinds, transactional ids."""

    def __init__(self, java_config: Mapping[str, str], timeout_s: float) -> None:
        super().__init__(java_config)
        self._timeout_s = timeout_s

    def apis(self) -> BrokerApis:
        """What the brokers speak."""

        def look(client: Any) -> BrokerApis:
            node = client.describe_cluster()["brokers"][0]["broker_id"]
            version = tuple(client.get_broker_version_data(node).broker_version)
            return BrokerApis(version, _TRANSACTION_APIS <= {key.name for key in client.api_versions()})

        return self._ask("ask brokers for their versions", look)

    def group(self, group: str, *, describes: bool) -> InspectedGroup | None:
        """A group of whatever kind; None if there is none that this client may see.

        Args:
            group: its id.
            describes: whether the coordinator may be asked for members, which creates its topic if there is none.
        """

        def listed(client: Any) -> InspectedGroup | None:
            for each in client.list_groups():
                if each["group_id"] == group:
                    kind, state = str(each.get("protocol_type") or ""), str(each.get("group_state") or "")
                    return InspectedGroup(kind, state, str(each.get("group_type") or ""))
            return None

        found = self._ask("list groups", listed)
        if found is None or not describes or found.protocol_type != "consumer":
            return found

        def described(client: Any) -> InspectedGroup:
            answer = client.describe_groups([group], include_authorized_operations=True)[group]
            members = answer.get("members") or ()
            return InspectedGroup(
                found.protocol_type,
                found.state,
                found.group_type,
                tuple(str(member.get("client_id") or "") for member in members),
                _named(answer.get("authorized_operations")),
            )

        return self._ask(f"describe group {group!r}", described)

    def group_operations(self, group: str) -> frozenset[str] | None:
        """What this client may do to a group; None if the cluster does not say, as of one that does not exist."""

        def look(client: Any) -> frozenset[str] | None:
            answer = client.describe_groups([group], include_authorized_operations=True)[group]
            if _FORBIDDEN in str(answer.get("error") or ""):
                return frozenset()
            return _named(answer.get("authorized_operations"))

        try:
            return self._ask(f"describe group {group!r}", look)
        except KafkaError as error:
            if error.code == "GROUP_AUTHORIZATION_FAILED":
                return frozenset()
            raise

    def may_describe_transactional_id(self, transactional_id: str) -> bool:
        """Whether this client may look at a transactional id, which need not be in use."""
        try:
            self._ask(
                f"describe transactional id {transactional_id!r}",
                lambda client: client.describe_transactions([transactional_id]),
            )
        except KafkaError as error:
            if error.code == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
                return False
            if error.code != _NO_SUCH_ID:
                raise
        return True

    def _ask(self, action: str, call: Callable[[Any], _T]) -> _T:
        def look(client: Any) -> _T:
            try:
                return call(client)
            except ValueError as error:  # the library takes every group for one of consumers
                raise kafka_python().Error(str(error)) from error

        return self._repeat(action, look, time.monotonic() + self._timeout_s, self._timeout_s)


def coordinator_inspector(java_config: Mapping[str, str], timeout_s: float) -> CoordinatorInspector | None:
    """None if the library that asks cannot log in with these settings."""
    return CoordinatorInspector(java_config, timeout_s) if can_serve(java_config) else None


def _operations(listed: Any) -> frozenset[str] | None:
    return None if listed is None else frozenset(operation.name for operation in listed)


def _named(listed: Any) -> frozenset[str] | None:
    return None if listed is None else frozenset(str(getattr(each, "name", each)) for each in listed)
