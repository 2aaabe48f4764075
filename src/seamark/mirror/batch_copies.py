"""Which partitions of a mirror's task are copied batch by batch, and which record by record.

Batches are copied as they are only where nobody could tell the difference, but for the speed: without converters and
transforms that change anything, with settings of the clients that leave batches alone. What is handed back by the
copier is copied record by record until the task starts anew. With exactly-once, batches and records are in the same
transactions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from seamark.connector.copying import Copying
from seamark.errors import KafkaError
from seamark.kafka.batch_copier import BatchCopier, Copied
from seamark.kafka.python_admin import can_serve
from seamark.kafka.topic_partitions import TopicPartition
from seamark.kafka.transactional_copier import TransactionalCopier

log = logging.getLogger(__name__)

DRAIN_S: Final = 1.0
MAX_RETURNS: Final = 3
"""With transactions each costs some tenths of a second: what is handed back more often than that is not worth it."""
_ALL: Final = ("all", "-1")
_MEANT_FOR_RECORDS: Final = ("interceptor.classes", "max.request.size", "partitioner.class")


class BatchCopies:
    """The part of a task that copies batches."""

    def __init__(self, copying: Copying | None, consumer: Mapping[str, str], remote: Callable[[str], str]) -> None:
        """Describe it.

        Args:
            copying: how batches may be copied; None if they may not.
            consumer: Java-style settings of its consumer.
            remote: the name of a topic's copy.
        """
        self._copying, self._consumer, self._remote = copying, consumer, remote
        self._copier: BatchCopier | None = None
        self._partitions: frozenset[TopicPartition] = frozenset()
        self._by_record: set[TopicPartition] = set()
        self._has_written = False
        self._returns = 0

    @property
    def is_transactional(self) -> bool:
        """Whether what is copied is in transactions, and counts only once they are committed."""
        return self._copying is not None and self._copying.transaction is not None

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """Those that are copied here."""
        return self._partitions

    @property
    def has_pending(self) -> bool:
        """Whether something waits to be written. Any thread may ask."""
        copier = self._copier
        return isinstance(copier, TransactionalCopier) and copier.has_pending

    def begin(self, positions: Mapping[TopicPartition, int]) -> None:
        """Copy these partitions from these offsets on; those that cannot be are not in `partitions` afterwards.

        Raises:
            KafkaError: the task cannot go on, see `SharedTransaction.renew`.
        """
        self.end()
        copying = self._copying
        self._renew()
        wanted = {
            where: position
            for where, position in positions.items()
            if position >= 0 and where not in self._by_record and not self._is_unfit
        }
        if copying is None or not wanted or not leaves_batches_alone(copying.producer, self._consumer):
            return
        copies = {
            where: (TopicPartition(self._remote(where.topic), where.partition), position)
            for where, position in wanted.items()
        }
        try:
            if copying.transaction is None:
                self._copier = BatchCopier(self._consumer, copying.producer, copies)
            else:
                identity = copying.transaction.identity()
                self._copier = TransactionalCopier(self._consumer, copying.producer, copies, identity)
        except KafkaError as error:
            log.info("Records are copied one by one: %s", error.message)
            return
        self._partitions = frozenset(wanted)

    def _renew(self) -> None:
        """Before others, or another copier, write where the copier has written: its sequence numbers are not theirs."""
        if self._has_written and self._copying is not None and self._copying.transaction is not None:
            self._has_written = False
            self._copying.transaction.renew()

    def poll(self, timeout_s: float) -> list[Copied]:
        """What has been copied since the last call."""
        return [] if self._copier is None else self._copier.poll(timeout_s)

    def handed_back(self) -> dict[TopicPartition, int]:
        """Partitions that are not copied here any more, and where to go on.

        With transactions, `begin` has to be called with all others before anything else is done with them. It is to be
        asked when all that `poll` returned is told.
        """
        if self._copier is None:
            return {}
        found = self._copier.handed_back()
        self._partitions -= found.keys()
        self._by_record |= found.keys()
        self._returns += bool(found)
        return found

    @property
    def _is_unfit(self) -> bool:
        return self.is_transactional and self._returns > MAX_RETURNS

    def end(self) -> list[Copied]:
        """Copy no more; what has been copied since the last poll."""
        copier, self._copier, self._partitions = self._copier, None, frozenset()
        if copier is None:
            return []
        if isinstance(copier, TransactionalCopier):
            self._has_written |= copier.has_written
        try:
            return copier.drain(DRAIN_S)
        finally:
            copier.close()


def leaves_batches_alone(producer: Mapping[str, str], consumer: Mapping[str, str]) -> bool:
    """Whether the settings of a mirror's clients mean that batches are written as they were read."""
    return (
        producer.get("compression.type", "none").strip().lower() == "none"
        and producer.get("acks", "all").strip().lower() in _ALL
        and not any(producer.get(key) or consumer.get(key) for key in _MEANT_FOR_RECORDS)
        and can_serve(producer)
        and can_serve(consumer)
    )
