"""Records per second through converters and transforms: JSON, with and without a chain of three transforms."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from bench.setup import SINK, SOURCE, STRING, Bench, Timing, end_offset, heading, time_until
from bench.throughput import Side, compare
from seamark.kafka.producer import RecordProducer

JSON = {
    "key.converter": STRING,
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
PACKAGE = "org.apache.kafka.connect.transforms"
SINK_CHAIN = {
    "transforms": "add,drop,cast",
    "transforms.add.type": f"{PACKAGE}.InsertField$Value",
    "transforms.add.static.field": "origin",
    "transforms.add.static.value": "bench",
    "transforms.drop.type": f"{PACKAGE}.ReplaceField$Value",
    "transforms.drop.exclude": "note",
    "transforms.drop.renames": "name:customer",
    "transforms.cast.type": f"{PACKAGE}.Cast$Value",
    "transforms.cast.spec": "amount:string",
}
SOURCE_CHAIN = {
    "transforms": "hoist,add,cast",
    "transforms.hoist.type": f"{PACKAGE}.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.add.type": f"{PACKAGE}.InsertField$Value",
    "transforms.add.static.field": "origin",
    "transforms.add.static.value": "bench",
    "transforms.cast.type": f"{PACKAGE}.ReplaceField$Value",
    "transforms.cast.renames": "line:text",
}


def run(bench: Bench) -> None:
    count = bench.records // 4
    with heading(f"JSON records, {count:,}: Kafka -> JsonConverter -> file"):
        topic = _json_topic(bench, count)
        compare(bench, "json pass-through", False, lambda b, side: _sink(b, side, topic, count, {}), 1.5)
    with heading(f"JSON records, {count:,}: Kafka -> JsonConverter -> three transforms -> file"):
        compare(bench, "json sink, 3 transforms", False, lambda b, side: _sink(b, side, topic, count, SINK_CHAIN), 0.8)
    with heading(f"lines, {count:,}: file -> three transforms -> JsonConverter -> Kafka"):
        lines = bench.lines(count)
        compare(bench, "json source, 3 transforms", False, lambda b, side: _source(b, side, lines, count), 0.8)


def _json_topic(bench: Bench, count: int) -> str:
    topic = bench.topic("json")
    values = [
        json.dumps(
            {"id": number, "name": f"customer {number % 997}", "amount": number / 8, "note": "x" * 20, "paid": True}
        ).encode()
        for number in range(count)
    ]
    producer = RecordProducer({"bootstrap.servers": bench.broker.bootstrap_servers})
    producer.send_batch(topic, values)
    producer.flush(60)
    producer.close()
    return topic


def _sink(bench: Bench, side: Side, topic: str, count: int, chain: Mapping[str, str]) -> Timing:
    name = f"json-{uuid.uuid4().hex[:6]}"
    out: Path = bench.directory / f"{name}.txt"
    config = {"connector.class": SINK, "tasks.max": "1", "file": str(out), "topics": topic, **JSON, **chain}
    size = _expected_size(bench, count, bool(chain))
    created = time.monotonic()
    side.create(name, config)
    timing = time_until(lambda: out.stat().st_size if out.exists() else 0, size, created)
    side.delete(name)
    assert out.stat().st_size == size, (
        f"{out.stat().st_size} bytes instead of {size}: the two sides write different lines"
    )
    out.unlink()
    return Timing(timing.seconds_from_create, timing.seconds_moving, round(timing.records * count / size))


def _expected_size(bench: Bench, count: int, has_chain: bool) -> int:
    """Of all lines, as Java prints a map."""
    total = 0
    for number in range(count):
        name, amount = f"customer {number % 997}", repr(number / 8)
        fields = {"id": number, "amount": amount, "paid": "true"}
        fields |= {"customer": name, "origin": "bench"} if has_chain else {"name": name, "note": "x" * 20}
        total += 1 + len("{" + ", ".join(f"{key}={value}" for key, value in fields.items()) + "}")
    return total


def _source(bench: Bench, side: Side, lines: Path, count: int) -> Timing:
    topic, name = bench.topic("hoisted"), f"hoist-{uuid.uuid4().hex[:6]}"
    config = {"connector.class": SOURCE, "tasks.max": "1", "file": str(lines), "topic": topic, **JSON, **SOURCE_CHAIN}
    with bench.admin as admin:
        end_offset(admin, topic)  # a client's first look at a new topic may take seconds
        created = time.monotonic()
        side.create(name, config)
        timing = time_until(
            lambda: end_offset(admin, topic), count, created, begun=lambda: end_offset(admin, topic, False)
        )
        side.delete(name)
        admin.delete_topics([topic])
    return timing
