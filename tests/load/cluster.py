"""Three workers on a broker, and what their processes use."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from compat.targets import KafkaDistributed, SeamarkDistributed, Target
from seamark.client import ConnectClient, Retry, Settings
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
START_S = 300.0


class ThreeJavaWorkers(KafkaDistributed):
    """The real Kafka Connect, for comparison."""

    worker_count = 3


KINDS: dict[str, type[Target]] = {"seamark": SeamarkDistributed, "kafka": ThreeJavaWorkers}


@dataclass(frozen=True, slots=True)
class Use:
    """What the processes of a worker use together."""

    memory_mb: float
    cpu_s: float
    files: int
    threads: int
    processes: int


@contextlib.contextmanager
def running(
    directory: Path, kind: str = "seamark", config: Mapping[str, str] | None = None, **broker_settings: str
) -> Iterator[tuple[Target, EmbeddedBroker]]:
    """A cluster with a broker of its own."""
    extra = {key.replace("__", "."): value for key, value in broker_settings.items()}
    broker = EmbeddedBroker(directory / "kafka", heap="1g", extra_properties=extra)
    broker.start(START_S)
    target = KINDS[kind](directory / kind, broker.bootstrap_servers, config=config)
    try:
        target.start()
        yield target, broker
    finally:
        target.kill()
        broker.stop()


def client_of(target: Target, worker: int = 0) -> ConnectClient:
    """Patient: while connectors are created by the hundred, workers rebalance."""
    return ConnectClient(Settings(target.urls[worker], timeout_s=120, retry=Retry(deadline_s=120)))


def admin_of(target: Target) -> Admin:
    return Admin({"bootstrap.servers": target.bootstrap_servers})


def use_of(target: Target, number: int) -> Use:
    """Of a worker, its Spark and its tasks."""
    process = target.workers[number].process
    pid = None if process is None else process.pid
    if pid is None:
        return Use(0, 0, 0, 0, 0)
    memory = cpu = 0.0
    files = threads = count = 0
    root = psutil.Process(pid)
    for each in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = each.cpu_times()
            memory += each.memory_full_info().pss / 2**20
            cpu += times.user + times.system
            files += each.num_fds()
            threads += each.num_threads()
            count += 1
    return Use(memory, cpu, files, threads, count)


def await_running(client: ConnectClient, count: int, within_s: float = 600.0) -> float:
    """Wait until so many connectors run with all their tasks; how long it took."""
    began = time.monotonic()

    def is_there() -> bool:
        shown = client.expanded(info=False)
        states = [each.status for each in shown.values() if each.status is not None]
        good = [
            each
            for each in states
            if each.connector.state == "RUNNING" and each.tasks and all(task.state == "RUNNING" for task in each.tasks)
        ]
        return len(good) == count

    eventually(is_there, within_s, f"{count} connectors do not run")
    return time.monotonic() - began
