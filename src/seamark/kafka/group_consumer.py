"""The Kafka consumer behind a worker's membership: its settings, its generation and its errors in our words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from seamark.errors import ConfigError, KafkaError
from seamark.kafka.clients import librdkafka_config
from seamark.kafka.errors import code_of, kafka_error
from seamark.kafka.group_members import FOREIGN_PROTOCOL, client_id_with

STATIC_MEMBERSHIP: Final = "seamark.static.membership"
"""Setting: whether the worker keeps its slots over a quick restart."""
UNKNOWN_GENERATION: Final = -1

FATAL: Final = "_FATAL"
REPLACED: Final = "FENCED_INSTANCE_ID"
"""Another member with the same name has joined."""
PASSING: Final = frozenset({"_ALL_BROKERS_DOWN", "_TRANSPORT", "_RESOLVE", "_PARTITION_EOF", "_TIMED_OUT"})
"""Codes of a broker that is away: the client goes on by itself, and the session timeout says when it matters."""

_DEFAULTS: Final = {
    "session.timeout.ms": "10000",
    # Not Kafka Connect's 3 s: members learn of a rebalance from heartbeats, so this bounds how long a hand-over takes.
    "heartbeat.interval.ms": "1000",
    "rebalance.timeout.ms": "60000",
}
_STATE_EVERY_MS: Final = 250
_TOPICS_EVERY_MS: Final = 10_000
_METADATA: Final = b"CGMDv2:"


def settings(java_config: Mapping[str, str], group_id: str, rest_url: str) -> dict[str, Any]:
    """Settings of librdkafka for a member of the group.

    Raises:
        ConfigError: a value cannot be used, or two contradict each other.
    """
    given = {key: value for key, value in java_config.items() if str(value).strip() or key not in _DEFAULTS}
    config = {
        **_DEFAULTS,
        **given,
        "group.id": group_id,
        "client.id": client_id_with(given.get("client.id") or "seamark", rest_url),
        "group.protocol": "classic",
        "partition.assignment.strategy": "cooperative-sticky",
        "enable.auto.commit": "false",
    }
    config["max.poll.interval.ms"] = config["rebalance.timeout.ms"]
    config.pop("group.instance.id", None)
    if given.get(STATIC_MEMBERSHIP, "").strip().lower() == "true":
        config["group.instance.id"] = re.sub(r"[^a-zA-Z0-9._-]+", "-", rest_url)
    made = librdkafka_config(config, "consumer")
    if made["heartbeat.interval.ms"] >= made["session.timeout.ms"]:
        raise ConfigError(
            f"Invalid value {made['heartbeat.interval.ms']} for configuration heartbeat.interval.ms: it must be lower "
            f"than session.timeout.ms ({made['session.timeout.ms']}), or the worker is taken for dead between two.",
            key="heartbeat.interval.ms",
            value=made["heartbeat.interval.ms"],
        )
    # Nothing is ever read: should a fetch slip out before the pause, it is as small as it can be.
    made.update({"enable.auto.offset.store": False, "max.partition.fetch.bytes": 1, "queued.min.messages": 1})
    # A member that had an old picture of the topics when it joined sees the partitions that it missed soon.
    made["topic.metadata.refresh.interval.ms"] = _TOPICS_EVERY_MS
    made["statistics.interval.ms"] = _STATE_EVERY_MS  # the only way to learn that a rebalance has begun
    return made


def generation(consumer: Any) -> int:
    """The group's generation, out of the metadata that librdkafka hands out as opaque bytes.

    Only to be called from the thread that polls: the binding holds Python's lock meanwhile. Bytes of another form than
    the known one give -1; then generations cannot be compared, and nothing else changes.
    """
    metadata = consumer.consumer_group_metadata()
    if not isinstance(metadata, bytes) or not metadata.startswith(_METADATA):
        return UNKNOWN_GENERATION
    return int.from_bytes(metadata[len(_METADATA) : len(_METADATA) + 4], "little", signed=True)


def reason(error: Any) -> str:
    """The code of an error, that of its cause if it only says that it is fatal."""
    code = code_of(error) or ""
    return REPLACED if code == FATAL and "group.instance.id" in str(error) else code


def explained(error: Any, group_id: str, rest_url: str, brokers: str) -> KafkaError:
    """Why the worker is not in the group, and what to do about it."""
    code = reason(error)
    if code == FOREIGN_PROTOCOL:
        return KafkaError(
            f"This worker cannot join group {group_id!r}: workers of Kafka Connect (Java) are in it. Stop them all, or "
            "give this cluster another group.id. Until then joining is tried again.",
            retriable=True,
            code=code,
        )
    if code == REPLACED:
        return KafkaError(
            f"Another worker with the address {rest_url} has joined group {group_id!r} in place of this one, which "
            "runs nothing any more. Give each worker an address of its own (rest.advertised.host.name and "
            "rest.advertised.port) and restart this one.",
            code=code,
        )
    return kafka_error(error, f"be a member of group {group_id!r}", brokers)
