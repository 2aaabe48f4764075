"""Where source offsets are kept: the interface of every store.

A store is shared by the connectors of a worker. `read` always sees everything that was written before the call, by
whomever. `write` returns when the offsets are durable. Transactions of tasks are not opened here: the engine encodes
keys and values with `encode_key` and `encode_value` and sends them in the task's own transaction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.storage.offset_keys import encode_key, encode_value

__all__ = ["OffsetStore", "encode_key", "encode_value"]

START_TIMEOUT_S = 60.0
READ_TIMEOUT_S = 30.0
WRITE_TIMEOUT_S = 30.0


class OffsetStore(ABC):
    """Source offsets by connector and source partition."""

    @abstractmethod
    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Read what is stored; returns when all is known."""

    @abstractmethod
    def stop(self) -> None:
        """Let go of files and brokers. A store can be stopped more than once."""

    @abstractmethod
    def read(self, connector: str, timeout_s: float = READ_TIMEOUT_S) -> Offsets:
        """The connector's offsets as of now; partitions without an offset are not in it.

        Raises:
            KafkaError: the broker refused or did not answer in time.
        """

    @abstractmethod
    def raw_keys(self, connector: str) -> dict[SourcePartition, bytes]:
        """The key bytes under which the connector's offsets are stored, to be used again for the same partitions."""

    @abstractmethod
    def write(
        self,
        connector: str,
        offsets: Mapping[SourcePartition, SourceOffset | None] | Mapping[Any, SourceOffset | None],
        timeout_s: float = WRITE_TIMEOUT_S,
        *,
        transactional_id: str | None = None,
    ) -> None:
        """Store offsets, None to delete one; durable on return.

        Args:
            connector: the connector's name.
            offsets: by source partition; partitions that are not in it keep theirs.
            timeout_s: how long it may take.
            transactional_id: write all or nothing, and fence producers that hold this id.

        Raises:
            DataError: an offset or partition that cannot be stored; nothing is written.
            KafkaError: the broker refused or did not answer in time.
            OffsetStoreError: the file cannot be written; the offsets in it are unchanged.
        """

    @abstractmethod
    def partitions(self, connector: str) -> set[SourcePartition]:
        """The connector's partitions that have an offset, as far as known without asking the broker."""

    @property
    def topic(self) -> str | None:
        """The topic in which the offsets are, if it is one."""
        return None
