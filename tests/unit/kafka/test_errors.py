from __future__ import annotations

import confluent_kafka
import pytest
from confluent_kafka import KafkaError as Theirs

from seamark.errors import FencedError, KafkaError, KafkaTimeoutError
from seamark.kafka.errors import code_of, is_fatal, kafka_error, requires_abort, timeout_error


def thrown(code: int, text: str = "why", **flags: bool) -> confluent_kafka.KafkaException:
    return confluent_kafka.KafkaException(Theirs(code, text, **flags))


@pytest.mark.parametrize(
    ("code", "kind", "is_retriable", "words"),
    [
        (Theirs._FENCED, FencedError, False, "newer producer"),
        (Theirs.PRODUCER_FENCED, FencedError, False, "newer producer"),
        (Theirs.INVALID_PRODUCER_EPOCH, FencedError, False, "newer producer"),
        (Theirs._TIMED_OUT, KafkaTimeoutError, True, "no answer in time"),
        (Theirs._MSG_TIMED_OUT, KafkaTimeoutError, True, "no answer in time"),
        (Theirs._ALL_BROKERS_DOWN, KafkaError, True, "no Kafka broker can be reached at b:1"),
        (Theirs._TRANSPORT, KafkaError, True, "no Kafka broker can be reached at b:1"),
        (Theirs._AUTHENTICATION, KafkaError, False, "did not accept the login"),
        (Theirs.NOT_LEADER_FOR_PARTITION, KafkaError, True, "why"),
        (Theirs.TOPIC_AUTHORIZATION_FAILED, KafkaError, False, "why"),
        (Theirs.INVALID_REPLICATION_FACTOR, KafkaError, False, "why"),
    ],
)
def test_errors_say_what_was_attempted_where_and_why(
    code: int, kind: type[KafkaError], is_retriable: bool, words: str
) -> None:
    error = thrown(code)
    ours = kafka_error(error, "create topic 'orders'", "b:1")
    assert type(ours) is kind
    assert ours.retriable is is_retriable
    assert ours.code == code_of(error)
    assert ours.message.startswith("Could not create topic 'orders'")
    assert words in ours.message
    assert "b:1" in ours.message


def test_librdkafkas_own_judgement_counts() -> None:
    assert kafka_error(thrown(Theirs.UNKNOWN, retriable=True), "x").retriable
    assert not kafka_error(thrown(Theirs.UNKNOWN, retriable=True, fatal=True), "x").retriable
    assert requires_abort(thrown(Theirs.UNKNOWN, txn_requires_abort=True))
    assert is_fatal(thrown(Theirs.UNKNOWN, fatal=True))
    assert not is_fatal(ValueError("x"))


def test_other_errors_keep_their_text() -> None:
    assert "queue full" in kafka_error(BufferError("queue full"), "send").message


def test_a_timeout_names_the_time() -> None:
    error = timeout_error("read topic 't'", "b:1", 1.5)
    assert "within 1.5 s" in error.message and error.retriable
