"""Plain values that name things in a Kafka cluster; they carry no client of either library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark.connector.sink import TopicPartition

__all__ = ["BROKER_DEFAULT", "GroupDescription", "GroupMember", "TopicDescription", "TopicPartition", "TopicSpec"]

BROKER_DEFAULT = -1
"""For partitions or replication factor of a new topic: let the broker decide."""


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """What a topic should be when it is created; `BROKER_DEFAULT` leaves a number to the broker."""

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic that exists."""

    name: str
    partitions: int
    replication_factor: int
    is_internal: bool = False


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A live member of a consumer group."""

    member_id: str
    client_id: str
    host: str
    group_instance_id: str | None
    assignment: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A consumer group; `state` is Kafka's word in capitals (STABLE, EMPTY, DEAD, ...)."""

    group_id: str
    state: str
    members: tuple[GroupMember, ...]

    @property
    def is_active(self) -> bool:
        """Whether members are connected, so that nobody else may commit for the group."""
        return bool(self.members)
