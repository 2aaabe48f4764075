"""Which settings the Kafka clients of a worker and of its connectors get, as Kafka Connect decides it.

From weak to strong: what Connect sets for the role, the worker's own settings for all its clients, the worker's
settings with the role's prefix (``producer.``, ``consumer.``, ``admin.``), the connector's overrides
(``producer.override.`` and so on). Kafka Connect gives the worker's unprefixed security settings to admin clients
only; here producers and consumers get them too while they talk to the same brokers, so a secured worker file needs
them once. A role that names other brokers gets none of them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Final, Literal

from seamark.config.override_policies import ALLOWLIST_KEY, POLICY_KEY, policy_name
from seamark.errors import ConfigError

Role = Literal["producer", "consumer", "admin"]
_log = logging.getLogger(__name__)

_SHARED_PREFIXES: Final = ("security.", "sasl.", "ssl.")
_SHARED_KEYS: Final = frozenset(
    {
        "bootstrap.servers",
        "client.dns.lookup",
        "client.rack",
        "connections.max.idle.ms",
        "enable.ssl.certificate.verification",
        "metadata.max.age.ms",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.ms",
    }
)
# Set for every producer: nothing is given up, nothing is sent twice by a retry. Kafka Connect leaves idempotence off
# for the sake of brokers older than 0.11 and pays with one request in flight; Seamark needs no such brokers.
_PRODUCER_DEFAULTS: Final = {
    "acks": "all",
    "enable.idempotence": "true",
    "delivery.timeout.ms": "2147483647",
}
_CONSUMER_DEFAULTS: Final = {"enable.auto.commit": "false", "auto.offset.reset": "earliest"}
_CLIENT_IDS: Final = {
    "producer": "connector-producer",
    "consumer": "connector-consumer",
    "admin": "connector-adminclient",
}
_PRINCIPAL_KEYS: Final = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})


class OverridePolicy(Enum):
    """Which client settings a connector may override."""

    ALL = "All"
    NONE = "None"
    PRINCIPAL = "Principal"
    ALLOWLIST = "Allowlist"

    @classmethod
    def of(cls, worker: Mapping[str, str]) -> OverridePolicy:
        """The worker's policy; Java's class names are understood."""
        return cls(policy_name(worker.get(POLICY_KEY, "All")))


def client_id_for(role: Role, connector_name: str, task: int | None) -> str:
    """The client id that Kafka Connect gives to a client of a connector, or of one of its tasks."""
    return f"{_CLIENT_IDS[role]}-{connector_name}" + ("" if task is None else f"-{task}")


def effective_client_config(
    role: Role,
    worker: Mapping[str, str],
    connector: Mapping[str, str],
    *,
    connector_name: str,
    task: int | None,
) -> dict[str, str]:
    """The Java-style settings of a client that works for a connector.

    Raises:
        ConfigError: the connector overrides a setting that the worker's policy keeps to itself.
    """
    check_override_policy(worker, connector)
    overrides = _with_prefix(connector, f"{role}.override.")
    config = worker_client_config(role, worker, bootstrap_override=overrides.get("bootstrap.servers"))
    own = _with_prefix(worker, f"{role}.")
    config.setdefault("client.id", client_id_for(role, connector_name, task))
    if role == "consumer":
        config.setdefault("group.id", default_group_id(connector_name))
    config.update(overrides)
    if role == "producer":
        if config.pop("transactional.id", None) is not None:
            _log.warning(
                "[%s] transactional.id of the producer is ignored: with exactly-once support Seamark chooses it",
                connector_name,
            )
        _settle_idempotence(config, {**own, **overrides})
    return config


def worker_client_config(
    role: Role, worker: Mapping[str, str], *, client_id: str | None = None, bootstrap_override: str | None = None
) -> dict[str, str]:
    """The Java-style settings of a client that works for the worker itself.

    Args:
        role: what the client does.
        worker: the worker's properties.
        client_id: the client's name, unless the worker sets one for the role.
        bootstrap_override: brokers that a connector talks to instead of the worker's.
    """
    own = _with_prefix(worker, f"{role}.")
    servers = bootstrap_override or own.get("bootstrap.servers")
    is_same_cluster = servers is None or broker_set(servers) == broker_set(worker.get("bootstrap.servers", ""))
    config: dict[str, str] = {}
    if role == "producer":
        config.update(_PRODUCER_DEFAULTS)
    elif role == "consumer":
        config.update(_CONSUMER_DEFAULTS)
    for key, value in worker.items():
        is_security = key.startswith(_SHARED_PREFIXES)
        if key in _SHARED_KEYS or (is_security and is_same_cluster):
            config[key] = value
    if client_id is not None:
        config["client.id"] = client_id
    config.update(own)
    if role == "producer":
        _settle_idempotence(config, own)
    return config


def sink_group_id(worker: Mapping[str, str], connector: Mapping[str, str], name: str) -> str:
    """The consumer group in which the sink connector `name` reads and keeps its offsets."""
    return connector.get("consumer.override.group.id") or worker.get("consumer.group.id") or default_group_id(name)


def default_group_id(connector_name: str) -> str:
    """The consumer group of a sink connector that names none."""
    return f"connect-{connector_name}"


def allowed_overrides(policy: OverridePolicy, worker: Mapping[str, str]) -> frozenset[str] | None:
    """The settings that may be overridden; None for all."""
    if policy is OverridePolicy.ALL:
        return None
    if policy is OverridePolicy.ALLOWLIST:
        return frozenset(each.strip() for each in worker.get(ALLOWLIST_KEY, "").split(",") if each.strip())
    return _PRINCIPAL_KEYS if policy is OverridePolicy.PRINCIPAL else frozenset()


def check_override_policy(worker: Mapping[str, str], connector: Mapping[str, str]) -> None:
    """Refuse overrides that the worker's policy does not allow.

    Raises:
        ConfigError: names the first key that is not allowed.
    """
    policy = OverridePolicy.of(worker)
    allowed = allowed_overrides(policy, worker)
    if allowed is None:
        return
    for key in sorted(connector):
        for role in ("producer", "consumer", "admin"):
            prefix = f"{role}.override."
            if key.startswith(prefix) and key.removeprefix(prefix) not in allowed:
                what = (
                    f"only {', '.join(sorted(allowed))} may be overridden" if allowed else "nothing may be overridden"
                )
                raise ConfigError(f"The worker's override policy {policy.value} does not allow {key}: {what}.", key=key)


def broker_set(bootstrap_servers: str) -> frozenset[str]:
    """The brokers a list names; two lists with equal sets are taken for the same cluster."""
    return frozenset(part.strip() for part in bootstrap_servers.split(",") if part.strip())


def _with_prefix(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix) and key != prefix
    }


def _settle_idempotence(config: dict[str, str], explicit: Mapping[str, str]) -> None:
    """Give up idempotence, as Java's producer does, when other settings exclude it and nobody asked for it."""
    if "enable.idempotence" in explicit:
        return
    excluded = (
        explicit.get("acks", "all").strip().lower() not in ("all", "-1")
        or explicit.get("retries", "1").strip() == "0"
        or _integer(explicit, "max.in.flight.requests.per.connection", 1) > 5
    )
    if excluded:
        config["enable.idempotence"] = "false"


def _integer(config: Mapping[str, str], key: str, default: int) -> int:
    text = config.get(key, str(default))
    try:
        return int(text)
    except ValueError:
        raise ConfigError(
            f"Invalid value {text} for configuration {key}: Not a number of type INT", key=key, value=text
        ) from None
