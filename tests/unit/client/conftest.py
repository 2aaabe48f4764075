"""Both clients over real HTTP, against a REST server whose herder is in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from seamark.client import AsyncConnectClient, ConnectClient, Settings
from seamark.config.worker import WorkerConfig
from seamark.rest import RestServer
from unit.rest.herders import MemoryHerder

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def shared_worker() -> Iterator[tuple[MemoryHerder, str]]:
    herder = MemoryHerder()
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0"}))
    server.bind()
    server.start(herder)
    yield herder, server.url
    server.stop(5)


@pytest.fixture
def herder(shared_worker: tuple[MemoryHerder, str]) -> MemoryHerder:
    """As new, with the connector `c`."""
    herder = shared_worker[0]
    herder.reset()
    herder.configs["c"] = {"name": "c", "connector.class": "a.Source"}
    return herder


@pytest.fixture
def url(shared_worker: tuple[MemoryHerder, str], herder: MemoryHerder) -> str:
    return shared_worker[1]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """`ask(settings or url, lambda client: ...)` with either client; the function makes one call."""

    def ask_sync(settings: Settings | str, call: Callable[[Any], Any]) -> Any:
        with ConnectClient(settings) as client:
            return call(client)

    def ask_async(settings: Settings | str, call: Callable[[Any], Any]) -> Any:
        async def run() -> Any:
            async with AsyncConnectClient(settings) as client:
                return await call(client)

        return asyncio.run(run())

    return ask_sync if request.param == "sync" else ask_async
