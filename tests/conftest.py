"""Fixtures for every test. What is expensive exists once per run and is started by the first test that asks."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest

from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.java_connect import JavaConnect

pytest_plugins = ["fixtures.spark", "fixtures.worker", "fixtures.herders", "fixtures.mirrors"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several processes (`make test`), tests that share something expensive stay together, and those that take
    longest begin first. Each process has a broker, a Spark session and a Java worker of its own.
    """
    longest: dict[str, int] = {}
    for item in items:
        group = _group(item)
        item.add_marker(pytest.mark.xdist_group(group))
        longest[group] = min(longest.get(group, len(_FIRST) + 2), _turn(item, group))
    items.sort(key=lambda item: longest[_group(item)])  # stable: otherwise in the order they came in


_FIRST = ("seamark-distributed", "seamark-standalone", "kafka-distributed", "kafka-standalone")


def _group(item: pytest.Item) -> str:
    target = getattr(item, "callspec", None) and item.callspec.params.get("target")  # type: ignore[attr-defined]
    return str(target) if target in _FIRST else str(item.path)


def _turn(item: pytest.Item, group: str) -> int:
    if group in _FIRST:
        return _FIRST.index(group)
    if item.get_closest_marker("slow"):
        return len(_FIRST)
    return len(_FIRST) + (2 if "unit" in item.path.parts else 1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A real Kafka, shared by all tests of the run: use names of your own, and leave it running."""
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="session")
def java_connect(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaConnect]:
    """The real Kafka Connect, one distributed worker; mark the test `java`, and delete the connectors you create."""
    with JavaConnect(tmp_path_factory.mktemp("java-connect"), broker.bootstrap_servers, heap="256m") as running:
        yield running


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> str:
    """A legal name for a topic (or group, or connector) that no other test uses and that tells whose it is."""
    readable = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")
    return f"{readable[:80]}-{uuid.uuid4().hex[:8]}"
