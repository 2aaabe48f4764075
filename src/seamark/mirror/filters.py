"""Which topics, consumer groups and topic settings are replicated.

A list of names and Java's regular expressions, each of which must match a whole name; what is excluded stays out
whatever includes it, and an empty list matches nothing. Filters of one's own are subclasses of the three bases here,
named as ``module:Class`` in `topic.filter.class`, `group.filter.class` and `config.property.filter.class`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from seamark.config.configdef import Check, ConfigDef, Importance, Type
from seamark.config.java_regex import PatternSyntaxError, compile_pattern
from seamark.config.parsing import parse_type
from seamark.config.validators import distinct, invalid
from seamark.mirror.loading import load_class

TOPIC_FILTER_CLASS: Final = "topic.filter.class"
GROUP_FILTER_CLASS: Final = "group.filter.class"
CONFIG_PROPERTY_FILTER_CLASS: Final = "config.property.filter.class"
TOPICS, TOPICS_EXCLUDE = "topics", "topics.exclude"
GROUPS, GROUPS_EXCLUDE = "groups", "groups.exclude"
CONFIG_PROPERTIES_EXCLUDE, USE_DEFAULTS_FROM = "config.properties.exclude", "use.defaults.from"

Filter = TypeVar("Filter", bound="_Filter")


DISTINCT: Final = Check(distinct, "")
"""A list without duplicates and without empty members."""


def distinct_lists(definition: ConfigDef, config: Mapping[str, str]) -> dict[str, Any]:
    """The configuration with lists parsed and their duplicates dropped.

    Kafka refuses duplicates when it validates a configuration, and drops them when it uses one that was stored before
    it did so.
    """
    result: dict[str, Any] = dict(config)
    for key in definition.keys():
        if key.type is Type.LIST and config.get(key.name) is not None:
            result[key.name] = list(dict.fromkeys(parse_type(key.name, config[key.name], Type.LIST)))
    return result


class _Filter(ABC):  # noqa: B024 - what the three have in common, not one of its own
    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional
        """Called once, with the connector's whole configuration."""

    def close(self) -> None:  # noqa: B027 - optional
        """Release what is held."""


class TopicFilter(_Filter):
    """Which topics are replicated."""

    @abstractmethod
    def should_replicate_topic(self, topic: str) -> bool:
        """Whether this topic of the source cluster is."""


class GroupFilter(_Filter):
    """Of which consumer groups the offsets are replicated."""

    @abstractmethod
    def should_replicate_group(self, group: str) -> bool:
        """Whether those of this group are."""


class ConfigPropertyFilter(_Filter):
    """Which settings of topics are replicated."""

    @abstractmethod
    def should_replicate_config_property(self, name: str) -> bool:
        """Whether this setting is."""

    def should_replicate_source_default(self, name: str) -> bool:
        """Whether a setting that a source topic has by default is set on its copy, or left to the target's default."""
        return False


def _list(definition: ConfigDef, name: str, default: str, doc: str) -> ConfigDef:
    return definition.define(name, Type.LIST, default, validator=DISTINCT, importance=Importance.HIGH, doc=doc)


def topic_filter_def(definition: ConfigDef | None = None) -> ConfigDef:
    """Keys of `DefaultTopicFilter`, added to the definition."""
    definition = definition or ConfigDef()
    _list(definition, TOPICS, ".*", "Topics to replicate: names and regular expressions, separated by commas.")
    return _list(
        definition,
        TOPICS_EXCLUDE,
        r"mm2.*\.internal,.*\.replica,__.*",
        "Topics that are not replicated even if `topics` includes them: names and regular expressions.",
    )


def group_filter_def(definition: ConfigDef | None = None) -> ConfigDef:
    """Keys of `DefaultGroupFilter`, added to the definition."""
    definition = definition or ConfigDef()
    _list(definition, GROUPS, ".*", "Consumer groups whose offsets are replicated: group ids and regular expressions.")
    return _list(
        definition,
        GROUPS_EXCLUDE,
        "console-consumer-.*,connect-.*,__.*",
        "Consumer groups that are not replicated even if `groups` includes them: group ids and regular expressions.",
    )


def config_property_filter_def(definition: ConfigDef | None = None) -> ConfigDef:
    """The key of `DefaultConfigPropertyFilter` that connectors define too, added to the definition."""
    return _list(
        definition or ConfigDef(),
        CONFIG_PROPERTIES_EXCLUDE,
        r"follower\.replication\.throttled\.replicas,leader\.replication\.throttled\.replicas,"
        r"message\.timestamp\.difference\.max\.ms,message\.timestamp\.type,unclean\.leader\.election\.enable,"
        r"min\.insync\.replicas",
        "Settings of topics that are not replicated: names and regular expressions.",
    )


class DefaultTopicFilter(TopicFilter):
    """By `topics` and `topics.exclude`."""

    def configure(self, config: Mapping[str, str]) -> None:
        self._included, self._excluded = _patterns(topic_filter_def(), config)

    def should_replicate_topic(self, topic: str) -> bool:
        return _matches(self._included, topic) and not _matches(self._excluded, topic)


class DefaultGroupFilter(GroupFilter):
    """By `groups` and `groups.exclude`."""

    def configure(self, config: Mapping[str, str]) -> None:
        self._included, self._excluded = _patterns(group_filter_def(), config)

    def should_replicate_group(self, group: str) -> bool:
        return _matches(self._included, group) and not _matches(self._excluded, group)


class DefaultConfigPropertyFilter(ConfigPropertyFilter):
    """By `config.properties.exclude`, and `use.defaults.from` (``source``; anything else means ``target``)."""

    def configure(self, config: Mapping[str, str]) -> None:
        (self._excluded,) = _patterns(config_property_filter_def(), config)
        self._uses_source_defaults = config.get(USE_DEFAULTS_FROM, "target").strip() == "source"

    def should_replicate_config_property(self, name: str) -> bool:
        return not _matches(self._excluded, name)

    def should_replicate_source_default(self, name: str) -> bool:
        return self._uses_source_defaults


def topic_filter(config: Mapping[str, str]) -> TopicFilter:
    """The topic filter that a configuration names, configured.

    Raises:
        ConfigError: there is no such class, or a pattern is not one.
    """
    return _filter(config, TOPIC_FILTER_CLASS, TopicFilter, DefaultTopicFilter)  # type: ignore[type-abstract]


def group_filter(config: Mapping[str, str]) -> GroupFilter:
    """The group filter that a configuration names, configured. Raises ConfigError."""
    return _filter(config, GROUP_FILTER_CLASS, GroupFilter, DefaultGroupFilter)  # type: ignore[type-abstract]


def config_property_filter(config: Mapping[str, str]) -> ConfigPropertyFilter:
    """The filter of topics' settings that a configuration names, configured. Raises ConfigError."""
    return _filter(
        config,
        CONFIG_PROPERTY_FILTER_CLASS,
        ConfigPropertyFilter,  # type: ignore[type-abstract]
        DefaultConfigPropertyFilter,
    )


def _filter(config: Mapping[str, str], key: str, base: type[Filter], default: type[Filter]) -> Filter:
    name = config.get(key) or default.__name__
    found = load_class(key, name, base, {default.__name__: default})()
    found.configure(config)
    return found


def _patterns(definition: ConfigDef, config: Mapping[str, str]) -> list[re.Pattern[str] | None]:
    """One pattern per key of the definition, in order."""
    values = definition.parse(distinct_lists(definition, config))
    return [_pattern(name, values[name]) for name in definition.names()]


def _pattern(key: str, members: Sequence[str]) -> re.Pattern[str] | None:
    """All members as one pattern; None, which matches nothing, if there are none."""
    if not members:
        return None
    joined = "|".join(members)
    try:
        return compile_pattern(joined)
    except PatternSyntaxError as error:
        raise invalid(key, joined, f"Invalid regex: {error}") from error


def _matches(pattern: re.Pattern[str] | None, name: str) -> bool:
    return pattern is not None and pattern.fullmatch(name) is not None
