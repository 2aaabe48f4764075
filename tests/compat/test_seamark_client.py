"""`seamark.client` against every kind of worker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from compat.client import Connect
from compat.conftest import Files
from compat.targets import SINK, SOURCE, Target
from seamark.client import (
    AsyncConnectClient,
    BadRequest,
    Conflict,
    ConnectClient,
    ConnectorOffset,
    NotFound,
    Unsupported,
)
from seamark.testing.waiting import eventually


@pytest.fixture
def client(connect: Connect) -> Iterator[ConnectClient]:
    """Of the same worker; the other client cleans up."""
    with ConnectClient(connect.url) as client:
        yield client


def test_the_life_of_a_source(client: ConnectClient, files: Files, name: str) -> None:
    config = files.source(name, 3)
    assert client.create(name, config).config["topic"] == name
    client.await_state(name, "RUNNING")
    with pytest.raises(Conflict, match="already exists"):
        client.create(name, config)
    assert name in client.connectors()
    assert client.expanded()[name].info is not None
    partition = files.partition(name)
    eventually(lambda: client.offsets(name) == [ConnectorOffset(partition, {"position": 18})], 60)
    assert client.tasks(name)[0].id.connector == name
    eventually(lambda: client.topics(name) == [name], 60)
    with pytest.raises(BadRequest, match="STOPPED"):
        client.alter_offsets(name, [ConnectorOffset(partition, {"position": 0})])
    client.pause(name)
    client.await_state(name, "PAUSED")
    client.stop(name)
    client.await_state(name, "STOPPED")
    client.alter_offsets(name, [ConnectorOffset(partition, {"position": 6})])
    eventually(lambda: client.offsets(name) == [ConnectorOffset(partition, {"position": 6})], 60)
    client.reset_offsets(name)
    eventually(lambda: [each for each in client.offsets(name) if each.offset is not None] == [], 60)
    assert not client.put_config(name, {**config, "batch.size": "7"}).created
    assert client.patch_config(name, {"batch.size": None}).config.get("batch.size") is None
    client.resume(name)
    client.await_state(name, "RUNNING")
    eventually(lambda: client.offsets(name) == [ConnectorOffset(partition, {"position": 18})], 60)
    restarted = client.restart(name, include_tasks=True)
    assert restarted is not None
    assert restarted.connector.state in ("RESTARTING", "RUNNING")
    client.delete(name)
    with pytest.raises(NotFound, match=f"Connector {name} not found"):
        client.connector(name)


def test_the_worker_its_plugins_and_loggers(client: ConnectClient, target: Target) -> None:
    assert client.server_info().version == "4.2.0"
    assert client.health().is_healthy
    assert {SOURCE, SINK} <= {plugin.class_name for plugin in client.plugins()}
    assert len(client.plugins(connectors_only=False)) > len(client.plugins())
    assert "topic" in [key.name for key in client.plugin_config("FileStreamSource")]
    found = client.validate("FileStreamSource", {"connector.class": SOURCE, "name": "x"})
    assert ("topic", 'Missing required configuration "topic" which has no default value.') in found.errors
    assert found.error_count == len(found.errors)
    logger = "org.apache.kafka.connect.seamark.client.test"
    client.set_logger(logger, "DEBUG")
    assert client.logger(logger).level == "DEBUG"
    assert logger in client.loggers()
    with pytest.raises(NotFound):
        client.plugin_config("NoSuchPlugin")


def test_additions_are_known_by_the_kind_of_worker(
    client: ConnectClient, target: Target, files: Files, name: str
) -> None:
    assert client.capabilities().is_seamark == target.is_seamark
    assert client.capabilities().has("GET", "/mirrors") == target.is_seamark
    client.create(name, files.source(name, 1))
    client.await_state(name, "RUNNING")
    if target.is_seamark:
        assert client.progress(name).name == name
        assert client.mirrors() == []
    else:
        with pytest.raises(Unsupported):
            client.progress(name)
        with pytest.raises(Unsupported):
            client.mirrors()


def test_asyncio_asks_several_at_once(connect: Connect, files: Files, name: str) -> None:
    names = [f"{name}-{number}" for number in range(4)]

    async def run() -> list[str]:
        async with AsyncConnectClient(connect.url) as client:
            configs = [files.source(each, 1) for each in names]
            await asyncio.gather(*(client.create(each, config) for each, config in zip(names, configs, strict=True)))
            await asyncio.gather(*(client.await_state(each, "RUNNING") for each in names))
            statuses = await asyncio.gather(*(client.status(each) for each in names))
            return [status.connector.state for status in statuses]

    assert asyncio.run(run()) == ["RUNNING"] * 4
