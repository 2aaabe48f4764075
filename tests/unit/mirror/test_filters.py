"""Which topics, groups and settings are replicated."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from seamark.errors import ConfigError
from seamark.mirror import filters


class OnlyShort(filters.TopicFilter):
    """By length, as configured."""

    def configure(self, config: Mapping[str, str]) -> None:
        self._most = int(config["longest"])

    def should_replicate_topic(self, topic: str) -> bool:
        return len(topic) <= self._most


@pytest.mark.parametrize(
    ("config", "topic", "expected"),
    [
        ({}, "orders", True),
        ({}, "orders.replica", False),
        ({}, "__consumer_offsets", False),
        ({}, "mm2-status.us.internal", False),
        ({}, "orders.internal", True),
        ({"topics": "orders"}, "orders", True),
        ({"topics": "orders"}, "orders2", False),
        ({"topics": "orders"}, "my-orders", False),
        ({"topics": "a , orders.*"}, "orders.eu", True),
        ({"topics": "a|orders"}, "orders", True),
        ({"topics": "orders.*", "topics.exclude": "orders\\.eu"}, "orders.eu", False),
        ({"topics": "orders.*", "topics.exclude": "orders\\.eu"}, "orders.eu2", True),
        ({"topics": "orders,orders"}, "orders", True),
        ({"topics": ""}, "orders", False),
        ({"topics": ""}, "", False),
        ({"topics.exclude": ""}, "__consumer_offsets", True),
        ({"topics": "(?i)ORDERS"}, "orders", True),
        ({"topics": "\\Qa.b\\E"}, "aXb", False),
    ],
)
def test_topics(config: dict[str, str], topic: str, expected: bool) -> None:
    assert filters.topic_filter(config).should_replicate_topic(topic) is expected


@pytest.mark.parametrize(
    ("config", "group", "expected"),
    [
        ({}, "app", True),
        ({}, "console-consumer-7", False),
        ({}, "connect-sink", False),
        ({}, "__x", False),
        ({"groups": "app-.*"}, "app", False),
        ({"groups.exclude": "app"}, "connect-sink", True),
        ({"groups.exclude": "app"}, "app", False),
    ],
)
def test_groups(config: dict[str, str], group: str, expected: bool) -> None:
    assert filters.group_filter(config).should_replicate_group(group) is expected


@pytest.mark.parametrize(
    ("config", "name", "expected"),
    [
        ({}, "retention.ms", True),
        ({}, "min.insync.replicas", False),
        ({}, "unclean.leader.election.enable", False),
        ({"config.properties.exclude": ""}, "min.insync.replicas", True),
        ({"config.properties.exclude": "retention\\..*"}, "retention.bytes", False),
    ],
)
def test_settings_of_topics(config: dict[str, str], name: str, expected: bool) -> None:
    assert filters.config_property_filter(config).should_replicate_config_property(name) is expected


@pytest.mark.parametrize(("text", "expected"), [("source", True), ("target", False), ("elsewhere", False)])
def test_whose_defaults_are_used(text: str, expected: bool) -> None:
    chosen = filters.config_property_filter({"use.defaults.from": text})
    assert chosen.should_replicate_source_default("retention.ms") is expected
    assert filters.config_property_filter({}).should_replicate_source_default("retention.ms") is False


def test_a_filter_of_ones_own_is_configured() -> None:
    chosen = filters.topic_filter({"topic.filter.class": f"{__name__}:OnlyShort", "longest": "3"})
    assert chosen.should_replicate_topic("abc")
    assert not chosen.should_replicate_topic("abcd")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"topics": "ok,(a"},
            "Invalid value ok|(a for configuration topics: Invalid regex: Unclosed group near index 5\nok|(a",
        ),
        ({"topics": "a,,b"}, "Configuration 'topics' values must not be empty."),
        (
            {"topic.filter.class": "json:JSONDecoder"},
            "Invalid value json:JSONDecoder for configuration topic.filter.class: use "
            "org.apache.kafka.connect.mirror.DefaultTopicFilter, or module:Class of a "
            "seamark.mirror.filters.TopicFilter",
        ),
    ],
)
def test_what_is_no_filter_is_refused(config: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        filters.topic_filter(config)
    assert caught.value.message == message
