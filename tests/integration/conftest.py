"""Fixtures of integration tests that are shared between modules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.converter_oracle import ConverterOracle, running_oracle


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConverterOracle]:
    """Kafka Connect's own converters; mark the test `java`."""
    with running_oracle(tmp_path_factory.mktemp("oracle") / "log") as running:
        yield running
