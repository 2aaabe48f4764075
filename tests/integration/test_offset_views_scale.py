"""Views of a connector that reads a thousand partitions."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

from fixtures.herders import Cluster, herder_properties
from fixtures.worker import Topics
from seamark.client import ConnectClient, ConnectorOffset
from seamark.kafka.broker import EmbeddedBroker

PARTITIONS = 1000
FIRST_MS = time.time_ns() // 1_000_000 - 3_600_000  # retention leaves it alone
NO_SPARK: Any = object()  # nothing runs here


@pytest.fixture
def client(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectClient]:
    cluster = Cluster(herder_properties(broker, "standalone", tmp_path_factory.mktemp("scale")), NO_SPARK)
    cluster.add()
    try:
        with ConnectClient(cluster.nodes[0].server.url) as client:
            yield client
    finally:
        cluster.close()


@pytest.fixture
def topic(broker: EmbeddedBroker, topics: Topics, topic_name: str) -> Iterator[str]:
    """Four records in each partition, a second apart, and each partition a second later than the one before it."""
    topics.create(topic_name, PARTITIONS)
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})
    for partition in range(PARTITIONS):
        for number in range(4):
            at_ms = FIRST_MS + (partition + number) * 1000
            producer.produce(topic_name, b"%d" % number, partition=partition, timestamp=at_ms)
    assert producer.flush(60) == 0
    yield topic_name
    topics.admin.delete_topics([topic_name])


@pytest.mark.slow
def test_a_thousand_partitions_are_seen_and_moved(client: ConnectClient, topic: str) -> None:
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": topic,
        "file": os.devnull,
    }
    client.create(topic, config, initial_state="STOPPED")
    client.await_state(topic, "STOPPED")
    positions = {number: number % 5 for number in range(PARTITIONS)}
    client.alter_offsets(
        topic,
        [
            ConnectorOffset({"kafka_topic": topic, "kafka_partition": number}, {"kafka_offset": at})
            for number, at in positions.items()
        ],
    )

    table = client.offset_table(topic, with_times=False)
    assert [(row.number, row.position, row.lag) for row in table.partitions] == [
        (number, at, 4 - at) for number, at in positions.items()
    ]
    assert (table.total.partitions, table.total.lag) == (PARTITIONS, 2 * PARTITIONS)
    page = client.offset_table(topic, offset=500, limit=100)
    assert [row.number for row in page.partitions] == list(range(500, 600))
    # A busy machine may not read all of them within a second; what was read is right.
    for row in [*page.partitions, *client.offset_table(topic).partitions]:
        assert row.time in (None, FIRST_MS + (row.number or 0) * 1000 + (row.position or 0) * 1000)
        assert row.time is None or row.position != 4

    timeline = client.offset_timeline(topic, points=60)
    assert (timeline.from_ms, timeline.to_ms) == (FIRST_MS, FIRST_MS + (PARTITIONS + 2) * 1000 + 1)
    assert sum(bucket.records for bucket in timeline.buckets) == 4 * PARTITIONS
    middle = timeline.buckets[len(timeline.buckets) // 2]
    assert middle.records == pytest.approx(4 * PARTITIONS / len(timeline.buckets), rel=0.2)

    changes = client.preview_change(topic, {"positions": "earliest"}).changes
    assert sum(change.replayed or 0 for change in changes) == 2 * PARTITIONS
