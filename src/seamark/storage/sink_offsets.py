"""Sink offsets: the committed offsets of the connector's consumer group, ``connect-<name>`` unless overridden."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from types import TracebackType

from seamark.errors import BadRequestError, KafkaError
from seamark.kafka import TopicPartition
from seamark.kafka.admin import Admin
from seamark.kafka.clients import effective_client_config, sink_group_id
from seamark.kafka.group_offsets import GroupOffsets

_HAS_MEMBERS = frozenset(
    {"UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP", "GROUP_SUBSCRIBED_TO_TOPIC", "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"}
)


class SinkOffsets:
    """The offsets of one sink connector. An offset is that of the next record to read."""

    def __init__(
        self,
        connector: str,
        group_id: str,
        admin_config: Mapping[str, str],
        consumer_config: Mapping[str, str] | None = None,
        admin: Admin | None = None,
    ) -> None:
        """`admin`, if given, is shared with others and stays open."""
        self.connector, self.group_id = connector, group_id
        self._admin, self._owns_admin = admin or Admin(admin_config), admin is None
        self._consumer_config = dict(admin_config if consumer_config is None else consumer_config)
        self._group: GroupOffsets | None = None
        self._lock = threading.Lock()

    @classmethod
    def for_connector(
        cls, connector_config: Mapping[str, str], worker_config: Mapping[str, str], shared: Admin | None = None
    ) -> SinkOffsets:
        """The offsets of a connector, by the rules for group ids and client overrides."""
        name = connector_config["name"]
        admin = effective_client_config("admin", worker_config, connector_config, connector_name=name, task=None)
        consumer = effective_client_config("consumer", worker_config, connector_config, connector_name=name, task=None)
        return cls(name, sink_group_id(worker_config, connector_config, name), admin, consumer, shared)

    def close(self) -> None:
        """Let go of the broker."""
        if self._owns_admin:
            self._admin.close()
        self.rest()

    def rest(self) -> None:
        """Let go of what is only needed while the connector works; the next use takes it up again."""
        with self._lock:
            group, self._group = self._group, None
        if group is not None:
            group.close()

    def __enter__(self) -> SinkOffsets:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, *, timeout_s: float = 30.0) -> dict[TopicPartition, int]:
        """The committed offsets."""
        return self._admin.group_offsets(self.group_id, timeout_s=timeout_s)

    def read_of(self, partitions: Iterable[TopicPartition], *, timeout_s: float = 30.0) -> dict[TopicPartition, int]:
        """The committed offsets of these partitions, asked as a consumer would: for what runs all the time."""
        return self._as_consumer().read(partitions, timeout_s)

    def commit(self, offsets: Mapping[TopicPartition, int], *, timeout_s: float = 30.0) -> None:
        """Set offsets, as a consumer would: for what runs all the time.

        Raises:
            BadRequestError: the group has members: something else consumes with it.
            KafkaError: the broker refused, or did not answer.
        """
        try:
            self._as_consumer().commit(offsets, timeout_s)
        except KafkaError as error:
            raise self._explained(error, "commit") from error

    def _as_consumer(self) -> GroupOffsets:
        with self._lock:
            if self._group is None:
                self._group = GroupOffsets(self._consumer_config, self.group_id)
            return self._group

    def alter(self, offsets: Mapping[TopicPartition, int | None], *, timeout_s: float = 30.0) -> None:
        """Set offsets, None to delete one. The two are separate requests, as in Kafka Connect.

        Raises:
            BadRequestError: the group has members: a task still runs.
            KafkaError: the broker refused, for example because a topic does not exist.
        """
        kept = {where: offset for where, offset in offsets.items() if offset is not None}
        deleted = [where for where, offset in offsets.items() if offset is None]
        try:
            if deleted and not kept and not self._admin.group_exists(self.group_id, timeout_s=timeout_s):
                raise KafkaError(f"Consumer group {self.group_id!r} does not exist.", code="GROUP_ID_NOT_FOUND")
            self._admin.alter_group_offsets(self.group_id, kept, timeout_s=timeout_s)
            self._admin.delete_group_offsets(self.group_id, deleted, timeout_s=timeout_s)
        except KafkaError as error:
            raise self._explained(error, "alter") from error

    def reset(self, *, timeout_s: float = 30.0) -> None:
        """Delete the whole consumer group; one that does not exist is no error.

        Raises:
            BadRequestError: the group has members: a task still runs.
        """
        try:
            self._admin.delete_group(self.group_id, timeout_s=timeout_s)
        except KafkaError as error:
            raise self._explained(error, "reset") from error

    def _explained(self, error: KafkaError, what: str) -> Exception:
        if error.code not in _HAS_MEMBERS:
            return error
        return BadRequestError(
            f"Failed to {what} consumer group offsets for connector {self.connector}: its consumer group "
            f"{self.group_id!r} still has members. Its tasks have not stopped completely yet, or it was resumed "
            "meanwhile; make sure that it is stopped and try again."
        )
