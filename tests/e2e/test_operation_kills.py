"""kill -9 of the worker amid a change of offsets and a migration: the next start ends them, and says how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from compat.client import path_of
from compat.targets import SeamarkDistributed
from fixtures.herders import PLUGINS
from fixtures.worker import Topics
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.observed import Observed
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

RECORDS = 20
WAIT_S = 120.0


class OneWorker(SeamarkDistributed):
    """A worker whose end is the end of the cluster."""

    worker_count = 1


@pytest.fixture
def cluster(tmp_path: Path, broker: EmbeddedBroker) -> Iterator[SeamarkDistributed]:
    settings = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "500", "plugin.path": str(PLUGINS)}
    target = OneWorker(tmp_path / "cluster", broker.bootstrap_servers, config=settings)
    target.start()
    yield target
    target.kill()


class Scene:
    """A sink at the end of its topic, whose hook waits before offsets are changed."""

    def __init__(self, cluster: SeamarkDistributed, topics: Topics, directory: Path) -> None:
        self.cluster, self.name, self._holds = cluster, "held", 0
        self.topic = topics.create("held-records", 2)
        for number in (0, 1):
            topics.send(self.topic, [f"r{n}" for n in range(RECORDS)], number)
        self.directory = directory / "observed"
        self.directory.mkdir()
        self.observed = Observed(self.directory, self.name)
        config = {
            "connector.class": "offset_plugins:MoodySink",
            "topics": self.topic,
            "observe.dir": str(self.directory),
        }
        self.ask("POST", "/connectors", {"name": self.name, "config": config})
        self.await_positions(self.name, RECORDS)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        def answered() -> Any:
            answer = httpx.request(method, self.cluster.urls[0] + path, json=body, timeout=100)
            assert answer.is_success, answer.text
            return answer.json() if answer.content else {"done": True}

        return eventually(answered, WAIT_S)

    def positions(self, name: str) -> list[int]:
        rows = self.ask("GET", path_of(name, "offsets"))["offsets"]
        return sorted(row["offset"]["kafka_offset"] for row in rows)

    def await_positions(self, name: str, position: int) -> None:
        eventually(lambda: self.positions(name) == [position, position], WAIT_S, f"{name} is not at {position}")

    def hold(self) -> None:
        self._holds += 1
        (self.directory / "hook.blocks").write_text(f"go-{self._holds}")

    def let_go(self) -> None:
        (self.directory / "hook.blocks").unlink()
        self.observed.release(f"go-{self._holds}")

    def kill_and_restart(self) -> None:
        worker = self.cluster.workers[0]
        worker.kill()
        self.let_go()
        worker.start()
        worker.await_healthy()

    def finished(self, operation: str) -> dict[str, Any]:
        def ended() -> dict[str, Any]:
            found: dict[str, Any] = self.ask("GET", f"/operations/{operation}")
            assert found["finished"], found["phase"]
            return found

        return eventually(ended, WAIT_S, "the operation does not end")

    def in_phase(self, operation: str, phase: str) -> Callable[[], bool]:
        return lambda: self.ask("GET", f"/operations/{operation}")["phase"] == phase


def test_a_change_and_a_migration_survive_the_worker(
    cluster: SeamarkDistributed, topics: Topics, tmp_path: Path
) -> None:
    scene = Scene(cluster, topics, tmp_path)
    scene.hold()
    begun = scene.ask("POST", path_of(scene.name, "offsets/change"), {"positions": 5, "reason": "kill -9"})
    eventually(scene.in_phase(begun["id"], "CHANGING"), WAIT_S)
    scene.kill_and_restart()
    done = scene.finished(begun["id"])
    assert (done["phase"], done["reason"]) == ("DONE", "kill -9")
    assert [row["after"]["kafka_offset"] for row in done["changes"]] == [5, 5]
    scene.await_positions(scene.name, RECORDS)
    again = [record[2] for call in scene.observed.calls("put") for record in call["records"] if record[1] == 0]
    assert again[RECORDS:] == list(range(5, RECORDS)), "it did not go on at 5, or more than once"

    # A migration, killed while the new connector is given its offsets.
    scene.hold()
    begun = scene.ask("POST", path_of(scene.name, "migrate"), {"name": "held-b"})
    eventually(scene.in_phase(begun["id"], "CHANGING"), WAIT_S)
    scene.kill_and_restart()
    done = scene.finished(begun["id"])
    assert (done["phase"], done["error"]) == ("DONE", None)
    assert scene.ask("GET", "/connectors") == ["held-b"]
    topics.send(scene.topic, ["one more"], 0)
    topics.send(scene.topic, ["one more"], 1)
    scene.await_positions("held-b", RECORDS + 1)
    read = [record[2] for call in Observed(scene.directory, "held-b").calls("put") for record in call["records"]]
    assert read == [RECORDS, RECORDS], "something was read twice or not at all"
