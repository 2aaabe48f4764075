"""How a task may bring bytes to Kafka itself, past the engine's producer, and say so with `CopiedRecords`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """Who writes in a transaction.

    Attributes:
        transactional_id: of the task.
        producer_id: what the broker gave it.
        epoch: grows each time that somebody takes the transactional id over.
    """

    transactional_id: str
    producer_id: int
    epoch: int


class SharedTransaction(ABC):
    """The transactions of a task's producer, in which the task may write too.

    The engine begins and commits them. What the task has written and not told with `CopiedRecords` by the end of a
    `poll` must not be in them: if it cannot know, the task has to fail, and its successor ends the transaction.
    """

    @abstractmethod
    def identity(self) -> ProducerIdentity:
        """As whom to write. It is valid until `renew`.

        Raises:
            KafkaError: it cannot be known.
        """

    @abstractmethod
    def renew(self) -> None:
        """Commit what was told, and go on with another identity, for which all sequence numbers begin at zero.

        Needed before the engine writes to partitions in which the task has written, or the other way round.
        """


@dataclass(frozen=True, slots=True)
class Copying:
    """A task's right to bring bytes to Kafka itself: nothing would be done to them on the way.

    Attributes:
        producer: Java-style settings of the task's producer.
        transaction: in which to write, with exactly-once; None if offsets are committed at least once.
    """

    producer: Mapping[str, str]
    transaction: SharedTransaction | None = None
