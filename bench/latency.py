"""From a line appended to a file until a read_committed consumer has it, while the connector is busy."""

from __future__ import annotations

import threading
import time
import uuid

import confluent_kafka

from bench.setup import CONVERTERS, SOURCE, Bench, JavaSide, SeamarkSide, heading

LINES, PER_SECOND = 1500, 100


def run(bench: Bench) -> None:
    with heading(f"latency of a line, {PER_SECOND} lines/s, exactly-once, read_committed"):
        for side_class in (JavaSide, SeamarkSide):
            with side_class(bench, True) as side:
                delays = sorted(_delays(bench, side))
            p50, p99 = delays[len(delays) // 2] * 1000, delays[int(len(delays) * 0.99)] * 1000
            print(f"   {side.name:8} p50 {p50:6.0f} ms   p99 {p99:6.0f} ms   ({len(delays)} lines)")
            bench.results[f"latency: {side.name} p50 ms"] = round(p50)
            bench.results[f"latency: {side.name} p99 ms"] = round(p99)
        print("   wanted: p50 at most 250 ms")


def _delays(bench: Bench, side: JavaSide | SeamarkSide) -> list[float]:
    topic, name = bench.topic("latency"), f"latency-{uuid.uuid4().hex[:6]}"
    file = bench.directory / f"{name}.txt"
    file.write_text("warm\n" * 100)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bench.broker.bootstrap_servers,
            "group.id": name,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 10,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    config = {"connector.class": SOURCE, "tasks.max": "1", "file": str(file), "topic": topic, **CONVERTERS}
    side.create(name, config)
    delays: list[float] = []
    warm = threading.Event()

    def consume() -> None:
        seen = 0
        deadline = time.monotonic() + 120
        while len(delays) < LINES and time.monotonic() < deadline:
            message = consumer.poll(1.0)
            if message is None or message.error():
                continue
            now, text = time.time(), message.value()
            if text == b"warm":
                seen += 1
                if seen == 100:
                    warm.set()
            else:
                delays.append(now - float(text))

    reader = threading.Thread(target=consume)
    reader.start()
    if not warm.wait(90):
        raise TimeoutError("the connector did not start")
    with file.open("a", buffering=1) as out:
        next_at = time.monotonic()
        for _ in range(LINES):
            next_at += 1 / PER_SECOND
            time.sleep(max(0.0, next_at - time.monotonic()))
            out.write(f"{time.time():.6f}\n")
    reader.join(130)
    consumer.close()
    side.delete(name)
    if len(delays) < LINES:
        raise TimeoutError(f"{len(delays)} of {LINES} lines arrived")
    return delays
