"""Users, and who commands act as."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from seamark.cli import credentials
from seamark.cli.connection import settings_for
from seamark.cli.contexts import Context
from seamark.cli.exits import FORBIDDEN, NOT_FOUND, REFUSED, RefusedError
from seamark.config.passwords import is_password, read_users
from seamark.config.worker import WorkerConfig
from seamark.rest import RestServer
from unit.cli.conftest import FleetHerder, Run


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("USER", "PASSWORD", "PASSWORD_FILE", "TOKEN", "TOKEN_FILE"):
        monkeypatch.delenv(f"SEAMARK_{name}", raising=False)
    yield
    credentials.remember(None, None, None)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("pässword\n")
    return path


def test_users_are_added_changed_and_removed(run_command: Run, tmp_path: Path, secret: Path) -> None:
    file = tmp_path / "users"
    add = ("auth", "add-user", str(file), "vera", "--password-file", str(secret), "--role")
    assert run_command(*add, "viewer").out == "user vera is added: viewer\n"
    assert run_command(*add, "editor").out == "user vera is changed: editor\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    [user] = read_users(file).values()
    assert (user.name, user.role) == ("vera", "editor")
    assert is_password("pässword", user.hash)
    assert "pässword" not in file.read_text()
    lines = run_command("auth", "list-users", str(file)).out.splitlines()
    assert [line.split() for line in lines] == [["USER", "ROLE"], ["vera", "editor"]]
    assert run_command("auth", "remove-user", str(file), "eda").code == NOT_FOUND
    assert run_command("auth", "remove-user", str(file), "vera").out == "user vera is removed\n"
    assert read_users(file) == {}


@pytest.mark.parametrize("name", ["a:b", "", " a", "#a", "a\nb"])
def test_names_that_cannot_be(run_command: Run, tmp_path: Path, secret: Path, name: str) -> None:
    said = run_command(
        "auth", "add-user", str(tmp_path / "u"), name, "--role", "viewer", "--password-file", str(secret)
    )
    assert said.code != 0
    assert not (tmp_path / "u").exists()


def test_an_empty_password(run_command: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    file, empty = str(tmp_path / "u"), str(tmp_path / "empty")
    said = run_command("auth", "add-user", file, "x", "--role", "viewer", "--password-file", empty)
    assert said.code == REFUSED


def test_where_credentials_come_from(config_file: Path, secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_for("http://a", None).auth is None
    monkeypatch.setenv("SEAMARK_USER", "env")
    monkeypatch.setenv("SEAMARK_PASSWORD", "p")
    assert settings_for("http://a", None).auth == ("env", "p")
    monkeypatch.setenv("SEAMARK_PASSWORD_FILE", str(secret))
    assert settings_for("http://a", None).auth == ("env", "pässword")
    config_file.parent.mkdir(exist_ok=True)
    config_file.write_text("current: a\ncontexts: {a: {url: http://a, username: ctx, password: c}}")
    assert settings_for(None, None).auth == ("ctx", "c"), "those of a cluster are meant for it"
    credentials.remember("me", secret, None)
    assert settings_for(None, None).auth == ("me", "pässword")
    credentials.remember(None, None, secret)
    found = settings_for(None, None)
    assert (found.auth, found.token) == (None, "pässword")
    assert "pässword" not in repr(found)


def test_credentials_that_do_not_go_together(secret: Path) -> None:
    for given in (("me", None, secret), (None, secret, None), (None, None, Path("/nowhere"))):
        credentials.remember(*given)
        with pytest.raises(RefusedError):
            settings_for("http://a", None)


def test_secrets_of_a_context_in_files(secret: Path) -> None:
    context = Context("http://a", username="me", password_file=str(secret))
    assert context.settings().auth == ("me", "pässword")
    token = Context("http://a", token_file=str(secret))
    assert token.settings().headers == {"Authorization": "Bearer pässword"}


def test_a_worker_that_asks(run_command: Run, tmp_path: Path, secret: Path) -> None:
    users = str(tmp_path / "users")
    run_command("auth", "add-user", users, "vera", "--role", "viewer", "--password-file", str(secret))
    settings = {"seamark.auth.type": "basic", "seamark.auth.basic.users.file": users}
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0", **settings}))
    server.bind()
    herder = FleetHerder()
    herder.configs["x"] = {"connector.class": "a.Sink", "name": "x"}
    server.start(herder)
    try:
        said = run_command("auth", "whoami", "--url", server.url)
        assert said.code == FORBIDDEN
        login = ("--user", "vera", "--password-file", str(secret))
        said = run_command(*login, "auth", "whoami", "--url", server.url)
        assert said.out.split() == ["USER", "ROLE", "AUTH", "vera", "viewer", "basic"]
        assert run_command(*login, "auth", "whoami", "--url", server.url, "-o", "json").code == 0
        said = run_command(*login, "pause", "x", "--url", server.url)
        assert said.code == FORBIDDEN
        assert "needs role operator; vera is viewer" in said.err
    finally:
        server.stop(5)
