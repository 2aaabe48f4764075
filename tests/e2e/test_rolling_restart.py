"""Three workers under load are restarted one after the other, as an upgrade does: no record is lost or repeated."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

from compat.client import Connect, path_of
from compat.targets import SeamarkDistributed, WorkerProcess
from fixtures.worker import GrowingFile, Topics, assert_each_once_in_order, file_sink, file_source
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.group_members import GroupDescriber
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SOURCES = 3
LINES, EVERY_S = 20, 0.05
LOOK_S = 0.1
PATIENCE_S = 120.0
ANSWER_S = 100.0
# What a change may be answered while roles change hands: done, or not done and why.
CLEAN = {httpx.codes.OK, httpx.codes.CONFLICT, httpx.codes.INTERNAL_SERVER_ERROR, httpx.codes.SERVICE_UNAVAILABLE}


@dataclass(slots=True)
class Load:
    """Files that grow, the topics that they are copied to, and the copies that sinks make of two of these."""

    files: list[GrowingFile]
    topics: list[str]
    copy: Path
    table: Path

    @property
    def connectors(self) -> dict[str, dict[str, str]]:
        sources = {
            f"lines-{number}": file_source(file.path, topic)
            for number, (file, topic) in enumerate(zip(self.files, self.topics, strict=True))
        }
        table = {"connector.class": "ParquetSink", "path": str(self.table), "topics": self.topics[1]}
        return {**sources, "copy": file_sink(self.copy, self.topics[0]), "table": table}

    def rows(self) -> list[str]:
        """The values in the table, batch by batch."""
        files = sorted(self.table.glob("batch-*.parquet"), key=lambda path: int(path.name.split("-")[1]))
        return [value for file in files for value in pq.read_table(file, columns=["value"])["value"].to_pylist()]


class Pace:
    """Looks at a topic as a read_committed reader, and notes the longest time without a new record."""

    def __init__(self, topics: Topics, names: Sequence[str]) -> None:
        self._followed = {name: topics.follow(name) for name in names}
        self._seen = {name: (0, time.monotonic()) for name in names}
        self.gaps = dict.fromkeys(names, 0.0)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pace")
        self._thread.start()

    def counts(self) -> dict[str, int]:
        return {name: count for name, (count, _) in self._seen.items()}

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        for followed in self._followed.values():
            followed.close()

    def _run(self) -> None:
        while not self._stopped.wait(LOOK_S):
            for name, followed in self._followed.items():
                followed.read()
                count, since = self._seen[name]
                now = time.monotonic()
                if count:  # before the first record the connector was starting
                    self.gaps[name] = max(self.gaps[name], now - since)
                if len(followed) > count:
                    self._seen[name] = len(followed), now


class Clients:
    """Asks every worker all the time for the state of the connectors, and to change the offsets of a stopped one."""

    def __init__(self, cluster: SeamarkDistributed, names: Sequence[str], stopped: str) -> None:
        self._cluster, self._names, self._idle = cluster, list(names), stopped
        self.away: WorkerProcess | None = None
        """The worker that is being restarted; the others answer."""
        self.answers: dict[int, int] = {}
        self.unclean: list[str] = []
        self.failed: set[str] = set()
        self.slowest_s = 0.0
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(worker,)) for worker in cluster.workers]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _run(self, worker: WorkerProcess) -> None:
        turn = 0
        while not self._ended.wait(LOOK_S):
            turn += 1
            name = self._names[turn % len(self._names)]
            status = self._ask(worker, "GET", path_of(name, "status"))
            if status is not None:
                if status.status_code != httpx.codes.OK:
                    self.unclean.append(f"status of {name}: {status.status_code} {status.text}")
                elif "FAILED" in status.text:
                    self.failed.add(f"{name}: {status.text}")
            offset = {"partition": {"filename": "/nowhere"}, "offset": {"position": turn}}
            change = self._ask(worker, "PATCH", path_of(self._idle, "offsets"), {"offsets": [offset]})
            if change is not None and (change.status_code not in CLEAN or not change.json().get("message")):
                self.unclean.append(f"change: {change.status_code} {change.text}")

    def _ask(self, worker: WorkerProcess, method: str, path: str, body: object = None) -> httpx.Response | None:
        was_away = self.away is worker
        began = time.monotonic()
        try:
            answer = httpx.request(method, worker.url + path, json=body, timeout=ANSWER_S)
        except httpx.TransportError as error:
            if not was_away and self.away is not worker:
                self.unclean.append(f"{method} {path} at {worker.url}: {error!r}")
            return None
        if was_away or self.away is worker:
            return None  # it has just come, or is about to go: what it says does not count
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)
        self.answers[answer.status_code] = self.answers.get(answer.status_code, 0) + 1
        return answer


@pytest.fixture
def cluster(tmp_path: Path, broker: EmbeddedBroker) -> Iterator[SeamarkDistributed]:
    target = SeamarkDistributed(tmp_path / "cluster", broker.bootstrap_servers)
    target.start()
    yield target
    target.kill()


@pytest.fixture
def group(cluster: SeamarkDistributed) -> Iterator[GroupDescriber]:
    describer = GroupDescriber(
        {"bootstrap.servers": cluster.bootstrap_servers}, cluster.group, cluster.config_topic, cluster.offsets_topic
    )
    yield describer
    describer.close()


@pytest.fixture
def load(cluster: SeamarkDistributed, topics: Topics, tmp_path: Path) -> Load:
    names = [topics.create(f"{cluster.group}-lines-{number}") for number in range(SOURCES)]
    files = [GrowingFile(tmp_path / f"{number}.txt", label=f"f{number}") for number in range(SOURCES)]
    made = Load(files, names, tmp_path / "copy.txt", tmp_path / "table")
    client = Connect(cluster)
    for name, config in made.connectors.items():
        client.create(name, config)
    client.create("idle", file_source(Path("/nowhere"), "none"), "STOPPED")
    client.close()
    return made


def await_members(cluster: SeamarkDistributed, group: GroupDescriber) -> WorkerProcess:
    """Wait until all workers are in the group and work is dealt; the one that leads."""

    def leader() -> WorkerProcess | None:
        view = group.describe(10.0)
        urls = {member.url.rstrip("/"): member.is_leader for member in view.members if member.slots}
        is_whole = view.is_stable and set(cluster.urls) == set(urls)
        return next((each for each in cluster.workers if is_whole and urls[each.url]), None)

    return eventually(leader, within_s=PATIENCE_S, message="not all workers are in the group") or pytest.fail()


def await_progress(pace: Pace) -> None:
    before = pace.counts()
    eventually(
        lambda: all(count > before[name] for name, count in pace.counts().items()),
        within_s=PATIENCE_S,
        message="a topic gets no records",
    )


def restart(cluster: SeamarkDistributed, worker: WorkerProcess, group: GroupDescriber, clients: Clients) -> float:
    """Stop a worker with SIGTERM and start another process in its place; how long that took until it worked."""
    began = time.monotonic()
    clients.away = worker
    process = worker.process
    assert process is not None
    worker.stop()
    # 0: it ended by itself, in time, with all that it ran handed over.
    assert process.exit_code == 0, worker.log[-4000:]
    worker.start()
    worker.await_healthy()
    eventually(lambda: httpx.get(f"{worker.url}/ready", timeout=ANSWER_S).is_success, within_s=PATIENCE_S)
    await_members(cluster, group)
    clients.away = None
    return time.monotonic() - began


def test_every_worker_is_replaced_under_load_and_nothing_is_lost_or_repeated(
    cluster: SeamarkDistributed, group: GroupDescriber, topics: Topics, load: Load
) -> None:
    await_members(cluster, group)
    for file in load.files:
        file.start(LINES, EVERY_S)
    pace = Pace(topics, load.topics)
    clients = Clients(cluster, list(load.connectors), "idle")
    took = []
    try:
        await_progress(pace)
        eventually(lambda: load.copy.stat().st_size and load.rows(), within_s=PATIENCE_S, message="a sink is idle")
        for worker in cluster.workers:
            took.append(restart(cluster, worker, group, clients))
            await_progress(pace)
        took.append(restart(cluster, await_members(cluster, group), group, clients))
        await_progress(pace)
    finally:
        clients.stop()
        for file in load.files:
            file.stop()
        pace.stop()

    for topic, file in zip(load.topics, load.files, strict=True):
        wanted = file.written
        eventually(lambda t=topic, n=wanted: len(topics.values(t)) >= n, within_s=PATIENCE_S)  # type: ignore[misc]
        assert_each_once_in_order(topics.records(topic), [file])
    eventually(
        lambda: (
            load.copy.stat().st_size >= load.files[0].path.stat().st_size and len(load.rows()) >= load.files[1].written
        ),
        within_s=PATIENCE_S,
        message="a sink has not written all lines",
    )
    # A file sink is at least once, but one that is told to stop commits what it has written.
    assert load.copy.read_text() == load.files[0].path.read_text()
    assert load.rows() == load.files[1].path.read_text().splitlines()

    assert clients.unclean == []
    assert clients.failed == set()
    assert set(clients.answers) <= CLEAN
    client = Connect(cluster)
    for name in load.connectors:  # one may just be on its way to a worker that has less to do
        client.await_state(name, "RUNNING", ["RUNNING"])
    gaps = ", ".join(f"{gap:.1f} s" for gap in pace.gaps.values())
    print(
        f"\n{sum(file.written for file in load.files)} lines; longest time without a new record, by topic: {gaps}; "
        f"restarts took {', '.join(f'{each:.1f} s' for each in took)}; "
        f"answers {dict(sorted(clients.answers.items()))}, the slowest after {clients.slowest_s:.1f} s"
    )
