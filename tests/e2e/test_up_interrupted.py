"""Ctrl-C, as a terminal sends it: to the whole foreground process group. What was running stops cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pyarrow.dataset
import pytest

from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

READY = "stop with Ctrl-C"
STOPPING = "stopping ..."


class Command:
    """A `seamark` command that leads a process group of its own, as at a terminal."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.log = directory / "output.log"
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "seamark.cli.main", *arguments],
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.descendants: set[psutil.Process] = set()

    def text(self) -> str:
        return self.log.read_text()

    def says(self, text: str, within_s: float = 120.0) -> None:
        def has_said() -> bool:
            self.note_descendants()
            assert self.process.poll() is None or text in self.text(), f"ended without saying {text!r}: {self.text()}"
            return text in self.text()

        eventually(has_said, within_s, f"has not said {text!r}")

    def note_descendants(self) -> None:
        with suppress(psutil.NoSuchProcess):
            self.descendants |= set(psutil.Process(self.process.pid).children(recursive=True))

    def press_ctrl_c(self) -> None:
        self.note_descendants()
        os.killpg(self.process.pid, signal.SIGINT)

    def survivors(self) -> list[psutil.Process]:
        return [each for each in self.descendants if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]

    def ended_cleanly(self, within_s: float = 120.0) -> None:
        """Exit code 0, nobody left, and nothing said that would worry anyone."""
        assert self.process.wait(within_s) == 0, self.text()
        assert self.descendants
        assert not self.survivors(), "children must end before their parent does"
        for worry in ("Traceback", "py4j", "ERROR", "Exception", "\tat "):
            assert worry not in self.text(), self.text()

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Orders:
    """What the example pipeline of `seamark up` has written."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "example" / "orders.parquet"

    def __len__(self) -> int:
        return len(self.ids())

    def ids(self) -> list[int]:
        if not self._path.exists():
            return []
        orders = pyarrow.dataset.dataset(self._path, format="parquet").to_table(columns=["value"])["value"]
        return sorted(order["id"] for order in orders.to_pylist())

    def are_at_least(self, wanted: int) -> bool:
        return len(self) >= wanted

    def are_each_there_once(self) -> bool:
        ids = self.ids()
        return ids == list(range(1, len(ids) + 1))


class Commands:
    def __init__(self, directory: Path) -> None:
        self.directory, self.made = directory, list[Command]()

    def start(self, *arguments: str) -> Command:
        self.made.append(Command(self.directory, *arguments))
        return self.made[-1]


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    made = Commands(tmp_path)
    yield made
    for command in made.made:
        command.kill()


def test_up_stops_cleanly_while_records_flow_and_goes_on_when_started_again(commands: Commands, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    orders = Orders(data_dir)
    for _ in range(2):
        wanted = len(orders) + 5
        up = commands.start("up", "--port", "0", "--data-dir", str(data_dir))
        eventually(partial(orders.are_at_least, wanted), within_s=300, message=f"see {up.log}")
        up.press_ctrl_c()
        up.ended_cleanly()
        assert (data_dir / "kafka" / "data" / ".kafka_cleanshutdown").exists()
        assert orders.are_each_there_once(), orders.ids()


def test_up_stops_cleanly_while_it_starts(commands: Commands, tmp_path: Path) -> None:
    up = commands.start("up", "--port", "0", "--data-dir", str(tmp_path / "data"))
    up.says("starting Spark")
    up.press_ctrl_c()
    up.ended_cleanly()
    assert READY not in up.text()


def test_a_second_ctrl_c_ends_up_at_once_and_its_children_follow(commands: Commands, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    orders = Orders(data_dir)
    up = commands.start("up", "--port", "0", "--data-dir", str(data_dir))
    eventually(lambda: len(orders) > 0, within_s=300, message=f"see {up.log}")
    up.press_ctrl_c()
    up.says(STOPPING, 30)
    up.press_ctrl_c()
    assert up.process.wait(5) == 128 + signal.SIGINT
    assert "Traceback" not in up.text()
    eventually(lambda: not up.survivors(), 30, "children survived")
    assert orders.are_each_there_once(), orders.ids()


def test_broker_stops_cleanly(commands: Commands, tmp_path: Path) -> None:
    broker = commands.start("broker", "--data-dir", str(tmp_path / "broker"))
    broker.says("Kafka is up")
    broker.press_ctrl_c()
    broker.ended_cleanly()
    assert (tmp_path / "broker" / "data" / ".kafka_cleanshutdown").exists()
    assert "Kafka has stopped." in broker.text()
