"""How an internal topic is created: by the worker's ``config.storage.*`` or ``status.storage.*`` settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from seamark.errors import ConfigError
from seamark.kafka import BROKER_DEFAULT, TopicSpec

_log = logging.getLogger(__name__)
_NOT_TOPIC_SETTINGS: Final = frozenset({"topic", "partitions", "replication.factor"})
_REPLICAS: Final = 3


def internal_topic_spec(
    topic: str, worker: Mapping[str, str], prefix: str, *, partitions: int, is_single: bool = False
) -> TopicSpec:
    """A compacted topic.

    Args:
        topic: its name.
        worker: the worker's properties.
        prefix: of the settings that count, such as ``status.storage.``; the rest of a name is that of a topic setting.
        partitions: how many, unless ``<prefix>partitions`` says otherwise.
        is_single: there must be one partition, whatever the settings say.

    Raises:
        ConfigError: a number of partitions or replicas is none.
    """
    settings = {key.removeprefix(prefix): value for key, value in worker.items() if key.startswith(prefix)}
    configs = {key: value for key, value in settings.items() if key not in _NOT_TOPIC_SETTINGS}
    if configs.pop("cleanup.policy", "compact").strip() != "compact":
        _log.warning("%scleanup.policy is ignored: the topic is always compacted", prefix)
    if is_single and settings.pop("partitions", "1").strip() != "1":
        _log.warning("%spartitions is ignored: the topic always has a single partition", prefix)
    return TopicSpec(
        topic,
        1 if is_single else _count(settings, prefix, "partitions", partitions),
        _count(settings, prefix, "replication.factor", _REPLICAS),
        {**configs, "cleanup.policy": "compact"},
    )


def _count(settings: Mapping[str, str], prefix: str, name: str, default: int) -> int:
    text = settings.get(name, str(default)).strip()
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1 and number != BROKER_DEFAULT:
        raise ConfigError(
            f"Invalid value {text} for configuration {prefix}{name}: "
            "use a positive number, or -1 for the broker's default",
            key=prefix + name,
            value=text,
        )
    return number
