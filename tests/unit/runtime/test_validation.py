"""Validation of connector configs. What a Java worker says is compared in tests/integration/test_validation_java.py;
here are the parts that it does not have: connectors of our own, providers, and what they must not show.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fixtures.validation_cases import SOURCE, sink, source
from seamark.config.configdef import ConfigDef, ConfigValue, Importance, Range, Type
from seamark.config.worker import WorkerConfig
from seamark.connector.source import ConnectorTransactionBoundaries, ExactlyOnceSupport, SourceConnector
from seamark.engine.plugins import Plugins
from seamark.errors import BadRequestError, ConfigError, ConnectorCodeError, NotFoundError
from seamark.runtime.herder import ConfigInfos
from seamark.runtime.plugin_catalog import plugin_version
from seamark.runtime.validation import ConfigValidator, errors_message
from seamark.runtime.version_ranges import VersionRange


class PickySource(SourceConnector):
    """Has checks across keys, hides a framework key, and says strange things about exactly-once."""

    version = "1.5"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define("low", Type.INT, 0, validator=Range.at_least(0), group="Limits", importance=Importance.HIGH)
            .define("high", Type.INT, 10, group="Limits", importance=Importance.HIGH)
            .define("db.password", Type.PASSWORD, None, group="Login")
            .define("tasks.max", Type.INT, 4, validator=Range.between(1, 4))
        )

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        if config.get("break"):
            raise ValueError("broken plugin")
        values = super().validate(config)
        by_name = {value.name: value for value in values}
        if (by_name["low"].value or 0) > (by_name["high"].value or 0):
            by_name["low"].errors.append("low must not be above high")
        return values

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        if config.get("fails"):
            raise ValueError(" cannot tell ")
        return None

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        if config.get("fails"):
            raise ValueError
        return ConnectorTransactionBoundaries.SUPPORTED

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{}]


PICKY = f"{__name__}:PickySource"


def validator(**worker: str) -> ConfigValidator:
    return ConfigValidator(Plugins(), WorkerConfig({key.replace("__", "."): value for key, value in worker.items()}))


def picky(**changes: Any) -> dict[str, str | None]:
    return {"name": "n", "connector.class": PICKY, **{key.replace("__", "."): text for key, text in changes.items()}}


def values(infos: ConfigInfos) -> dict[str, dict[str, Any]]:
    return {info["value"]["name"]: info["value"] for info in infos.configs}


def test_a_connectors_own_checks_and_groups_are_shown() -> None:
    infos = validator().validate(picky(low="20", high="x"))
    assert values(infos)["low"]["errors"] == ["low must not be above high"]
    assert values(infos)["high"]["errors"] == ["Invalid value x for configuration high: Not a number of type INT"]
    assert infos.error_count == 2
    assert list(infos.groups)[-2:] == ["Limits", "Login"]
    assert infos.name == PICKY


def test_a_class_that_is_not_on_the_workers_list_is_not_imported_to_be_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "does_harm.py").write_text("raise SystemExit('it was imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins = Plugins(allowed=["org.apache.kafka.connect.*"])
    validator = ConfigValidator(plugins, WorkerConfig({"group.id": "g"}))
    mirror = {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "name": "m"}
    infos = validator.validate({**mirror, "replication.policy.class": "does_harm:Policy"})
    assert [error for error in infos.errors if "may not be used on this worker" in error]
    assert "does_harm" not in sys.modules


def test_a_connectors_own_definition_wins_over_the_common_one() -> None:
    infos = validator().validate(picky(tasks__max="5"))
    found = [info for info in infos.configs if info["value"]["name"] == "tasks.max"]
    assert [info["definition"]["default_value"] for info in found] == ["4"]
    assert found[0]["value"]["errors"] == ["Invalid value 5 for configuration tasks.max: Value must be no more than 4"]
    assert infos.error_count == 1


def test_passwords_are_not_shown() -> None:
    infos = validator().validate(picky(db__password="hunter2"))
    assert values(infos)["db.password"]["value"] == "[hidden]"
    assert "hunter2" not in str(infos)


def test_a_plugin_that_fails_is_named() -> None:
    with pytest.raises(ConnectorCodeError, match=r"Connector 'n' failed in validate: ValueError: broken plugin"):
        validator().validate(picky(**{"break": "1"}))


def test_a_connector_that_does_not_know_exactly_once_is_told_to_request_it() -> None:
    support = values(
        validator(exactly__once__source__support="enabled").validate(picky(exactly__once__support="required"))
    )
    (error,) = support["exactly.once.support"]["errors"]
    assert error.startswith("The connector does not implement the API required for preflight validation")
    assert 'use the value "requested"' in error


def test_errors_of_exactly_once_checks_become_messages() -> None:
    config = picky(exactly__once__support="required", transaction__boundary="connector", fails="1")
    found = values(validator(exactly__once__source__support="enabled").validate(config))
    assert found["exactly.once.support"]["errors"] == ["An unexpected error occurred during validation: cannot tell"]
    assert found["transaction.boundary"]["errors"] == [
        "An unexpected error occurred during validation; please see the worker logs for more details."
    ]


def test_the_engines_keys_are_shown_only_where_they_are_used() -> None:
    assert "seamark.idle.ms" not in values(validator().validate(source()))
    found = validator().validate(source(seamark__idle__ms="x"))
    assert values(found)["seamark.idle.ms"]["errors"][0].startswith("Invalid value x for configuration seamark.idle.ms")
    assert found.error_count == 1


def test_versions_of_our_own_plugins_are_their_own() -> None:
    infos = validator().validate(picky())
    assert values(infos)["connector.plugin.version"]["value"] == "1.5"
    assert plugin_version(PickySource) == "1.5"
    assert plugin_version(Plugins().connector_class(SOURCE)) == "4.2.0"
    assert validator().validate(picky(connector__plugin__version="[1,2)")).error_count == 0
    assert validator().validate(picky(connector__plugin__version="2")).error_count == 2


def test_a_range_that_is_none_is_refused() -> None:
    with pytest.raises(BadRequestError, match=r"Unbounded range: \[4\.0"):
        validator().validate(source(connector__plugin__version="[4.0"))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("4.2", ["4.2", "4.2.0"], ["4.2.1", "4.1"]),
        ("[4.0,5.0)", ["4.0.0", "4.9"], ["5", "3.9.9"]),
        ("(4.0,]", ["4.0.1", "9"], ["4.0"]),
        ("(,4.0]", ["4.0", "1"], ["4.0.1"]),
        ("[1,2],[4,5]", ["1.5", "4"], ["3", "5.1"]),
        ("[1.0]", ["1"], ["1.1"]),
        ("[1-rc,1]", ["1-rc", "1"], ["0.9"]),
        ("[1-a,1-b]", ["1-a", "1-b"], ["1-c", "1"]),
        ("", [], ["1"]),
    ],
)
def test_ranges_of_versions(text: str, inside: list[str], outside: list[str]) -> None:
    versions = VersionRange.parse(text)
    assert versions is not None
    assert [version for version in inside + outside if versions.contains(version)] == inside


@pytest.mark.parametrize("text", ["[1", "(1)", "[1,2] 3", "[2,1]", "[1,1]"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(ConfigError):
        VersionRange.parse(text)


def test_any_version_is_the_latest() -> None:
    assert VersionRange.parse(" Latest ") is None


# providers


@pytest.fixture
def with_secrets(tmp_path: Path) -> tuple[ConfigValidator, str]:
    file = tmp_path / "s.properties"
    file.write_text("topic=very-secret-topic\nbad=very-secret-number\nclass=FileStreamSource\n")
    own = {"config.providers": "f", "config.providers.f.class": "FileConfigProvider"}
    return ConfigValidator(Plugins(), WorkerConfig(own)), str(file)


def test_references_are_resolved_but_what_they_stand_for_is_not_shown(
    with_secrets: tuple[ConfigValidator, str],
) -> None:
    judge, file = with_secrets
    config = source(
        topic=f"${{f:{file}:topic}}", tasks__max=f"${{f:{file}:bad}}", connector__class=f"${{f:{file}:class}}"
    )
    infos = judge.validate(config)
    assert values(infos)["topic"]["value"] == config["topic"]
    assert values(infos)["tasks.max"]["value"] is None
    assert f"Invalid value {config['tasks.max']} for configuration tasks.max" in values(infos)["tasks.max"]["errors"][0]
    assert "very-secret" not in str(infos) + errors_message(infos)


@pytest.mark.parametrize("key", ["connector.class", "transforms", "topic"])
def test_references_are_not_resolved_for_who_may_not_see_secrets(
    with_secrets: tuple[ConfigValidator, str], key: str
) -> None:
    judge, file = with_secrets
    config = {**source(), key: f"${{f:{file}:topic}}"}
    try:
        told = str(judge.validate(config, resolves=False))
    except BadRequestError as error:
        told = error.message
    assert "very-secret" not in told
    assert config[key] in told


def test_what_cannot_be_resolved_is_refused(with_secrets: tuple[ConfigValidator, str]) -> None:
    judge, file = with_secrets
    with pytest.raises(BadRequestError, match=r"Could not resolve the value of topic .*there is no 'none'"):
        judge.validate(source(topic=f"${{f:{file}:none}}"))


def test_a_config_without_a_class_is_shown_unresolved(with_secrets: tuple[ConfigValidator, str]) -> None:
    judge, file = with_secrets
    with pytest.raises(BadRequestError) as error:
        judge.validate({"name": "n", "topic": f"${{f:{file}:topic}}"})
    assert error.value.message.endswith("contains no connector type")
    assert "very-secret" not in error.value.message


# plugins


def test_the_keys_of_a_plugin_of_our_own() -> None:
    keys = validator().plugin_config(PICKY)
    assert [key["name"] for key in keys[:5]] == ["low", "high", "db.password", "tasks.max", "name"]
    assert keys[0]["order_in_group"] == 1
    assert not [key["name"] for key in keys if key["name"].startswith("seamark.")]
    with pytest.raises(BadRequestError, match=r"version range \[1,1\], available versions: \[1\.5\]"):
        validator().plugin_config(PICKY, "1")
    with pytest.raises(NotFoundError, match=r"^Unknown plugin x:Y\.$"):
        validator().plugin_config("x:Y")


def test_the_message_of_a_refused_config_lists_all_errors() -> None:
    infos = validator().validate(sink(topics=None, name=""))
    lines = errors_message(infos).split("\n")
    assert lines[0] == "Connector configuration is invalid and contains the following 5 error(s):"
    assert len(lines) == 7
    assert lines[-1] == (
        "You can also find the above list of errors at the endpoint "
        "`/connector-plugins/{connectorType}/config/validate`"
    )
