"""Records of awkward shapes: all in one partition, or ten megabytes each."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from load.cluster import SINK, SOURCE, admin_of, client_of, running
from load.results import Results
from seamark.kafka import TopicSpec
from seamark.kafka.consumer import RecordConsumer
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition
from seamark.testing.waiting import eventually

PARTITIONS, HOT, COLD = 8, 500_000, 1_000
LARGE, LARGE_COUNT = 10_000_000, 20
_LIMITS = {"producer.override.max.request.size": "12000000", "producer.override.buffer.memory": "64000000"}


def hot_partition(directory: Path, results: Results) -> None:
    """One partition has nearly everything: the others must not wait for it."""
    with running(directory) as (target, broker):
        with admin_of(target) as admin:
            admin.create_topics([TopicSpec("hot", PARTITIONS, 1, {})])
        with RecordProducer({"bootstrap.servers": broker.bootstrap_servers}) as producer:
            for number in range(HOT):
                producer.send("hot", b"%010d hot" % number, partition=0)
            for partition in range(1, PARTITIONS):
                for number in range(COLD):
                    producer.send("hot", b"%010d cold %d" % (number, partition), partition=partition)
            producer.flush(120)
        output = directory / "hot.out"
        began = time.monotonic()
        with client_of(target) as client:
            config = {"connector.class": SINK, "file": str(output), "topics": "hot", "tasks.max": "4"}
            client.create("hot", config)

            def positions() -> dict[int, int]:
                rows = client.offsets("hot")
                return {row.partition["kafka_partition"]: int((row.offset or {})["kafka_offset"]) for row in rows}

            def is_cold_done() -> bool:
                found = positions()
                return all(found.get(partition, 0) >= COLD for partition in range(1, PARTITIONS))

            eventually(is_cold_done, 120, "cold partitions wait")
            results.add(f"hot partition: {PARTITIONS - 1} cold ones done after", time.monotonic() - began, "s")
            eventually(lambda: positions().get(0, 0) >= HOT, 300, "the hot partition is not done")
        took = time.monotonic() - began
        results.add(f"hot partition: {HOT:,} records in it done after", took, "s")
        lines = sum(1 for _ in output.open("rb"))
        results.add("hot partition: lines written, of", f"{lines:,} / {HOT + COLD * (PARTITIONS - 1):,}")


def large_records(directory: Path, results: Results) -> None:
    """A line of ten megabytes is a record, into Kafka and out of it again."""
    settings = {"connector.client.config.override.policy": "All"}
    with running(directory, config=settings, message__max__bytes="12000000", replica__fetch__max__bytes="12000000") as (
        target,
        broker,
    ):
        source, output = directory / "large.txt", directory / "large.out"
        with source.open("w") as file:
            for number in range(LARGE_COUNT):
                file.write(chr(ord("a") + number) * LARGE + "\n")
        with admin_of(target) as admin:
            admin.create_topics([TopicSpec("large", 1, 1, {"max.message.bytes": "12000000"})])
        began = time.monotonic()
        with client_of(target) as client:
            client.create("large-source", {"connector.class": SOURCE, "file": str(source), "topic": "large", **_LIMITS})
            client.create("large-sink", {"connector.class": SINK, "file": str(output), "topics": "large"})
            eventually(
                lambda: output.exists() and output.stat().st_size == source.stat().st_size, 300, "not all arrived"
            )
        took = time.monotonic() - began
        same = hashlib.sha256(source.read_bytes()).digest() == hashlib.sha256(output.read_bytes()).digest()
        results.add(f"{LARGE_COUNT} records of 10 MB, file -> Kafka -> file", took, "s")
        results.add("records of 10 MB: the same bytes", "yes" if same else "NO")
        consumer = RecordConsumer({"bootstrap.servers": broker.bootstrap_servers, "isolation.level": "read_committed"})
        try:
            consumer.assign({TopicPartition("large", 0): 0})
            seen: list[int] = []
            eventually(
                lambda: seen.extend(len(each.value()) for each in consumer.read(5, 1.0)) or len(seen) >= LARGE_COUNT,
                120,
            )
            results.add("records of 10 MB: lengths in Kafka", "/".join(map(str, sorted(set(seen)))))
        finally:
            consumer.close()
