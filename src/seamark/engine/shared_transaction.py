"""The transactions of a source task's producer, lent to a task that brings bytes to Kafka itself."""

from __future__ import annotations

from collections.abc import Callable

from seamark.connector.copying import ProducerIdentity, SharedTransaction
from seamark.engine.exactly_once import ExactlyOnceCommitter
from seamark.engine.lease_client import LeaseClient
from seamark.kafka.producer import RecordProducer

INIT_S = 30.0


class TaskTransaction(SharedTransaction):
    """Lends the identity of the producer that the committer works with."""

    def __init__(
        self, producer: RecordProducer, make_producer: Callable[[], RecordProducer], lease: LeaseClient
    ) -> None:
        self._first, self._make_producer, self._lease = producer, make_producer, lease
        self.committer: ExactlyOnceCommitter | None = None
        """Set when it is there, before the task is polled."""

    def identity(self) -> ProducerIdentity:
        return (self._first if self.committer is None else self.committer.producer).identity()

    def renew(self) -> None:
        if self.committer is None:
            raise RuntimeError("A task cannot renew its identity before it is polled.")
        self.committer.renew(self._renewed)

    def _renewed(self) -> RecordProducer:
        self._lease.check()
        producer = self._make_producer()
        producer.init_transactions(INIT_S)
        # Had another task taken the lease over before that, it would be the one that is fenced now. It starts again;
        # this one is told here that its time is over.
        self._lease.call("offsets")
        return producer
