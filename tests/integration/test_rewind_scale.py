"""A rewind by time of a large topic: exactly where Kafka says, and soon."""

from __future__ import annotations

import time

import confluent_kafka
import pytest

from fixtures.herders import MakeCase, path_of
from fixtures.operations import SINK, change, positions
from fixtures.worker import Topics
from seamark.kafka.broker import EmbeddedBroker

PARTITIONS, RECORDS = 50, 5_000_000
STEP = 20  # records in a millisecond of the topic's time


@pytest.mark.alone
@pytest.mark.slow
def test_fifty_partitions_and_five_million_records(
    make_case: MakeCase, topics: Topics, broker: EmbeddedBroker, record_property: pytest.RecordProperty
) -> None:
    case = make_case("distributed", SINK)
    topics.create(case.topic, PARTITIONS)
    begin_ms = int(time.time() * 1000) - RECORDS // STEP - 1000
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 50, "queue.buffering.max.messages": 2_000_000}
    )
    for number in range(RECORDS):
        while True:
            try:
                producer.produce(case.topic, b"r", partition=number % PARTITIONS, timestamp=begin_ms + number // STEP)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 50_000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0
    case.create("stopped")
    case.connect.ask("PATCH", f"{path_of(case.name)}/offsets", {"positions": "latest"})
    assert sum(positions(case).values()) == RECORDS

    at_ms = begin_ms + RECORDS // STEP // 3
    consumer = confluent_kafka.Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "asks"})
    wanted = [confluent_kafka.TopicPartition(case.topic, number, at_ms) for number in range(PARTITIONS)]
    expected = {found.partition: found.offset for found in consumer.offsets_for_times(wanted, timeout=30)}
    consumer.close()

    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_ms // 1000)) + f".{at_ms % 1000:03d}Z"
    began = time.monotonic()
    done = change(case, positions=when)
    elapsed_s = time.monotonic() - began
    record_property("rewind_s", round(elapsed_s, 2))
    assert done["phase"] == "DONE"
    assert positions(case) == expected
    assert 0 < sum(expected.values()) < RECORDS
    assert elapsed_s < 5.0, f"it took {elapsed_s:.1f} s"
