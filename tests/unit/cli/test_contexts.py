"""Contexts: which worker a command is sent to."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from seamark.cli.connection import settings_for
from seamark.cli.contexts import Context, read_contexts
from seamark.cli.exits import NOT_FOUND, REFUSED, RefusedError
from seamark.client import DEFAULT_URL
from unit.cli.conftest import FleetHerder, Run


def test_contexts_are_kept_used_and_removed(run_command: Run, config_file: Path) -> None:
    assert run_command("context", "list").err == f"There is no context in {config_file}.\n"
    run_command("context", "set", "dev", "--url", "http://dev:1")
    said = run_command("context", "set", "prod", "--url", "https://prod:2", "--username", "me", "--password-env", "PW")
    assert said.out == "context prod is https://prod:2\n"
    assert stat.S_IMODE(config_file.stat().st_mode) == 0o600
    assert "password_env: PW" in config_file.read_text()
    run_command("context", "use", "prod")
    lines = run_command("context", "list").out.splitlines()
    assert [line.split() for line in lines] == [
        ["NAME", "URL", "USER"],
        ["dev", "http://dev:1"],
        ["*", "prod", "https://prod:2", "me"],
    ]
    assert run_command("context", "remove", "prod").code == 0
    assert read_contexts().contexts == {"dev": Context("http://dev:1")}
    assert read_contexts().current is None


def test_an_unknown_context_is_answered_with_the_known(run_command: Run) -> None:
    run_command("context", "set", "dev", "--url", "http://dev:1")
    said = run_command("get", "--context", "prdo")
    assert said.code == NOT_FOUND
    assert "there are: dev" in said.err


def test_the_command_line_counts_before_the_environment_and_the_context(
    config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings_for(None, None).url == DEFAULT_URL
    config_file.parent.mkdir()
    config_file.write_text("current: a\ncontexts: {a: {url: http://a}, b: {url: http://b}}")
    assert settings_for(None, None).url == "http://a"
    monkeypatch.setenv("SEAMARK_URL", "http://u")
    assert settings_for(None, None).url == "http://u"
    assert settings_for(None, "b").url == "http://b"
    monkeypatch.setenv("SEAMARK_CONTEXT", "b")
    assert settings_for(None, None).url == "http://b"
    assert settings_for("http://o", None).url == "http://o"
    with pytest.raises(RefusedError, match="not both"):
        settings_for("http://o", "a")


def test_secrets_come_from_the_environment(config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = Context("http://a", username="me", password_env="PW")
    with pytest.raises(RefusedError, match="PW"):
        user.settings()
    monkeypatch.setenv("PW", "secret")
    assert user.settings().auth == ("me", "secret")
    assert Context("http://a", token_env="PW").settings().headers == {"Authorization": "Bearer secret"}
    assert Context("https://a", insecure=True).settings().verify is False
    with pytest.raises(RefusedError, match=r"none\.pem"):
        Context("https://a", ca="none.pem").settings()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("contexts: {a: {}}", "'a' .* has no url"),
        ("contexts: {a: {url: x, pasword: y}}", "pasword, which means nothing. Valid are .*password"),
        ("contexts: [a]", "should have an object 'contexts'"),
        ("contexts: {a: {url: x, insecure: maybe}}", "true or false"),
        ("{", "cannot be read"),
        ("version: 2\ncontexts: {a: {url: x}}", "was written by a newer Seamark"),
    ],
)
def test_a_wrong_file_is_refused(config_file: Path, content: str, words: str) -> None:
    config_file.parent.mkdir()
    config_file.write_text(content)
    with pytest.raises(RefusedError, match=words) as caught:
        read_contexts()
    assert caught.value.exit_code == REFUSED


def test_a_context_leads_to_its_worker(run_command: Run, fleet: FleetHerder, worker_url: str) -> None:
    fleet.add("orders")
    run_command("context", "set", "dev", "--url", worker_url)
    assert "orders" in run_command("get").out
