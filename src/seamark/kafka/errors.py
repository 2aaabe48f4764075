"""The Kafka clients' errors in our own words.

Every error says what was attempted, at which brokers, and what the broker or client answered. Secrets never appear:
librdkafka's texts carry addresses and reasons only, and no configuration is quoted here.
"""

from __future__ import annotations

from typing import Any, Final

import confluent_kafka

from seamark.errors import FencedError, KafkaError, KafkaTimeoutError

_UNREACHABLE: Final = frozenset({"_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_CRIT_SYS_RESOURCE"})
_TIMED_OUT: Final = frozenset({"_TIMED_OUT", "_TIMED_OUT_QUEUE", "_MSG_TIMED_OUT", "REQUEST_TIMED_OUT"})
_FENCED: Final = frozenset(
    {"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "TRANSACTION_COORDINATOR_FENCED", "FENCED_INSTANCE_ID"}
)
_LOGIN: Final = frozenset({"_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "_SSL", "ILLEGAL_SASL_STATE"})
# What librdkafka itself does not call retriable, but which passes when the cluster settles.
_RETRIABLE: Final = frozenset(
    {
        "_TRANSPORT",
        "_ALL_BROKERS_DOWN",
        "_RESOLVE",
        "_TIMED_OUT",
        "_TIMED_OUT_QUEUE",
        "_MSG_TIMED_OUT",
        "_WAIT_COORD",
        "_QUEUE_FULL",
        "_NOENT",  # no leader is known, as while the only broker is away
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "REQUEST_TIMED_OUT",
        "BROKER_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "NOT_CONTROLLER",
        "KAFKA_STORAGE_ERROR",
        "FETCH_SESSION_ID_NOT_FOUND",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "UNKNOWN_TOPIC_ID",
        "UNSTABLE_OFFSET_COMMIT",
        "OFFSET_NOT_AVAILABLE",
        "REBALANCE_IN_PROGRESS",
        "CONCURRENT_TRANSACTIONS",
        "UNKNOWN_TOPIC_OR_PART",
        "THROTTLING_QUOTA_EXCEEDED",
    }
)


def kafka_error(error: BaseException | Any, action: str, brokers: str | None = None) -> KafkaError:
    """The error of a Kafka client as one of ours.

    Args:
        error: a `confluent_kafka.KafkaException` or `confluent_kafka.KafkaError`.
        action: what was attempted, as it reads after "Could not", such as "create topic 'orders'".
        brokers: the bootstrap servers that were asked.
    """
    inner = _inner(error)
    if inner is None:
        return KafkaError(f"Could not {action}{_at(brokers)}: {error}")
    code, text = inner.name(), inner.str()
    if _is_fenced(inner, code):
        return FencedError(
            f"Could not {action}{_at(brokers)}: a newer producer with the same transactional id has taken over "
            f"({code}: {text})",
            code=code,
        )
    if code in _LOGIN:
        return KafkaError(
            f"Could not {action}{_at(brokers)}: the broker did not accept the login ({code}: {text}). "
            "Check security.protocol and the sasl.* and ssl.* settings.",
            code=code,
        )
    if code in _UNREACHABLE:
        return KafkaError(
            f"Could not {action}: no Kafka broker can be reached{_at(brokers)} ({code}: {text}). "
            "Check that the broker runs and that bootstrap.servers names it.",
            retriable=True,
            code=code,
        )
    if code in _TIMED_OUT:
        timeout = KafkaTimeoutError(
            f"Could not {action}: Kafka{_at(brokers)} gave no answer in time ({code}: {text}). "
            "Check that the broker runs and can be reached."
        )
        timeout.code = code
        return timeout
    is_retriable = (inner.retriable() or code in _RETRIABLE) and not inner.fatal()
    return KafkaError(f"Could not {action}{_at(brokers)}: {text} ({code})", retriable=is_retriable, code=code)


def timeout_error(action: str, brokers: str | None, timeout_s: float) -> KafkaTimeoutError:
    """The error for an action that was not finished within `timeout_s`."""
    return KafkaTimeoutError(
        f"Could not {action} within {timeout_s:g} s: Kafka{_at(brokers)} gave no answer. "
        "Check that the broker runs and can be reached."
    )


def code_of(error: BaseException | Any) -> str | None:
    """The name of the error's code, such as ``UNKNOWN_TOPIC_OR_PART``."""
    inner = _inner(error)
    return None if inner is None else str(inner.name())


def is_login_failure(error: BaseException | Any) -> bool:
    """Whether the broker refused the client, which waiting does not mend; requests then only time out."""
    return code_of(error) in _LOGIN


def requires_abort(error: BaseException) -> bool:
    """Whether the current transaction can only be aborted."""
    inner = _inner(error)
    return inner is not None and bool(inner.txn_requires_abort())


def is_fatal(error: BaseException) -> bool:
    """Whether the client cannot be used any more."""
    inner = _inner(error)
    return inner is not None and bool(inner.fatal())


def _inner(error: BaseException | Any) -> Any | None:
    if isinstance(error, confluent_kafka.KafkaError):
        return error
    if isinstance(error, confluent_kafka.KafkaException) and error.args:
        first = error.args[0]
        return first if isinstance(first, confluent_kafka.KafkaError) else None
    return None


def _is_fenced(inner: Any, code: str) -> bool:
    return code in _FENCED or ("fenced" in inner.str().lower() and inner.fatal())


def _at(brokers: str | None) -> str:
    return f" at {brokers}" if brokers else ""
