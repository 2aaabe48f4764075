"""MirrorSourceConnector beside MirrorMaker 2's: throughput, latency, many partitions, memory."""

from __future__ import annotations

import functools
import statistics
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from bench.setup import Bench, JavaSide, SeamarkSide, Timing, heading, time_until
from bench.throughput import compare
from seamark.kafka.admin import Admin
from seamark.kafka.consumer import RecordConsumer, offsets_of, timestamps_of
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition, TopicSpec

SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
PARTITIONS, TASKS = 4, 2
WANTED = {True: 2.5, False: 2.0}
LATENCY_RATE, LATENCY_S = 500, 20
WANTED_P50_MS, WANTED_P99_MS = 150, 1000
MANY = (10, 100, 1000)
MANY_RECORDS = 500_000

Side = JavaSide | SeamarkSide


def run(bench: Bench) -> None:
    for size, count in ((1000, bench.records // 3), (100, bench.records)):
        topic = _filled(bench, "mirrored", PARTITIONS, count, size)
        for exactly_once in (True, False):
            label = "exactly-once" if exactly_once else "at-least-once"
            with heading(f"mirror, {count:,} records of {size} bytes, {PARTITIONS} partitions, {TASKS} tasks, {label}"):
                transfer = functools.partial(_transfer, topic=topic, count=count, exactly_once=exactly_once)
                compare(bench, f"mirror {size} B {label}", exactly_once, transfer, WANTED[exactly_once])
        with bench.admin as admin:
            admin.delete_topics([topic])
    latency(bench)
    many(bench)


def latency(bench: Bench) -> None:
    """From a record's creation until a read_committed consumer of the copy has it."""
    with heading(f"mirror latency at {LATENCY_RATE} records/s, exactly-once"):
        for side_class in (JavaSide, SeamarkSide):
            with side_class(bench, True) as side:
                waits = _waits(bench, side)
            p50, p99 = statistics.median(waits), statistics.quantiles(waits, n=100)[98]
            print(f"   {side.name:8} p50 {p50:6.0f} ms   p99 {p99:6.0f} ms   ({len(waits):,} records)")
            bench.results[f"mirror latency: {side.name} p50 ms"] = round(p50)
            bench.results[f"mirror latency: {side.name} p99 ms"] = round(p99)
        print(f"   (wanted of seamark: p50 at most {WANTED_P50_MS}, p99 at most {WANTED_P99_MS})")


def many(bench: Bench) -> None:
    """Cost per record and time to stop, for more and more partitions."""
    with heading(f"mirror, {MANY_RECORDS:,} records of 100 bytes over many partitions, exactly-once"):
        for side_class in (JavaSide, SeamarkSide):
            with side_class(bench, True) as side:
                for partitions in MANY:
                    topic = _filled(bench, "many", partitions, MANY_RECORDS, 100)
                    stopped: list[float] = []
                    timing = _transfer(bench, side, topic=topic, count=MANY_RECORDS, exactly_once=True, stopped=stopped)
                    print(
                        f"   {side.name:8} {partitions:5} partitions {timing.rate:>10,.0f} records/s moving "
                        f"{1e6 / timing.rate_from_create:6.1f} us per record from create, stop {stopped[0]:.2f} s"
                    )
                    key = f"mirror of {partitions} partitions: {side.name}"
                    bench.results[f"{key} records/s"] = round(timing.rate)
                    bench.results[f"{key} us per record from create"] = round(1e6 / timing.rate_from_create, 1)
                    bench.results[f"{key} stop s"] = round(stopped[0], 2)
                    with bench.admin as admin:
                        admin.delete_topics([topic])


def _transfer(
    bench: Bench, side: Side, *, topic: str, count: int, exactly_once: bool, stopped: list[float] | None = None
) -> Timing:
    with _mirror(bench, side, topic, exactly_once) as (copies, name, created, admin):
        timing = time_until(
            lambda: _end(admin, copies), count, created, begun=lambda: _end(admin, copies, is_committed=False)
        )
        began = time.monotonic()
        side.delete(name)
        if stopped is not None:
            stopped.append(time.monotonic() - began)
    return timing


@contextmanager
def _mirror(
    bench: Bench, side: Side, topic: str, exactly_once: bool
) -> Iterator[tuple[list[TopicPartition], str, float, Admin]]:
    alias, servers = f"s{uuid.uuid4().hex[:6]}", bench.broker.bootstrap_servers
    name = f"mirror-{alias}"
    config = {
        "connector.class": SOURCE,
        "tasks.max": str(TASKS),
        "source.cluster.alias": alias,
        "target.cluster.alias": "t",
        "source.cluster.bootstrap.servers": servers,
        "target.cluster.bootstrap.servers": servers,
        "topics": topic,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        **({"consumer.isolation.level": "read_committed"} if exactly_once else {}),
        **{f"{kind}.converter": BYTES for kind in ("key", "value", "header")},
    }
    with bench.admin as admin:
        copy = f"{alias}.{topic}"
        partitions = admin.describe_topics([topic])[topic].partitions
        admin.create_topics([TopicSpec(copy, partitions, 1)])
        copies = [TopicPartition(copy, number) for number in range(partitions)]
        _end(admin, copies)  # a client's first look at a new topic may take seconds
        created = time.monotonic()
        side.create(name, config)
        yield copies, name, created, admin
        admin.delete_topics([copy])


def _end(admin: Admin, where: list[TopicPartition], *, is_committed: bool = True) -> int:
    """Records in all partitions; transactions leave markers, which count for nothing here but are few."""
    return sum(admin.list_offsets(dict.fromkeys(where, "latest"), is_committed=is_committed).values())


def _filled(bench: Bench, name: str, partitions: int, count: int, size: int) -> str:
    topic = bench.topic(name, partitions)
    value = [(f"{number:010d} ".ljust(size, "x")).encode() for number in range(min(count, 10_000))]
    with RecordProducer({"bootstrap.servers": bench.broker.bootstrap_servers, "linger.ms": "50"}) as producer:
        for partition in range(partitions):
            share = count // partitions + (partition < count % partitions)
            for start in range(0, share, len(value)):
                producer.send_batch(topic, value[: min(len(value), share - start)], partition=partition)
        assert producer.flush(120) == 0
    return topic


def _waits(bench: Bench, side: Side) -> list[float]:
    topic = _filled(bench, "paced", PARTITIONS, PARTITIONS, 100)
    with _mirror(bench, side, topic, True) as (copies, name, _, admin):
        time_until(lambda: _end(admin, copies), PARTITIONS, time.monotonic())
        wanted, stop = LATENCY_RATE * LATENCY_S, threading.Event()
        pacer = threading.Thread(target=_pace, args=(bench, topic, wanted, stop))
        consumer = RecordConsumer(
            {"bootstrap.servers": bench.broker.bootstrap_servers, "isolation.level": "read_committed"}
        )
        consumer.assign(dict.fromkeys(copies, 0))
        seen, waits, deadline = 0, [], time.monotonic() + LATENCY_S + 60
        pacer.start()
        while seen < wanted + PARTITIONS and time.monotonic() < deadline:
            messages = consumer.read(10_000, 0.2)
            now = time.time() * 1000
            for offset, timestamp in zip(offsets_of(messages), timestamps_of(messages), strict=True):
                if offset > 0:  # the first of each partition was there before
                    waits.append(now - timestamp)
            seen += len(messages)
        stop.set()
        pacer.join()
        consumer.close()
        side.delete(name)
    return waits[len(waits) // 10 :]  # without the warm-up


def _pace(bench: Bench, topic: str, count: int, stop: threading.Event) -> None:
    with RecordProducer({"bootstrap.servers": bench.broker.bootstrap_servers}) as producer:
        began = time.monotonic()
        for number in range(count):
            ahead = began + number / LATENCY_RATE - time.monotonic()
            if ahead > 0 and stop.wait(ahead):
                return
            producer.send(topic, b"x" * 100, partition=number % PARTITIONS, timestamp_ms=int(time.time() * 1000))
            producer.poll(0)
        producer.flush(10)
