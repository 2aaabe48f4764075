"""Fixtures of integration tests that are shared between modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from fixtures.converter_oracle import ConverterOracle, running_oracle
from fixtures.registry_server import RegistryServer, running_registry
from fixtures.two_workers import TwoWorkers
from seamark.kafka.broker import EmbeddedBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConverterOracle]:
    """Kafka Connect's own converters; mark the test `java`."""
    with running_oracle(tmp_path_factory.mktemp("oracle") / "log") as running:
        yield running


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    """A schema registry of the test's own, over real HTTP."""
    with running_registry() as running:
        yield running


@pytest.fixture(scope="session")
def two_workers(
    spark: SparkSession, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TwoWorkers]:
    """A real Kafka Connect worker and one of ours, to give the same connectors to; mark the test `java`."""
    running = TwoWorkers(spark, broker, tmp_path_factory.mktemp("two-workers"))
    running.start()
    yield running
    running.stop()
