"""Administration of a cluster: topics, offsets, consumer groups, fencing.

Calls block until the broker has answered, and repeat what passes by itself (an election, a coordinator that loads)
until their time is over. Values in and out are Seamark's own; no type of a Kafka library leaves this module.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Final, TypeVar

import confluent_kafka
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, ResourceType

from seamark.config.position_plans import LogRange, TimedOffset, listed
from seamark.errors import KafkaError, KafkaTimeoutError
from seamark.kafka.client_logs import librdkafka_logger
from seamark.kafka.clients import clients_closed, librdkafka_config, make_client
from seamark.kafka.errors import code_of, is_login_failure, kafka_error
from seamark.kafka.group_offsets import GroupOffsets
from seamark.kafka.offset_delete import delete_group_offsets
from seamark.kafka.offset_queries import OffsetQuery, ask_offsets
from seamark.kafka.producer import RecordProducer
from seamark.kafka.python_admin import GroupOffset, PythonAdmin, can_serve
from seamark.kafka.topic_partitions import GroupDescription, GroupMember, TopicDescription, TopicPartition, TopicSpec

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_REQUEST_S: Final = 30.0
_RETRY_S: Final = 0.1
# For one request of those that can be repeated. Not for those to a group's coordinator: librdkafka may end the process
# if one is given up at the wrong moment (its issue 4605). What is needed often is in `seamark.kafka.group_offsets`.
_ATTEMPT_S: Final = 5.0
_NOT_THERE: Final = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"})
_STALE: Final = frozenset({"FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_FOR_PARTITION", "_NOENT"})
_NO_GROUP: Final = frozenset({"GROUP_ID_NOT_FOUND"})
_GROUPS_TOPIC: Final = "__consumer_offsets"
_LOOK_S: Final = 2.0
_WITH_COORDINATORS: Final[set[str]] = set()  # brokers that are known to coordinate groups


class Admin:
    """One admin connection to a cluster. It may be used from several threads."""

    def __init__(self, java_config: Mapping[str, str]) -> None:
        self._java = dict(java_config)
        self._config = librdkafka_config(self._java, "admin")
        self._config["logger"] = librdkafka_logger()
        self._config["error_cb"] = self._on_client_error
        self._refusal: Any = None
        self.brokers: str = self._config["bootstrap.servers"]
        self._client: Any = make_client(AdminClient, self._config)
        # For groups: librdkafka's requests to a coordinator that is new or is lost may end the whole process.
        self._groups = PythonAdmin(self._java) if can_serve(self._java) else None
        self._has_logged_in = self._java.get("security.protocol", "PLAINTEXT").strip().upper() == "PLAINTEXT"

    def close(self) -> None:
        """Let go of the broker."""
        self._client = None
        clients_closed()
        if self._groups is not None:
            self._groups.close()

    def __enter__(self) -> Admin:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- topics -------------------------------------------------------------------------------------------------------

    def create_topics(self, specs: Iterable[TopicSpec], *, timeout_s: float = _REQUEST_S) -> set[str]:
        """Create those that do not exist; returns the names of the new ones. Existing topics are left as they are."""
        created = set()
        for spec in specs:
            new = NewTopic(
                spec.name,
                num_partitions=spec.partitions,
                replication_factor=spec.replication_factor,
                config=dict(spec.configs),
            )

            def create(client: Any, remaining_s: float, new: Any = new, name: str = spec.name) -> bool:
                futures = client.create_topics([new], operation_timeout=remaining_s, request_timeout=remaining_s)
                try:
                    futures[name].result()
                except confluent_kafka.KafkaException as error:
                    if code_of(error) != "TOPIC_ALREADY_EXISTS":
                        raise
                    return False
                return True

            if self._repeat(f"create topic {spec.name!r}", create, timeout_s, attempt_s=timeout_s):
                created.add(spec.name)
        return created

    def ensure_topic(self, spec: TopicSpec, *, timeout_s: float = _REQUEST_S) -> TopicDescription:
        """Create the topic unless it exists, and wait until brokers know it.

        A client that may not create topics is content with one that exists.
        """
        deadline = time.monotonic() + timeout_s
        found = self.describe_topics([spec.name], timeout_s=timeout_s).get(spec.name)
        if found is not None:
            return found
        try:
            if self.create_topics([spec], timeout_s=max(1.0, deadline - time.monotonic())):
                _log.info("Created topic %r with %s partitions", spec.name, spec.partitions)
        except KafkaError as error:
            if error.code not in ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"):
                raise
            found = self.describe_topics([spec.name]).get(spec.name)
            if found is None:
                raise
            return found
        while True:
            found = self.describe_topics([spec.name]).get(spec.name)
            if found is not None:
                return found
            if time.monotonic() > deadline:
                raise KafkaError(
                    f"Topic {spec.name!r} was created, but {self.brokers} does not show it after {timeout_s:g} s.",
                    retriable=True,
                )
            time.sleep(_RETRY_S)

    def describe_topics(self, topics: Iterable[str], *, timeout_s: float = _REQUEST_S) -> dict[str, TopicDescription]:
        """The topics that exist, by name. Asking never creates one."""
        names = list(dict.fromkeys(topics))
        if not names:
            return {}

        def describe(client: Any, remaining_s: float) -> dict[str, TopicDescription]:
            collection = confluent_kafka.TopicCollection(names)
            found = {}
            for name, future in client.describe_topics(collection, request_timeout=remaining_s).items():
                try:
                    topic = future.result()
                except confluent_kafka.KafkaException as error:
                    if code_of(error) not in _NOT_THERE:
                        raise
                    continue
                replicas = max((len(partition.replicas) for partition in topic.partitions), default=0)
                found[name] = TopicDescription(name, len(topic.partitions), replicas, bool(topic.is_internal))
            return found

        return self._repeat(f"describe topics {listed(names)}", describe, timeout_s)

    def partitions_of(self, topics: Iterable[str], *, timeout_s: float = _REQUEST_S) -> list[TopicPartition]:
        """All partitions of those of the topics that exist, in order."""
        found = self.describe_topics(topics, timeout_s=timeout_s)
        return [TopicPartition(name, number) for name in sorted(found) for number in range(found[name].partitions)]

    def list_topics(self, *, timeout_s: float = _REQUEST_S) -> set[str]:
        """The names of all topics."""
        return self._repeat(
            "list topics", lambda client, remaining_s: set(client.list_topics(timeout=remaining_s).topics), timeout_s
        )

    def cluster_id(self, *, timeout_s: float = _REQUEST_S) -> str:
        """The id of the Kafka cluster."""

        def ask(client: Any, remaining_s: float) -> str:
            # The first answer of a new connection may come before the id is known.
            return str(client.list_topics(timeout=remaining_s).cluster_id or "")

        return self._repeat("read the cluster's id", ask, timeout_s)

    def topic_configs(self, topic: str, *, timeout_s: float = _REQUEST_S) -> dict[str, str]:
        """The topic's settings, defaults included."""
        resource = ConfigResource(ResourceType.TOPIC, topic)

        def describe(client: Any, remaining_s: float) -> dict[str, str]:
            entries = client.describe_configs([resource], request_timeout=remaining_s)[resource].result()
            return {name: entry.value for name, entry in entries.items() if entry.value is not None}

        return self._repeat(f"read the settings of topic {topic!r}", describe, timeout_s, _NOT_THERE)

    def create_partitions(self, topic: str, total: int, *, timeout_s: float = _REQUEST_S) -> None:
        """Widen a topic to `total` partitions."""

        def widen(client: Any, remaining_s: float) -> None:
            futures = client.create_partitions([NewPartitions(topic, total)], request_timeout=remaining_s)
            futures[topic].result()

        self._repeat(f"widen topic {topic!r} to {total} partitions", widen, timeout_s, _NOT_THERE, timeout_s)

    def delete_topics(self, topics: Iterable[str], *, timeout_s: float = _REQUEST_S) -> None:
        """Delete topics; those that do not exist are no error."""
        names = list(dict.fromkeys(topics))

        def delete(client: Any, remaining_s: float) -> None:
            for future in client.delete_topics(names, request_timeout=remaining_s).values():
                try:
                    future.result()
                except confluent_kafka.KafkaException as error:
                    if code_of(error) not in _NOT_THERE:
                        raise

        if names:
            self._repeat(f"delete topics {', '.join(names)}", delete, timeout_s)

    # --- offsets of partitions ----------------------------------------------------------------------------------------

    def list_offsets(
        self,
        queries: Mapping[TopicPartition, OffsetQuery],
        *,
        is_committed: bool = False,
        timeout_s: float = _REQUEST_S,
    ) -> dict[TopicPartition, int]:
        """Offsets of many partitions in one go.

        Args:
            queries: what to look for in each partition. For a timestamp after the last record the answer is the end.
            is_committed: the end is the last stable offset, which open transactions hold back, as read_committed
                readers see it.
            timeout_s: how long to try.
        """
        if not queries:
            return {}
        found = self._list_offsets(queries, is_committed, timeout_s)
        late: dict[TopicPartition, OffsetQuery] = {where: "latest" for where, at in found.items() if at.offset < 0}
        if late:
            found.update(self._list_offsets(late, is_committed, timeout_s))
        return {where: at.offset for where, at in found.items()}

    def find_times(
        self, wanted: Mapping[TopicPartition, int], *, is_committed: bool = False, timeout_s: float = _REQUEST_S
    ) -> dict[TopicPartition, TimedOffset | None]:
        """The first record of each partition at or after a timestamp in milliseconds, in one go; None if there is none.

        Args:
            wanted: the timestamps.
            is_committed: look only before the last stable offset, as read_committed readers do.
            timeout_s: how long to try.
        """
        found = self._list_offsets(wanted, is_committed, timeout_s) if wanted else {}
        return {where: at if at.offset >= 0 else None for where, at in found.items()}

    def log_ranges(
        self, partitions: Iterable[TopicPartition], *, is_committed: bool = False, timeout_s: float = _REQUEST_S
    ) -> dict[TopicPartition, LogRange]:
        """Where the log of each partition begins and ends; with `is_committed` as in `list_offsets`."""
        starts: dict[TopicPartition, OffsetQuery] = dict.fromkeys(partitions, "earliest")
        if not starts:
            return {}
        first, last = self._ask_offsets([starts, dict.fromkeys(starts, "latest")], is_committed, timeout_s)
        return {where: LogRange(first[where].offset, last[where].offset) for where in starts}

    def find_all_times(
        self,
        wanted: Sequence[Mapping[TopicPartition, int]],
        *,
        is_committed: bool = False,
        timeout_s: float = _REQUEST_S,
    ) -> list[dict[TopicPartition, TimedOffset | None]]:
        """As `find_times`, for several times of the same partitions, which are asked for at the same time."""
        found = self._ask_offsets([each for each in wanted if each], is_committed, timeout_s)
        answers = iter(found)
        return [
            {where: at if at.offset >= 0 else None for where, at in next(answers).items()} if each else {}
            for each in wanted
        ]

    def newest_times(
        self, partitions: Iterable[TopicPartition], *, is_committed: bool = False, timeout_s: float = _REQUEST_S
    ) -> dict[TopicPartition, int]:
        """The latest timestamp of a record of each partition, in milliseconds; those without one are left out."""
        queries: dict[TopicPartition, OffsetQuery] = dict.fromkeys(partitions, "newest")
        found = self._list_offsets(queries, is_committed, timeout_s) if queries else {}
        return {where: at.timestamp_ms for where, at in found.items() if at.offset >= 0 and at.timestamp_ms >= 0}

    def _list_offsets(
        self, queries: Mapping[TopicPartition, OffsetQuery], is_committed: bool, timeout_s: float
    ) -> dict[TopicPartition, TimedOffset]:
        return self._ask_offsets([queries], is_committed, timeout_s)[0]

    def _ask_offsets(
        self, questions: Sequence[Mapping[TopicPartition, OffsetQuery]], is_committed: bool, timeout_s: float
    ) -> list[dict[TopicPartition, TimedOffset]]:
        topics = listed(sorted({where.topic for each in questions for where in each}))

        def ask(client: Any, remaining_s: float) -> list[dict[TopicPartition, TimedOffset]]:
            return ask_offsets(client, questions, is_committed, remaining_s)

        return self._repeat(f"list offsets of {topics}", ask, timeout_s)

    # --- consumer groups ----------------------------------------------------------------------------------------------

    def group_offsets(self, group: str, *, timeout_s: float = _REQUEST_S) -> dict[TopicPartition, int]:
        """The group's committed offsets; empty for a group that does not exist."""
        groups = self._for_groups(timeout_s)
        if groups is not None:
            found, failed = groups.offsets([group], timeout_s)
            for error in failed.values():
                raise error
            return {where: at.offset for where, at in found.get(group, {}).items() if at is not None}
        request = confluent_kafka.ConsumerGroupTopicPartitions(group)

        def ask(client: Any, remaining_s: float) -> dict[TopicPartition, int]:
            futures = client.list_consumer_group_offsets([request], request_timeout=remaining_s)
            try:
                answer = futures[group].result()
            except confluent_kafka.KafkaException as error:
                if code_of(error) in _NO_GROUP:
                    return {}
                raise
            offsets = {}
            for entry in answer.topic_partitions or []:
                if entry.error is not None:
                    raise confluent_kafka.KafkaException(entry.error)
                if entry.offset >= 0:
                    offsets[TopicPartition(entry.topic, entry.partition)] = entry.offset
            return offsets

        return self._ask_group(group, f"read the offsets of consumer group {group!r}", ask, timeout_s)

    def alter_group_offsets(
        self, group: str, offsets: Mapping[TopicPartition, int], *, timeout_s: float = _REQUEST_S
    ) -> None:
        """Commit offsets for a group that has no members.

        Raises:
            KafkaError: with code UNKNOWN_MEMBER_ID, the group has members.
        """
        if not offsets:
            return
        groups = self._for_groups(timeout_s)
        if groups is not None:
            groups.alter(group, {where: GroupOffset(offset) for where, offset in offsets.items()}, timeout_s)
            return
        entries = [
            confluent_kafka.TopicPartition(where.topic, where.partition, offset)
            for where, offset in sorted(offsets.items())
        ]
        self._commit_for(group, entries, timeout_s)

    def _commit_for(self, group: str, entries: list[Any], timeout_s: float) -> None:
        request = confluent_kafka.ConsumerGroupTopicPartitions(group, entries)

        def alter(client: Any, remaining_s: float) -> None:
            answer = client.alter_consumer_group_offsets([request], request_timeout=remaining_s)[group].result()
            for entry in answer.topic_partitions or []:
                if entry.error is not None:
                    raise confluent_kafka.KafkaException(entry.error)

        self._ask_group(group, f"alter the offsets of consumer group {group!r}", alter, timeout_s, _NOT_THERE)

    def delete_group_offsets(
        self, group: str, partitions: Iterable[TopicPartition], *, timeout_s: float = _REQUEST_S
    ) -> None:
        """Delete the group's committed offsets of these partitions; a group that does not exist has none.

        Raises:
            KafkaError: with code GROUP_SUBSCRIBED_TO_TOPIC or NON_EMPTY_GROUP, the group is still reading.
        """
        wanted = sorted(set(partitions))
        if not wanted:
            return
        # Asked first because this tells a refused login from a broker that is away; the deletion does not.
        if self.group_exists(group, timeout_s=timeout_s):
            delete_group_offsets(self._java, group, wanted, timeout_s)

    def delete_group(self, group: str, *, timeout_s: float = _REQUEST_S) -> None:
        """Delete a group and all its offsets; one that does not exist is no error.

        Raises:
            KafkaError: with code NON_EMPTY_GROUP, the group has members.
        """
        groups = self._for_groups(timeout_s)
        if groups is not None:
            groups.delete_group(group, timeout_s)
            return

        def delete(client: Any, remaining_s: float) -> None:
            try:
                client.delete_consumer_groups([group], request_timeout=remaining_s)[group].result()
            except confluent_kafka.KafkaException as error:
                if code_of(error) not in _NO_GROUP:
                    raise

        self._ask_group(group, f"delete consumer group {group!r}", delete, timeout_s)

    def _for_groups(self, timeout_s: float) -> PythonAdmin | None:
        """The client for groups, if it can be used; one that has to log in is used after a login was seen to work.

        It does not tell a refused login from a broker that is away.
        """
        if self._groups is not None and not self._has_logged_in:
            self.cluster_id(timeout_s=timeout_s)
            self._has_logged_in = True
        return self._groups

    def group_exists(self, group: str, *, timeout_s: float = _REQUEST_S) -> bool:
        """Whether there is such a group, with or without members."""
        groups = self._for_groups(timeout_s)
        if groups is not None:
            return groups.group_exists(group, timeout_s)
        return self.describe_group(group, timeout_s=timeout_s).state != "DEAD"

    def describe_group(self, group: str, *, timeout_s: float = _REQUEST_S) -> GroupDescription:
        """The group's state and members; a group that does not exist is DEAD and empty."""

        def describe(client: Any, remaining_s: float) -> GroupDescription:
            try:
                found = client.describe_consumer_groups([group], request_timeout=remaining_s)[group].result()
            except confluent_kafka.KafkaException as error:
                if code_of(error) in _NO_GROUP:
                    return GroupDescription(group, "DEAD", ())
                raise
            return GroupDescription(group, found.state.name, tuple(_member(member) for member in found.members))

        return self._ask_group(group, f"describe consumer group {group!r}", describe, timeout_s)

    def _ask_group(
        self,
        group: str,
        action: str,
        call: Callable[[Any, float], _T],
        timeout_s: float,
        final: frozenset[str] = frozenset(),
    ) -> _T:
        deadline = time.monotonic() + timeout_s
        if self.brokers not in _WITH_COORDINATORS:
            self._await_coordinator(group, timeout_s / 2)
        remaining_s = max(1.0, deadline - time.monotonic())
        return self._repeat(action, call, remaining_s, final, remaining_s)

    def _await_coordinator(self, group: str, timeout_s: float) -> None:
        """Make a new cluster ready for groups: it has no coordinator before somebody asks for one.

        librdkafka's admin requests do not survive that: they get no answer, and may end the process when given up. Its
        consumers do. What fails here is left to the request itself, which says more.
        """
        client = self._client
        try:
            is_there = client is not None and _GROUPS_TOPIC in client.list_topics(timeout=_LOOK_S).topics
            if not is_there:
                offsets = GroupOffsets(self._java, group)
                try:
                    offsets.read([TopicPartition(_GROUPS_TOPIC, 0)], timeout_s)
                finally:
                    offsets.close()
            _WITH_COORDINATORS.add(self.brokers)
        except (confluent_kafka.KafkaException, KafkaError) as error:
            _log.debug("Whether %s coordinates groups is not known: %s", self.brokers, error)

    # --- fencing ------------------------------------------------------------------------------------------------------

    def fence_producers(self, transactional_ids: Iterable[str], *, timeout_s: float = 90.0) -> None:
        """End every producer that holds one of the ids, and abort its open transaction."""
        ids = list(dict.fromkeys(transactional_ids))
        if not ids:
            return
        deadline = time.monotonic() + timeout_s

        def fence(transactional_id: str) -> None:
            config = {**self._java, "client.id": f"{self._java.get('client.id', 'seamark')}-fencing"}
            with RecordProducer(config, transactional_id) as producer:
                producer.init_transactions(max(1.0, deadline - time.monotonic()))

        with ThreadPoolExecutor(max_workers=min(8, len(ids)), thread_name_prefix="fencing") as pool:
            for future in [pool.submit(fence, transactional_id) for transactional_id in ids]:
                future.result()

    # --- inside -------------------------------------------------------------------------------------------------------

    def _on_client_error(self, error: Any) -> None:
        if is_login_failure(error):
            self._refusal = error

    def _repeat(
        self,
        action: str,
        call: Callable[[Any, float], _T],
        timeout_s: float,
        final: frozenset[str] = frozenset(),
        attempt_s: float | None = None,
    ) -> _T:
        # A topic that is unknown may just be new. Where it has to exist already, that answer is `final`.
        deadline = time.monotonic() + timeout_s
        patience_s = attempt_s or _ATTEMPT_S
        while True:
            # Held here until the call is over: the answer to a request whose client is gone never comes.
            client = self._client
            if client is None:
                raise KafkaError(f"Could not {action}: the admin client is closed.")
            self._refusal = None
            try:
                return call(client, max(0.1, min(patience_s, deadline - time.monotonic())))
            except confluent_kafka.KafkaException as error:
                client.poll(0)
                if self._refusal is not None:  # the request itself has only run out of time
                    raise kafka_error(self._refusal, action, self.brokers) from error
                ours = kafka_error(error, action, self.brokers)
                if not ours.retriable or ours.code in final or time.monotonic() + _RETRY_S >= deadline:
                    raise ours from error
                if isinstance(ours, KafkaTimeoutError):
                    patience_s *= 2  # the answer of a large cluster may just take longer
                if ours.code in _STALE or (attempt_s is None and isinstance(ours, KafkaTimeoutError)):
                    # librdkafka's admin keeps what it knows of leaders, even when a restarted broker refuses it; and a
                    # request that was on its way when a broker was lost may wait for an answer until its time is over.
                    if self._client is client:
                        self._client = make_client(AdminClient, self._config)
            time.sleep(_RETRY_S)


def _member(member: Any) -> GroupMember:
    assignment = member.assignment.topic_partitions if member.assignment is not None else []
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.host,
        group_instance_id=member.group_instance_id or None,
        assignment=tuple(TopicPartition(part.topic, part.partition) for part in assignment),
    )
