"""What happens to a record that cannot be processed: tried again, skipped, or the end of the task.

As in Kafka Connect: an operation that raises `RetriableError` is repeated, with growing delay, for
`errors.retry.timeout`; any other failure of a converter or transform ends the task (`errors.tolerance=none`, the
default) or drops the record (`all`). Either way the failure is counted and reported: to the log, and for sinks to the
dead-letter topic.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeVar

from seamark.config.connector_keys import SINK
from seamark.errors import ConnectError, RetriableError

log = logging.getLogger(__name__)

T = TypeVar("T")
FIRST_DELAY_MS = 300


class Step(Enum):
    """Where in the pipeline an operation is; the names are Connect's."""

    TASK_POLL = "TASK_POLL"
    TASK_PUT = "TASK_PUT"
    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    KAFKA_CONSUME = "KAFKA_CONSUME"


# Elsewhere only retriable errors may be tolerated: what failed was not the record.
_TOLERABLE = frozenset({Step.TRANSFORMATION, Step.KEY_CONVERTER, Step.VALUE_CONVERTER, Step.HEADER_CONVERTER})


class ToleranceExceededError(ConnectError):
    """A record could not be processed and `errors.tolerance` does not allow that."""


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """A connector's `errors.*` settings."""

    tolerates_all: bool = False
    retry_timeout_ms: int = 0
    """-1 means for ever."""
    retry_delay_max_ms: int = 60_000
    logs: bool = False
    logs_messages: bool = False
    dead_letter_topic: str = ""
    dead_letter_replication_factor: int = 3
    dead_letter_headers: bool = False

    @staticmethod
    def from_config(config: Mapping[str, str]) -> ErrorPolicy:
        """The policy of a connector's config."""

        def value(key: str) -> Any:
            return SINK.parse_one(key, config)

        return ErrorPolicy(
            tolerates_all=str(value("errors.tolerance")).lower() == "all",
            retry_timeout_ms=value("errors.retry.timeout"),
            retry_delay_max_ms=value("errors.retry.delay.max.ms"),
            logs=value("errors.log.enable"),
            logs_messages=value("errors.log.include.messages"),
            dead_letter_topic=(value("errors.deadletterqueue.topic.name") or "").strip(),
            dead_letter_replication_factor=value("errors.deadletterqueue.topic.replication.factor"),
            dead_letter_headers=value("errors.deadletterqueue.context.headers.enable"),
        )


@dataclass(slots=True)
class ErrorCounts:
    """What went wrong so far; the names are those of Connect's metrics."""

    total_record_failures: int = 0
    total_record_errors: int = 0
    total_records_skipped: int = 0
    total_retries: int = 0
    total_errors_logged: int = 0
    deadletterqueue_produce_requests: int = 0
    deadletterqueue_produce_failures: int = 0
    last_error_timestamp: int = 0


@dataclass(slots=True)
class Failure:
    """One operation that failed for good."""

    step: Step
    executing_class: str
    error: BaseException
    original: Any
    """The record before any processing: a `SourceRecord`, or a `ConsumedRecord`."""

    def __str__(self) -> str:
        return f"{self.step.name} ({self.executing_class}) of {_place(self.original)} failed: {self.error}"


def _place(original: Any) -> str:
    """Where a record is, to find it by."""
    offset = getattr(original, "offset", None)
    if offset is not None:
        return f"the record at offset {offset} of {original.topic}-{original.partition}"
    return f"a record for topic {original.topic} from {original.source_partition} before {original.source_offset}"


class ErrorReporter(Protocol):
    """Takes note of failures."""

    def report(self, failure: Failure) -> None:
        """Take note of one."""

    def flush(self, timeout_s: float) -> None:
        """Make what was reported durable; raises if it cannot be."""

    def close(self) -> None:
        """Release what is held."""


@dataclass(slots=True)
class Tolerance:
    """Runs operations by an `ErrorPolicy`. Belongs to one task."""

    policy: ErrorPolicy
    reporters: Sequence[ErrorReporter] = ()
    counts: ErrorCounts = field(default_factory=ErrorCounts)
    is_stopping: Callable[[], bool] = lambda: False
    rest: Callable[[float], None] = time.sleep

    def recover(
        self, operation: Callable[[], T], error: Exception, step: Step, executing_class: str, original: object
    ) -> T | None:
        """Deal with an operation that raised `error`: its result if a repetition succeeds, None if the record is
        dropped.

        Raises:
            ToleranceExceededError: neither, and the task must end.
        """
        final: Exception = error
        if isinstance(error, RetriableError):
            repeated = self._repeat(operation, error)
            if not isinstance(repeated, _GaveUp):
                return repeated
            final = repeated.error
        else:
            self.counts.total_record_failures += 1
        self._give_up(Failure(step, executing_class, final, original))
        return None

    def failed(self, failure: Failure) -> None:
        """Take note of a record that failed outside of `recover`, as a sink task reports it.

        Raises:
            ToleranceExceededError: failures are not tolerated.
        """
        self.counts.total_record_failures += 1
        self._report(failure)
        if not self.policy.tolerates_all:
            self.counts.total_record_errors += 1
            raise ToleranceExceededError(f"Tolerance exceeded in error handler: {failure}") from failure.error

    def flush(self, timeout_s: float = 30.0) -> None:
        """Make all reports durable."""
        for reporter in self.reporters:
            reporter.flush(timeout_s)

    def close(self) -> None:
        """Release the reporters."""
        for reporter in self.reporters:
            reporter.close()

    def _repeat(self, operation: Callable[[], T], error: RetriableError) -> T | _GaveUp:
        timeout_ms = self.policy.retry_timeout_ms
        deadline = float("inf") if timeout_ms < 0 else time.monotonic() + timeout_ms / 1000
        last: Exception = error
        attempt = 1
        while True:
            self.counts.total_record_failures += 1
            if time.monotonic() >= deadline or self.is_stopping():
                return _GaveUp(last)
            self._back_off(attempt, deadline)
            self.counts.total_retries += 1
            if self.is_stopping():
                return _GaveUp(last)
            attempt += 1
            try:
                return operation()
            except RetriableError as again:
                last = again
            except Exception as other:
                self.counts.total_record_failures += 1
                return _GaveUp(other)

    def _back_off(self, attempt: int, deadline: float) -> None:
        delay_ms = FIRST_DELAY_MS * 2 ** (attempt - 1)
        if delay_ms > self.policy.retry_delay_max_ms:
            # Spread out, so that many tasks do not come back at the same moment.
            delay_ms = random.uniform(0, self.policy.retry_delay_max_ms)  # noqa: S311 - no secret
        until = min(time.monotonic() + delay_ms / 1000, deadline)
        while not self.is_stopping() and time.monotonic() < until:
            self.rest(min(0.1, max(0.0, until - time.monotonic())))

    def _give_up(self, failure: Failure) -> None:
        self.counts.last_error_timestamp = int(time.time() * 1000)
        tolerable = failure.step in _TOLERABLE or isinstance(failure.error, RetriableError)
        self.counts.total_record_errors += 1
        self._report(failure)
        if isinstance(failure.error, RetriableError) and self.is_stopping():
            raise failure.error  # not processed: the record must come again
        if not tolerable:
            raise ToleranceExceededError(f"Unhandled exception in error handler: {failure}") from failure.error
        if not self.policy.tolerates_all:
            raise ToleranceExceededError(f"Tolerance exceeded in error handler: {failure}") from failure.error
        self.counts.total_records_skipped += 1

    def _report(self, failure: Failure) -> None:
        self.counts.last_error_timestamp = int(time.time() * 1000)
        for reporter in self.reporters:
            reporter.report(failure)


@dataclass(frozen=True, slots=True)
class _GaveUp:
    error: Exception


class LogReporter:
    """Writes failures to the log, with the record's coordinates if wanted."""

    def __init__(self, task: str, policy: ErrorPolicy, counts: ErrorCounts, describe: Callable[[Any], str]) -> None:
        self._task, self._policy, self._counts, self._describe = task, policy, counts, describe

    def report(self, failure: Failure) -> None:
        message = f"Executing stage '{failure.step.name}' with class '{failure.executing_class}'"
        if self._policy.logs_messages:
            message += self._describe(failure.original)
        log.error("Error encountered in task %s. %s.", self._task, message, exc_info=failure.error)
        self._counts.total_errors_logged += 1

    def flush(self, timeout_s: float) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing to release."""


def describe_consumed(original: Any) -> str:
    """A consumed record's coordinates, as Connect logs them."""
    where = f"topic='{original.topic}', partition={original.partition}, offset={original.offset}"
    if original.timestamp is not None:
        where += f", timestamp={original.timestamp}, timestampType={original.timestamp_type}"
    return f", where consumed record is {{{where}}}"


def describe_source(original: Any) -> str:
    """A source record, as Connect logs it."""
    return f", where source record is = {original}"
