"""Records per second through converters and transforms: JSON, with and without a chain of three transforms.

On a machine that has other work to do, the processor time per record says more than the clock; it is printed for both
sides, and for each stage of Seamark's way.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from bench import stages
from bench.setup import (
    CONVERTERS,
    SINK,
    SOURCE,
    Bench,
    JavaSide,
    Timing,
    cmdline,
    cpu_seconds,
    end_offset,
    heading,
    median,
    time_until,
)
from bench.stages import JSON, SINK_CHAIN, SOURCE_CHAIN
from bench.throughput import Side, compare
from seamark.kafka.producer import RecordProducer


def run(bench: Bench) -> None:
    count = bench.records // 4
    values = _values(count)
    topic = _json_topic(bench, values)
    rows: list[tuple[str, str, Callable[[Bench, Side], Timing], float | None]] = [
        (
            "json as it is",
            "Kafka -> StringConverter -> file",
            lambda b, side: _sink(b, side, topic, CONVERTERS, sum(map(len, values)) + count, count),
            1.5,
        ),
        (
            "json sink",
            "Kafka -> JsonConverter -> file",
            lambda b, side: _sink(b, side, topic, JSON, _expected_size(count, False), count),
            None,
        ),
        (
            "json sink, 3 transforms",
            "Kafka -> JsonConverter -> three transforms -> file",
            lambda b, side: _sink(b, side, topic, JSON | SINK_CHAIN, _expected_size(count, True), count),
            0.8,
        ),
        (
            "json source, 3 transforms",
            "file of lines -> three transforms -> JsonConverter -> Kafka",
            lambda b, side: _source(b, side, bench.lines(count), count),
            0.8,
        ),
    ]
    for label, way, transfer, wanted in rows:
        with heading(f"{way}, {count:,} records"):
            processor = _Processor(transfer, count)
            compare(bench, label, False, processor.timed, wanted)
            processor.tell(bench, label)
    with heading("where the time goes: processor time per record, without the clients"):
        stages.run(bench, values[:50_000])


class _Processor:
    """Transfers, with the processor time that a side spends on each."""

    def __init__(self, transfer: Callable[[Bench, Side], Timing], count: int) -> None:
        self._transfer, self._count = transfer, count
        self._spent: dict[str, list[float]] = defaultdict(list)

    def timed(self, bench: Bench, side: Side) -> Timing:
        before = _processor_time(side)
        try:
            timing = self._transfer(bench, side)
        except TimeoutError as error:
            raise TimeoutError(f"{side.name} stands still: {error}{_statuses(side)}") from error
        after = _processor_time(side)
        self._spent[side.name].append(sum(spent - before.get(pid, 0.0) for pid, spent in after.items()))
        return timing

    def tell(self, bench: Bench, label: str) -> None:
        """The medians, without the first transfer of each side, which warms it up. Starts of tasks are in them."""
        for name, spent in self._spent.items():
            each_us = median(spent[1:]) / self._count * 1e6
            print(f"   {name:8} {each_us:>10.1f} us of processor time per record, from create to the end")
            bench.results[f"{label}: {name} us of processor time"] = round(each_us, 1)


def _statuses(side: Side) -> str:
    if isinstance(side, JavaSide):
        return ""
    return "".join(f"; {name}: {side.worker.status(name)}" for name in side.worker.connectors())


def _processor_time(side: Side) -> dict[int, float]:
    if isinstance(side, JavaSide):
        return cpu_seconds(side.connect.pid or os.getpid())
    broker = [child for child in psutil.Process().children() if "kafka.Kafka" in " ".join(cmdline(child))]
    others = {pid for child in broker for pid in cpu_seconds(child.pid)}
    return {pid: spent for pid, spent in cpu_seconds(os.getpid()).items() if pid not in others}


def _values(count: int) -> list[bytes]:
    return [
        json.dumps(
            {"id": number, "name": f"customer {number % 997}", "amount": number / 8, "note": "x" * 20, "paid": True}
        ).encode()
        for number in range(count)
    ]


def _json_topic(bench: Bench, values: list[bytes]) -> str:
    topic = bench.topic("json")
    producer = RecordProducer({"bootstrap.servers": bench.broker.bootstrap_servers})
    producer.send_batch(topic, values)
    producer.flush(60)
    producer.close()
    return topic


def _sink(bench: Bench, side: Side, topic: str, settings: Mapping[str, str], size: int, count: int) -> Timing:
    name = f"json-{uuid.uuid4().hex[:6]}"
    out: Path = bench.directory / f"{name}.txt"
    config = {"connector.class": SINK, "tasks.max": "1", "file": str(out), "topics": topic, **settings}
    created = time.monotonic()
    side.create(name, config)
    timing = time_until(lambda: out.stat().st_size if out.exists() else 0, size, created)
    side.delete(name)
    assert out.stat().st_size == size, (
        f"{out.stat().st_size} bytes instead of {size}: the two sides write different lines"
    )
    out.unlink()
    return Timing(timing.seconds_from_create, timing.seconds_moving, round(timing.records * count / size))


def _expected_size(count: int, has_chain: bool) -> int:
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
