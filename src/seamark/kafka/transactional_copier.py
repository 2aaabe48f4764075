"""Copies topic partitions batch by batch inside the transactions of a producer that somebody else begins and commits.

The producer lends its identity (`RecordProducer.identity`). Copies carry it, with sequence numbers of their own: so
the producer itself must not write to these partitions, and another identity is needed before it does.

Each `poll` brings what it sends to its end. When it returns, all that it tells is in the open transaction, and nothing
else: it may be committed. When it raises, nobody knows what is in the transaction: it must not be committed, but left
to whoever takes the transactional id over.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from seamark.connector.copying import ProducerIdentity
from seamark.errors import FencedError, KafkaError
from seamark.kafka.batch_copier import REQUEST_S, BatchCopier, Copied, PartitionCopy, errors
from seamark.kafka.record_batches import RawBatch
from seamark.kafka.topic_partitions import TopicPartition

TRANSACTION_BYTES: Final = 16 * 2**20
"""What one `poll` sends at the most: enough that the cost of a commit does not count."""
TRANSACTION_S: Final = 0.2
_RETRY_S: Final = 0.005  # the end of the transaction before is a matter of milliseconds
_TRANSACTION_COORDINATOR: Final = 1
_FIND_VERSION: Final = 3  # the last one for a single key
_ADD_VERSION: Final = 3  # the last one for clients
# The broker has looked at the batch and not written it. With any other error it may have.
_SURELY_REFUSED: Final = (
    "CorruptRecordError",
    "InvalidRecordError",
    "InvalidTimestampError",
    "MessageSizeTooLargeError",
    "NotEnoughReplicasError",
    "NotLeaderForPartitionError",
    "OutOfOrderSequenceNumberError",
    "PolicyViolationError",
    "RecordListTooLargeError",
    "TopicAuthorizationFailedError",
    "UnknownTopicOrPartitionError",
    "OperationNotAttemptedError",
)
_FENCED: Final = ("InvalidProducerEpochError", "ProducerFencedError")


class TransactionalCopier(BatchCopier):
    """Copies partitions in the transactions of a producer."""

    # A partition with small batches is handed back early: doing so later costs a new identity.
    judged_batches = 50

    def __init__(
        self,
        source: Mapping[str, str],
        target: Mapping[str, str],
        copies: Mapping[TopicPartition, tuple[TopicPartition, int]],
        identity: ProducerIdentity,
    ) -> None:
        """Connect; see `BatchCopier`. `identity` is that of the producer."""
        self._identity = identity
        self._transactional_id = identity.transactional_id
        self._coordinator: int | None = None
        self._added: frozenset[TopicPartition] = frozenset()
        self._left_bytes, self._until = 0, 0.0
        self._failure: KafkaError | None = None
        self.has_pending = False
        """Whether something is read and not written yet. Any thread may look."""
        self.has_written = False
        """Whether the identity was used: then its producer cannot write to these partitions."""
        super().__init__(source, target, copies)

    def poll(self, timeout_s: float) -> list[Copied]:
        """What has been copied into the open transaction; waits for something to copy.

        Raises:
            FencedError: somebody else has taken the transactional id over.
            KafkaError: it is not known what is in the transaction.
        """
        self._check()
        self._read_ahead(timeout_s)
        self.has_pending = bool(self._waiting())
        # With many partitions the end of the transaction before may take its time; the next one waits for it.
        self._join_transaction()
        if not self._added:
            return []
        try:
            self._write()
        finally:
            self._added = frozenset()
        self.has_pending = bool(self._waiting())
        self._check()
        done, self._done = self._done, []
        return done

    def _read_ahead(self, timeout_s: float) -> None:
        """Wait until there is something to write."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._fetch()
            left_s = 0.0 if self._waiting() else max(0.0, deadline - time.monotonic())
            self._net.poll(timeout_ms=left_s * 1000)
            if left_s == 0 or not self._copies or self._waiting():
                return

    def drain(self, timeout_s: float) -> list[Copied]:
        """Nothing is on its way between two polls."""
        return []

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _waiting(self) -> list[PartitionCopy]:
        return [copy for copy in self._copies.values() if copy.queue and copy.why_ended is None]

    # the transaction

    def _join_transaction(self) -> None:
        """Make the partitions that have something to be written part of the transaction."""
        while waiting := self._waiting():
            self.has_written = True  # the transaction may be open from here on, even if nothing is written
            try:
                refused = self._net.run(self._add, [copy.target for copy in waiting])
            except (errors().KafkaError, OSError) as error:
                self._fail(type(error), f"Partitions cannot be added to the transaction: {error}")
            self._check()
            if not refused:
                self._added = frozenset(copy.target for copy in waiting)
                return
            for copy in waiting:
                if copy.target in refused:
                    copy.end(f"{copy.target} cannot be part of the transaction: {refused[copy.target].__name__}")

    async def _add(self, targets: list[TopicPartition]) -> dict[TopicPartition, Any]:
        """Returns those that were refused for reasons of their own; then none was added."""
        deadline = time.monotonic() + REQUEST_S
        while True:
            if self._coordinator is None:
                self._coordinator = await self._find_coordinator()
            answer = await self._target.send(self._add_request(targets), self._coordinator)  # type: ignore[union-attr]
            found = {
                TopicPartition(topic.name, part.partition_index): errors().for_code(part.partition_error_code)
                for topic in answer.results_by_topic_v3_and_below
                for part in topic.results_by_partition
            }
            wrong = {where: error for where, error in found.items() if error is not errors().NoError}
            if not wrong:
                return {}
            surely = {where: error for where, error in wrong.items() if error.__name__ in _SURELY_REFUSED}
            own = {where: error for where, error in surely.items() if error.__name__ != "OperationNotAttemptedError"}
            if own:
                return own
            error = next(iter(wrong.values()))
            if not self._passes(error) or time.monotonic() > deadline:
                raise error()
            await self._net.sleep(_RETRY_S)

    def _passes(self, error: Any) -> bool:
        """Whether to ask again."""
        if issubclass(error, errors().NotCoordinatorError | errors().CoordinatorNotAvailableError):
            self._coordinator = None
            return True
        return issubclass(error, errors().CoordinatorLoadInProgressError | errors().ConcurrentTransactionsError)

    def _add_request(self, targets: list[TopicPartition]) -> Any:
        from kafka.protocol.producer.transaction import AddPartitionsToTxnRequest

        by_topic: dict[str, list[int]] = {}
        for where in targets:
            by_topic.setdefault(where.topic, []).append(where.partition)
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._identity.transactional_id,
            v3_and_below_producer_id=self._identity.producer_id,
            v3_and_below_producer_epoch=self._identity.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=partitions)
                for topic, partitions in by_topic.items()
            ],
            max_version=_ADD_VERSION,
        )

    async def _find_coordinator(self) -> int:
        from kafka.protocol.metadata.find_coordinator import FindCoordinatorRequest

        request = FindCoordinatorRequest(
            key=self._identity.transactional_id, key_type=_TRANSACTION_COORDINATOR, max_version=_FIND_VERSION
        )
        answer = await self._target.send(request)  # type: ignore[union-attr]
        error = errors().for_code(answer.error_code)
        if error is not errors().NoError:
            raise error()
        return int(answer.node_id)

    async def _who(self) -> tuple[int, int]:
        return self._identity.producer_id, self._identity.epoch

    # writing

    def _write(self) -> None:
        """Send what fits into one transaction, and wait for all of it; reading goes on meanwhile."""
        self._left_bytes, self._until = TRANSACTION_BYTES, time.monotonic() + TRANSACTION_S
        deadline = time.monotonic() + REQUEST_S
        while self._failure is None:
            self._pump()
            if not any(copy.in_flight for copy in self._copies.values()):
                return  # had there been more to send, it would have been sent
            if time.monotonic() > deadline:
                self._fail(errors().KafkaTimeoutError, f"No answer within {REQUEST_S:g} s")
                return
            self._net.poll(timeout_ms=1000)

    def _may_write(self, copy: PartitionCopy) -> bool:
        return (
            super()._may_write(copy)
            and copy.target in self._added
            and self._left_bytes > 0
            and time.monotonic() < self._until
        )

    def _send(self, leader: int, copies: list[PartitionCopy]) -> None:
        self._left_bytes -= sum(len(copy.queue[0].data) for copy in copies)
        super()._send(leader, copies)

    def _refused(self, copy: PartitionCopy, error: Any) -> None:
        super()._refused(copy, error)
        if error is None or error.__name__ not in _SURELY_REFUSED:
            self._fail(error or errors().KafkaError, f"Writing to {copy.target} was refused")

    def _not_produced(self, sent: Mapping[TopicPartition, RawBatch], error: BaseException) -> None:
        super()._not_produced(sent, error)
        self._fail(type(error), f"Batches were sent and not answered: {error}")

    def _fail(self, error: Any, what: str) -> None:
        if self._failure is None:
            name = error.__name__
            message = f"{what} ({name}) in a transaction of {self._identity.transactional_id!r}."
            is_fenced = name in _FENCED
            self._failure = (
                FencedError(message, retriable=True, code=name)
                if is_fenced
                else KafkaError(message, retriable=True, code=name)
            )
