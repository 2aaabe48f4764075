"""How the operator reaches workers that ask who it is, over real connections."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fixtures.authority import Authority, Issued
from seamark.cli import certificates, credentials
from seamark.cli.connection import worker_settings
from seamark.client import BearerAuth, ClientError, Unreachable
from seamark.config.passwords import hash_password
from seamark.config.worker import WorkerConfig
from seamark.operator.workers import Workers
from seamark.rest import RestServer
from unit.rest.herders import MemoryHerder


@pytest.fixture
def worker(tmp_path: Path, authority: Authority, worker_identity: Issued) -> Iterator[str]:
    """A worker with https and a login."""
    users = tmp_path / "users"
    users.write_text(f"olga:editor:{hash_password('olgas-word')}\n")
    settings = {
        "listeners": "https://127.0.0.1:0",
        "ssl.keystore.location": str(worker_identity.pem),
        "ssl.truststore.location": str(authority.file),
        "seamark.auth.type": "basic",
        "seamark.auth.basic.users.file": str(users),
    }
    server = RestServer(WorkerConfig(settings))
    server.bind()
    server.start(MemoryHerder())
    yield server.url
    server.stop(2)


@pytest.fixture(autouse=True)
def _as_olga(tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "word").write_text("olgas-word\n")
    monkeypatch.setenv("SEAMARK_USER", "olga")
    monkeypatch.setenv("SEAMARK_PASSWORD_FILE", str(tmp_path / "word"))
    monkeypatch.setenv("SEAMARK_CA", str(authority.file))
    for name in ("SEAMARK_TOKEN", "SEAMARK_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    credentials.remember(None, None, None)
    certificates.remember(certificates.Certificates())
    yield


def listed(workers: Workers, url: str) -> list[str]:
    async def ask() -> list[str]:
        try:
            return await workers.at(url).connectors()
        finally:
            await workers.aclose()

    return asyncio.run(ask())


def test_credentials_are_for_those_that_are_trusted(worker: str) -> None:
    assert listed(Workers(worker_settings(), ["https://127.0.0.1:*"]), worker) == []


@pytest.mark.parametrize("trusted", [(), ("https://elsewhere:*",)])
def test_others_do_not_get_them(worker: str, trusted: tuple[str, ...]) -> None:
    with pytest.raises(ClientError, match=r"401|[Ll]og"):
        listed(Workers(worker_settings(), trusted), worker)


def test_a_worker_that_is_not_known_is_not_spoken_to(worker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEAMARK_CA")
    with pytest.raises(Unreachable):
        listed(Workers(worker_settings(), ["*"]), worker)


def test_a_token_is_read_again_as_files_of_tokens_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    monkeypatch.delenv("SEAMARK_USER")
    monkeypatch.setenv("SEAMARK_TOKEN_FILE", str(file))
    auth = worker_settings().auth
    assert isinstance(auth, BearerAuth)

    def sent() -> str:
        return next(auth.auth_flow(httpx.Request("GET", "https://worker"))).headers["Authorization"]

    assert sent() == "Bearer first"
    file.write_text("second\n")
    assert sent() == "Bearer second"
