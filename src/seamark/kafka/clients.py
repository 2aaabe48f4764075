"""Kafka client settings: written as Java's, handed to librdkafka at the last moment.

Configurations travel through Seamark as Java-style string maps, because that is what worker files, connector configs
and Strimzi resources contain. `librdkafka_config` turns such a map into librdkafka's settings when a client is made.
Three rules:

* A Java key with an equivalent is translated, its value clamped to what librdkafka accepts.
* A key of librdkafka's own passes unchanged, for tuning that Java has no word for.
* Any other key (serialisers, interceptors, ``max.block.ms``, keys of the worker) has no meaning here and is left out.

Which settings a connector's clients get is decided in `seamark.kafka.overrides`; security is translated in
`seamark.kafka.security`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeVar

import confluent_kafka

from seamark.errors import ConfigError
from seamark.kafka.client_keeper import KEEPER, weakly
from seamark.kafka.errors import code_of, kafka_error
from seamark.kafka.overrides import (
    OverridePolicy,
    broker_set,
    check_override_policy,
    client_id_for,
    effective_client_config,
    sink_group_id,
    worker_client_config,
)
from seamark.kafka.security import security_settings

__all__ = [
    "OverridePolicy",
    "Role",
    "broker_set",
    "check_override_policy",
    "client_id_for",
    "clients_closed",
    "effective_client_config",
    "librdkafka_config",
    "make_client",
    "redacted",
    "sink_group_id",
    "worker_client_config",
]

Role = Literal["producer", "consumer", "admin"]

_Client = TypeVar("_Client")
_INT_MAX: Final = 2**31 - 1
_CALLBACKS: Final = frozenset({"error_cb", "stats_cb"})

# Java key -> (librdkafka key, smallest, largest). Numbers outside are brought to the nearer end: Connect itself uses
# Long.MAX_VALUE and Integer.MAX_VALUE to say "for ever".
_NUMBERS_COMMON: Final[Mapping[str, tuple[str, int, int]]] = {
    "metadata.max.age.ms": ("metadata.max.age.ms", 1, 86_400_000),
    "reconnect.backoff.ms": ("reconnect.backoff.ms", 0, 3_600_000),
    "reconnect.backoff.max.ms": ("reconnect.backoff.max.ms", 0, 3_600_000),
    "retry.backoff.ms": ("retry.backoff.ms", 1, 300_000),
    "retry.backoff.max.ms": ("retry.backoff.max.ms", 1, 300_000),
    "connections.max.idle.ms": ("connections.max.idle.ms", 0, _INT_MAX),
    "socket.connection.setup.timeout.ms": ("socket.connection.setup.timeout.ms", 1000, _INT_MAX),
    "send.buffer.bytes": ("socket.send.buffer.bytes", 0, 100_000_000),
    "receive.buffer.bytes": ("socket.receive.buffer.bytes", 0, 100_000_000),
}
_NUMBERS: Final[Mapping[str, Mapping[str, tuple[str, int, int]]]] = {
    "producer": {
        "request.timeout.ms": ("request.timeout.ms", 1, 900_000),
        "batch.size": ("batch.size", 1, _INT_MAX),
        "linger.ms": ("linger.ms", 0, 900_000),
        "max.request.size": ("message.max.bytes", 1000, 1_000_000_000),
        "delivery.timeout.ms": ("delivery.timeout.ms", 1, _INT_MAX),
        "max.in.flight.requests.per.connection": ("max.in.flight.requests.per.connection", 1, 1_000_000),
        "retries": ("retries", 0, _INT_MAX),
        "transaction.timeout.ms": ("transaction.timeout.ms", 1000, _INT_MAX),
    },
    "consumer": {
        "request.timeout.ms": ("socket.timeout.ms", 10, 300_000),
        "auto.commit.interval.ms": ("auto.commit.interval.ms", 0, 86_400_000),
        "session.timeout.ms": ("session.timeout.ms", 1, 3_600_000),
        "heartbeat.interval.ms": ("heartbeat.interval.ms", 1, 3_600_000),
        "max.poll.interval.ms": ("max.poll.interval.ms", 1, 86_400_000),
        "fetch.min.bytes": ("fetch.min.bytes", 1, 100_000_000),
        "fetch.max.bytes": ("fetch.max.bytes", 0, 2_147_483_135),
        "fetch.max.wait.ms": ("fetch.wait.max.ms", 0, 300_000),
        "max.partition.fetch.bytes": ("max.partition.fetch.bytes", 1, 1_000_000_000),
    },
    "admin": {"request.timeout.ms": ("socket.timeout.ms", 10, 300_000)},
}
_TEXTS_COMMON: Final = frozenset({"client.id", "client.rack", "client.dns.lookup"})
_TEXTS: Final[Mapping[str, frozenset[str]]] = {
    "producer": frozenset({"acks", "compression.type", "enable.idempotence", "transactional.id"}),
    "consumer": frozenset(
        {
            "group.id",
            "group.instance.id",
            "group.protocol",
            "group.remote.assignor",
            "enable.auto.commit",
            "isolation.level",
            "allow.auto.create.topics",
            "check.crcs",
        }
    ),
    "admin": frozenset(),
}
# librdkafka's own keys that people do set; the same name in Java is in the tables above.
_NATIVE_COMMON: Final = frozenset(
    """api.version.fallback.ms api.version.request api.version.request.timeout.ms broker.address.family
    broker.address.ttl broker.version.fallback builtin.features debug enable.metrics.push
    enable.random.seed enable.sasl.oauthbearer.unsecure.jwt enable.ssl.certificate.verification
    log.connection.close log.queue log.thread.name log_level max.in.flight message.copy.max.bytes
    metadata.broker.list metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
    plugin.library.paths receive.message.max.bytes socket.blocking.max.ms socket.keepalive.enable
    socket.max.fails socket.nagle.disable socket.receive.buffer.bytes socket.send.buffer.bytes
    socket.timeout.ms statistics.interval.ms topic.blacklist topic.metadata.propagation.max.ms
    topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms
    topic.metadata.refresh.sparse""".split()
)
_NATIVE: Final[Mapping[str, frozenset[str]]] = {
    "producer": frozenset(
        """batch.num.messages compression.codec compression.level delivery.report.only.error dr_msg_cb
        enable.gapless.guarantee message.max.bytes message.send.max.retries message.timeout.ms msg_order_cmp
        partitioner queue.buffering.backpressure.threshold queue.buffering.max.kbytes
        queue.buffering.max.messages queue.buffering.max.ms queuing.strategy request.required.acks
        sticky.partitioning.linger.ms""".split()
    ),
    "consumer": frozenset(
        """auto.commit.enable coordinator.query.interval.ms enable.auto.offset.store enable.partition.eof
        fetch.error.backoff.ms fetch.message.max.bytes fetch.queue.backoff.ms fetch.wait.max.ms
        group.protocol.type message.max.bytes offset.store.method queued.max.messages.kbytes
        queued.min.messages""".split()
    ),
    "admin": frozenset(),
}
_ASSIGNORS: Final[Mapping[str, str]] = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
    # librdkafka has no eager sticky assignor; the cooperative one moves as little.
    "StickyAssignor": "cooperative-sticky",
}
_SECRET_WORDS: Final = ("password", "secret", "jaas", "token", "key.pem", "keystore.key", "ssl.key", "credential")
HIDDEN: Final = "[hidden]"


def librdkafka_config(java: Mapping[str, str], role: Role) -> dict[str, Any]:
    """Settings of librdkafka for a client of that role, from Java's.

    Raises:
        ConfigError: a value has no equivalent, such as a JKS key store, or is no number where one is needed. Secrets
            are not quoted.
    """
    config: dict[str, Any] = {}
    listed = java.get("bootstrap.servers") or java.get("metadata.broker.list") or ""
    servers = [part.strip() for part in listed.split(",") if part.strip()]
    if not servers:
        raise ConfigError(
            "Missing required configuration 'bootstrap.servers': name at least one broker as host:port.",
            key="bootstrap.servers",
        )
    config["bootstrap.servers"] = ",".join(servers)
    config.update(security_settings(java))
    for key, value in java.items():
        _translate(key, str(value).strip(), role, config)
    _finish[role](java, config)
    return config


def max_poll_records(java: Mapping[str, str]) -> int | None:
    """How many records a consumer returns at once; None if nobody has said so. librdkafka has no such setting.

    Raises:
        ConfigError: it is no number, or less than one.
    """
    key = "max.poll.records"
    if not str(java.get(key, "")).strip():
        return None
    records = _integer(key, str(java[key]).strip())
    if records < 1:
        raise ConfigError(
            f"Invalid value {records} for configuration {key}: Value must be at least 1", key=key, value=records
        )
    return records


def clients_closed() -> None:
    """Tell that a client was closed, so that its connections are soon."""
    KEEPER.hurry()


def make_client(factory: Callable[[dict[str, Any]], _Client], config: dict[str, Any]) -> _Client:
    """A client of the library, see `client_keeper` for how long it lives.

    Raises:
        ConfigError: librdkafka does not accept the settings; it says which one.
    """
    try:
        client = factory({key: weakly(value) if key in _CALLBACKS else value for key, value in config.items()})
        KEEPER.keep(client)
        return client
    except confluent_kafka.KafkaException as error:
        if code_of(error) != "_INVALID_ARG":
            raise kafka_error(error, "make a Kafka client", config.get("bootstrap.servers")) from error
        raise ConfigError(f"The settings of a Kafka client cannot be used: {error.args[0].str()}") from error


def redacted(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with its secrets hidden, for logs."""
    return {key: HIDDEN if _is_secret(key) else value for key, value in config.items()}


def _is_secret(key: str) -> bool:
    lowered = key.lower()
    return any(word in lowered for word in _SECRET_WORDS) and not lowered.endswith((".location", ".url", ".class"))


def _translate(key: str, value: str, role: Role, config: dict[str, Any]) -> None:
    number = _NUMBERS_COMMON.get(key) or _NUMBERS[role].get(key)
    if number is not None:
        if value:
            name, low, high = number
            config[name] = max(low, min(high, _integer(key, value)))
    elif key in _TEXTS_COMMON or key in _TEXTS[role]:
        if value:
            config[key] = value
    elif key in _NATIVE_COMMON or key in _NATIVE[role]:
        config[key] = value


def _integer(key: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigError(
            f"Invalid value {value} for configuration {key}: Not a number of type INT", key=key, value=value
        ) from None


def _finish_producer(java: Mapping[str, str], config: dict[str, Any]) -> None:
    config.setdefault("partitioner", "murmur2_random")
    if "buffer.memory" in java:
        kbytes = _integer("buffer.memory", java["buffer.memory"]) // 1024
        config.setdefault("queue.buffering.max.kbytes", max(1, min(2_147_483_647, kbytes)))
    # Java bounds what waits to be sent by bytes alone. librdkafka's bound by messages would stop small records early.
    config.setdefault("queue.buffering.max.kbytes", 65_536)
    config.setdefault("queue.buffering.max.messages", 0)
    level = java.get(f"compression.{java.get('compression.type', '')}.level")
    if level:
        config.setdefault("compression.level", _integer("compression.level", level))
    if config.get("transactional.id"):
        # librdkafka refuses a delivery timeout beyond the transaction's: such a record could not be committed anyway.
        limit = int(config.get("transaction.timeout.ms", 60_000))
        if int(config.get("delivery.timeout.ms", 0)) > limit:
            config["delivery.timeout.ms"] = limit
    is_idempotent = str(config.get("enable.idempotence", "")).lower() == "true" or bool(config.get("transactional.id"))
    if is_idempotent and int(config.get("max.in.flight.requests.per.connection", 1)) > 5:
        raise ConfigError(
            "Invalid value for configuration max.in.flight.requests.per.connection: "
            "an idempotent producer has at most 5 requests in flight.",
            key="max.in.flight.requests.per.connection",
            value=config["max.in.flight.requests.per.connection"],
        )
    linger_ms, timeout_ms = int(config.get("linger.ms", 0)), int(config.get("delivery.timeout.ms", _INT_MAX))
    if linger_ms >= timeout_ms:
        raise ConfigError(
            f"delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms, "
            f"but it is {timeout_ms} with linger.ms {linger_ms}.",
            key="delivery.timeout.ms",
            value=timeout_ms,
        )


def _finish_consumer(java: Mapping[str, str], config: dict[str, Any]) -> None:
    reset = java.get("auto.offset.reset", "").strip().lower()
    if reset in ("none", "error"):
        config["auto.offset.reset"] = "error"
    elif reset in ("earliest", "latest", "smallest", "largest", "beginning", "end"):
        config["auto.offset.reset"] = reset
    elif reset:
        raise ConfigError(
            f"Invalid value {reset} for configuration auto.offset.reset: use earliest, latest or none",
            key="auto.offset.reset",
            value=reset,
        )
    # Where the two clients' defaults differ, Java's hold.
    config.setdefault("isolation.level", "read_uncommitted")
    config["isolation.level"] = config["isolation.level"].lower()
    assignors = java.get("partition.assignment.strategy", "").strip()
    if assignors:
        names = [name.strip() for name in assignors.split(",") if name.strip()]
        short = [_ASSIGNORS.get(name.rsplit(".", 1)[-1], name) for name in names]
        if "cooperative-sticky" in short:  # librdkafka does not mix cooperative and eager protocols
            short = ["cooperative-sticky"]
        config["partition.assignment.strategy"] = ",".join(dict.fromkeys(short))
    if "message.max.bytes" in config or "fetch.max.bytes" in config:
        largest = int(config.get("message.max.bytes", 1_000_000))
        config["fetch.max.bytes"] = max(largest, int(config.get("fetch.max.bytes", 52_428_800)))
    session = int(config.get("session.timeout.ms", 45_000))
    if int(config.get("max.poll.interval.ms", 300_000)) < session:
        config["max.poll.interval.ms"] = session


def _finish_admin(java: Mapping[str, str], config: dict[str, Any]) -> None:
    """An admin client has no settings of its own."""


_finish: Final = {"producer": _finish_producer, "consumer": _finish_consumer, "admin": _finish_admin}
