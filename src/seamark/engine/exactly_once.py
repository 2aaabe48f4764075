"""Exactly-once: records and their source offsets in one transaction of the task's own producer."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence

from seamark.config.connector_keys import TransactionBoundary
from seamark.connector.offsets import SourceOffset, SourcePartition, as_partition
from seamark.connector.records import CopiedRecords, RecordBatch, RecordMetadata, SourceRecord
from seamark.connector.transactions import TransactionContext
from seamark.engine.commits import Committer, CommitterParts, Placing, metadata_of, wire_offsets
from seamark.engine.update_offsets import OffsetMap
from seamark.errors import ConnectError, KafkaError, LeaseLostError
from seamark.kafka.producer import DeliveryReport, OnDelivery, RecordProducer
from seamark.storage.offsets import encode_key, encode_value

log = logging.getLogger(__name__)


class ExactlyOnceCommitter(Committer):
    """One transaction holds records and offsets; all become visible together, or none."""

    def __init__(
        self,
        parts: CommitterParts,
        producer: RecordProducer,
        *,
        offsets_topic: str,
        has_secondary: bool,
        boundary: TransactionBoundary,
        interval_ms: int,
        transaction: TransactionContext | None,
    ) -> None:
        super().__init__(parts)
        self._producer = producer
        self._offsets_topic, self._has_secondary = offsets_topic, has_secondary
        self._boundary, self._interval_s = boundary, interval_ms / 1000
        self._transaction = transaction
        self._is_open = False
        self._is_committing = False
        self._unflushed: dict[SourcePartition, SourceOffset | None] = {}
        self._sent: list[tuple[SourceRecord, RecordMetadata | None]] = []
        self._placings: list[Placing] = []
        self._last_commit = time.monotonic()

    @property
    def producer(self) -> RecordProducer:
        return self._producer

    def send(self, polled: Sequence[SourceRecord] | RecordBatch | CopiedRecords) -> None:
        if isinstance(polled, CopiedRecords):
            # They are in the transaction already: it is open, whether the producer has written in it or not.
            self._begin()
            self._note(polled.source_partition, polled.source_offset)
            self.parts.progress.records += polled.count
            self.parts.progress.bytes += polled.size
            return
        columns = self.columns_of(polled)
        if isinstance(polled, RecordBatch) and columns is not None:
            self._guard(polled.topic)
            self._begin()
            self.send_columns(polled, columns, self._placing(polled))
            self._note(polled.source_partition, polled.source_offset)
            return
        placing = self._placing(polled)
        for index, record in enumerate(self.as_records(polled)):
            self._send_one(record, placing.report(index) if placing and index in placing.batch.places else None)
            if self._transaction is not None:
                self._obey(self._transaction.take_record_request(record))

    def _placing(self, polled: Sequence[SourceRecord] | RecordBatch) -> Placing | None:
        if not isinstance(polled, RecordBatch) or not polled.places:
            return None
        self._placings.append(Placing(polled))
        return self._placings[-1]

    def _send_one(self, record: SourceRecord, report: OnDelivery | None = None) -> None:
        outgoing = self.parts.pipeline.convert(record)
        if outgoing is None:  # dropped: its position is committed all the same
            self._note(record.source_partition, record.source_offset)
            if self._wants_records:
                self._sent.append((record, None))
            return
        self._guard(outgoing.topic)
        self.parts.topics.ensure(outgoing.topic)
        self._begin()
        self.producer.send(
            outgoing.topic,
            outgoing.value,
            outgoing.key,
            outgoing.partition,
            outgoing.timestamp,
            outgoing.headers,
            functools.partial(self._delivered, record) if self._wants_records else report,
        )
        self._note(record.source_partition, record.source_offset)
        self.parts.progress.records += 1
        self.parts.progress.bytes += len(outgoing.value or b"") + len(outgoing.key or b"")

    def _delivered(self, record: SourceRecord, report: DeliveryReport) -> None:
        self._sent.append((record, metadata_of(report)))

    def renew(self, make_producer: Callable[[], RecordProducer]) -> None:
        """Commit, and go on with another producer, which has taken the transactional id over."""
        self._commit()
        self._producer.close()
        self._producer = make_producer()

    @property
    def has_pending(self) -> bool:
        # With interval boundaries an open transaction can as well be committed at the end of an idle epoch.
        return self._is_committing or (self._is_open and self._boundary is not TransactionBoundary.INTERVAL)

    def after_poll(self, had_records: bool) -> None:
        if self._boundary is TransactionBoundary.POLL:
            self._commit()
        elif self._boundary is TransactionBoundary.INTERVAL:
            if time.monotonic() >= self._last_commit + self._interval_s:
                self._commit()
            else:
                self.producer.poll()
        elif self._transaction is not None:
            self._obey(self._transaction.take_batch_request())

    def finish(self) -> None:
        if self._boundary is TransactionBoundary.CONNECTOR:
            self.after_poll(False)
            self._abort()  # what the task has not asked to commit is read again by the next one
        else:
            self._commit()

    def give_up(self, own_code_failed: bool) -> None:
        self._abort()

    def _obey(self, request: str | None) -> None:
        if request == "abort":
            if self._is_open:
                self._abort()
            else:
                log.warning("[%s] A request to abort was ignored: the transaction is empty", self.parts.connector)
        if request is not None:
            # Also after an abort: its records are dropped, but the task must not see them again.
            self._commit()

    def _guard(self, topic: str) -> None:
        if topic == self._offsets_topic:
            raise ConnectError(
                "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"
            )

    def _note(self, partition: Mapping[str, object] | None, offset: SourceOffset | None) -> None:
        if partition is not None:
            self._unflushed[as_partition(partition)] = offset

    def _begin(self) -> None:
        if not self._is_open:
            self.producer.begin()
            self._is_open = True

    def _abort(self) -> None:
        if self._is_open:
            self._is_open = False
            self._sent.clear()
            self._placings.clear()
            self.producer.abort()

    def _commit(self) -> None:
        started = self._last_commit = time.monotonic()
        offsets = self.hook(self._unflushed)
        if not offsets and not self._is_open:
            self.tell_task()
            return
        self.parts.lease.check()
        self._write_secondary("tombstones", offsets, lambda offset: offset is None)
        self._begin()
        for partition, offset in offsets.items():
            key = encode_key(self.parts.connector, partition, self.parts.raw_keys)
            self.producer.send(self._offsets_topic, encode_value(offset), key=key)
        self._is_open = False  # also if the commit fails: there is nothing left to abort then
        self._is_committing = True
        self.producer.commit()
        self._is_committing = False
        self._unflushed.clear()
        self.committed(offsets, started)
        self._write_secondary("offsets", offsets, lambda offset: offset is not None)
        placings, self._placings = self._placings, []
        for placing in placings:
            self.tell_task_of_batch(placing)
        sent, self._sent = self._sent, []
        for record, metadata in sent:
            self.tell_task_of(record, metadata)
        self.tell_task()

    def _write_secondary(self, what: str, offsets: OffsetMap, wanted: Callable[[SourceOffset | None], bool]) -> None:
        """Copy offsets to the worker's own topic.

        Tombstones go there first: left behind, they would bring offsets back.
        """
        chosen = {partition: offset for partition, offset in offsets.items() if wanted(offset)}
        if not self._has_secondary or not chosen:
            return
        try:
            self.parts.lease.call("commit", {"offsets": wire_offsets(chosen), "store": "secondary"})
        except LeaseLostError:
            raise
        except KafkaError as error:
            if what == "tombstones":
                raise
            log.warning(
                "[%s] Offsets could not be copied to the worker's offsets topic: %s", self.parts.connector, error
            )
