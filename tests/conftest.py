"""Fixtures for every test. What is expensive exists once per run and is started by the first test that asks."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest

from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.java_connect import JavaConnect

pytest_plugins = ["fixtures.spark", "fixtures.worker", "fixtures.herders", "fixtures.mirrors"]


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
