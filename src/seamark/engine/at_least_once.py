"""At-least-once: records go out as they come, offsets follow once Kafka has acknowledged what is before them."""

from __future__ import annotations

import functools
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seamark.connector.records import CopiedRecords, RecordBatch, RecordMetadata, SourceRecord
from seamark.engine.acknowledgements import Submission, SubmittedRecords
from seamark.engine.commits import Committer, CommitterParts, Placing, metadata_of, wants_reports, wire_offsets
from seamark.engine.tolerance import ToleranceExceededError
from seamark.engine.update_offsets import OffsetMap
from seamark.errors import KafkaError, LeaseLostError
from seamark.kafka.errors import timeout_error
from seamark.kafka.producer import DeliveryReport, OnDelivery, RecordProducer

log = logging.getLogger(__name__)

FLUSH_SLICE_S = 0.2


class _WholeBatch:
    """A batch whose records are sent one by one, but of which only the end has a position."""

    def __init__(self, submission: Submission, records: int) -> None:
        self._submission, self._left = submission, records

    def acknowledge(self) -> None:
        """One of its records is acknowledged; the last one acknowledges the batch."""
        self._left -= 1
        if self._left == 0:
            self._submission.acknowledge()

    def cut(self, missing: int, offset: Mapping[str, Any]) -> None:
        """Its last records are not sent after all; the others end at that offset."""
        self._submission.offset = offset
        self._left -= missing
        if self._left == 0:
            self._submission.acknowledge()


class AtLeastOnceCommitter(Committer):
    """Commits the longest acknowledged prefix of each source partition, every flush interval and at the end."""

    def __init__(
        self, parts: CommitterParts, interval_ms: int, flush_timeout_ms: int, patience_ms: int = 60_000
    ) -> None:
        """`patience_ms` is how long Kafka may go without acknowledging anything before the task fails."""
        super().__init__(parts)
        self._patience_s = patience_ms / 1000
        self._acknowledgements, self._flowed_at = 0, time.monotonic()
        self._interval_s, self._flush_timeout_s = interval_ms / 1000, flush_timeout_ms / 1000
        self._submitted = SubmittedRecords()
        # Sent without reports for each record: acknowledged together, when nothing is in flight.
        self._batches: deque[Submission | _WholeBatch] = deque()
        self._committable: OffsetMap = {}
        self._acknowledged: deque[tuple[SourceRecord, RecordMetadata | None]] = deque()
        self._placed: deque[Placing] = deque()
        self._next_commit = time.monotonic() + self._interval_s
        self._is_sending = False
        self._is_in_flight = False
        self._producer: RecordProducer | None = None
        self._is_precise = False

    @property
    def producer(self) -> RecordProducer:
        """Made with the first records, because it depends on their kind: a report for each record costs a third of
        the throughput and is needed only where records come one by one, each with an offset of its own.
        """
        if self._producer is None:
            self._producer = self.parts.make_producer(reports_successes=self._is_precise, on_wait=self._waiting)
        return self._producer

    def start(self) -> None:
        if self.has_hook:
            self._commit()

    def send(self, polled: Sequence[SourceRecord] | RecordBatch | CopiedRecords) -> None:
        if isinstance(polled, CopiedRecords):
            self._submitted.submit(polled.source_partition, polled.source_offset).acknowledge()
            self.parts.progress.records += polled.count
            self.parts.progress.bytes += polled.size
            return
        self._is_sending = True
        columns = self.columns_of(polled)
        if self._producer is None:
            self._is_precise = not self.is_column_batch(polled) or wants_reports(type(self.task))
        if isinstance(polled, RecordBatch) and columns is not None:
            submission = self._submitted.submit(polled.source_partition, polled.source_offset)
            if polled.places and polled.places[-1] == len(polled) - 1 and polled.kafka_partition is not None:
                # Records of one Kafka partition are acknowledged in order: the last report stands for all.
                self.send_columns(polled, columns, self._placing(polled, submission.acknowledge))
            else:
                self._batches.append(submission)
                self.send_columns(polled, columns, self._placing(polled))
        elif isinstance(polled, RecordBatch):
            self._send_each_of(polled)
        else:
            for record in polled:
                self._send_one(record)
        self._is_sending = False

    def _send_each_of(self, polled: RecordBatch) -> None:
        submission = self._submitted.submit(polled.source_partition, polled.source_offset)
        whole = _WholeBatch(submission, len(polled))
        placing = self._placing(polled)
        for index, record in enumerate(polled.records()):
            try:
                self._send_one(record, whole, placing.report(index) if placing and index in polled.places else None)
            except ToleranceExceededError:
                if index and polled.offset_at is not None:
                    whole.cut(len(polled) - index, polled.offset_at(index - 1))
                raise

    def _placing(self, batch: RecordBatch, on_last: Callable[[], None] = lambda: None) -> Placing | None:
        if not batch.places:
            return None

        def done() -> None:
            on_last()
            self._placed.append(placing)

        placing = Placing(batch, done)
        return placing

    def _send_one(
        self, record: SourceRecord, whole: _WholeBatch | None = None, placed: OnDelivery | None = None
    ) -> None:
        outgoing = self.parts.pipeline.convert(record)
        submission = whole or self._submitted.submit(record.source_partition, record.source_offset)
        if outgoing is None:  # dropped: its position counts as soon as those before it do
            submission.acknowledge()
            if self._wants_records:
                self._acknowledged.append((record, None))
            return
        self.parts.topics.ensure(outgoing.topic)
        producer = self.producer
        if not self._is_precise:
            self._batches.append(submission)
        producer.send(
            outgoing.topic,
            outgoing.value,
            outgoing.key,
            outgoing.partition,
            outgoing.timestamp,
            outgoing.headers,
            functools.partial(self._delivered, record, submission, placed) if self._is_precise else None,
        )
        self.parts.progress.records += 1
        self.parts.progress.bytes += len(outgoing.value or b"") + len(outgoing.key or b"")

    def _waiting(self) -> None:
        """The producer's queue is full because Kafka takes its time; offsets of what it did take still move on."""
        self.parts.lease.check()
        self._check_flow()
        self._commit_if_due()

    def _check_flow(self) -> None:
        """A producer is patient for ever: without this a task whose broker is away would seem to work."""
        if self._producer is None:
            return
        in_flight = self._producer.in_flight
        self._is_in_flight = in_flight > 0
        done, now = self._producer.sent - in_flight, time.monotonic()
        if in_flight == 0 or done != self._acknowledgements:
            self._acknowledgements, self._flowed_at = done, now
        elif now - self._flowed_at > self._patience_s:
            raise timeout_error(f"write {in_flight} records", self._producer.brokers, self._patience_s)

    def _delivered(
        self,
        record: SourceRecord,
        submission: Submission | _WholeBatch,
        placed: OnDelivery | None,
        report: DeliveryReport,
    ) -> None:
        if placed is not None:
            placed(report)
        if report.error is None:
            submission.acknowledge()
            if self._wants_records:
                self._acknowledged.append((record, metadata_of(report)))

    @property
    def has_pending(self) -> bool:
        return self._is_in_flight

    def after_poll(self, had_records: bool) -> None:
        if self._producer is not None:
            self._producer.poll()
            self._producer.check()
        self._check_flow()
        self._acknowledge_batches()
        while self._acknowledged:
            self.tell_task_of(*self._acknowledged.popleft())
        while self._placed:
            self.tell_task_of_batch(self._placed.popleft())
        self._commit_if_due()

    def finish(self) -> None:
        self._flush()
        self._next_commit = float("inf")  # the commit below is the last one
        self.after_poll(False)
        self._commit()

    def give_up(self, own_code_failed: bool) -> None:
        if not own_code_failed:
            return
        # As Java does: what was acknowledged before the task's own code failed need not be repeated.
        self._flush()
        if self._producer is not None:
            self._producer.check()
        self._acknowledge_batches()
        self._commit(with_hook=False)

    def _flush(self, is_last: bool = True) -> None:
        """Wait until Kafka has everything; unless it is the last time, only as long as the task is not told to end."""
        deadline = time.monotonic() + self._flush_timeout_s
        while self._producer is not None and (left_s := deadline - time.monotonic()) > 0:
            if self._producer.flush(min(left_s, FLUSH_SLICE_S)) == 0 or (self.parts.lease.should_end and not is_last):
                return

    def _acknowledge_batches(self) -> None:
        if self._batches and self.producer.in_flight == 0:
            for submission in self._batches:
                submission.acknowledge()
            self._batches.clear()

    def _commit_if_due(self) -> None:
        if time.monotonic() >= self._next_commit:
            if self._producer is not None:
                self._producer.check()  # a record that could not be sent ends the task, and nothing is committed
            if self._batches and not self._is_sending:
                self._flush(is_last=False)
                self._acknowledge_batches()
            # KIP-910: not while records of the last batch are still unsent; the commit goes ahead without the hook.
            self._commit(with_hook=not self._is_sending)

    def _commit(self, with_hook: bool = True) -> None:
        started = time.monotonic()
        self._next_commit = started + self._interval_s
        self._committable.update(self._submitted.take_committable())
        if with_hook:
            # What the hook returns counts as acknowledged: like the rest it is kept if this flush fails.
            self._committable = self.hook(self._committable)
        offsets = self._committable
        if offsets:
            self.parts.lease.check()
            try:
                self.parts.lease.call("commit", {"offsets": wire_offsets(offsets), "store": "all"})
            except LeaseLostError:
                raise
            except KafkaError as error:
                log.warning(
                    "[%s] Offsets could not be committed and will be with the next flush: %s",
                    self.parts.connector,
                    error,
                )
                return
            self._committable = {}
            self.committed(offsets, started)
        self.tell_task()
