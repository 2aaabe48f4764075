"""Offsets of a consumer, next to read, in the forms of sinks and of mirrors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seamark.client import AsyncConnectClient, ConnectorOffset
from seamark.config.position_plans import Partition
from seamark.operator.reset_plans import BEGINNING, END, Move, ResetRefusedError


class SinkOffsets:
    """A sink's: what is committed is what is read next."""

    def __init__(self, config: Mapping[str, str | None]) -> None:
        reset = config.get("consumer.override.auto.offset.reset")
        self.beginning = END if reset == "latest" else BEGINNING

    def read(self, rows: Sequence[ConnectorOffset]) -> dict[Partition, int]:
        """Where partitions are."""
        found = {}
        for row in rows:
            partition, offset = row.partition or {}, row.offset or {}
            topic, number, at = (
                partition.get("kafka_topic"),
                partition.get("kafka_partition"),
                offset.get("kafka_offset"),
            )
            if isinstance(topic, str) and number is not None and at is not None:
                found[topic, int(number)] = int(at)
        return found

    def write(self, where: Partition, at: int | None) -> ConnectorOffset:
        """To set or reset one."""
        partition = {"kafka_topic": where[0], "kafka_partition": where[1]}
        return ConnectorOffset(partition, None if at is None else {"kafka_offset": at})

    def is_at(self, found: int | None, wanted: int | None) -> bool:
        """Whether a partition is where it should be."""
        return found == wanted

    def check(self, moves: Sequence[Move]) -> None:
        """Refuse what cannot be expressed."""


class MirrorOffsets:
    """A MirrorSourceConnector's: what is kept is the last record that was copied."""

    def __init__(self, config: Mapping[str, str | None]) -> None:
        self._cluster = config.get("source.cluster.alias") or ""
        words = [value for key, value in config.items() if key.endswith("auto.offset.reset") or key == "mirror.start"]
        self._begins_early = all(word in (None, "earliest") for word in words)
        self.beginning = BEGINNING if self._begins_early else END

    def read(self, rows: Sequence[ConnectorOffset]) -> dict[Partition, int]:
        """Where partitions are."""
        found = {}
        for row in rows:
            partition, offset = row.partition or {}, row.offset or {}
            topic, number, last = partition.get("topic"), partition.get("partition"), offset.get("offset")
            is_ours = partition.get("cluster") == self._cluster and isinstance(topic, str)
            if is_ours and number is not None and last is not None:
                found[str(topic), int(number)] = int(last) + 1
        return found

    def write(self, where: Partition, at: int | None) -> ConnectorOffset:
        """To set or reset one; before the first record there is none to name."""
        partition = {"cluster": self._cluster, "partition": where[1], "topic": where[0]}
        return ConnectorOffset(partition, {"offset": at - 1} if at else None)

    def is_at(self, found: int | None, wanted: int | None) -> bool:
        """Whether a partition is where it should be."""
        return (found or None) == (wanted or None)

    def check(self, moves: Sequence[Move]) -> None:
        """Refuse what cannot be expressed."""
        unclear = [f"{move.topic}:{move.partition}" for move in moves if move.new == 0]
        if unclear and not self._begins_early:
            raise ResetRefusedError(
                f"offset 0 of {', '.join(unclear[:5])} cannot be set: a mirror without an offset begins at its "
                "auto.offset.reset or mirror.start, which is not earliest"
            )


Offsets = SinkOffsets | MirrorOffsets


class Positions:
    """Reads and moves the offsets of one consumer through its worker."""

    def __init__(
        self, client: AsyncConnectClient, connector: str, config: Mapping[str, str | None], is_mirror: bool
    ) -> None:
        self._client, self._connector = client, connector
        self._forms: Offsets = MirrorOffsets(config) if is_mirror else SinkOffsets(config)

    @property
    def beginning(self) -> int:
        """What stands for "no offset yet" in a status."""
        return self._forms.beginning

    async def current(self) -> dict[Partition, int]:
        """Where partitions are, next to read."""
        return self._forms.read(await self._client.offsets(self._connector))

    def check(self, moves: Sequence[Move]) -> None:
        """Refuse what cannot be expressed."""
        self._forms.check(moves)

    async def move(self, moves: Sequence[Move]) -> None:
        """Set new offsets, all in one request; those that stay are left out."""
        rows = [
            self._forms.write((move.topic, move.partition), move.new)
            for move in moves
            if not self._forms.is_at(move.old, move.new)
        ]
        if rows:
            await self._client.alter_offsets(self._connector, rows)

    async def undo(self, moves: Sequence[Move]) -> None:
        """Set the old ones again."""
        await self._client.alter_offsets(
            self._connector, [self._forms.write((move.topic, move.partition), move.old) for move in moves]
        )

    def are_new(self, moves: Sequence[Move], current: Mapping[Partition, Any]) -> bool:
        """Whether all partitions are where they should go."""
        return all(self._forms.is_at(current.get((move.topic, move.partition)), move.new) for move in moves)

    def are_old(self, moves: Sequence[Move], current: Mapping[Partition, Any]) -> bool:
        """Whether all partitions are where they were."""
        return all(self._forms.is_at(current.get((move.topic, move.partition)), move.old) for move in moves)
