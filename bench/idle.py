"""What a hundred idle connectors cost: processor, Spark slots, memory."""

from __future__ import annotations

import os
import time

import psutil

from bench.setup import CONVERTERS, SINK, SOURCE, Bench, SeamarkSide, cmdline, cpu_seconds, heading
from seamark.testing.waiting import eventually

CONNECTORS, WATCH_S = 100, 20.0


def run(bench: Bench) -> None:
    with heading(f"{CONNECTORS} idle connectors"), SeamarkSide(bench, True) as side:
        before = side.memory_mb()
        names = [_create(bench, side, number) for number in range(CONNECTORS)]
        tracker = side.worker.spark.sparkContext.statusTracker()
        eventually(lambda: side.worker.idle == CONNECTORS, within_s=300, message="connectors that are not idle")
        # Spark keeps a Python worker for a minute in case another task comes.
        eventually(lambda: _python_workers() <= 1, within_s=180, message="Python workers left")
        began, cpu = time.monotonic(), _own_cpu(bench)
        slots = 0
        while time.monotonic() - began < WATCH_S:
            time.sleep(0.5)
            slots = max(slots, len(tracker.getActiveStageIds()))
        # One that ended meanwhile has taken what it spent with it; it was waiting for its end.
        spent = sum(seconds - cpu.get(process, 0.0) for process, seconds in _own_cpu(bench).items())
        share = spent / (time.monotonic() - began)
        memory, descriptors = side.memory_mb(), psutil.Process().num_fds()
        print(f"   {share * 100:.1f} % of a core (wanted: under 10)   {slots} Spark jobs active (wanted: 0)")
        each = (memory - before) / CONNECTORS
        print(f"   {memory:,.0f} MB in all, {each:.2f} MB per connector; {descriptors} open files")
        bench.results["idle: % of a core"] = round(share * 100, 1)
        bench.results["idle: Spark jobs active"] = slots
        bench.results["idle: MB"] = round(memory)
        bench.results["idle: open files"] = descriptors
        for name in names:
            side.delete(name)


def idle_costs(bench: Bench, side: SeamarkSide, count: int) -> tuple[float, float, float]:
    """MB of the worker, MB and ms of a core per second of each connector without records."""
    eventually(lambda: _python_workers() <= 1, within_s=180, message="Python workers left")
    before = side.memory_mb()
    names = [_create(bench, side, number) for number in range(count)]
    eventually(lambda: side.worker.idle == count, within_s=300, message="connectors that are not idle")
    eventually(lambda: _python_workers() <= 1, within_s=180, message="Python workers left")
    began, cpu = time.monotonic(), _own_cpu(bench)
    time.sleep(WATCH_S)
    spent = sum(seconds - cpu.get(process, 0.0) for process, seconds in _own_cpu(bench).items())
    share = spent / (time.monotonic() - began)
    each = max(0.0, (side.memory_mb() - before) / count)
    for name in names:
        side.delete(name)
    return before, each, 1000 * share / count


def _create(bench: Bench, side: SeamarkSide, number: int) -> str:
    name = f"idle-{number}"
    if number % 2:
        file = bench.directory / f"{name}.txt"
        file.write_text("")
        config = {"connector.class": SOURCE, "file": str(file), "topic": name}
    else:
        config = {"connector.class": SINK, "file": str(bench.directory / f"{name}.out"), "topics": bench.topic(name)}
    side.create(name, {**config, "tasks.max": "1", **CONVERTERS})
    return name


def _python_workers() -> int:
    children = psutil.Process().children(recursive=True)
    return sum("-m seamark.engine.spark_daemon" in " ".join(cmdline(child)) for child in children)


def _own_cpu(bench: Bench) -> dict[int, float]:
    """Of this process and its children, without the broker."""
    broker = cpu_seconds(bench.broker.pid) if bench.broker.pid else {}
    return {process: seconds for process, seconds in cpu_seconds(os.getpid()).items() if process not in broker}
