"""Config stores on topics of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from fixtures.config_topics import Started
from seamark.kafka.broker import EmbeddedBroker
from seamark.storage.cluster_state import ConfigEvent
from seamark.storage.kafka_config import KafkaConfigStore


@pytest.fixture
def worker(broker: EmbeddedBroker, topic_name: str) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": topic_name,
        "config.storage.topic": f"{topic_name}-configs",
        "config.storage.replication.factor": "1",
        "config.storage.segment.bytes": "1048576",
    }


@pytest.fixture
def started(worker: dict[str, str]) -> Iterator[Started]:
    """Starts stores, and stops them after the test."""
    stores: list[KafkaConfigStore] = []

    def start(
        on_event: Callable[[ConfigEvent], None] | None = None, settings: dict[str, str] | None = None
    ) -> KafkaConfigStore:
        store = KafkaConfigStore.for_worker(settings or worker, on_event)
        stores.append(store)
        store.start()
        return store

    yield start
    for store in reversed(stores):
        store.stop()


@pytest.fixture
def leader(started: Started) -> KafkaConfigStore:
    store = started()
    store.claim_write_privileges()
    return store
