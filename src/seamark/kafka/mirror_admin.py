"""Administration for mirrors: many topics, groups and ACLs at a time, each with an answer of its own.

`seamark.kafka.admin.Admin` asks about one thing and raises if that fails. A mirror of hundreds of topics asks about all
of them in one request, and one topic that cannot be created must not keep the others from it: so what is done for many
returns the failures by name, and raises only when nobody answered.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import confluent_kafka
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from seamark.errors import ConfigError, KafkaError
from seamark.kafka.admin import Admin
from seamark.kafka.errors import code_of, kafka_error
from seamark.kafka.python_admin import GroupOffset, GroupOffsetsByPartition
from seamark.kafka.topic_partitions import TopicPartition, TopicSpec

__all__ = ["ConfigChange", "GroupOffset", "GroupOffsetsByPartition", "MirrorAdmin", "TopicAcl", "TopicConfig"]

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_REQUEST_S: Final = 60.0
_TOPICS_PER_REQUEST: Final = 200
_PARTITIONS_PER_REQUEST: Final = 2000  # controllers refuse more than ten thousand new partitions at a time
_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"  # what a broker without topic ids is understood to say
_NOT_THERE: Final = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"})


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A setting of a topic as brokers describe it."""

    name: str
    value: str | None
    is_default: bool
    """Neither the topic nor a broker sets it: it is what Kafka itself prescribes."""
    is_read_only: bool = False
    is_sensitive: bool = False
    is_static: bool = False
    """It comes from the brokers' own files."""


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A change of one setting; the value None deletes it, so that the cluster's default applies again."""

    name: str
    value: str | None


@dataclass(frozen=True, order=True, slots=True)
class TopicAcl:
    """Who may or may not do what with a topic of exactly this name; operation and permission in Kafka's words."""

    topic: str
    principal: str
    host: str
    operation: str
    permission: str


class MirrorAdmin(Admin):
    """An admin connection of a mirror. It may be used from several threads."""

    def __init__(self, java_config: Mapping[str, str]) -> None:
        """Make the client.

        Raises:
            ConfigError: the settings cannot be used, or no bootstrap server has an address. Brokers need not run.
        """
        super().__init__(java_config)
        _check_resolvable(self.brokers)

    # --- topics -------------------------------------------------------------------------------------------------------

    def partition_counts(self, *, timeout_s: float = _REQUEST_S) -> dict[str, int]:
        """How many partitions each topic of the cluster has, in one request."""

        def ask(client: Any, remaining_s: float) -> dict[str, int]:
            topics = client.list_topics(timeout=remaining_s).topics
            return {name: len(topic.partitions) for name, topic in topics.items() if topic.partitions}

        return self._repeat("list topics", ask, timeout_s)

    def topic_ids(self, topics: Iterable[str], *, timeout_s: float = _REQUEST_S) -> dict[str, str]:
        """The id of each topic that exists; a topic that is created again gets another one. Old brokers give none."""
        found: dict[str, str] = {}
        for some in _batches(dict.fromkeys(topics), lambda _: 1):
            names = list(some)

            def describe(client: Any, remaining_s: float, names: list[str] = names) -> dict[str, str]:
                futures = client.describe_topics(
                    confluent_kafka.TopicCollection(topic_names=names), request_timeout=remaining_s
                )
                described = {}
                for name, future in futures.items():
                    try:
                        described[str(name)] = str(future.result().topic_id)
                    except confluent_kafka.KafkaException as error:
                        if code_of(error) not in _NOT_THERE:  # deleted since it was listed
                            raise
                return {name: each for name, each in described.items() if each != _NO_ID}

            found.update(self._repeat(f"read the ids of {len(names)} topics", describe, timeout_s))
        return found

    def create_many(self, specs: Iterable[TopicSpec], *, timeout_s: float = _REQUEST_S) -> dict[str, KafkaError]:
        """Create topics; returns why those that do not exist now could not be created.

        A topic that exists already, or that another worker creates at the same moment, is no failure.
        """
        failed = {}
        for some in _batches(specs, lambda spec: max(1, spec.partitions)):
            new = [
                NewTopic(
                    spec.name,
                    num_partitions=spec.partitions,
                    replication_factor=spec.replication_factor,
                    config=dict(spec.configs),
                )
                for spec in some
            ]

            def create(client: Any, remaining_s: float, new: list[Any] = new) -> dict[str, KafkaError]:
                futures = client.create_topics(new, operation_timeout=remaining_s, request_timeout=remaining_s)
                return self._failures(futures, "create topic {!r}", {"TOPIC_ALREADY_EXISTS"})

            failed.update(self._repeat(f"create {len(some)} topics", create, timeout_s, attempt_s=timeout_s))
        return failed

    def widen_many(self, totals: Mapping[str, int], *, timeout_s: float = _REQUEST_S) -> dict[str, KafkaError]:
        """Widen topics to these numbers of partitions; returns why some could not be, those wide enough aside."""
        failed = {}
        for some in _batches(totals.items(), lambda item: item[1]):
            new = [NewPartitions(topic, total) for topic, total in some]

            def widen(client: Any, remaining_s: float, new: list[Any] = new) -> dict[str, KafkaError]:
                futures = client.create_partitions(new, operation_timeout=remaining_s, request_timeout=remaining_s)
                return self._failures(futures, "widen topic {!r}", {"INVALID_PARTITIONS"})

            failed.update(self._repeat(f"widen {len(some)} topics", widen, timeout_s, attempt_s=timeout_s))
        return failed

    def describe_topic_configs(
        self, topics: Iterable[str], *, timeout_s: float = _REQUEST_S
    ) -> dict[str, list[TopicConfig]]:
        """All settings of each topic that exists."""
        found: dict[str, list[TopicConfig]] = {}
        for some in _batches(dict.fromkeys(topics), lambda _: 1):
            resources = [ConfigResource(ResourceType.TOPIC, name) for name in some]

            def describe(
                client: Any, remaining_s: float, resources: list[Any] = resources
            ) -> dict[str, list[TopicConfig]]:
                described = {}
                for resource, future in client.describe_configs(resources, request_timeout=remaining_s).items():
                    try:
                        entries = future.result()
                    except confluent_kafka.KafkaException as error:
                        if code_of(error) not in _NOT_THERE:  # deleted since it was listed
                            raise
                        continue
                    described[str(resource.name)] = [_topic_config(entry) for entry in entries.values()]
                return described

            found.update(self._repeat(f"read the settings of {len(some)} topics", describe, timeout_s))
        return found

    def alter_topic_configs(
        self, changes: Mapping[str, Sequence[ConfigChange]], *, timeout_s: float = _REQUEST_S
    ) -> dict[str, KafkaError]:
        """Change settings of topics, leaving all others as they are; returns why some topics could not be changed.

        The code of a failure is _UNSUPPORTED_FEATURE or UNSUPPORTED_VERSION where brokers are too old for it.
        """
        failed = {}
        for some in _batches([(topic, entries) for topic, entries in changes.items() if entries], lambda _: 1):
            resources = [
                ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[_config_entry(each) for each in entries])
                for topic, entries in some
            ]

            def alter(client: Any, remaining_s: float, resources: list[Any] = resources) -> dict[str, KafkaError]:
                futures = client.incremental_alter_configs(resources, request_timeout=remaining_s)
                by_name = {str(resource.name): future for resource, future in futures.items()}
                return self._failures(by_name, "alter the settings of topic {!r}", set())

            failed.update(self._repeat(f"alter the settings of {len(some)} topics", alter, timeout_s))
        return failed

    # --- ACLs ---------------------------------------------------------------------------------------------------------

    def topic_acls(self, *, timeout_s: float = _REQUEST_S) -> list[TopicAcl] | None:
        """The ACLs of topics by their exact names; None if the cluster has no authorizer.

        With a login that only librdkafka knows, a cluster that refuses the question seems to have no ACLs.
        """
        if self._groups is not None:
            found = self._groups.topic_acls(timeout_s)
            return None if found is None else sorted(TopicAcl(*each) for each in found)
        every = AclBindingFilter(
            ResourceType.TOPIC, None, ResourcePatternType.LITERAL, None, None, AclOperation.ANY, AclPermissionType.ANY
        )

        def ask(client: Any, remaining_s: float) -> list[TopicAcl]:
            bindings = client.describe_acls(every, request_timeout=remaining_s).result()
            return sorted(
                TopicAcl(each.name, each.principal, each.host, each.operation.name, each.permission_type.name)
                for each in bindings
            )

        return self._repeat("read the ACLs of topics", ask, timeout_s)

    def create_topic_acls(
        self, acls: Iterable[TopicAcl], *, timeout_s: float = _REQUEST_S
    ) -> dict[TopicAcl, KafkaError]:
        """Add ACLs; returns why some could not be added. One that exists stays as it is."""
        failed: dict[TopicAcl, KafkaError] = {}
        for some in _batches(dict.fromkeys(acls), lambda _: 1):
            bindings = {_binding(acl): acl for acl in some}

            def create(
                client: Any, remaining_s: float, bindings: dict[Any, TopicAcl] = bindings
            ) -> dict[TopicAcl, KafkaError]:
                futures = client.create_acls(list(bindings), request_timeout=remaining_s)
                by_acl = {bindings[binding]: future for binding, future in futures.items()}
                return self._failures(by_acl, "add {}", set())

            failed.update(self._repeat(f"add {len(some)} ACLs", create, timeout_s))
        return failed

    # --- consumer groups ----------------------------------------------------------------------------------------------

    def list_groups(self, *, timeout_s: float = _REQUEST_S) -> dict[str, str]:
        """The consumer groups of the cluster and their states (EMPTY, STABLE, ...), in one request to each broker."""

        def ask(client: Any, remaining_s: float) -> dict[str, str]:
            answer = client.list_consumer_groups(request_timeout=remaining_s).result()
            if answer.errors and not answer.valid:
                raise confluent_kafka.KafkaException(_inner(answer.errors[0]))
            for error in answer.errors:
                _log.warning("Some consumer groups of %s are not known: %s", self.brokers, error)
            return {each.group_id: each.state.name for each in answer.valid}

        return self._repeat("list consumer groups", ask, timeout_s)

    def committed(
        self, groups: Iterable[str], *, timeout_s: float = _REQUEST_S
    ) -> tuple[dict[str, GroupOffsetsByPartition], dict[str, KafkaError]]:
        """All committed offsets of each group, and why those of others could not be read.

        A group that does not exist has none.

        Raises:
            KafkaError: brokers cannot be reached, or refuse the client.
        """
        if self._groups is not None:
            return self._groups.offsets(groups, timeout_s)
        found: dict[str, GroupOffsetsByPartition] = {}
        failed: dict[str, KafkaError] = {}
        for group in dict.fromkeys(groups):
            try:
                found[group] = self._committed(group, timeout_s)
            except KafkaError as error:
                if error.retriable:
                    raise
                failed[group] = error
        return found, failed

    def commit_for(
        self, group: str, offsets: Mapping[TopicPartition, GroupOffset], *, timeout_s: float = _REQUEST_S
    ) -> None:
        """Commit offsets and their metadata for a group without members.

        Raises:
            KafkaError: with code UNKNOWN_MEMBER_ID, the group has members; otherwise the coordinator refused, or did
                not answer in time.
        """
        if not offsets:
            return
        if self._groups is not None:
            self._groups.alter(group, offsets, timeout_s)
            return
        entries = [
            confluent_kafka.TopicPartition(where.topic, where.partition, each.offset, each.metadata)
            for where, each in sorted(offsets.items())
        ]
        self._commit_for(group, entries, timeout_s)

    def _committed(self, group: str, timeout_s: float) -> GroupOffsetsByPartition:
        request = confluent_kafka.ConsumerGroupTopicPartitions(group)

        def ask(client: Any, remaining_s: float) -> GroupOffsetsByPartition:
            answer = client.list_consumer_group_offsets([request], request_timeout=remaining_s)[group].result()
            offsets: GroupOffsetsByPartition = {}
            for entry in answer.topic_partitions or []:
                if entry.error is not None:
                    raise confluent_kafka.KafkaException(entry.error)
                where = TopicPartition(entry.topic, entry.partition)
                offsets[where] = GroupOffset(entry.offset, entry.metadata or "") if entry.offset >= 0 else None
            return offsets

        return self._ask_group(group, f"read the offsets of consumer group {group!r}", ask, timeout_s)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _failures(self, futures: Mapping[_T, Any], action: str, no_failure: set[str]) -> dict[_T, KafkaError]:
        """Why some futures failed; raises if all did for a reason that passes by itself, so that all are repeated."""
        failed = {}
        for name, future in futures.items():
            try:
                future.result()
            except confluent_kafka.KafkaException as error:
                if code_of(error) not in no_failure:
                    failed[name] = (error, kafka_error(error, action.format(name), self.brokers))
        if failed and len(failed) == len(futures) and all(ours.retriable for _, ours in failed.values()):
            raise next(iter(failed.values()))[0]
        return {name: ours for name, (_, ours) in failed.items()}


def _batches(items: Iterable[_T], weight: Callable[[_T], int]) -> Iterator[list[_T]]:
    """The items in requests of bounded size."""
    some: list[_T] = []
    heavy = 0
    for item in items:
        if some and (len(some) >= _TOPICS_PER_REQUEST or heavy + weight(item) > _PARTITIONS_PER_REQUEST):
            yield some
            some, heavy = [], 0
        some.append(item)
        heavy += weight(item)
    if some:
        yield some


def _topic_config(entry: Any) -> TopicConfig:
    source = ConfigSource(entry.source)
    return TopicConfig(
        entry.name,
        entry.value,
        is_default=source is ConfigSource.DEFAULT_CONFIG,
        is_read_only=entry.is_read_only,
        is_sensitive=entry.is_sensitive,
        is_static=source is ConfigSource.STATIC_BROKER_CONFIG,
    )


def _config_entry(change: ConfigChange) -> Any:
    operation = AlterConfigOpType.DELETE if change.value is None else AlterConfigOpType.SET
    return ConfigEntry(change.name, change.value, incremental_operation=operation)


def _binding(acl: TopicAcl) -> Any:
    return AclBinding(
        ResourceType.TOPIC,
        acl.topic,
        ResourcePatternType.LITERAL,
        acl.principal,
        acl.host,
        AclOperation[acl.operation],
        AclPermissionType[acl.permission],
    )


def _inner(error: Any) -> Any:
    return error.args[0] if isinstance(error, confluent_kafka.KafkaException) and error.args else error


def _check_resolvable(servers: str) -> None:
    # As Java's clients do; librdkafka would look for a host that does not exist for ever.
    for server in servers.split(","):
        host, _, port = server.strip().rpartition("://")[2].rpartition(":")
        try:
            socket.getaddrinfo(host.strip("[]"), int(port))
        except (OSError, ValueError):
            continue
        return
    raise ConfigError(
        f"No resolvable bootstrap urls given in bootstrap.servers: {servers}. Name at least one broker as host:port.",
        key="bootstrap.servers",
        value=servers,
    )
