"""Who is in a group of workers: asked from the group's coordinator.

The question goes through kafka-python's admin client: librdkafka's own aborts the process when a broker goes away
while a request to a group's coordinator is under way.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from seamark.errors import KafkaError
from seamark.kafka.security import kafka_python_config

CONSUMER_PROTOCOL: Final = "consumer"
"""Protocol type of our groups; that of a group of Java workers is ``connect``."""
FOREIGN_PROTOCOL: Final = "INCONSISTENT_GROUP_PROTOCOL"
STABLE: Final = "Stable"

_ADDRESS_MARK: Final = "@http"
_GONE: Final = frozenset({"Dead", "Empty"})


@dataclass(frozen=True, slots=True)
class Member:
    """A worker of the group."""

    url: str
    """Its REST address; empty if its client id carries none."""
    client_id: str
    host: str
    is_leader: bool
    slots: frozenset[int]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group as its coordinator described it."""

    state: str
    members: tuple[Member, ...]

    @property
    def is_stable(self) -> bool:
        """Whether each member has its assignment; while the group rebalances nobody is shown with one."""
        return self.state == STABLE


def client_id_with(prefix: str, rest_url: str) -> str:
    """A client id that tells the worker's REST address to all who describe the group."""
    return f"{prefix}@{rest_url}"


def url_in(client_id: str) -> str:
    """The REST address in a client id; empty if there is none."""
    at = client_id.find(_ADDRESS_MARK)
    return "" if at < 0 else client_id[at + 1 :]


class _Library(NamedTuple):
    """What is used of kafka-python."""

    AdminClient: Any
    MemberToRemove: Any
    OffsetAndMetadata: Any
    TopicPartition: Any
    Error: type[Exception]
    errors: Any


_LIBRARY_LOCK: Final = threading.Lock()
_imported: list[_Library] = []


def kafka_python() -> _Library:
    """The library, imported when it is first needed and without its warnings."""
    # Under a lock: warnings are silenced for the whole process, so two imports at a time would spoil each other's.
    with _LIBRARY_LOCK:
        if not _imported:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # it reads its resources in a way Python gives up
                from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition, errors
                from kafka.admin import MemberToRemove
                from kafka.errors import KafkaError as LibraryError

            logging.getLogger("kafka").setLevel(logging.CRITICAL)  # what went wrong is in the error that is raised
            _imported.append(
                _Library(KafkaAdminClient, MemberToRemove, OffsetAndMetadata, TopicPartition, LibraryError, errors)
            )
        return _imported[0]


class GroupDescriber:
    """Describes one group. Thread-safe; a connection is kept between questions."""

    def __init__(self, java_config: Mapping[str, str], group_id: str, config_topic: str, offsets_topic: str) -> None:
        self._java_config, self._group = dict(java_config), group_id
        self._config_topic, self._offsets_topic = config_topic, offsets_topic
        self._lock = threading.Lock()
        self._client: Any = None

    def describe(self, timeout_s: float) -> GroupView:
        """The group as it is now.

        Raises:
            KafkaError: the coordinator refused, or did not answer.
        """
        described = self._ask("describe", lambda client: client.describe_groups([self._group]), timeout_s)[self._group]
        if described.get("error"):
            raise KafkaError(
                f"Could not describe group {self._group!r}: {described['error']}",
                retriable=True,
                code="DESCRIBE_FAILED",
            )
        kind = str(described.get("protocol_type") or "")
        members = [self._member(each, kind) for each in described.get("members") or ()]
        state = str(described.get("group_state") or described.get("state") or "")
        return GroupView(state, () if state in _GONE else tuple(members))

    def remove_static_member(self, instance_id: str, timeout_s: float) -> None:
        """Take a static member out of the group, so that its slots are given to others at once.

        Raises:
            KafkaError: the coordinator refused, or did not answer.
        """
        leaver = kafka_python().MemberToRemove(group_instance_id=instance_id)
        self._ask("leave", lambda client: client.remove_group_members(self._group, [leaver]), timeout_s)

    def close(self) -> None:
        """Release the connection."""
        with self._lock:
            self._drop()

    def _member(self, member: Mapping[str, Any], protocol_type: str) -> Member:
        client_id = str(member.get("client_id") or "")
        owned: dict[str, list[int]] = {}
        if protocol_type == CONSUMER_PROTOCOL:
            for topic, partitions in _assigned(member.get("member_assignment")):
                owned.setdefault(topic, []).extend(partitions)
        return Member(
            url_in(client_id),
            client_id,
            str(member.get("client_host") or "").lstrip("/"),
            bool(owned.get(self._config_topic)),
            frozenset(owned.get(self._offsets_topic, ())),
        )

    def _ask(self, action: str, question: Any, timeout_s: float) -> Any:
        kafka = kafka_python()
        with self._lock:
            try:
                if self._client is None:
                    self._client = kafka.AdminClient(
                        request_timeout_ms=int(timeout_s * 1000),
                        bootstrap_timeout_ms=int(timeout_s * 1000),
                        **kafka_python_config(self._java_config),
                    )
                return question(self._client)
            except ValueError as error:  # the library takes every group for one of consumers
                raise KafkaError(
                    f"Group {self._group!r} has members of another kind, such as workers of Kafka Connect (Java).",
                    retriable=True,
                    code=FOREIGN_PROTOCOL,
                ) from error
            except (kafka.Error, OSError) as error:
                self._drop()
                brokers = self._java_config.get("bootstrap.servers", "")
                raise KafkaError(
                    f"Could not {action} group {self._group!r} at {brokers}: {error}",
                    retriable=bool(getattr(error, "retriable", True)),
                    code=type(error).__name__,
                ) from error

    def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()


def _assigned(assignment: Any) -> list[tuple[str, list[int]]]:
    """(topic, partitions) of a member's decoded assignment; empty while the group rebalances."""
    if not isinstance(assignment, Mapping):
        return []
    return [
        (str(each["topic"]), [int(partition) for partition in each["partitions"]])
        for each in assignment.get("assigned_partitions") or ()
    ]
