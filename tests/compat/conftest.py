"""The targets, one after the other, and connectors on them.

The tests of one target run together; `-k seamark-standalone` (or another name of `TARGETS`) runs only those.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat.client import Connect, expect, path_of
from compat.targets import SINK, SOURCE, TARGETS, Target, write_connector_files
from fixtures.worker import Topics
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually

PARKED = "parked-"
_turn = itertools.count()


def _params() -> list[object]:
    return [
        pytest.param(name, id=name, marks=[] if kind.is_seamark else [pytest.mark.java])
        for name, kind in TARGETS.items()
    ]


@pytest.fixture(scope="package", params=_params())  # it works all the time, also while nobody asks
def target(
    request: pytest.FixtureRequest, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """A running cluster, shared by all tests of the target."""
    kind, directory = TARGETS[request.param], tmp_path_factory.mktemp(request.param)
    files = {} if kind.is_distributed else write_connector_files(directory / "connectors")
    made = kind(directory, broker.bootstrap_servers, connector_files=list(files.values()))
    made.start()
    try:
        _warm_up(made, directory)
        yield made
    finally:
        made.stop()


def _warm_up(target: Target, directory: Path) -> None:
    """Let every worker do its first work, which takes it much longer than any that follows."""
    client, topics = Connect(target), Topics(target.bootstrap_servers)
    files, names = Files(directory, topics), [f"warm-up-{number}" for number in range(2 * target.worker_count)]
    for name in names:
        client.create(name, files.source(name, 1) | {"topic": f"{target.group}-{name}"})
    for name in names:
        eventually(lambda name=name: client.offsets(name), 240, f"{name} has not read its file")
        expect(client.delete(path_of(name)), 204)
    topics.close()
    client.close()


@pytest.fixture
def distributed(target: Target) -> Target:
    """The target, if it is a distributed one."""
    if not target.is_distributed:
        pytest.skip("a matter of distributed workers")
    return target


@pytest.fixture
def standalone(target: Target) -> Target:
    """The target, if it is a standalone one."""
    if target.is_distributed:
        pytest.skip("a matter of standalone workers")
    return target


@pytest.fixture
def connect(target: Target) -> Iterator[Connect]:
    """A client of one of the workers, in turn; connectors that the test created through it are deleted."""
    client = Connect(target, next(_turn))
    before = set(expect(client.get("/connectors"), 200))
    yield client
    for name in set(client.get("/connectors").json()) - before:
        if "/" not in name and not name.startswith(PARKED):
            client.delete(path_of(name))
    client.close()


@pytest.fixture
def name() -> str:
    """For a connector, and for its topic and file."""
    return f"compat-{uuid.uuid4().hex[:10]}"


class Files:
    """Sources and sinks of a test: their configs, and the files and topics behind them."""

    def __init__(self, directory: Path, topics: Topics) -> None:
        self.directory, self.topics = directory, topics

    def path(self, name: str) -> Path:
        return self.directory / f"{name}.txt"

    def source(self, name: str, lines: int = 0, **settings: str) -> dict[str, str]:
        """Config of a source of a file with that many lines of six bytes, `line0` and so on."""
        self.append(name, lines)
        config = {"connector.class": SOURCE, "file": str(self.path(name)), "topic": name, "tasks.max": "1"}
        return {**config, **{key.replace("__", "."): value for key, value in settings.items()}}

    def append(self, name: str, lines: int, first: int = 0) -> None:
        with self.path(name).open("a") as file:
            file.writelines(f"line{number}\n" for number in range(first, first + lines))

    def sink(self, name: str, lines: int = 0, partitions: int = 1, **settings: str) -> dict[str, str]:
        """Config of a sink of a topic that has that many records in every partition."""
        self.topics.create(name, partitions)
        for partition in range(partitions):
            if lines:
                self.topics.send(name, [f"line{number}" for number in range(lines)], partition)
        config = {"connector.class": SINK, "file": str(self.path(name)), "topics": name, "tasks.max": "1"}
        return {**config, **{key.replace("__", "."): value for key, value in settings.items()}}

    def read(self, name: str) -> list[str]:
        """The lines that a sink has written."""
        path = self.path(name)
        return path.read_text().splitlines() if path.exists() else []

    def partition(self, name: str) -> dict[str, str]:
        """The partition of a source."""
        return {"filename": str(self.path(name))}


@pytest.fixture
def files(tmp_path: Path, topics: Topics) -> Files:
    """Files and topics for the test's connectors."""
    return Files(tmp_path, topics)


class Parked:
    """A connector in some state that many tests ask about, and none changes."""

    def __init__(self, name: str, config: dict[str, str], files: Files) -> None:
        self.name, self.config, self.files = name, config, files
        self.path = path_of(name)
        self.offsets = path_of(name, "offsets")
        self.partition = files.partition(name)


@pytest.fixture(scope="package")
def session_files(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    """Files and topics for connectors that outlive a test."""
    topics = Topics(broker.bootstrap_servers)
    yield Files(tmp_path_factory.mktemp("parked"), topics)
    topics.close()


@pytest.fixture(scope="package")
def park(target: Target, session_files: Files) -> Iterator[Callable[[str, str], Parked]]:
    """Makes connectors in a state, each once: `park("sink", "PAUSED")`."""
    made: dict[tuple[str, str], Parked] = {}
    client = Connect(target)

    def get(kind: str, state: str) -> Parked:
        if (kind, state) not in made:
            name = f"{PARKED}{kind}-{state.lower()}-{uuid.uuid4().hex[:6]}"
            config = session_files.source(name, 2) if kind == "source" else session_files.sink(name, 3)
            client.create(name, config)
            client.await_state(name, "RUNNING")
            eventually(lambda: client.offsets(name), 60, f"{name} has no offsets")
            if state == "PAUSED":
                client.pause(name)
            elif state == "STOPPED":
                client.stop(name)
            made[kind, state] = Parked(name, config, session_files)
        return made[kind, state]

    yield get
    for parked in made.values():
        client.delete(parked.path)
    client.close()


@pytest.fixture
def running_source(park: Callable[[str, str], Parked], connect: Connect) -> Parked:
    """A RUNNING source that nobody changes."""
    return park("source", "RUNNING")


@pytest.fixture
def running_sink(park: Callable[[str, str], Parked], connect: Connect) -> Parked:
    """A RUNNING sink that nobody changes."""
    return park("sink", "RUNNING")


@pytest.fixture
def stopped_source(park: Callable[[str, str], Parked], connect: Connect) -> Parked:
    """A STOPPED source; its offsets may be refused, not changed."""
    return park("source", "STOPPED")


@pytest.fixture
def stopped_sink(park: Callable[[str, str], Parked], connect: Connect) -> Parked:
    """A STOPPED sink; its offsets may be refused, not changed."""
    return park("sink", "STOPPED")
