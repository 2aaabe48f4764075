"""What Kafka itself says of a consumer's partitions, for a ResetOffset.

Kafka Connect's REST API tells where a connector is, not where logs begin and end or what was when. So the operator
looks into Kafka, and only looks: offsets are moved through the worker.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping

from seamark.config.position_plans import LogRange, Partition
from seamark.errors import ConnectError
from seamark.operator import kafka_access
from seamark.operator.kinds import BOOTSTRAP_SERVERS, SECRET, Resource, annotations_of
from seamark.operator.kube import Kube
from seamark.operator.reset_plans import Logs

SelectTopic = Callable[[str], bool]
_REQUEST_S = 15.0


class NoKafkaError(ConnectError):
    """It is not known how to reach Kafka, or it cannot be reached."""


class KafkaUnknownError(NoKafkaError):
    """No resource says where Kafka is."""


def sink_settings(config: Mapping[str, str | None], *resources: Resource | None) -> dict[str, str]:
    """Kafka's client settings for the topics of a sink.

    Args:
        config: of the connector.
        resources: its own and its KafkaConnect's; the first that says where Kafka is counts.
    """
    settings: dict[str, str] = {}
    for resource in reversed([each for each in resources if each is not None]):
        spec = resource.get("spec") or {}
        if spec.get("bootstrapServers"):
            settings |= {"bootstrap.servers": str(spec["bootstrapServers"]), **kafka_access.client_config(spec)}
        if BOOTSTRAP_SERVERS in annotations_of(resource):
            settings["bootstrap.servers"] = annotations_of(resource)[BOOTSTRAP_SERVERS]
    for prefix in ("consumer.override.", "admin.override."):
        settings |= {
            key.removeprefix(prefix): value
            for key, value in config.items()
            if value is not None and key.startswith(prefix) and _is_access(key.removeprefix(prefix))
        }
    return _complete(settings)


def mirror_settings(config: Mapping[str, str | None]) -> dict[str, str]:
    """Kafka's client settings for the topics that a mirror copies."""
    prefix = "source.cluster."
    return _complete(
        {
            key.removeprefix(prefix): value
            for key, value in config.items()
            if value is not None and key.startswith(prefix) and _is_access(key.removeprefix(prefix))
        }
    )


async def resolved(kube: Kube, namespace: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with what is in Secrets of a namespace."""
    values: dict[tuple[str, str], str] = {}
    for name in kafka_access.needed_secrets(settings):
        secret = await kube.get(SECRET, namespace, name)
        for key, data in (secret.get("data") or {}).items():
            try:
                values[name, key] = base64.b64decode(data).decode()
            except (binascii.Error, UnicodeDecodeError):
                continue

    def read(name: str, key: str) -> str:
        if (name, key) not in values:
            raise NoKafkaError(f"Secret {namespace}/{name} has no key {key}")
        return values[name, key]

    return kafka_access.with_secrets(settings, read)


def read_logs(settings: Mapping[str, str], topics: list[str] | SelectTopic, at_ms: int | None) -> Logs:
    """Look into Kafka; takes a while.

    Args:
        settings: of a client.
        topics: by name, or which of all.
        at_ms: the time that is asked for.

    Raises:
        NoKafkaError: a topic does not exist.
        KafkaError: Kafka did not answer.
    """
    # Loads librdkafka, which an operator without a ResetOffset does not need.
    from seamark.kafka.admin import Admin

    with Admin(settings) as admin:
        names = topics if isinstance(topics, list) else sorted(filter(topics, admin.list_topics(timeout_s=_REQUEST_S)))
        where = admin.partitions_of(names, timeout_s=_REQUEST_S)
        missing = sorted(set(names) - {each.topic for each in where}) if isinstance(topics, list) else []
        if missing:
            raise NoKafkaError(f"there is no topic {', '.join(missing)} at {settings['bootstrap.servers']}")
        starts = admin.list_offsets(dict.fromkeys(where, "earliest"), timeout_s=_REQUEST_S)
        ends = admin.list_offsets(dict.fromkeys(where, "latest"), timeout_s=_REQUEST_S)
        ranges: dict[Partition, LogRange] = {each: LogRange(starts[each], ends[each]) for each in where}
        if at_ms is None:
            return Logs(ranges)
        firsts = admin.find_times(dict.fromkeys(where, 0), timeout_s=_REQUEST_S)
        found = admin.find_times(dict.fromkeys(where, max(at_ms, 0)), timeout_s=_REQUEST_S)
        return Logs(ranges, {each: firsts[each] for each in where}, {each: found[each] for each in where})


def matching(pattern: str) -> SelectTopic:
    """The topics of a `topics.regex`; Kafka's own are never meant."""
    from seamark.config.java_regex import PatternSyntaxError, compile_pattern

    try:
        compiled = compile_pattern(pattern)
    except (PatternSyntaxError, re.error) as error:
        raise NoKafkaError(f"topics.regex {pattern!r} cannot be read: {error}") from error
    return lambda topic: not topic.startswith("__") and compiled.fullmatch(topic) is not None


def _is_access(key: str) -> bool:
    return key == "bootstrap.servers" or key.startswith(("security.", "sasl.", "ssl."))


def _complete(settings: dict[str, str]) -> dict[str, str]:
    if not settings.get("bootstrap.servers"):
        raise KafkaUnknownError(
            "it is not known where its Kafka is: set spec.bootstrapServers of its KafkaConnect, or the annotation "
            f"{BOOTSTRAP_SERVERS}"
        )
    return {**settings, "client.id": "seamark-operator"}
