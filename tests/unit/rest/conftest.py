"""A REST server over a herder in memory, on a port of the OS; requests over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from seamark.config.worker import WorkerConfig
from seamark.rest import RestServer
from unit.rest.herders import MemoryHerder

Serve = Callable[..., httpx.Client]


@pytest.fixture(scope="session")
def shared_herder() -> MemoryHerder:
    return MemoryHerder()


@pytest.fixture
def herder(shared_herder: MemoryHerder) -> MemoryHerder:
    """As new for every test."""
    shared_herder.reset()
    return shared_herder


@pytest.fixture(scope="session")
def shared_client(shared_herder: MemoryHerder) -> Iterator[httpx.Client]:
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0"}))
    server.bind()
    server.start(shared_herder)
    with httpx.Client(base_url=server.url, timeout=60, trust_env=False, verify=False) as client:
        yield client
    server.stop(5)


@pytest.fixture
def client(shared_client: httpx.Client, herder: MemoryHerder) -> httpx.Client:
    """Of a server with default settings, which starts once."""
    return shared_client


@pytest.fixture
def serve(herder: MemoryHerder) -> Iterator[Serve]:
    """Starts a server with these worker settings and arguments of `RestServer.start`; returns a client of it."""
    servers: list[RestServer] = []
    clients: list[httpx.Client] = []

    def start(settings: dict[str, str] | None = None, **arguments: Any) -> httpx.Client:
        server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0", **(settings or {})}))
        server.bind()
        server.start(herder, **arguments)
        servers.append(server)
        clients.append(httpx.Client(base_url=server.url, timeout=60, trust_env=False, verify=False))
        return clients[-1]

    yield start
    herder.release.set()
    for client in clients:
        client.close()
    for server in servers:
        server.stop(5)
