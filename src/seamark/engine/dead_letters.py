"""The dead-letter topic of a sink: records that could not be processed, with what went wrong as headers."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping

from seamark.engine.tolerance import ErrorCounts, ErrorPolicy, Failure
from seamark.errors import ConnectError, DataError, KafkaError, RetriableError
from seamark.kafka.admin import Admin
from seamark.kafka.consumer import ConsumedRecord
from seamark.kafka.producer import DeliveryReport, RecordProducer
from seamark.kafka.topic_partitions import TopicSpec

log = logging.getLogger(__name__)

PREFIX = "__connect.errors."
# Readers of dead letters compare these names; ours get those of the Java exceptions with the same meaning.
_JAVA_ERRORS: Mapping[type[BaseException], str] = {
    DataError: "org.apache.kafka.connect.errors.DataException",
    RetriableError: "org.apache.kafka.connect.errors.RetriableException",
    ConnectError: "org.apache.kafka.connect.errors.ConnectException",
}


class DeadLetters:
    """Reports failures to a topic, which is created if it does not exist."""

    def __init__(
        self,
        connector: str,
        task: int,
        policy: ErrorPolicy,
        counts: ErrorCounts,
        producer_config: Mapping[str, str],
        admin_config: Mapping[str, str],
    ) -> None:
        self._connector, self._task, self._policy, self._counts = connector, task, policy, counts
        topic = policy.dead_letter_topic
        with Admin(admin_config) as admin:
            if not admin.describe_topics([topic]):
                admin.create_topics([TopicSpec(topic, 1, policy.dead_letter_replication_factor)])
        self._producer = RecordProducer(producer_config, reports_successes=True)

    def report(self, failure: Failure) -> None:
        self._counts.deadletterqueue_produce_requests += 1
        original = failure.original
        if not isinstance(original, ConsumedRecord):
            self._counts.deadletterqueue_produce_failures += 1
            return
        headers = list(original.headers)
        if self._policy.dead_letter_headers:
            headers += context_headers(self._connector, self._task, failure, original)
        self._producer.send(
            self._policy.dead_letter_topic,
            original.value,
            original.key,
            None,
            original.timestamp,
            headers,
            self._delivered,
        )

    def flush(self, timeout_s: float) -> None:
        """Wait until all dead letters are written; an offset is never committed before its record's dead letter is."""
        if self._producer.flush(timeout_s):
            raise KafkaError(
                f"Dead letters could not be written to {self._policy.dead_letter_topic} within {timeout_s:g} s",
                retriable=True,
            )

    def close(self) -> None:
        self._producer.close()

    def _delivered(self, report: DeliveryReport) -> None:
        if report.error is not None:
            self._counts.deadletterqueue_produce_failures += 1
            log.error(
                "Could not produce message to dead letter queue. topic=%s: %s",
                self._policy.dead_letter_topic,
                report.error,
            )


def context_headers(
    connector: str, task: int, failure: Failure, original: ConsumedRecord
) -> list[tuple[str, bytes | None]]:
    """What went wrong, as Connect writes it."""
    error = failure.error
    values = {
        "topic": original.topic,
        "partition": str(original.partition),
        "offset": str(original.offset),
        "connector.name": connector,
        "task.id": str(task),
        "stage": failure.step.name,
        "class.name": failure.executing_class,
        "exception.class.name": error_class_name(error),
        "exception.message": str(error),
        "exception.stacktrace": "".join(traceback.format_exception(error)),
    }
    return [(PREFIX + name, value.encode()) for name, value in values.items()]


def error_class_name(error: BaseException) -> str:
    """The Java name of an error that has one, else its Python name."""
    own = getattr(error, "java_name", None)
    if isinstance(own, str):
        return own
    for kind in type(error).__mro__:
        if kind in _JAVA_ERRORS:
            return _JAVA_ERRORS[kind]
    return f"{type(error).__module__}.{type(error).__qualname__}"
