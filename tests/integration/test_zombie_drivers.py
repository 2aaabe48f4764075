"""Drivers that stand still, are replaced, and come back: they are fenced, and each record is there once, in order."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from fixtures.drivers import PLUGINS
from fixtures.worker import GrowingFile, Topics, file_source, worker_properties
from seamark.connector import TopicPartition
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.consumer import RecordConsumer
from seamark.testing.driver import DriverProcess
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

LEASE_S = 4.0
TURNS_S = 60.0
MORE_ROWS = 40  # after the last that was seen: more than a driver has planned already
FIRST, SECOND = "first", "second"


class Seen:
    """What a read_committed reader of the topic's only partition has seen: numbers, and who wrote them."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._consumer = RecordConsumer({"bootstrap.servers": bootstrap_servers, "isolation.level": "read_committed"})
        self._consumer.assign({TopicPartition(topic, 0): 0})
        self.numbers: list[int] = []
        self.writers: list[str] = []

    def read(self) -> None:
        for message in self._consumer.read(10_000, 0.05):
            self.numbers.append(int(message.value().decode().rpartition("-")[2]))
            headers = dict(message.headers() or ())
            self.writers.append((message.key() or headers["driver"]).decode())

    def await_more(
        self, writer: str, count: int = 20, within_s: float = 120.0, unless: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until so many more records of a writer have come, unless something else happens."""
        self.read()
        wanted = self.writers.count(writer) + count

        def have_come() -> bool:
            self.read()
            return self.writers.count(writer) >= wanted or unless()

        eventually(have_come, within_s, f"driver {writer!r} does not write")

    def close(self) -> None:
        self._consumer.close()


class Scene(ABC):
    """A connector that two driver processes run, one after the other as they believe."""

    def __init__(self, directory: Path, bootstrap_servers: str, name: str) -> None:
        self.directory, self.name = directory, name
        self.topics = Topics(bootstrap_servers)
        self.seen = Seen(bootstrap_servers, self.topics.create(name))
        self.properties = {
            **worker_properties(bootstrap_servers, exactly__once__source__support="enabled"),
            "plugin.path": str(PLUGINS),
            "seamark.lease.ms": str(int(LEASE_S * 1000)),
            "seamark.lease.interval.ms": "500",
            "seamark.batch.max.records": "10",
        }
        self.drivers: dict[str, DriverProcess] = {}
        self._frozen: list[psutil.Process] = []

    @abstractmethod
    def config(self, mark: str) -> Mapping[str, str]:
        """Of the connector, so that its records tell who wrote them."""

    def start(self, mark: str) -> None:
        worker = {"properties": self.properties, "connectors": {self.name: self.config(mark)}}
        self.drivers[mark] = DriverProcess(self.directory / mark, [worker])
        self.drivers[mark].start(120)

    def freeze(self, whole_machine: bool) -> None:
        """Let the first driver stand still: alone, or with its JVM, its Python workers and their open transactions."""
        driver = self.drivers[FIRST]
        self._frozen = [driver.process, *(driver.children() if whole_machine else ())]
        for process in self._frozen:
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def thaw(self) -> None:
        frozen, self._frozen = self._frozen, []
        for process in reversed(frozen):
            with suppress(psutil.NoSuchProcess):
                process.resume()

    @abstractmethod
    def is_complete(self) -> bool:
        """Whether each record is there once, in order."""

    def has_given_up(self, mark: str) -> bool:
        """Whether the connector of a driver has failed because others take over all the time."""
        said = (self.directory / mark / "driver.log").read_text()
        return "ERROR seamark.runtime.runner" in said and "FencedError: Another worker has taken over" in said

    def close(self) -> None:
        self.thaw()
        for driver in self.drivers.values():
            driver.kill()
        self.seen.close()
        self.topics.close()


class DirectScene(Scene):
    """Lines of a growing file, in transactions that stay open for a while."""

    def __init__(self, directory: Path, bootstrap_servers: str, name: str) -> None:
        super().__init__(directory, bootstrap_servers, name)
        self.file = GrowingFile(directory / "line.txt")
        self.file.start(2, 0.05)

    def config(self, mark: str) -> Mapping[str, str]:
        return {
            **file_source(self.file.path, self.name, transaction__boundary="interval"),
            "transforms": "mark",
            "transforms.mark.type": "org.apache.kafka.connect.transforms.InsertHeader",
            "transforms.mark.header": "driver",
            "transforms.mark.value.literal": mark,
        }

    def is_complete(self) -> bool:
        self.file.stop()
        self.seen.read()
        return self.seen.numbers == self.file.numbers()

    def close(self) -> None:
        self.file.stop()
        super().close()


class FrameScene(Scene):
    """Rows in batches, each of which takes a second; they come until it is asked whether all are there."""

    def __init__(self, directory: Path, bootstrap_servers: str, name: str) -> None:
        super().__init__(directory, bootstrap_servers, name)
        self._end, self._last = directory / "end", 0

    def config(self, mark: str) -> Mapping[str, str]:
        return {
            "connector.class": "zombie_plugins.MarkedSource",
            "tasks.max": "1",
            "topic": self.name,
            "end": str(self._end),
            "mark": mark,
        }

    def is_complete(self) -> bool:
        self.seen.read()
        if not self._last:
            self._last = self.seen.numbers[-1] + MORE_ROWS
            written = self._end.with_suffix(".new")
            written.write_text(str(self._last))
            written.rename(self._end)
        return self.seen.numbers == list(range(1, self._last + 1))


@pytest.fixture(params=[DirectScene, FrameScene])
def scene(
    request: pytest.FixtureRequest, tmp_path: Path, broker: EmbeddedBroker, topic_name: str
) -> Iterator[DirectScene | FrameScene]:
    made = request.param(tmp_path, broker.bootstrap_servers, topic_name)
    yield made
    made.close()


def replace_first(scene: Scene, whole_machine: bool) -> None:
    """Freeze the first driver while it works, and let a second one take over; the first one's lease runs out."""
    scene.start(FIRST)
    scene.seen.await_more(FIRST)
    scene.freeze(whole_machine)
    since = time.monotonic()
    scene.start(SECOND)
    scene.seen.await_more(SECOND)
    eventually(lambda: time.monotonic() - since > LEASE_S + 1, LEASE_S + 5)


@pytest.mark.parametrize("whole_machine", [True, False])
def test_a_replaced_driver_that_comes_back_to_be_stopped_writes_nothing_more(scene: Scene, whole_machine: bool) -> None:
    replace_first(scene, whole_machine)
    # Whoever runs drivers has found out meanwhile: the first thing that this one hears is that it is to stop.
    stopping = threading.Thread(target=scene.drivers.pop(FIRST).stop)
    stopping.start()
    scene.thaw()
    scene.seen.await_more(SECOND)
    stopping.join()
    eventually(scene.is_complete, 200, "not each record is there once, in order")
    taken_over = scene.seen.writers.index(SECOND)
    assert set(scene.seen.writers[taken_over:]) == {SECOND}


def test_a_replaced_driver_that_goes_on_unawares_takes_turns_with_its_successor(scene: Scene) -> None:
    replace_first(scene, whole_machine=True)
    scene.thaw()
    # It was fenced, and has begun anew from what is committed. It may lose every turn, for as long as it tries: that it
    # ever writes again is not promised, but that each record is there once is.
    thawed = time.monotonic()
    scene.seen.await_more(FIRST, unless=lambda: scene.has_given_up(FIRST) or time.monotonic() - thawed > TURNS_S)
    scene.drivers.pop(FIRST).stop()
    eventually(scene.is_complete, 200, "not each record is there once, in order")
