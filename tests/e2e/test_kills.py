"""Whatever is killed, a read_committed reader sees every record once, in order; without exactly-once none is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from fixtures.worker import (
    GrowingFile,
    Topics,
    assert_each_once_in_order,
    assert_none_lost,
    file_sink,
    file_source,
    worker_properties,
)
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.driver import DriverProcess, kill_a_python_worker, python_workers
from seamark.testing.spark_cluster import SparkCluster
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

# A lost task is noticed within seconds instead of tens of seconds; nothing else depends on these.
QUICK = {"seamark.lease.ms": "4000", "seamark.lease.interval.ms": "500"}


class Scene:
    """Growing files that a driver process copies, in all ways that promise something.

    Two files into one topic with exactly-once, another without, and the first topic into a file.
    """

    def __init__(self, directory: Path, bootstrap_servers: str, name: str, **spark: str) -> None:
        self.directory, self.topics = directory, Topics(bootstrap_servers)
        self.once = self.topics.create(f"{name}-once", 3)
        self.at_least = self.topics.create(f"{name}-at-least", 3)
        self.files = [GrowingFile(directory / f"{label}.txt") for label in ("a", "b", "c")]
        self.copy = directory / "copy.txt"
        self.copy.touch()
        self.copy_file, self.copy_rest = self.copy.open(), ""
        self.copied: dict[str, int] = {}
        self.once_seen, self.at_least_seen = self.topics.follow(self.once), self.topics.follow(self.at_least)
        a, b, c = self.files
        self.workers = [
            {
                "properties": {
                    **worker_properties(bootstrap_servers, exactly__once__source__support="enabled"),
                    **QUICK,
                    **spark,
                },
                "connectors": {
                    f"{name}-a": file_source(a.path, self.once),
                    f"{name}-b": file_source(b.path, self.once, transaction__boundary="interval"),
                    f"{name}-copy": {
                        **file_sink(self.copy, self.once, tasks=2),
                        "consumer.override.isolation.level": "read_committed",
                    },
                },
            },
            {
                "properties": {**worker_properties(bootstrap_servers), **QUICK},
                "connectors": {f"{name}-c": file_source(c.path, self.at_least)},
            },
        ]
        self.driver = self.new_driver()

    def new_driver(self) -> DriverProcess:
        """Another driver process for the same connectors."""
        return DriverProcess(self.directory / f"driver-{time.monotonic_ns()}", self.workers)

    def start(self) -> None:
        self.driver.start()
        for file in self.files:
            file.start()

    def await_flow(self, within_s: float = 90.0) -> None:
        """Wait until lines that do not exist yet have come through each of the connectors."""
        wanted = {file.label: file.written + 100 for file in self.files}

        wanted |= {f"copied {label}": wanted[label] for label in ("a", "b")}

        def have_come() -> bool:
            seen = self.read()
            missing = {label: number for label, number in wanted.items() if seen.get(label, 0) < number}
            assert not missing, f"{missing} are still to come, there is {seen}"
            return True

        eventually(have_come, within_s, "records do not flow")

    def read(self) -> dict[str, int]:
        """The highest numbers of lines that have come so far."""
        self.once_seen.read()
        self.at_least_seen.read()
        *lines, self.copy_rest = (self.copy_rest + self.copy_file.read()).split("\n")
        for line in lines:
            label, _, number = line.rpartition("-")
            self.copied[f"copied {label}"] = max(self.copied.get(f"copied {label}", 0), int(number))
        return {**self.once_seen.newest, **self.at_least_seen.newest, **self.copied}

    def check(self) -> None:
        """Write no more, let everything arrive, and look."""
        for file in self.files:
            file.stop()
        a, b, c = self.files

        wanted = {file.label: file.written for file in self.files}
        wanted |= {"copied a": a.written, "copied b": b.written}

        def has_arrived() -> bool:
            seen = self.read()
            assert seen == wanted
            return True

        eventually(has_arrived, 60, "not everything has arrived")
        assert_each_once_in_order(self.once_seen.records, [a, b])
        assert_none_lost(self.at_least_seen.records, [c])
        assert_none_lost({0: self.copy.read_text().splitlines()}, [a, b])

    def close(self) -> None:
        for file in self.files:
            file.stop()
        self.driver.kill()
        self.once_seen.close()
        self.at_least_seen.close()
        self.copy_file.close()
        self.topics.close()


@pytest.fixture
def make_scene(tmp_path: Path, broker: EmbeddedBroker, topic_name: str) -> Iterator[Callable[..., Scene]]:
    made: list[Scene] = []

    def make(bootstrap_servers: str = "", **spark: str) -> Scene:
        made.append(Scene(tmp_path, bootstrap_servers or broker.bootstrap_servers, topic_name, **spark))
        return made[-1]

    yield make
    for scene in made:
        scene.close()


def test_killed_python_workers(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    scene.start()
    scene.await_flow()
    for _ in range(3):
        kill_a_python_worker(scene.driver.process)
        scene.await_flow()
    for victim in scene.driver.python_workers():
        victim.kill()
    scene.await_flow()
    scene.check()


def test_killed_driver(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    scene.start()
    for _ in range(2):
        scene.await_flow()
        scene.driver.kill()  # fails if a process of the driver survives
        scene.driver = scene.new_driver()
        scene.driver.start()
    scene.await_flow()
    scene.check()


def test_killed_executor_of_a_cluster(make_scene: Callable[..., Scene], tmp_path: Path) -> None:
    # Two workers with slots for the five tasks of the scene, also after one executor is gone.
    with SparkCluster(tmp_path / "cluster", workers=2, cores=5) as cluster:
        settings = {"spark.master": cluster.master_url, "spark.driver.host": "127.0.0.1"}
        scene = make_scene(**settings, **{"spark.executor.memory": "512m"})
        scene.start()
        scene.await_flow()
        (victim, *_) = eventually(lambda: [each for each in cluster.executors() if python_workers(each)], 30)
        below = victim.children(recursive=True)
        victim.kill()
        _, alive = psutil.wait_procs(below, timeout=20)
        assert not alive, f"survived their executor: {alive}"
        scene.await_flow()
        scene.check()
        scene.driver.kill()
        eventually(lambda: not cluster.executors(), 30, "executors survived their driver")


def test_killed_broker(make_scene: Callable[..., Scene], tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "broker") as broker:
        scene = make_scene(broker.bootstrap_servers)
        scene.start()
        for _ in range(2):
            scene.await_flow()
            broker.kill()
            broker.start()
        scene.await_flow()
        scene.check()
        scene.close()
