"""Three workers; SIGKILL of the leader and of an owner, under load and during changes of offsets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from compat.client import Connect, path_of
from compat.targets import SeamarkDistributed, WorkerProcess
from fixtures.worker import GrowingFile, Topics, assert_each_once_in_order
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.group_members import GroupDescriber
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SOURCES = 3
SESSION_MS = 6000
# What may be answered while roles change hands: done, or not done and why.
CLEAN = {200, 409, 500, 503}


@pytest.fixture
def cluster(tmp_path: Path, broker: EmbeddedBroker) -> Iterator[SeamarkDistributed]:
    settings = {"session.timeout.ms": str(SESSION_MS), "heartbeat.interval.ms": "500"}
    target = SeamarkDistributed(tmp_path / "cluster", broker.bootstrap_servers, config=settings)
    target.start()
    yield target
    target.kill()


class Roles:
    """Who leads and who owns, as Kafka's group coordinator knows it."""

    def __init__(self, cluster: SeamarkDistributed) -> None:
        self._cluster = cluster
        self._describer = GroupDescriber(
            {"bootstrap.servers": cluster.bootstrap_servers}, cluster.group, cluster.config_topic, cluster.offsets_topic
        )

    def leader(self) -> WorkerProcess:
        def found() -> WorkerProcess | None:
            view = self._describer.describe(10.0)
            urls = [member.url for member in view.members if member.is_leader] if view.is_stable else []
            return next((worker for worker in self._cluster.workers if urls and worker.url in urls[0]), None)

        return eventually(found, within_s=60) or pytest.fail("nobody leads")

    def close(self) -> None:
        self._describer.close()


class Changes:
    """Changes the offsets of a stopped connector all the time, at whichever worker answers."""

    def __init__(self, cluster: SeamarkDistributed, name: str, partition: dict[str, str]) -> None:
        self._cluster, self._name, self._partition = cluster, name, partition
        self.acknowledged, self.tried = 0, 0
        self.unclean: list[str] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(120)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopped.is_set():
            for url in self._cluster.urls:
                self.tried += 1
                body = {"offsets": [{"partition": self._partition, "offset": {"position": self.tried}}]}
                try:
                    answer = httpx.patch(f"{url}{path_of(self._name, 'offsets')}", json=body, timeout=100)
                except httpx.TransportError:
                    continue  # that worker is dead
                if answer.status_code == httpx.codes.OK:
                    self.acknowledged = self.tried
                if answer.status_code not in CLEAN or not answer.json().get("message"):
                    self.unclean.append(f"{answer.status_code} {answer.text}")


def owner(cluster: SeamarkDistributed, name: str) -> WorkerProcess:
    def found() -> WorkerProcess | None:
        answers = [_get(url, path_of(name, "status")) for url in cluster.urls]
        worker_id = next(answer["connector"]["worker_id"] for answer in answers if answer is not None)
        return next((worker for worker in cluster.workers if worker.url.endswith(worker_id)), None)

    return eventually(found, within_s=60) or pytest.fail(f"nobody runs {name}")


def await_records(topics: Topics, topic: str, count: int) -> None:
    eventually(lambda: sum(map(len, topics.records(topic).values())) >= count, within_s=120)


def await_acknowledged(changes: Changes, more_than: int) -> None:
    eventually(lambda: changes.acknowledged > more_than, within_s=120)


def _get(url: str, path: str) -> dict[str, Any] | None:
    try:
        answer = httpx.get(url + path, timeout=20)
    except httpx.TransportError:
        return None
    return answer.json() if answer.is_success else None


def test_leader_and_owner_die_and_nothing_is_lost_or_doubled(
    cluster: SeamarkDistributed, topics: Topics, tmp_path: Path
) -> None:
    connect, roles = Connect(cluster), Roles(cluster)
    names = [topics.create(f"killed-{number}") for number in range(SOURCES)]
    files = [GrowingFile(tmp_path / f"{number}.txt", label=f"f{number}") for number in range(SOURCES)]
    for number, (topic, file) in enumerate(zip(names, files, strict=True)):
        config = {"connector.class": "FileStreamSource", "file": str(file.path), "topic": topic, "tasks.max": "1"}
        created = connect.call("POST", "/connectors", {"name": f"killed-{number}", "config": config})
        assert created.status_code == httpx.codes.CREATED, created.text
        file.start()
    partition = {"filename": "/nowhere"}
    idle = {"connector.class": "FileStreamSource", "file": "/nowhere", "topic": "none"}
    request = {"name": "changed", "config": idle, "initial_state": "STOPPED"}
    created = connect.call("POST", "/connectors", request)
    assert created.status_code == httpx.codes.CREATED, created.text
    changes = Changes(cluster, "changed", partition)

    def is_moving() -> bool:
        before = [topics.committed_end(topic) for topic in names]
        eventually(lambda: all(topics.committed_end(t) > b for t, b in zip(names, before, strict=True)), within_s=120)
        return True

    try:
        victims: list[Callable[[], WorkerProcess]] = [
            lambda: owner(cluster, "killed-0"),
            roles.leader,
            lambda: owner(cluster, "killed-1"),
        ]
        for victim in victims:
            assert is_moving()
            acknowledged = changes.acknowledged
            worker = victim()
            worker.kill()
            assert is_moving()
            await_acknowledged(changes, acknowledged)
            worker.start()
            worker.await_healthy()
    finally:
        changes.stop()
        for file in files:
            file.stop()
    assert changes.unclean == []
    assert changes.acknowledged > 0

    for topic, file in zip(names, files, strict=True):
        await_records(topics, topic, file.written)
        assert_each_once_in_order(topics.records(topic), [file])
    answers = [
        Connect(cluster, worker).call("GET", path_of("changed", "offsets")) for worker in range(len(cluster.urls))
    ]
    positions = {answer.json()["offsets"][0]["offset"]["position"] for answer in answers}
    assert len(positions) == 1
    # The last one that was acknowledged has its effect, unless one that got no answer came after it.
    assert changes.acknowledged <= positions.pop() <= changes.tried
    roles.close()
