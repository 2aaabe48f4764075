"""Configurations as forms, from what a real validation answers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from seamark.client import ConfigEntry, ConfigKey, ConfigValue, Validation
from seamark.client.decoding import decode
from seamark.config.worker import WorkerConfig
from seamark.engine.plugins import Plugins
from seamark.runtime.validation import ConfigValidator
from seamark.web import forms
from seamark.web.forms import MASK, Kind

STRING = "org.apache.kafka.connect.storage.StringConverter"
HTTP = "seamark.connectors.http_sink.HttpSinkConnector"


@pytest.fixture(scope="module")
def validator() -> ConfigValidator:
    worker = {
        "bootstrap.servers": "localhost:1",
        "group.id": "g",
        "offset.storage.topic": "o",
        "key.converter": STRING,
        "value.converter": STRING,
    }
    return ConfigValidator(Plugins(), WorkerConfig(worker))


def validation(validator: ConfigValidator, config: Mapping[str, str | None]) -> Validation:
    found = validator.validate(config)
    content = {
        "name": found.name,
        "error_count": found.error_count,
        "groups": list(found.groups),
        "configs": [dict(each) for each in found.configs],
    }
    return decode(Validation, content)


def sections(validator: ConfigValidator, config: Mapping[str, str | None]) -> dict[str, dict[str, forms.Field]]:
    found = validation(validator, config)
    return {
        section.title: {field.name: field for field in section.fields}
        for section in forms.sections_of(found.configs, config, found.groups)
    }


def entry(name: str, type_name: str = "STRING", **fields: object) -> ConfigEntry:
    return ConfigEntry(ConfigKey(name, type_name, False, **fields), ConfigValue(name))  # type: ignore[arg-type]


def test_own_keys_come_first_then_groups_in_order_then_what_nobody_defines(validator: ConfigValidator) -> None:
    config = {"connector.class": HTTP, "name": "h", "topics": "a", "http.url": "http://x", "made.up": "1"}
    found = sections(validator, config)
    assert list(found) == ["Connector", "Common", "Transforms", "Predicates", "Error Handling", "Other keys"]
    assert next(iter(found["Connector"])) == "http.url"
    assert list(found["Other keys"]) == ["made.up"]
    assert not forms.FIXED & {name for fields in found.values() for name in fields}


def test_fields_know_how_they_are_filled_in(validator: ConfigValidator) -> None:
    found = sections(validator, {"connector.class": HTTP, "name": "h"})
    own, common = found["Connector"], found["Common"]
    assert own["http.authorization"].kind is Kind.SECRET
    assert own["http.retries"].kind is Kind.NUMBER
    assert own["http.retries"].default == "10"
    assert own["http.url"].is_required
    assert common["tasks.max.enforce"].kind is Kind.SWITCH
    assert common["topics"].kind is Kind.LIST
    assert common["key.converter"].kind is Kind.CHOICE
    assert STRING in common["key.converter"].choices


def test_what_is_seldom_needed_is_shown_when_it_is_set_or_wrong(validator: ConfigValidator) -> None:
    config = {"connector.class": HTTP, "name": "h", "tasks.max": "x", "errors.tolerance": "all"}
    found = sections(validator, config)
    assert found["Common"]["tasks.max"].is_basic
    assert found["Error Handling"]["errors.tolerance"].is_basic
    assert not found["Error Handling"]["errors.log.enable"].is_basic
    wrong = sections(validator, {**config, "errors.log.enable": "maybe"})["Error Handling"]["errors.log.enable"]
    assert wrong.is_basic
    assert wrong.errors


def test_a_transform_brings_its_keys(validator: ConfigValidator) -> None:
    config = {
        "connector.class": HTTP,
        "name": "h",
        "transforms": "t1",
        "transforms.t1.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    }
    assert "transforms.t1.static.field" in sections(validator, config)["Transforms: t1"]


def test_messages_are_the_workers_own_each_once(validator: ConfigValidator) -> None:
    found = forms.messages_of(validation(validator, {"connector.class": HTTP, "name": "h", "tasks.max": "abc"}))
    assert found["tasks.max"][0] == "Invalid value abc for configuration tasks.max: Not a number of type INT"
    assert found["http.url"] == ['Missing required configuration "http.url" which has no default value.']


def test_a_key_without_meaning_now_has_no_field_unless_it_is_set() -> None:
    hidden = ConfigEntry(ConfigKey("a", "STRING", False), ConfigValue("a", visible=False))
    assert forms.sections_of([hidden], {}) == []
    assert forms.sections_of([hidden], {"a": "1"})[0].fields[0].name == "a"


@pytest.mark.parametrize(
    ("name", "type_name", "is_secret"),
    [
        ("connection.password", "STRING", True),
        ("anything", "PASSWORD", True),
        ("sasl.jaas.config", None, True),
        ("consumer.override.sasl.jaas.config", None, True),
        ("http.authorization", "STRING", True),
        ("ssl.keystore.key", None, True),
        ("ssl.keystore.location", None, False),
        ("token.endpoint.url", None, False),
        ("key.converter", "CLASS", False),
        ("topics", "LIST", False),
        ("password.retries", "INT", False),
    ],
)
def test_secrets_are_told_by_type_and_name(name: str, type_name: str | None, is_secret: bool) -> None:
    assert forms.is_secret(name, type_name) is is_secret


def test_secrets_do_not_reach_the_browser_and_survive_a_save() -> None:
    config = {"user": "me", "db.password": "hunter2", "api.token": "${file:/run/token:t}"}
    secrets = forms.secrets_in([entry("db.password", "PASSWORD"), entry("user")], config)
    sent = forms.shown(config, secrets)
    assert sent == {"user": "me", "db.password": MASK, "api.token": "${file:/run/token:t}"}
    assert forms.config_of({**sent, "user": "you"}, config) == {**config, "user": "you"}
    assert forms.config_of({**sent, "db.password": "new"}, config)["db.password"] == "new"
    assert "db.password" not in forms.config_of({**sent, "db.password": ""}, config)
    message = forms.without_secrets("Invalid value hunter2 for configuration db.password", config, secrets)
    assert message == f"Invalid value {MASK} for configuration db.password"


def test_a_blank_field_is_not_in_the_configuration_unless_it_was() -> None:
    assert forms.config_of({"a": "", "b": None, "c": "1"}, {}) == {"c": "1"}
    assert forms.config_of({"a": "", "c": ""}, {"a": "", "c": "1"}) == {"a": ""}


def test_differences_mask_secrets() -> None:
    before, after = {"a": "1", "b": "2", "pw": "x", "same": "s"}, {"a": "1", "b": "3", "c": "", "pw": "y", "same": "s"}
    found = forms.changes_of(before, after, {"pw"})
    assert [change.key for change in found] == ["b", "c", "pw"]
    assert found[0].lines == ["- b = 2", "+ b = 3"]
    assert found[1].lines == ["+ c = "]
    assert found[2].lines == [f"- pw = {MASK}", f"+ pw = {MASK} (changed)"]
    assert forms.changes_of({"a": "1"}, {}, ())[0].lines == ["- a = 1"]
