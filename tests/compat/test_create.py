"""`POST /connectors`: what is created, and what is refused and how."""

from __future__ import annotations

from typing import Any

import pytest

from compat.client import Connect, expect, path_of
from compat.conftest import Files, Parked
from compat.targets import SINK, SOURCE, Target

NULL_VALUE = "Null value can not be supplied as the configuration value."


def invalid(*errors: str) -> str:
    """The message that lists errors of a config."""
    return (
        f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n"
        + "".join(f"{error}\n" for error in errors)
        + "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )


def post(connect: Connect, name: Any, config: dict[str, Any], **more: Any) -> Any:
    return connect.post("/connectors", {"name": name, "config": config, **more})


@pytest.mark.requirement("K980-04")
@pytest.mark.requirement("K980-21")
@pytest.mark.requirement("K980-27")
@pytest.mark.parametrize("kind", ["source", "sink"])
def test_create(connect: Connect, files: Files, name: str, kind: str) -> None:
    config = files.source(name, 1) if kind == "source" else files.sink(name, 1)
    response = post(connect, name, config)
    info = expect(response, 201)
    assert list(info) == ["name", "config", "tasks", "type"]
    tasks = [] if connect.target.is_distributed else [{"connector": name, "task": 0}]
    assert info == {"name": name, "config": {**config, "name": name}, "tasks": tasks, "type": kind}
    assert response.headers["location"].endswith(f"/connectors/{name}")
    connect.await_state(name, "RUNNING")


@pytest.mark.parametrize("short", ["FileStreamSource", "FileStreamSourceConnector"])
def test_class_by_its_short_name(connect: Connect, files: Files, name: str, short: str) -> None:
    connect.create(name, files.source(name, 1) | {"connector.class": short})
    connect.await_state(name, "RUNNING")
    assert expect(connect.get(path_of(name)), 200)["type"] == "source"


def test_name_is_trimmed(connect: Connect, files: Files, name: str) -> None:
    response = post(connect, f"  {name}\t", files.source(name), initial_state="STOPPED")
    info = expect(response, 201)
    assert (info["name"], info["config"]["name"]) == (name, name)
    assert response.headers["location"].endswith(f"/connectors/{name}")


def test_name_in_the_config(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name) | {"name": name}
    assert expect(post(connect, name, config, initial_state="STOPPED"), 201)["config"] == config


def test_other_name_in_the_config(connect: Connect, files: Files, name: str) -> None:
    response = post(connect, name, files.source(name) | {"name": "other"})
    connect.refuses(
        response, 400, f"Connector name configuration (other) doesn't match connector name in the URL ({name})"
    )


@pytest.mark.parametrize("given", [None, "", "   "])
def test_empty_name(connect: Connect, files: Files, name: str, given: str | None) -> None:
    message = invalid("Invalid value  for configuration name: String may not be empty")
    connect.refuses(post(connect, given, files.source(name)), 400, message)


def test_control_character_in_the_name(connect: Connect, files: Files, name: str) -> None:
    message = invalid(
        "Invalid value a\nb for configuration name: "
        "String may not contain control sequences but had the following ASCII chars: 10"
    )
    connect.refuses(post(connect, "a\nb", files.source(name)), 400, message)


def test_no_class(connect: Connect, name: str) -> None:
    response = post(connect, name, {"file": "f", "topic": "t", "tasks.max": 1})
    message = f"Connector config {{name={name}, topic=t, file=f, tasks.max=1}} contains no connector type"
    connect.refuses(response, 400, message)


def test_unknown_class(connect: Connect, name: str) -> None:
    response = post(connect, name, {"connector.class": "NoSuchConnector"})
    fragments = [
        "Failed to find any class that implements Connector and which name matches NoSuchConnector, "
        "available connectors are: PluginDesc{klass=",
        SOURCE,
        SINK,
    ]
    connect.refuses(response, 400, fragments)


SOURCE_ERRORS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "topic-missing": ({"topic": ...}, ['Missing required configuration "topic" which has no default value.']),
    "tasks-max-zero": ({"tasks.max": "0"}, ["Invalid value 0 for configuration tasks.max: Value must be at least 1"]),
    "tasks-max-text": (
        {"tasks.max": "abc"},
        [
            "Invalid value abc for configuration tasks.max: Not a number of type INT",
            "Invalid value null for configuration tasks.max: Value must be non-null",
        ],
    ),
    "null-of-nobody": ({"nobodys": None}, [NULL_VALUE]),
    "tolerance": (
        {"errors.tolerance": "meh"},
        ["Invalid value meh for configuration errors.tolerance: String must be one of: none, all"],
    ),
    "converter": (
        {"value.converter": "no.such.Converter"},
        [
            "Invalid value no.such.Converter for configuration value.converter: "
            "Class no.such.Converter could not be found.",
        ],
    ),
    "transform-without-type": (
        {"transforms": "t"},
        ['Missing required configuration "transforms.t.type" which has no default value.'],
    ),
    "batch-size": (
        {"batch.size": "many"},
        ["Invalid value many for configuration batch.size: Not a number of type INT"],
    ),
}


@pytest.mark.parametrize("case", SOURCE_ERRORS)
def test_invalid_source(connect: Connect, files: Files, name: str, case: str) -> None:
    changes, errors = SOURCE_ERRORS[case]
    config = {key: value for key, value in (files.source(name) | changes).items() if value is not ...}
    response = post(connect, name, config)
    connect.refuses(response, 400, invalid(*errors), f"create/{case}")
    connect.refuses(connect.get(path_of(name)), 404, f"Connector {name} not found")


def test_null_of_a_framework_key(connect: Connect, files: Files, name: str) -> None:
    response = post(connect, name, files.source(name) | {"errors.tolerance": None})
    connect.refuses(response, 400, ["Connector configuration is invalid", NULL_VALUE])


@pytest.mark.parametrize("key", ["topic", "batch.size"])
def test_null_of_the_plugins_own_key_is_let_through(
    distributed: Target, connect: Connect, files: Files, name: str, key: str
) -> None:
    response = post(connect, name, files.source(name) | {key: None}, initial_state="STOPPED")
    assert expect(response, 201)["config"][key] is None


SINK_ERRORS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no-topics": ({}, ["Must configure one of topics or topics.regex"] * 2),
    "both-topics": (
        {"topics": "t", "topics.regex": "t.*"},
        ["topics and topics.regex are mutually exclusive options, but both are set."] * 2,
    ),
    "dead-letters-to-its-own-topic": (
        {"topics": "t", "errors.deadletterqueue.topic.name": "t"},
        ["The DLQ topic 't' may not be included in the list of topics ('topics=[t]') consumed by the connector"],
    ),
}


@pytest.mark.parametrize("case", SINK_ERRORS)
def test_invalid_sink(connect: Connect, files: Files, name: str, case: str) -> None:
    changes, errors = SINK_ERRORS[case]
    config = {"connector.class": SINK, "file": str(files.path(name)), **changes}
    connect.refuses(post(connect, name, config), 400, invalid(*errors), f"create/{case}")


def test_consumer_group_of_the_worker(distributed: Target, connect: Connect, files: Files, name: str) -> None:
    group, clashing = distributed.group, distributed.clashing_sink
    config = {"connector.class": SINK, "file": str(files.path(name)), "topics": "t"}
    response = post(connect, name, config | {"consumer.override.group.id": group})
    connect.refuses(response, 400, invalid(f"Consumer group {group} conflicts with Connect worker group {group}"))
    message = f"Consumer group for sink connector named {clashing} conflicts with Connect worker group {group}"
    connect.refuses(post(connect, clashing, config), 400, invalid(message))


BOUNDARY = (
    "The connector does not support connector-defined transaction boundaries with the given configuration. "
    "Please reconfigure it to use a different transaction boundary definition."
)


def test_exactly_once_that_the_connector_cannot_keep(
    distributed: Target, connect: Connect, files: Files, name: str
) -> None:
    response = post(connect, name, files.source(name) | {"transaction.boundary": "connector"})
    connect.refuses(response, 400, invalid(BOUNDARY))
    config = files.source(name) | {"exactly.once.support": "required"}
    del config["file"]
    response = post(connect, name, config)
    error = "The connector does not support exactly-once semantics with the provided configuration."
    connect.refuses(response, 400, invalid(error))


def test_exactly_once_is_not_checked_standalone(standalone: Target, connect: Connect, files: Files, name: str) -> None:
    config = files.source(name) | {"exactly.once.support": "required", "transaction.boundary": "connector"}
    expect(post(connect, name, config, initial_state="STOPPED"), 201)


def test_exactly_once_that_can_be_kept(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name, 1, exactly__once__support="required"))
    connect.await_state(name, "RUNNING")


@pytest.mark.parametrize("state", [None, "RUNNING", "PAUSED"])
def test_existing_name(connect: Connect, stopped_source: Parked, state: str | None) -> None:
    more = {} if state is None else {"initial_state": state}
    response = post(connect, stopped_source.name, stopped_source.config, **more)
    connect.refuses(response, 409, f"Connector {stopped_source.name} already exists")
    connect.await_state(stopped_source.name, "STOPPED")


def test_existing_name_with_an_invalid_config(connect: Connect, stopped_source: Parked) -> None:
    response = post(connect, stopped_source.name, stopped_source.config | {"tasks.max": "0"})
    connect.refuses(response, 400, invalid("Invalid value 0 for configuration tasks.max: Value must be at least 1"))
