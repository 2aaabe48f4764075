"""Records per second: file -> Kafka and Kafka -> file, Seamark beside the Java worker, ratios of medians."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path

from bench.setup import (
    CONVERTERS,
    SINK,
    SOURCE,
    Bench,
    JavaSide,
    SeamarkSide,
    Timing,
    end_offset,
    heading,
    median,
    time_until,
)

Side = JavaSide | SeamarkSide
Transfer = Callable[[Bench, Side], Timing]


def run(bench: Bench) -> None:
    for exactly_once in (False, True):
        label = "exactly-once" if exactly_once else "at-least-once"
        with heading(f"file -> Kafka, {bench.records:,} records of 100 bytes, {label}"):
            compare(bench, f"source {label}", exactly_once, _source)
    with heading(f"Kafka -> file, {bench.records:,} records of 100 bytes"):
        topic = _filled_topic(bench)
        compare(bench, "sink", False, lambda bench, side: _sink(bench, side, topic))


def compare(bench: Bench, label: str, exactly_once: bool, transfer: Transfer, wanted: float | None = 1.5) -> None:
    timings: dict[str, list[Timing]] = {"java": [], "seamark": []}
    memory: dict[str, float] = {}
    for side_class in (JavaSide, SeamarkSide):
        with side_class(bench, exactly_once) as side:
            transfer(bench, side)  # warm-up: JIT, Spark's first job
            for _ in range(bench.repeats):
                timings[side.name].append(transfer(bench, side))
            memory[side.name] = side.memory_mb()
    for name, runs in timings.items():
        moving, whole = median([t.rate for t in runs]), median([t.rate_from_create for t in runs])
        print(
            f"   {name:8} {moving:>10,.0f} records/s moving   {whole:>10,.0f} from create to last record"
            f"   {memory[name]:,.0f} MB"
        )
        bench.results[f"{label}: {name} records/s"] = round(moving)
        bench.results[f"{label}: {name} records/s from create"] = round(whole)
        bench.results[f"{label}: {name} MB"] = round(memory[name])
    ratio = median([t.rate for t in timings["seamark"]]) / median([t.rate for t in timings["java"]])
    whole = median([t.rate_from_create for t in timings["seamark"]]) / median(
        [t.rate_from_create for t in timings["java"]]
    )
    print(f"   ratio    {ratio:.2f} moving, {whole:.2f} from create (wanted: {wanted or 'just known'})")
    bench.results[f"{label}: ratio"] = round(ratio, 2)
    bench.results[f"{label}: ratio from create"] = round(whole, 2)


def _source(bench: Bench, side: Side) -> Timing:
    topic, name = bench.topic("lines"), f"lines-{uuid.uuid4().hex[:6]}"
    config = {"connector.class": SOURCE, "tasks.max": "1", "file": str(bench.lines()), "topic": topic, **CONVERTERS}
    with bench.admin as admin:
        end_offset(admin, topic)  # a client's first look at a new topic may take seconds
        created = time.monotonic()
        side.create(name, config)
        timing = time_until(
            lambda: end_offset(admin, topic), bench.records, created, begun=lambda: end_offset(admin, topic, False)
        )
        side.delete(name)
        admin.delete_topics([topic])
    return timing


def _filled_topic(bench: Bench) -> str:
    from seamark.kafka.producer import RecordProducer

    topic = bench.topic("full")
    producer = RecordProducer({"bootstrap.servers": bench.broker.bootstrap_servers})
    producer.send_batch(topic, bench.lines().read_bytes().splitlines())
    producer.flush(60)
    producer.close()
    return topic


def _sink(bench: Bench, side: Side, topic: str) -> Timing:
    name = f"copy-{uuid.uuid4().hex[:6]}"
    out: Path = bench.directory / f"{name}.txt"
    size = bench.lines().stat().st_size
    config = {"connector.class": SINK, "tasks.max": "1", "file": str(out), "topics": topic, **CONVERTERS}
    created = time.monotonic()
    side.create(name, config)
    timing = time_until(lambda: out.stat().st_size if out.exists() else 0, size, created)
    side.delete(name)
    assert out.read_bytes() == bench.lines().read_bytes(), "the copy differs"
    out.unlink()
    return Timing(timing.seconds_from_create, timing.seconds_moving, round(timing.records / 100))
