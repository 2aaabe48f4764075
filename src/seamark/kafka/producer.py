"""A producer for Spark tasks: transactions, back-pressure, and the certainty that everything sent was acknowledged.

Records are queued one by one: on records of 100 bytes a plain loop over librdkafka's `produce` costs as much as its
batch call (about 0.8 us a record) and keeps headers and timestamps. What costs is a report for every record (about
0.4 us more), so only failures are reported unless asked otherwise. That is enough to know that all was acknowledged:
nothing is left in the queue and nothing failed.

A producer belongs to one thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from types import TracebackType
from typing import Any, Final

import confluent_kafka
import orjson

from seamark.connector.copying import ProducerIdentity
from seamark.errors import FencedError, KafkaError
from seamark.kafka.client_logs import librdkafka_logger
from seamark.kafka.clients import clients_closed, librdkafka_config, make_client, redacted
from seamark.kafka.delivery import ClosedProducer, DeliveryReport, OnDelivery
from seamark.kafka.errors import code_of, is_fatal, is_login_failure, kafka_error, requires_abort, timeout_error

__all__ = ["DeliveryReport", "Headers", "OnDelivery", "RecordProducer"]

Headers = Sequence[tuple[str, bytes | None]]

_log = logging.getLogger(__name__)
_ANY_PARTITION: Final = -1
_WAIT_S: Final = 0.01  # how long to wait for room in the queue before asking `on_wait` again
_RETRY_S: Final = 0.1
_STATISTICS_MS: Final = 200
_NEW_PARTITION_S: Final = 10.0  # how long a partition may be unknown that somebody names
_REFUSED_RECORDS: Final = frozenset(
    {
        "MSG_SIZE_TOO_LARGE",
        "INVALID_MSG",
        "INVALID_RECORD",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_TIMESTAMP",
        "TOPIC_AUTHORIZATION_FAILED",
        "TOPIC_EXCEPTION",
    }
)
_PURGED: Final = frozenset({"_PURGE_QUEUE", "_PURGE_INFLIGHT"})


class RecordProducer:
    """Sends records to Kafka, in transactions or not.

    Not transactional: call `flush`; when it returns 0, every record sent before was acknowledged. Transactional:
    `init_transactions` once, then `begin`, sends, and `commit` or `abort`; a commit that returns covers every record
    of the transaction.
    """

    def __init__(
        self,
        java_config: Mapping[str, str],
        transactional_id: str | None = None,
        *,
        reports_successes: bool = False,
        on_wait: Callable[[], None] | None = None,
        shows_identity: bool = False,
    ) -> None:
        """Make a producer.

        Args:
            java_config: Java-style producer settings.
            transactional_id: makes the producer transactional.
            reports_successes: call `on_delivery` for every record, not only for those that failed.
            on_wait: called while a full queue holds up the sender; it may raise to give up.
            shows_identity: whether `identity` will be asked for.
        """
        java = dict(java_config)
        if transactional_id is not None:
            java["transactional.id"] = transactional_id
            java["enable.idempotence"] = "true"
        else:
            java.pop("transactional.id", None)
        config = librdkafka_config(java, "producer")
        config["delivery.report.only.error"] = not reports_successes
        config["error_cb"] = self._on_client_error
        config["logger"] = librdkafka_logger()
        self._identity: ProducerIdentity | None = None
        if shows_identity:
            # The statistics are the only place where librdkafka says as whom it writes.
            config["statistics.interval.ms"] = _STATISTICS_MS
            config["stats_cb"] = self._on_statistics
        self.transactional_id = transactional_id
        self.brokers: str = config["bootstrap.servers"]
        self.sent = 0
        self._on_wait = on_wait
        self._reports_successes = reports_successes
        self._failed = 0
        self._first_failure: KafkaError | None = None
        self._fatal: KafkaError | None = None
        self._refusal: KafkaError | None = None
        self._unknown_since: float | None = None
        self._is_closed = False
        self._is_in_transaction = False
        _log.debug("Producer settings: %s", redacted(config))
        self._producer: Any = make_client(confluent_kafka.Producer, config)

    # --- transactions -------------------------------------------------------------------------------------------------

    def init_transactions(self, timeout_s: float = 60.0) -> None:
        """Take over the transactional id: older producers with it are fenced, their open transaction is aborted."""
        self._retried(
            f"initialise transactions of {self.transactional_id!r}", self._producer.init_transactions, timeout_s
        )

    def identity(self, timeout_s: float = 10.0) -> ProducerIdentity:
        """As whom this producer writes, after `init_transactions`: others may write in its transactions with that.

        Raises:
            KafkaTimeoutError: it is not known in time.
        """
        deadline = time.monotonic() + timeout_s
        while self._identity is None:
            if time.monotonic() > deadline:
                raise timeout_error(f"learn the producer id of {self.transactional_id!r}", self.brokers, timeout_s)
            self.poll(_WAIT_S)
        return self._identity

    def begin(self) -> None:
        """Begin a transaction."""
        self._failed, self._first_failure = 0, None
        try:
            self._producer.begin_transaction()
        except confluent_kafka.KafkaException as error:
            raise self._error(error, f"begin a transaction of {self.transactional_id!r}") from error
        self._is_in_transaction = True

    def commit(self, timeout_s: float = 60.0) -> None:
        """Commit the transaction; on return all its records are visible to read_committed readers.

        Raises:
            FencedError: a newer producer took over; nothing was committed.
            KafkaTimeoutError: no answer in time. The outcome is open: abort is not possible, the producer must be
                closed, and a new one's `init_transactions` settles it.
            KafkaError: the transaction was aborted; when retriable, the same records may be sent again.
        """
        action = f"commit a transaction of {self.transactional_id!r}"
        try:
            self._retried(action, self._producer.commit_transaction, timeout_s)
            self._is_in_transaction = False
        except _AbortRequiredError as required:
            refused = self._error(required.cause, action)
            if isinstance(refused, FencedError):
                raise refused from required.cause
            self.poll(0)
            self._abort(timeout_s)
            self.poll(0)
            # The report of a record that failed says more than the transaction does. An error of the transaction as
            # a whole passes with a new one; a record that was refused is refused again.
            failure, self._failed, self._first_failure = self._first_failure, 0, None
            cause = failure or refused
            raise KafkaError(
                f"{cause.message}. The transaction was aborted.",
                retriable=cause.code not in _REFUSED_RECORDS if failure is None else failure.retriable,
                code=cause.code,
            ) from required.cause

    def abort(self, timeout_s: float = 60.0) -> None:
        """Abort the transaction: its records, sent or still queued, are never seen by read_committed readers."""
        self._abort(timeout_s)
        self._failed, self._first_failure = 0, None

    # --- records ------------------------------------------------------------------------------------------------------

    def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Queue one record; waits while the queue is full.

        Args:
            topic: where to.
            value: None is a tombstone.
            key: decides the partition when none is given, as Java's producer does.
            partition: where in the topic.
            timestamp_ms: None is now.
            headers: in order; names may repeat.
            on_delivery: called from `poll`, `flush` or a later send; needs ``reports_successes``.
        """
        if on_delivery is not None and not self._reports_successes:
            raise ValueError("on_delivery needs a producer made with reports_successes=True")
        callback = self._on_failure if on_delivery is None else self._reporter(on_delivery)
        where = _ANY_PARTITION if partition is None else partition
        while True:
            try:
                self._producer.produce(topic, value, key, where, callback, None, timestamp_ms or 0, headers or None)
            except BufferError:
                self._make_room()
            except confluent_kafka.KafkaException as error:
                if not self._awaits_partition(topic, error):
                    raise self._error(error, f"send a record to topic {topic!r}") from error
            else:
                self._sent(1)
                return

    def send_batch(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None = None,
        partition: int | None = None,
        timestamps: Sequence[int | None] | None = None,
        headers: Sequence[Headers | None] | None = None,
        partitions: Sequence[int | None] | None = None,
        reports: Mapping[int, OnDelivery] | None = None,
    ) -> None:
        """Queue many records for one topic, in order; waits while the queue is full.

        Lists beside `values` have its length. `partition` holds for all, `partitions` for each. `reports` says what to
        call when the records of these indexes are delivered; it needs ``reports_successes``.
        """
        if reports:
            self._send_reported(topic, values, keys, partition, timestamps, headers, reports)
            return
        count = len(values)
        for name, column in (
            ("keys", keys),
            ("timestamps", timestamps),
            ("headers", headers),
            ("partitions", partitions),
        ):
            if column is not None and len(column) != count:
                raise ValueError(f"{name} has {len(column)} entries for {count} values")
        produce, failed = self._producer.produce, self._on_failure
        same = _ANY_PARTITION if partition is None else partition
        is_plain = timestamps is None and headers is None and partitions is None
        index = 0
        while index < count:
            start = index
            try:
                if is_plain and keys is None:
                    for value in values if start == 0 else values[start:]:
                        produce(topic, value, None, same, failed)
                        index += 1
                elif is_plain and keys is not None:
                    for value, key in zip(values[start:], keys[start:], strict=True):
                        produce(topic, value, key, same, failed)
                        index += 1
                else:
                    while index < count:
                        where = same if partitions is None else partitions[index]
                        produce(
                            topic,
                            values[index],
                            None if keys is None else keys[index],
                            _ANY_PARTITION if where is None else where,
                            failed,
                            None,
                            (timestamps[index] or 0) if timestamps is not None else 0,
                            (headers[index] or None) if headers is not None else None,
                        )
                        index += 1
            except BufferError:
                self._make_room()
            except confluent_kafka.KafkaException as error:
                if not self._awaits_partition(topic, error):
                    raise self._error(error, f"send a record to topic {topic!r}") from error
            finally:
                self._sent(index - start)
        self.poll(0)

    def _send_reported(
        self,
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None,
        partition: int | None,
        timestamps: Sequence[int | None] | None,
        headers: Sequence[Headers | None] | None,
        reports: Mapping[int, OnDelivery],
    ) -> None:
        """Between the records whose reports are wanted, transactions need none: one that fails fails the commit."""
        produce, count = self._producer.produce, len(values)
        where = _ANY_PARTITION if partition is None else partition
        unreported = None if self.transactional_id is not None else self._on_failure
        index = 0
        for stop in (*sorted(reports), count):
            while index < stop:
                start = index
                columns = zip(
                    values[start:stop],
                    repeat(None) if keys is None else keys[start:stop],
                    repeat(0) if timestamps is None else timestamps[start:stop],
                    repeat(None) if headers is None else headers[start:stop],
                    strict=False,
                )
                try:
                    for value, key, timestamp, header in columns:
                        produce(topic, value, key, where, unreported, None, timestamp or 0, header or None)
                        index += 1
                except BufferError:
                    self._make_room()
                except confluent_kafka.KafkaException as error:
                    if not self._awaits_partition(topic, error):
                        raise self._error(error, f"send a record to topic {topic!r}") from error
                finally:
                    self._sent(index - start)
            if stop < count:
                self.send(
                    topic,
                    values[stop],
                    None if keys is None else keys[stop],
                    partition,
                    None if timestamps is None else timestamps[stop],
                    None if headers is None else headers[stop],
                    reports[stop],
                )
                index = stop + 1
        self.poll(0)

    def poll(self, timeout_s: float = 0.0) -> int:
        """Serve reports that are waiting; returns how many were served."""
        try:
            return int(self._producer.poll(timeout_s))
        except confluent_kafka.KafkaException as error:  # raised once, when a fatal error is met
            raise self._error(error, "go on producing") from error

    def flush(self, timeout_s: float) -> int:
        """Wait until everything sent was acknowledged or failed.

        Returns:
            How many records are still on their way when the time is over; 0 means that every record sent so far is in
            Kafka.

        Raises:
            KafkaError: a record could not be written. The error stays until `begin` or `forget_failures`.
        """
        try:
            remaining = int(self._producer.flush(timeout_s))
        except confluent_kafka.KafkaException as error:
            raise self._error(error, "go on producing") from error
        self.check()
        if remaining and self._refusal is not None:
            raise self._refusal
        return remaining

    def check(self) -> None:
        """Raise the first failure that was reported, if any."""
        if self._fatal is not None:
            raise self._fatal
        if self._first_failure is not None:
            raise self._first_failure

    def forget_failures(self) -> int:
        """Forget the failed records, and say how many there were: for a caller that tolerates or resends them."""
        failed, self._failed, self._first_failure = self._failed, 0, None
        return failed

    @property
    def in_flight(self) -> int:
        """How many records are queued or on their way."""
        return len(self._producer)

    @property
    def failed(self) -> int:
        """How many records have failed since `begin`, `abort` or `forget_failures`."""
        return self._failed

    def close(self, timeout_s: float = 5.0) -> None:
        """Let go of the broker, within the time.

        An open transaction is aborted. Records that are not acknowledged in time are dropped. With no time at all an
        open transaction is left to the broker, which ends it after ``transaction.timeout.ms`` or when a successor
        takes over.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if timeout_s > 0 and self._fatal is None:
                if self.transactional_id is None:
                    self._producer.flush(timeout_s)
                elif self._is_in_transaction:
                    self._abort(timeout_s)
            self._producer.purge()
        except (confluent_kafka.KafkaException, KafkaError, _AbortRequiredError) as error:
            _log.debug("Closing the producer at %s: %s", self.brokers, error)
        # The library's own `close` waits for the broker for ever when a transaction is open. Letting go does not.
        self._producer = ClosedProducer()
        clients_closed()

    def __enter__(self) -> RecordProducer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(1.0 if kind is not None else 5.0)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _abort(self, timeout_s: float) -> None:
        self._retried(f"abort a transaction of {self.transactional_id!r}", self._producer.abort_transaction, timeout_s)
        self._is_in_transaction = False

    def _sent(self, records: int) -> None:
        self.sent += records
        if records:
            self._unknown_since = None  # what was unknown is known

    def _awaits_partition(self, topic: str, error: Any) -> bool:
        """Whether to try again because the topic may have got partitions since this client last looked at it."""
        now = time.monotonic()
        if code_of(error) != "_UNKNOWN_PARTITION":
            return False
        self._unknown_since = now if self._unknown_since is None else self._unknown_since
        if now - self._unknown_since > _NEW_PARTITION_S:
            return False
        if self._on_wait is not None:
            self._on_wait()
        try:
            self._producer.list_topics(topic, timeout=_NEW_PARTITION_S)
        except confluent_kafka.KafkaException as problem:
            _log.debug("Topic %r at %s: %s", topic, self.brokers, problem)
        time.sleep(_WAIT_S)
        return True

    def _make_room(self) -> None:
        self.check()
        self._refusal = None
        self.poll(_WAIT_S)
        if self._refusal is not None:
            raise self._refusal
        if self._on_wait is not None:
            self._on_wait()

    def _on_failure(self, error: Any, message: Any) -> None:
        if error is None:
            return
        self._failed += 1
        if self._first_failure is None and error.name() not in _PURGED:
            self._first_failure = self._error(error, f"write a record to topic {message.topic()!r}")

    def _reporter(self, on_delivery: OnDelivery) -> Callable[[Any, Any], None]:
        def report(error: Any, message: Any) -> None:
            self._on_failure(error, message)
            ours = None if error is None else self._error(error, f"write a record to topic {message.topic()!r}")
            offset = message.offset()
            on_delivery(DeliveryReport(message.topic(), message.partition(), -1 if offset is None else offset, ours))

        return report

    def _on_statistics(self, statistics: str) -> None:
        if self._identity is None and self.transactional_id is not None:
            shown = orjson.loads(statistics).get("eos", {})
            if shown.get("producer_id", -1) >= 0:
                self._identity = ProducerIdentity(self.transactional_id, shown["producer_id"], shown["producer_epoch"])

    def _on_client_error(self, error: Any) -> None:
        if error.fatal():
            self._fatal = kafka_error(error, "go on producing", self.brokers)
        elif is_login_failure(error):
            self._refusal = kafka_error(error, "produce", self.brokers)
        else:
            _log.debug("Producer at %s: %s", self.brokers, error)

    def _error(self, error: Any, action: str) -> KafkaError:
        ours = kafka_error(error, action, self.brokers)
        # After a fatal error librdkafka only says that there was one; the first one says what it was.
        if ours.code == "_FATAL":
            return self._fatal or self._first_error() or ours
        if self._fatal is None and is_fatal(error):
            self._fatal = ours
        return ours

    def _first_error(self) -> KafkaError | None:
        try:
            self._producer.poll(0)
        except confluent_kafka.KafkaException as error:
            self._fatal = kafka_error(error, "go on producing", self.brokers)
        return self._fatal

    def _retried(self, action: str, call: Callable[[float], Any], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while True:
            remaining = deadline - time.monotonic()
            try:
                call(max(remaining, 0.001))
                return
            except confluent_kafka.KafkaException as error:
                if requires_abort(error):
                    raise _AbortRequiredError(error) from error
                ours = self._error(error, action)
                is_retriable = not is_fatal(error) and (error.args[0].retriable() or code_of(error) == "_TIMED_OUT")
                if not is_retriable:
                    raise ours from error
                if time.monotonic() + _RETRY_S >= deadline:
                    self.poll(0)
                    raise self._refusal or timeout_error(action, self.brokers, timeout_s) from error
            time.sleep(_RETRY_S if time.monotonic() - deadline < -1 else 0.01)


class _AbortRequiredError(Exception):
    """The transaction cannot be committed; it has to be aborted."""

    def __init__(self, cause: confluent_kafka.KafkaException) -> None:
        super().__init__(str(cause))
        self.cause = cause
