"""Secrets in configurations: who sees them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from seamark.errors import NotFoundError
from seamark.rest.masking import HIDDEN, masked
from unit.rest import users
from unit.rest.herders import MemoryHerder

CONFIG: dict[str, str | None] = {
    "connector.class": "a.Sink",
    "name": "x",
    "tasks.max": "2",
    "code": "typed-as-a-password",
    "connection.password": "named-as-a-password",
    "from.file": "${file:/secrets:code}",
    "empty": None,
}


@pytest.fixture
def client(serve: Any, tmp_path: Path, herder: MemoryHerder, monkeypatch: pytest.MonkeyPatch) -> httpx.Client:
    def plugin_config(self: MemoryHerder, plugin: str, version: str | None) -> list[dict[str, Any]]:
        if plugin != "a.Sink":
            raise NotFoundError("Unknown plugin")
        return [{"name": "code", "type": "PASSWORD"}, {"name": "tasks.max", "type": "INT"}]

    monkeypatch.setattr(MemoryHerder, "plugin_config", plugin_config)
    herder.configs["x"] = dict(CONFIG)
    found: httpx.Client = serve(users.settings(users.write(tmp_path / "users")))
    return found


def answers(client: httpx.Client, user: str) -> dict[str, str]:
    paths = ("/connectors/x", "/connectors/x/config", "/connectors/x/tasks", "/connectors?expand=info&expand=status")
    return {path: client.get(path, auth=users.login(user)).text for path in paths}


@pytest.mark.parametrize("user", ["vera", "olga"])
def test_viewers_and_operators_see_no_secrets(client: httpx.Client, user: str) -> None:
    for path, text in answers(client, user).items():
        assert "as-a-password" not in text, path
        assert text.count(HIDDEN) == 2, path
        assert "${file:/secrets:code}" in text
    shown = client.get("/connectors/x/config", auth=users.login(user)).json()
    assert shown == {**CONFIG, "code": HIDDEN, "connection.password": HIDDEN}


def test_editors_see_what_clients_of_connect_see(client: httpx.Client, serve: Any) -> None:
    plain = serve()
    for path, text in answers(client, "eda").items():
        assert text == plain.get(path).text
        assert text.count("as-a-password") == 2


def test_a_connector_that_is_not_installed(client: httpx.Client, herder: MemoryHerder) -> None:
    herder.configs["x"]["connector.class"] = "gone.Sink"
    text = client.get("/connectors/x", auth=users.login("vera")).text
    assert "named-as-a-password" not in text


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "database.password",
        "ssl.key.password",
        "ssl.keystore.key",
        "sasl.jaas.config",
        "consumer.override.sasl.jaas.config",
        "aws.secret.access.key",
        "aws_access_key_id",
        "api.key",
        "apiKey",
        "oauth2.client.secret",
        "token",
        "confluent.token",
        "http.headers",
        "http.authorization.header",
        "value.converter.basic.auth.user.info",
        "azure.storage.account.key",
        "connection.string",
        "transforms.x.passphrase",
        "google.credentials.json",
    ],
)
def test_names_of_secrets(key: str) -> None:
    assert masked(key, "v") == HIDDEN


@pytest.mark.parametrize(
    "key",
    ["key.converter", "message.key.columns", "topics", "transforms.key.field", "ssl.truststore.location", "pk.mode"],
)
def test_names_of_other_things(key: str) -> None:
    assert masked(key, "v") == "v"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("jdbc:postgresql://me:pw@db:1/x", "jdbc:postgresql://me:[hidden]@db:1/x"),
        ("jdbc:mysql://db/x?user=me&password=pw&ssl=true", "jdbc:mysql://db/x?user=me&password=[hidden]&ssl=true"),
        ("https://a/b?sig=abc", "https://a/b?sig=[hidden]"),
        ("http://host:8083/a@b", "http://host:8083/a@b"),
        ("${env:URL}", "${env:URL}"),
    ],
)
def test_secrets_within_values(value: str, shown: str) -> None:
    assert masked("connection.url", value) == shown


def test_a_reference_with_a_secret_beside_it_is_no_reference() -> None:
    assert masked("password", "x${env:A}") == HIDDEN
    assert masked("password", "${env:A}") == "${env:A}"
    assert re.search("pw", masked("password", "${env:A}pw")) is None
