from __future__ import annotations

import pytest

from seamark.config.configdef import ConfigDef, Type
from seamark.config.connector import (
    TransactionBoundary,
    check,
    converter_settings,
    exactly_once_required,
    offsets_topic,
    sink_topics,
    sink_topics_regex,
    tasks_max,
    transaction_boundary,
    transaction_boundary_interval_ms,
    validate,
)
from seamark.config.worker import WorkerConfig
from seamark.errors import ConfigError

SOURCE = {"name": "n", "connector.class": "C"}
SINK = {**SOURCE, "topics": "t"}


def error_of(config: dict[str, str], *, is_source: bool, plugin: ConfigDef | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        check(config, is_source=is_source, plugin=plugin)
    return caught.value


def test_minimal_configs_are_accepted() -> None:
    check(SOURCE, is_source=True)
    check(SINK, is_source=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "Invalid value  for configuration name: String may not be empty"),
        ({"tasks.max": "0"}, "Invalid value 0 for configuration tasks.max: Value must be at least 1"),
        ({"transforms": "a,a"}, "Invalid value [a, a] for configuration transforms: Duplicate alias provided."),
        (
            {"transaction.boundary": "never"},
            "Invalid value never for configuration transaction.boundary: "
            "String must be one of (case insensitive): INTERVAL, POLL, CONNECTOR",
        ),
        (
            {"errors.tolerance": "some"},
            "Invalid value some for configuration errors.tolerance: String must be one of: none, all",
        ),
        (
            {"transaction.boundary.interval.ms": "-1"},
            "Invalid value -1 for configuration transaction.boundary.interval.ms: Value must be at least 0",
        ),
        (
            {"offsets.storage.topic": ""},
            "Invalid value  for configuration offsets.storage.topic: String must be non-empty",
        ),
        ({"seamark.idle.ms": "-1"}, "Invalid value -1 for configuration seamark.idle.ms: Value must be at least 0"),
    ],
)
def test_a_bad_source_config_gets_connects_message(change: dict[str, str], message: str) -> None:
    error = error_of({**SOURCE, **change}, is_source=True)
    assert error.message == message
    assert error.key == next(iter(change))


def test_missing_name_and_class_are_named() -> None:
    assert error_of({}, is_source=True).key == "name"
    assert error_of({"name": "n"}, is_source=True).key == "connector.class"


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (
            {"topics": "a", "topics.regex": "b"},
            "topics and topics.regex are mutually exclusive options, but both are set.",
        ),
        ({"topics": " "}, "Must configure one of topics or topics.regex"),
        (
            {"topics": "a, dlq", "errors.deadletterqueue.topic.name": "dlq"},
            "The DLQ topic 'dlq' may not be included in the list of topics "
            "('topics=[a, dlq]') consumed by the connector",
        ),
        (
            {"topics.regex": "d.*", "errors.deadletterqueue.topic.name": "dlq"},
            "The DLQ topic 'dlq' may not be matched by the regex for the topics "
            "('topics.regex=d.*') consumed by the connector",
        ),
    ],
)
def test_what_a_sink_reads_must_be_clear(topics: dict[str, str], message: str) -> None:
    assert error_of({**SOURCE, **topics}, is_source=False).message == message


def test_a_bad_regex_is_one_error_and_no_crash() -> None:
    config = {**SOURCE, "topics.regex": "(", "errors.deadletterqueue.topic.name": "x"}
    errors = [error for report in validate(config, is_source=False) for error in report.errors]
    assert len(errors) == 1
    assert "Invalid regex" in errors[0]


def test_a_plugins_own_keys_are_checked_too() -> None:
    plugin = ConfigDef().define("file", Type.STRING).define("name", Type.INT, 1)
    assert error_of(SOURCE, is_source=True, plugin=plugin).key == "file"
    check({**SOURCE, "file": "f"}, is_source=True, plugin=plugin)


def test_typed_access() -> None:
    worker = WorkerConfig({"offset.flush.interval.ms": "70"})
    assert tasks_max({"tasks.max": "3"}) == 3
    assert transaction_boundary({}) is TransactionBoundary.POLL
    assert transaction_boundary({"transaction.boundary": "Interval"}) is TransactionBoundary.INTERVAL
    assert transaction_boundary_interval_ms({}, worker) == 70
    assert transaction_boundary_interval_ms({"transaction.boundary.interval.ms": "5"}, worker) == 5
    assert exactly_once_required({"exactly.once.support": "REQUIRED"}) is True
    assert exactly_once_required({}) is False
    assert offsets_topic({}) is None
    assert offsets_topic({"offsets.storage.topic": " o "}) == "o"
    assert sink_topics({"topics": "a, b,,a"}) == ["a", "b"]
    assert sink_topics({}) == []
    pattern = sink_topics_regex({"topics.regex": "a|b"})
    assert pattern is not None
    assert pattern.fullmatch("b")
    assert sink_topics_regex({"topics": "a"}) is None


def test_a_converter_brings_its_settings_from_where_it_is_named() -> None:
    worker = WorkerConfig({"value.converter": "W", "value.converter.schemas.enable": "false"})
    assert converter_settings("value", {}, worker) == ("W", {"schemas.enable": "false"})
    config = {"value.converter": "C", "value.converter.x": "1"}
    assert converter_settings("value", config, worker) == ("C", {"x": "1"})
    # settings without a class are not the connector's: the worker's converter keeps the worker's
    assert converter_settings("value", {"value.converter.x": "1"}, worker) == ("W", {"schemas.enable": "false"})
