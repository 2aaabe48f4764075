"""What every benchmark needs: a broker, the Java worker, a Seamark worker, a file of lines, and clocks."""

from __future__ import annotations

import os
import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from seamark.config.worker import WorkerConfig
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.topic_partitions import TopicPartition, TopicSpec
from seamark.runtime.states import State
from seamark.runtime.worker import Worker
from seamark.testing.java_connect import JavaConnect

STRING = "org.apache.kafka.connect.storage.StringConverter"
CONVERTERS = {"key.converter": STRING, "value.converter": STRING}
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@dataclass
class Bench:
    """One broker for everybody, and the numbers so far."""

    directory: Path
    broker: EmbeddedBroker
    records: int
    repeats: int
    results: dict[str, object] = field(default_factory=dict)
    measurements: Path | None = None
    """Where `capacity` writes what it has found."""

    @property
    def admin(self) -> Admin:
        return Admin({"bootstrap.servers": self.broker.bootstrap_servers})

    def topic(self, name: str, partitions: int = 1) -> str:
        topic = f"{name}-{uuid.uuid4().hex[:6]}"
        with self.admin as admin:
            admin.create_topics([TopicSpec(topic, partitions, 1)])
        return topic

    def lines(self, count: int | None = None) -> Path:
        """A file of `count` lines of 100 bytes, `records` by default."""
        count = count or self.records
        path = self.directory / f"lines-{count}.txt"
        if not path.exists():
            with path.open("w") as out:
                for number in range(count):
                    out.write(f"{number:010d} ".ljust(99, "x") + "\n")
        return path


class JavaSide:
    """The Java worker, driven over REST."""

    name = "java"

    def __init__(self, bench: Bench, exactly_once: bool) -> None:
        settings = {"offset.flush.interval.ms": "10000"}
        if exactly_once:
            settings["exactly.once.source.support"] = "enabled"
        self.connect = JavaConnect(
            bench.directory / f"java-{uuid.uuid4().hex[:6]}", bench.broker.bootstrap_servers, heap="1g", config=settings
        )

    def __enter__(self) -> JavaSide:
        self.connect.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.connect.stop()

    def create(self, name: str, config: Mapping[str, str]) -> None:
        self.connect.create(name, dict(config))

    def delete(self, name: str) -> None:
        self.connect.delete(name)

    def memory_mb(self) -> float:
        return tree_memory_mb(self.connect.pid or os.getpid())


class SeamarkSide:
    """A Seamark worker in this process."""

    name = "seamark"

    def __init__(self, bench: Bench, exactly_once: bool) -> None:
        group = f"bench-{uuid.uuid4().hex[:6]}"
        settings = {
            "group.id": group,
            "offset.flush.interval.ms": "10000",
            "exactly.once.source.support": "enabled" if exactly_once else "disabled",
        }
        self.worker = Worker(WorkerConfig(settings).with_embedded_broker(bench.broker.bootstrap_servers))

    def __enter__(self) -> SeamarkSide:
        self.worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.worker.stop()

    def create(self, name: str, config: Mapping[str, str]) -> None:
        self.worker.start_connector(name, dict(config))

    def delete(self, name: str) -> None:
        self.worker.stop_connector(name)

    def wait_running(self, name: str) -> None:
        self.worker.wait_for(name, State.RUNNING, 60)

    def memory_mb(self) -> float:
        # Without the broker, which runs below this process too.
        me = psutil.Process()
        parts = [child for child in me.children() if "kafka.Kafka" not in " ".join(cmdline(child))]
        return own_mb(me) + sum(
            tree_memory_mb(child.pid) for child in parts if "supervisor" not in " ".join(cmdline(child))
        )


def cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def own_mb(process: psutil.Process) -> float:
    """Its share of memory: pages that forked processes have in common are counted once (PSS)."""
    try:
        return process.memory_full_info().pss / 2**20
    except psutil.Error:
        return 0.0


def tree_memory_mb(pid: int) -> float:
    """Memory of a process and everything below it."""
    root = psutil.Process(pid)
    return sum(own_mb(process) for process in (root, *root.children(recursive=True)))


def cpu_seconds(pid: int) -> dict[int, float]:
    """Processor time so far of a process and of each one below it, by process id."""
    spent: dict[int, float] = {}
    root = psutil.Process(pid)
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        spent[process.pid] = times.user + times.system
    return spent


@dataclass(frozen=True)
class Timing:
    """How long a transfer took."""

    seconds_from_create: float
    seconds_moving: float
    records: int

    @property
    def rate(self) -> float:
        return self.records / self.seconds_moving

    @property
    def rate_from_create(self) -> float:
        return self.records / self.seconds_from_create


def time_until(
    count: Callable[[], int],
    total: int,
    created: float,
    timeout_s: float = 300.0,
    begun: Callable[[], int] | None = None,
) -> Timing:
    """Follow a counter from its first step to the total.

    `begun` counts what has been begun, where that is more than what is complete (records of an open transaction): the
    clock starts with its first step, so that both sides are timed alike whatever they put into one transaction.
    """
    first: tuple[float, int] | None = None
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if first is None:
            value = (begun or count)()
            if value > 0:
                first = (time.monotonic(), value)
        value = count()
        now = time.monotonic()  # after the look, which may take its time
        if value >= total:
            assert first is not None
            moved = total - first[1] if now > first[0] else total
            # A transfer so fast that the first look saw all of it is timed from its creation.
            began = first[0] if moved and now > first[0] else created
            return Timing(now - created, max(now - began, 1e-6), moved or total)
        time.sleep(0.01)
    raise TimeoutError(f"{count()} of {total} after {timeout_s} s")


def end_offset(admin: Admin, topic: str, is_committed: bool = True) -> int:
    return admin.list_offsets({TopicPartition(topic, 0): "latest"}, is_committed=is_committed)[TopicPartition(topic, 0)]


def median(values: list[float]) -> float:
    return statistics.median(values)


@contextmanager
def heading(text: str) -> Iterator[None]:
    print(f"\n## {text}", flush=True)
    began = time.monotonic()
    yield
    print(f"   ({time.monotonic() - began:.0f} s)", flush=True)
