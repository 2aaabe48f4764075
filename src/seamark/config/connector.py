"""The configuration that all connectors share: checks across keys, and typed access.

`seamark.config.connector_keys` defines the keys. A plugin's own keys are defined by the plugin; `check` looks at both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from seamark.config.configdef import ConfigDef, ConfigValue, Type
from seamark.config.connector_keys import SINK, SOURCE, TransactionBoundary, sink_config_def, source_config_def
from seamark.config.java_regex import PatternSyntaxError, compile_pattern
from seamark.config.parsing import parse_type
from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError

__all__ = [
    "TransactionBoundary",
    "check",
    "converter_settings",
    "exactly_once_required",
    "offsets_topic",
    "sink_config_def",
    "sink_topics",
    "sink_topics_regex",
    "source_config_def",
    "tasks_max",
    "transaction_boundary",
    "transaction_boundary_interval_ms",
    "validate",
    "validate_sink_topics",
]

# checks


def validate_sink_topics(config: Mapping[str, str]) -> dict[str, list[str]]:
    """Errors across the keys of a sink that say what it reads, by key; empty if there are none."""
    errors: dict[str, list[str]] = {}
    topics, regex = config.get("topics") or "", config.get("topics.regex") or ""
    dead_letters = (config.get("errors.deadletterqueue.topic.name") or "").strip()
    both = ("topics", "topics.regex")
    if topics.strip() and regex.strip():
        errors = {key: ["topics and topics.regex are mutually exclusive options, but both are set."] for key in both}
    elif not topics.strip() and not regex.strip():
        errors = {key: ["Must configure one of topics or topics.regex"] for key in both}
    if dead_letters and topics.strip() and dead_letters in sink_topics(config):
        errors.setdefault("topics", []).append(
            f"The DLQ topic '{dead_letters}' may not be included in the list of topics "
            f"('topics=[{', '.join(sink_topics(config))}]') consumed by the connector"
        )
    if dead_letters and regex.strip() and _matches(regex, dead_letters):
        errors.setdefault("topics.regex", []).append(
            f"The DLQ topic '{dead_letters}' may not be matched by the regex for the topics "
            f"('topics.regex={regex}') consumed by the connector"
        )
    return errors


def _matches(regex: str, topic: str) -> bool:
    try:
        return compile_pattern(regex).fullmatch(topic) is not None
    except PatternSyntaxError:
        return False  # reported by the validator of the key


def validate(config: Mapping[str, str], *, is_source: bool, plugin: ConfigDef | None = None) -> list[ConfigValue]:
    """Report on the common keys and, if given, the plugin's own."""
    definition = ConfigDef(SOURCE if is_source else SINK)
    if plugin is not None:
        definition.extend(plugin)
    reports = definition.validate(config)
    if not is_source:
        errors = validate_sink_topics(config)
        for report in reports:
            report.errors += errors.get(report.name, [])
    return reports


def check(config: Mapping[str, str], *, is_source: bool, plugin: ConfigDef | None = None) -> None:
    """Refuse a config with the first thing that is wrong with it.

    Raises:
        ConfigError: it names the key.
    """
    for report in validate(config, is_source=is_source, plugin=plugin):
        if report.errors:
            raise ConfigError(report.errors[0], key=report.name, value=config.get(report.name))


# typed access


def tasks_max(config: Mapping[str, str]) -> int:
    """The most tasks that the connector may have."""
    return int(SOURCE.parse_one("tasks.max", config))


def transaction_boundary(config: Mapping[str, str]) -> TransactionBoundary:
    """When a source task ends a transaction."""
    return TransactionBoundary(SOURCE.parse_one("transaction.boundary", config).lower())


def transaction_boundary_interval_ms(config: Mapping[str, str], worker: WorkerConfig) -> int:
    """The time between commits with interval boundaries."""
    interval = SOURCE.parse_one("transaction.boundary.interval.ms", config)
    return worker.offset_flush_interval_ms if interval is None else int(interval)


def exactly_once_required(config: Mapping[str, str]) -> bool:
    """Whether the connector must not run without exactly-once support."""
    return bool(SOURCE.parse_one("exactly.once.support", config).lower() == "required")


def offsets_topic(config: Mapping[str, str]) -> str | None:
    """The connector's own offsets topic, if it has one."""
    topic = SOURCE.parse_one("offsets.storage.topic", config)
    return None if topic is None else str(topic)


def sink_topics(config: Mapping[str, str]) -> list[str]:
    """The topics a sink names, each once; empty if it has a pattern instead."""
    names = parse_type("topics", config.get("topics"), Type.LIST) or []
    return list(dict.fromkeys(name for name in names if name))


def sink_topics_regex(config: Mapping[str, str]) -> re.Pattern[str] | None:
    """The pattern of topic names of a sink, for `re.Pattern.fullmatch`."""
    regex = SINK.parse_one("topics.regex", config)
    return compile_pattern(regex) if regex else None


def converter_settings(kind: str, config: Mapping[str, str], worker: WorkerConfig) -> tuple[str, dict[str, str]]:
    """Class name and own settings of the ``key``, ``value`` or ``header`` converter.

    A connector that names a converter also brings its settings; otherwise both come from the worker, as in Kafka
    Connect.
    """
    key = f"{kind}.converter"
    named = (config.get(key) or "").strip()
    if named:
        prefix = f"{key}."
        return named, {name[len(prefix) :]: value for name, value in config.items() if name.startswith(prefix)}
    return str(worker[key]), worker.with_prefix(f"{key}.")
