"""`/connector-plugins`: the list, the config definitions and what a validation says."""

from __future__ import annotations

from typing import Any

import pytest

from compat.client import Connect, expect
from compat.conftest import Files, Parked
from compat.golden import DOCUMENTED_ELSEWHERE, facts_of, golden
from compat.targets import SINK, SOURCE

PLUGINS = "/connector-plugins"
VALIDATE = f"{PLUGINS}/FileStreamSource/config/validate"
TYPES = ["sink", "source", "transformation", "predicate", "converter", "header_converter"]
KEY_FIELDS = [
    "name",
    "type",
    "required",
    "default_value",
    "importance",
    "documentation",
    "group",
    "order_in_group",
    "width",
    "display_name",
    "dependents",
]
NULL_VALUE = "Null value can not be supplied as the configuration value."


def test_connectors_are_listed_sinks_first(connect: Connect) -> None:
    plugins = expect(connect.get(PLUGINS), 200)
    found = [(plugin["type"], plugin["class"]) for plugin in plugins]
    assert {("sink", SINK), ("source", SOURCE)} <= set(found)
    assert found == sorted(found)
    assert all(list(plugin) == ["class", "type", "version"] for plugin in plugins)
    assert all(plugin["version"] for plugin in plugins if plugin["class"] in (SINK, SOURCE))


def test_all_plugins_are_listed_by_type(connect: Connect) -> None:
    plugins = expect(connect.get(f"{PLUGINS}?connectorsOnly=false"), 200)
    types = [plugin["type"] for plugin in plugins]
    assert list(dict.fromkeys(types)) == TYPES
    assert types == sorted(types, key=TYPES.index)
    found = {(plugin["type"], plugin["class"]) for plugin in plugins}
    apache = "org.apache.kafka.connect"
    assert {
        ("transformation", f"{apache}.transforms.InsertField$Value"),
        ("transformation", f"{apache}.transforms.RegexRouter"),
        ("predicate", f"{apache}.transforms.predicates.TopicNameMatches"),
        ("converter", f"{apache}.storage.StringConverter"),
        ("converter", f"{apache}.json.JsonConverter"),
        ("header_converter", f"{apache}.storage.StringConverter"),
        ("header_converter", f"{apache}.storage.SimpleHeaderConverter"),
    } <= found


@pytest.mark.parametrize(
    "plugin",
    [
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "org.apache.kafka.connect.json.JsonConverter",
        "org.apache.kafka.connect.storage.StringConverter",
        "org.apache.kafka.connect.storage.SimpleHeaderConverter",
        "org.apache.kafka.connect.transforms.InsertField$Value",
        "org.apache.kafka.connect.transforms.RegexRouter",
        "org.apache.kafka.connect.transforms.TimestampConverter$Key",
        "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
    ],
)
def test_config_of_a_plugin(connect: Connect, plugin: str) -> None:
    keys = expect(connect.get(f"{PLUGINS}/{plugin}/config"), 200)
    assert all(list(key) == KEY_FIELDS for key in keys)
    assert facts_of(keys, connect.target) == golden("plugin-config")[plugin]
    assert all(isinstance(key["documentation"], str) for key in keys)
    assert not DOCUMENTED_ELSEWHERE & {key["name"] for key in keys if not key["documentation"]}


@pytest.mark.parametrize("alias", ["FileStreamSource", "FileStreamSourceConnector"])
def test_config_of_a_plugin_by_its_short_names(connect: Connect, alias: str) -> None:
    by_alias = expect(connect.get(f"{PLUGINS}/{alias}/config"), 200)
    assert by_alias == expect(connect.get(f"{PLUGINS}/{SOURCE}/config"), 200)


def test_config_of_an_unknown_plugin(connect: Connect) -> None:
    connect.refuses(connect.get(f"{PLUGINS}/NoSuchPlugin/config"), 404, "Unknown plugin NoSuchPlugin.")


def test_config_of_a_version(connect: Connect) -> None:
    plugins = expect(connect.get(PLUGINS), 200)
    version = next(plugin["version"] for plugin in plugins if plugin["class"] == SOURCE)
    path = f"{PLUGINS}/{SOURCE}/config"
    assert expect(connect.get(f"{path}?version={version}"), 200) == expect(connect.get(path), 200)
    message = f"Plugin {SOURCE} not found that matches the version range [1.0,1.0], available versions: [{version}]"
    connect.refuses(connect.get(f"{path}?version=1.0"), 400, message)


@pytest.mark.parametrize("plugin", ["FileStreamSource", "JsonConverter", "NoSuchPlugin"])
def test_config_of_a_version_that_is_none(connect: Connect, plugin: str) -> None:
    response = connect.get(f"{PLUGINS}/{plugin}/config?version=[1.0")
    connect.refuses(response, 400, "Invalid version specification: [1.0")


def validate(connect: Connect, config: dict[str, Any], plugin: str = "FileStreamSource") -> dict[str, Any]:
    found: dict[str, Any] = expect(connect.put(f"{PLUGINS}/{plugin}/config/validate", config), 200)
    assert list(found) == ["name", "error_count", "groups", "configs"]
    for item in found["configs"]:
        assert list(item) == ["definition", "value"]
        assert list(item["value"]) == ["name", "value", "recommended_values", "errors", "visible"]
    assert found["error_count"] == sum(len(item["value"]["errors"]) for item in found["configs"])
    return found


def errors_of(found: dict[str, Any]) -> dict[str, list[str]]:
    return {item["value"]["name"]: item["value"]["errors"] for item in found["configs"] if item["value"]["errors"]}


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_valid_config(connect: Connect, files: Files, name: str, kind: str) -> None:
    if kind == "source":
        config = files.source(name) | {"name": name}
    else:
        config = {"connector.class": SINK, "name": name, "topics": name, "file": str(files.path(name))}
    found = validate(connect, config, "FileStreamSource" if kind == "source" else "FileStreamSink")
    assert found["name"] == config["connector.class"]
    assert errors_of(found) == {}
    values = {item["value"]["name"]: item["value"]["value"] for item in found["configs"]}
    assert {key: values[key] for key in config} == config
    wanted = golden("validate")[kind]
    assert found["groups"] == wanted["groups"]
    assert [item["value"]["name"] for item in found["configs"]] == wanted["names"]
    facts = facts_of([item["definition"] for item in found["configs"]], connect.target)
    assert facts == wanted["definitions"]
    recommended = {i["value"]["name"]: i["value"]["recommended_values"] for i in found["configs"]}
    assert sorted(key for key, values in recommended.items() if values) == wanted["recommended"]


def test_missing_keys(connect: Connect) -> None:
    found = validate(connect, {"connector.class": SOURCE, "tasks.max": "1"})
    assert errors_of(found) == {
        key: [f'Missing required configuration "{key}" which has no default value.'] for key in ("name", "topic")
    }


def test_value_that_cannot_be_parsed_gives_two_messages(connect: Connect, files: Files, name: str) -> None:
    found = validate(connect, files.source(name) | {"name": name, "tasks.max": "abc"})
    assert errors_of(found) == {
        "tasks.max": [
            "Invalid value abc for configuration tasks.max: Not a number of type INT",
            "Invalid value null for configuration tasks.max: Value must be non-null",
        ]
    }


def test_null_values(connect: Connect, files: Files, name: str) -> None:
    config = files.source(name) | {"name": name, "errors.tolerance": None, "nobodys": None, "batch.size": None}
    found = validate(connect, config)
    errors = errors_of(found)
    assert errors["nobodys"] == [NULL_VALUE]
    assert errors["errors.tolerance"][-1] == NULL_VALUE
    assert set(errors) == {"nobodys", "errors.tolerance"}
    definitions = {item["value"]["name"]: item["definition"] for item in found["configs"]}
    assert definitions["nobodys"] is None
    assert definitions["errors.tolerance"]["name"] == "errors.tolerance"


@pytest.mark.parametrize(
    "plugin", ["Source", "FileStreamSource", "FileStreamSourceConnector", SOURCE, "SourceConnector"]
)
def test_plugin_in_the_path_is_compared_by_its_end(connect: Connect, files: Files, name: str, plugin: str) -> None:
    assert errors_of(validate(connect, files.source(name) | {"name": name}, plugin)) == {}


@pytest.mark.parametrize("short", ["FileStreamSource", "FileStreamSourceConnector"])
def test_class_by_its_short_name(connect: Connect, files: Files, name: str, short: str) -> None:
    found = validate(connect, files.source(name) | {"name": name, "connector.class": short})
    assert found["name"] == short
    assert errors_of(found) == {}


def test_plugin_in_the_path_is_another_one(connect: Connect, files: Files, name: str) -> None:
    response = connect.put(f"{PLUGINS}/FileStreamSink/config/validate", files.source(name))
    connect.refuses(response, 400, f"Included connector type {SOURCE} does not match request type FileStreamSink")


def test_no_class(connect: Connect) -> None:
    message = (
        "org.apache.kafka.connect.runtime.rest.errors.BadRequestException: "
        "Connector config {} contains no connector type"
    )
    connect.refuses(connect.put(VALIDATE, {}), 500, message)


def test_unknown_class(connect: Connect) -> None:
    response = connect.put(f"{PLUGINS}/NoSuch/config/validate", {"connector.class": "NoSuch"})
    fragments = [
        "BadRequestException: ",
        "Failed to find any class that implements Connector and which name matches NoSuch",
    ]
    connect.refuses(response, 500, fragments)


def test_validation_creates_nothing(connect: Connect, files: Files, name: str, running_source: Parked) -> None:
    validate(connect, files.source(name) | {"name": name})
    names = expect(connect.get("/connectors"), 200)
    assert name not in names
    assert running_source.name in names
