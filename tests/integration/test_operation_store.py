"""Operations in their topic: shared by workers, kept whole however many partitions they change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.worker import Topics, worker_properties
from seamark.kafka.broker import EmbeddedBroker
from seamark.storage.operation_records import OperationRecord
from seamark.storage.operation_store import KafkaOperationStore
from seamark.testing.waiting import eventually

MANY = 20_000


@pytest.fixture
def stores(broker: EmbeddedBroker) -> Iterator[tuple[KafkaOperationStore, KafkaOperationStore]]:
    properties = worker_properties(broker.bootstrap_servers, config__storage__replication__factor="1")
    made = KafkaOperationStore(properties), KafkaOperationStore(properties)
    yield made
    for store in made:
        store.stop()


def test_another_worker_sees_what_was_written(
    stores: tuple[KafkaOperationStore, KafkaOperationStore], topics: Topics
) -> None:
    ours, theirs = stores
    theirs.refresh()
    assert (theirs.all(), ours.topic in topics.admin.list_topics()) == ([], False), "looking makes no topic"
    first = OperationRecord("1", "alter", "c", "CHANGING", 1, 1)
    ours.put(first)
    theirs.refresh()
    assert [(each.id, each.phase) for each in theirs.all()] == [("1", "CHANGING")]
    theirs.put(first.moved_to("DONE", 2))
    eventually(lambda: [each.phase for each in ours.all()] == ["DONE"])
    ours.remove("1")
    theirs.refresh()
    assert theirs.all() == []


def test_a_change_of_very_many_partitions(stores: tuple[KafkaOperationStore, KafkaOperationStore]) -> None:
    rows = [
        {"partition": {"kafka_partition": n, "kafka_topic": "a-topic-with-a-name"}, "offset": {"kafka_offset": 7 * n}}
        for n in range(MANY)
    ]
    stores[0].put(OperationRecord("1", "reset", "c", "DONE", 1, 1, before=rows, after=rows))
    stores[1].refresh()
    (found,) = stores[1].all()
    assert found.before == rows
