"""300 connectors on three workers: created, used, and taken over when a worker dies."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from compat.targets import Target
from load.cluster import SINK, SOURCE, admin_of, await_running, client_of, running, use_of
from load.paced import paced
from load.results import Results
from seamark.kafka import TopicSpec
from seamark.kafka.topic_partitions import TopicPartition
from seamark.testing.waiting import eventually

CONNECTORS = 300
LINES = 100
WATCH_S = 30.0
RATE, RATE_S = 200, 60.0


def run(directory: Path, results: Results, kind: str) -> None:
    """Sources and sinks in equal parts, each with a topic of its own."""
    with running(directory, kind) as (target, _):
        sources = [f"source-{number}" for number in range(CONNECTORS // 2)]
        sinks = [f"sink-{number}" for number in range(CONNECTORS // 2)]
        with admin_of(target) as admin:
            admin.create_topics([TopicSpec(f"{name}-records", 1, 1, {}) for name in (*sources, *sinks)])
        _create(target, directory, sources, sinks, results)
        _watch(target, results)
        _requests(target, [*sources, *sinks], results)
        _use(target, directory, sources, results)
        _kill(target, results)


def _create(target: Target, directory: Path, sources: list[str], sinks: list[str], results: Results) -> None:
    with client_of(target) as client:
        began = time.monotonic()
        for name in sources:
            (directory / f"{name}.txt").touch()
            config = {"connector.class": SOURCE, "file": str(directory / f"{name}.txt"), "topic": f"{name}-records"}
            client.create(name, config)
        for name in sinks:
            config = {"connector.class": SINK, "file": str(directory / f"{name}.out"), "topics": f"{name}-records"}
            client.create(name, config)
        results.add(f"{CONNECTORS} connectors created", time.monotonic() - began, "s")
        await_running(client, CONNECTORS)
        results.add("all of them RUNNING, since the first request", time.monotonic() - began, "s")
        shares = Counter(each.status.connector.worker_id for each in client.expanded().values() if each.status)
        results.add("connectors per worker", "/".join(map(str, sorted(shares.values()))))


def _watch(target: Target, results: Results) -> None:
    """What they cost while nothing happens."""
    numbers = range(len(target.workers))
    time.sleep(75)  # Spark keeps Python workers for a minute
    before, began = [use_of(target, number) for number in numbers], time.monotonic()
    time.sleep(WATCH_S)
    after, took = [use_of(target, number) for number in numbers], time.monotonic() - began
    share = sum(b.cpu_s - a.cpu_s for a, b in zip(before, after, strict=True)) / took
    results.add("idle: three workers, of a core", 100 * share, "%")
    results.add("idle: memory of three workers", sum(each.memory_mb for each in after), "MB")
    results.add("idle: open files of three workers", sum(each.files for each in after))


def _requests(target: Target, names: list[str], results: Results) -> None:
    """Requests as they come, whatever the answers: a slow one does not hold up the next."""
    paths = [
        *(f"/connectors/{name}/status" for name in names),
        *(f"/connectors/{name}/config" for name in names),
        *(f"/connectors/{name}" for name in names),
        *(f"/connectors/{name}/tasks" for name in names),
        *("/connectors" for _ in names),
        *("/connectors?expand=status&expand=info" for _ in names[:30]),
        *(f"/connectors/{name}/offsets" for name in names[:60]),
    ]
    taken = paced(target.urls, paths, RATE, RATE_S)
    results.add(f"REST at {RATE} requests/s for {RATE_S:g} s: sent", taken.sent)
    results.add("REST: answered with an error, or not", taken.failed)
    for name, part in (("p50", 0.5), ("p99", 0.99), ("longest", 1.0)):
        results.add(f"REST: {name}", 1000 * taken.quantile(part), "ms")


def _use(target: Target, directory: Path, sources: list[str], results: Results) -> None:
    """All sources get lines at once."""
    text = "".join(f"line {number}\n" for number in range(LINES))
    began = time.monotonic()
    for name in sources:
        with (directory / f"{name}.txt").open("a") as file:
            file.write(text)
    with admin_of(target) as admin:
        partitions = [TopicPartition(f"{name}-records", 0) for name in sources]

        def is_there() -> bool:
            ends = admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=True)
            return all(end >= LINES for end in ends.values())

        eventually(is_there, 300, "lines have not arrived")
    results.add(
        f"{LINES} lines for each of {len(sources)} idle sources: all in Kafka after", time.monotonic() - began, "s"
    )


def _kill(target: Target, results: Results) -> None:
    victim = target.workers[2]
    victim.kill()
    began = time.monotonic()
    dead = victim.url.removeprefix("http://")
    with client_of(target) as client:

        def is_taken_over() -> bool:
            shown = [each.status for each in client.expanded(info=False).values() if each.status]
            return len(shown) == CONNECTORS and all(
                each.connector.state == "RUNNING"
                and each.connector.worker_id != dead
                and all(task.state == "RUNNING" and task.worker_id != dead for task in each.tasks)
                for each in shown
            )

        eventually(is_taken_over, 300, "connectors of a dead worker do not run")
    results.add("a worker dies: all run elsewhere after", time.monotonic() - began, "s")
