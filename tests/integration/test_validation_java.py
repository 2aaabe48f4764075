"""Configs are judged as the real Kafka Connect judges them: every key, value, message, group and count.

`DIFFERENT` has the cases in which Seamark answers otherwise on purpose; docs/differences.md says why.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from fixtures.validation_cases import CASES, SINK, SOURCE, sink, source
from seamark.config.configdef import Type
from seamark.config.worker import WorkerConfig
from seamark.engine.plugins import Plugins
from seamark.errors import BadRequestError, NotFoundError
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.client_keys import client_config_def
from seamark.kafka.overrides import Role
from seamark.runtime.validation import ConfigValidator, errors_message
from seamark.testing.java_connect import JavaConnect, Mode

pytestmark = [pytest.mark.java]
STRING = "org.apache.kafka.connect.storage.StringConverter"

# Where a Java worker answers 500 for an error in its own code, ours judges the config.
JAVA_FAILS = {
    "producer override bad": "linger.ms: Not a number of type LONG",
    "dead letter topic null": "Null value can not be supplied as the configuration value.",
    "topics regex bad with dead letters": "Invalid regex: Unclosed group near index 1",
    "own offsets topic null": "Null value can not be supplied as the configuration value.",
    # The second time that such a version is asked for; the first time it answers as ours does.
    "plugin version bad": "not found that matches the version range [1.0,1.0]",
    "plugin version empty": "not found that matches the version range [,]",
    "plugin version bad in a sink": "not found that matches the version range (,4.0]",
}


@dataclass
class Pair:
    """A Java worker, and our validator with the same worker configuration."""

    java: JavaConnect
    ours: ConfigValidator

    def java_validates(self, config: Mapping[str, str | None]) -> tuple[int, Any]:
        plugin = urllib.parse.quote(str(config["connector.class"]).rpartition(".")[2])
        return self.java.request("PUT", f"/connector-plugins/{plugin}/config/validate", config)


@pytest.fixture(scope="module")
def pairs(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Pair]]:
    policy = "connector.client.config.override.policy"
    kinds: dict[str, tuple[Mode, dict[str, str]]] = {
        "exactly once": (Mode.DISTRIBUTED, {"exactly.once.source.support": "enabled"}),
        "principal": (Mode.DISTRIBUTED, {policy: "Principal"}),
        "standalone": (Mode.STANDALONE, {policy: "None"}),
    }
    running: dict[str, Pair] = {}
    try:
        for name, (mode, config) in kinds.items():
            directory = tmp_path_factory.mktemp("validation")
            # As a sink called `clash` would name its group.
            group = f"connect-clash-{name.replace(' ', '-')}"
            java = JavaConnect(
                directory, broker.bootstrap_servers, mode=mode, group_id=group, config=config, heap="192m"
            )
            worker = WorkerConfig({**java.config, "group.id": group})
            ours = ConfigValidator(Plugins(), worker, distributed=mode is Mode.DISTRIBUTED)
            java.start()
            running[name] = Pair(java, ours)
        yield running
    finally:
        for pair in running.values():
            pair.java.stop()


def shape(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same; texts for people are ours, and so are plugins that Kafka does not have."""
    configs = {}
    for item in answer["configs"]:
        definition, value = item["definition"], dict(item["value"])
        if definition is not None:
            definition = {field: text for field, text in definition.items() if field != "documentation"}
        value["recommended_values"] = [
            text for text in value["recommended_values"] if text[0].isdigit() or text.startswith("org.apache.kafka.")
        ]
        # A null override is listed twice: as a key that nobody defines, and as the client's.
        configs[value["name"], definition is not None] = {"definition": definition, "value": value}
    names = [item["value"]["name"] for item in answer["configs"] if item["definition"] is not None]
    return {
        "name": answer["name"],
        "error_count": answer["error_count"],
        "groups": list(answer["groups"]),
        "order": [name for name in names if ".override." not in name],
        "configs": configs,
    }


def ours(pair: Pair, config: Mapping[str, str | None]) -> dict[str, Any]:
    infos = pair.ours.validate(config)
    plain = {
        "name": infos.name,
        "error_count": infos.error_count,
        "groups": infos.groups,
        "configs": infos.configs,
    }
    return dict(json.loads(json.dumps(plain)))


@pytest.mark.parametrize("worker", ["exactly once", "principal", "standalone"])
@pytest.mark.parametrize("label", CASES)
def test_a_config_is_judged_as_connect_judges_it(pairs: dict[str, Pair], worker: str, label: str) -> None:
    pair, config = pairs[worker], CASES[label]
    status, theirs = pair.java_validates(config)
    answer = ours(pair, config)
    if status != 200:
        assert any(JAVA_FAILS[label] in error for item in answer["configs"] for error in item["value"]["errors"])
        return
    assert shape(answer) == shape(theirs)


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 140
    assert set(JAVA_FAILS) <= set(CASES)


@pytest.mark.parametrize("worker", ["exactly once", "principal", "standalone"])
def test_a_sinks_group_may_not_be_the_workers(pairs: dict[str, Pair], worker: str) -> None:
    pair = pairs[worker]
    group = pair.java.group_id
    for config in (sink(name=group.removeprefix("connect-")), sink(consumer__override__group__id=group)):
        theirs = pair.java_validates(config)[1]
        assert shape(ours(pair, config)) == shape(theirs)
    if worker == "exactly once":
        assert theirs["error_count"] == 1


@pytest.mark.parametrize("role", ["producer", "consumer", "admin"])
def test_every_client_setting_is_known_as_java_knows_it(pairs: dict[str, Pair], role: Role) -> None:
    samples = {Type.BOOLEAN: "true", Type.CLASS: "java.lang.String", Type.DOUBLE: "0.5"}
    numbers = (Type.INT, Type.LONG, Type.SHORT)
    overrides: dict[str, str | None] = {
        f"{role}.override.{key.name}": "7" if key.type in numbers else samples.get(key.type, "x")
        for key in client_config_def(role).keys()
    }
    config = {**source(offsets__storage__topic="o"), **overrides}
    status, theirs = pairs["principal"].java_validates(config)
    assert status == 200
    assert shape(ours(pairs["principal"], config)) == shape(theirs)
    assert len(overrides) > 80


@pytest.mark.parametrize(
    "config",
    [
        {"connector.class": "no.Such"},
        {"connector.class": "org.apache.kafka.connect.transforms.Filter"},
        {"connector.class": SOURCE, "topic": "t", "file": "f", "tasks.max": "0"},
        {"connector.class": SOURCE, "errors.tolerance": "x", "topic": "", "file": "f"},
        {"connector.class": SINK, "file": "f", "topics": "a,a", "a": None},
        {"connector.class": None},
        {"file": "f", "topic": "t", "a": None, "tasks.max": "1", "batch.size": "2"},
        {"file": "f", "topic": "t", "tasks.max": "1"},
    ],
)
def test_a_refused_config_gets_connects_message(pairs: dict[str, Pair], config: dict[str, str | None]) -> None:
    pair = pairs["exactly once"]
    status, theirs = pair.java.request("POST", "/connectors", {"name": "n", "config": config})
    assert status == 400
    try:
        infos = pair.ours.validate({**config, "name": "n"})
        assert infos.error_count
        message = errors_message(infos)
    except BadRequestError as error:
        message = error.message
    expected = theirs["message"].removeprefix("org.apache.kafka.connect.errors.ConnectException: ")
    if "available connectors are" in expected:  # each lists its own, in the same form
        start, _, java_list = expected.partition("available connectors are: ")
        assert message.startswith(start + "available connectors are: ")
        file_source = next(part for part in java_list.split("}, ") if "FileStreamSource" in part)
        assert file_source.removesuffix("}") in message
    else:
        assert message == expected


def test_the_list_of_plugins_has_all_of_connects(pairs: dict[str, Pair]) -> None:
    for connectors_only in (True, False):
        query = f"?connectorsOnly={str(connectors_only).lower()}"
        theirs = pairs["principal"].java.request("GET", f"/connector-plugins{query}")[1]
        listed = [
            {"class": info.class_name, "type": info.type, "version": info.version}
            for info in pairs["principal"].ours.connector_plugins(connectors_only=connectors_only)
        ]
        own = [info for info in listed if not str(info["class"]).startswith("org.apache.kafka.")]
        assert [info for info in listed if info not in own] == theirs
        assert {info["type"] for info in own} & {"source", "sink"}


@pytest.mark.parametrize(
    ("plugin", "version"),
    [
        ("FileStreamSource", None),
        ("FileStreamSinkConnector", None),
        (SOURCE, "4.2.0"),
        (SOURCE, "[4.0,)"),
        (SOURCE, "latest"),
        (SOURCE, "1.0"),
        (SOURCE, ""),
        (SOURCE, "x"),
        (SOURCE, "["),
        ("Nope", "[1"),
        ("JsonConverter", None),
        ("Json", None),
        ("JsonConverter", "3"),
        ("StringConverter", None),
        ("BooleanConverter", None),
        ("SimpleHeaderConverter", None),
        ("org.apache.kafka.connect.transforms.Cast$Value", None),
        ("Filter", None),
        ("RegexRouter", None),
        ("TopicNameMatches", None),
        ("Nope", None),
        ("Nope", "1"),
        ("FileStreamSourceTask", None),
        ("FileConfigProvider", None),
        ("org.apache.kafka.common.config.provider.EnvVarConfigProvider", None),
        ("AllConnectorClientConfigOverridePolicy", None),
    ],
)
def test_the_keys_of_a_plugin_are_listed_as_connect_lists_them(
    pairs: dict[str, Pair], plugin: str, version: str | None
) -> None:
    query = "" if version is None else f"?version={urllib.parse.quote(version)}"
    status, theirs = pairs["principal"].java.request(
        "GET", f"/connector-plugins/{urllib.parse.quote(plugin)}/config{query}"
    )
    try:
        listed = pairs["principal"].ours.plugin_config(plugin, version)
    except NotFoundError as error:
        assert (status, theirs["message"]) == (404, error.message)
    except BadRequestError as error:
        assert (status, theirs["message"]) == (400, error.message)
    else:
        assert status == 200
        for info in (*listed, *theirs):
            del info["documentation"]
        assert listed == theirs
