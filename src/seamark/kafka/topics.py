"""Topics that a source connector needs, created with the settings of its ``topic.creation.*`` groups (KIP-158).

A connector that names no such setting, or a worker with ``topic.creation.enable=false``, leaves creation to the broker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from seamark.errors import ConfigError, KafkaError
from seamark.kafka.admin import Admin
from seamark.kafka.topic_partitions import BROKER_DEFAULT, TopicDescription, TopicSpec

_PREFIX: Final = "topic.creation."
_GROUPS: Final = "topic.creation.groups"
_DEFAULT: Final = "default"
_OWN_KEYS: Final = frozenset({"include", "exclude", "replication.factor", "partitions"})
_SHORT_MAX: Final = 2**15 - 1
_INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class TopicCreationGroup:
    """A set of topic names and the settings with which they are created."""

    name: str
    include: re.Pattern[str]
    exclude: re.Pattern[str]
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]

    def matches(self, topic: str) -> bool:
        """Whether the group includes the topic and does not exclude it."""
        return self.exclude.fullmatch(topic) is None and self.include.fullmatch(topic) is not None

    def spec(self, topic: str) -> TopicSpec:
        """What the topic should be."""
        return TopicSpec(topic, self.partitions, self.replication_factor, self.configs)


class TopicCreation:
    """Decides how a connector's topics are created, and creates them once."""

    def __init__(self, groups: tuple[TopicCreationGroup, ...], default: TopicCreationGroup | None) -> None:
        self.groups, self.default = groups, default
        self._known: set[str] = set()

    @property
    def is_enabled(self) -> bool:
        """Whether topics are created here, and not by the broker."""
        return self.default is not None

    @classmethod
    def from_config(cls, connector_config: Mapping[str, str], worker_config: Mapping[str, str]) -> TopicCreation:
        """Read and check the settings.

        Raises:
            ConfigError: with Kafka Connect's words, names the key.
        """
        is_allowed = worker_config.get("topic.creation.enable", "true").strip().lower() != "false"
        if not is_allowed or not any(key.startswith(_PREFIX) for key in connector_config):
            return cls((), None)
        names = _list(connector_config.get(_GROUPS, ""))
        if len(names) != len(set(names)):
            raise _invalid(_GROUPS, _shown(names), "Duplicate alias provided.")
        default = _default_group(connector_config)
        groups = tuple(_group(name, connector_config, default) for name in names if name != _DEFAULT)
        return cls(groups, default)

    def group_for(self, topic: str) -> TopicCreationGroup | None:
        """The first group that matches, else the default group; None when creation is left to the broker."""
        return next((group for group in self.groups if group.matches(topic)), self.default)

    def ensure(self, admin: Admin, topic: str) -> TopicDescription | None:
        """Create the topic unless it exists or is known to; None when creation is left to the broker.

        Raises:
            KafkaError: it does not exist and could not be created.
        """
        group = self.group_for(topic)
        if group is None or topic in self._known:
            return None
        try:
            found = admin.ensure_topic(group.spec(topic))
        except KafkaError as error:
            raise KafkaError(
                f"Task failed to create new topic {topic!r} with the settings of topic creation group "
                f"{group.name!r}. Ensure that the task is authorized to create topics or that the topic exists "
                f"and restart the task. {error.message}",
                retriable=error.retriable,
                code=error.code,
            ) from error
        self._known.add(topic)
        return found


def _default_group(config: Mapping[str, str]) -> TopicCreationGroup:
    prefix = f"{_PREFIX}{_DEFAULT}."
    for name in ("replication.factor", "partitions"):
        if prefix + name not in config:
            raise ConfigError(
                f'Missing required configuration "{prefix}{name}" which has no default value.', key=prefix + name
            )
    # A pattern of the default group has no effect: it takes whatever no other group takes.
    return TopicCreationGroup(
        _DEFAULT,
        re.compile(".*"),
        re.compile(""),
        _partitions(config, prefix, BROKER_DEFAULT),
        _replication(config, prefix, BROKER_DEFAULT),
        _configs(config, prefix),
    )


def _group(name: str, config: Mapping[str, str], default: TopicCreationGroup) -> TopicCreationGroup:
    prefix = f"{_PREFIX}{name}."
    return TopicCreationGroup(
        name,
        _pattern(config, prefix + "include"),
        _pattern(config, prefix + "exclude"),
        _partitions(config, prefix, default.partitions),
        _replication(config, prefix, default.replication_factor),
        _configs(config, prefix),
    )


def _configs(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    stripped = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    return {key: value for key, value in stripped.items() if key not in _OWN_KEYS}


def _pattern(config: Mapping[str, str], key: str) -> re.Pattern[str]:
    parts = _list(config.get(key, ""))
    for part in parts:
        try:
            re.compile(part)
        except re.error as error:
            raise _invalid(key, _shown(parts), f"Syntax error in regular expression: {error}") from error
    return re.compile("|".join(parts))


def _partitions(config: Mapping[str, str], prefix: str, default: int) -> int:
    key = prefix + "partitions"
    number = _number(config, key, default, "INT", _INT_MAX)
    if number != BROKER_DEFAULT and number < 1:
        raise _invalid(key, number, "Number of partitions must be positive, or -1 to use the broker's default")
    return number


def _replication(config: Mapping[str, str], prefix: str, default: int) -> int:
    key = prefix + "replication.factor"
    number = _number(config, key, default, "SHORT", _SHORT_MAX)
    if number != BROKER_DEFAULT and number < 1:
        raise _invalid(
            key,
            number,
            "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster, "
            "or -1 to use the broker's default",
        )
    return number


def _number(config: Mapping[str, str], key: str, default: int, kind: str, largest: int) -> int:
    text = config.get(key)
    if text is None:
        return default
    try:
        number = int(text.strip())
    except ValueError:
        number = largest + 1
    if not -largest - 1 <= number <= largest:
        raise _invalid(key, text, f"Not a number of type {kind}")
    return number


def _list(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _shown(parts: list[str]) -> str:
    return f"[{', '.join(parts)}]"


def _invalid(key: str, value: object, reason: str) -> ConfigError:
    return ConfigError(f"Invalid value {value} for configuration {key}: {reason}", key=key, value=value)
