"""A cluster is handed over alive, from Kafka Connect to Seamark and back, on the same group and topics."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from compat.client import Connect
from compat.conftest import Files
from compat.targets import KafkaDistributed, SeamarkDistributed, Target
from fixtures.worker import Topics
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(600)]


class TwoSeamarks(SeamarkDistributed):
    """Two workers are enough to be a cluster."""

    worker_count = 2


STATES = {"RUNNING": ["RUNNING"], "PAUSED": ["PAUSED"], "STOPPED": []}
ROWS = 20


def owners(client: Connect, name: str) -> set[str]:
    """Who runs the connector and its tasks, as their last states say."""
    status = client.status(name)
    return {status["connector"]["worker_id"], *(task["worker_id"] for task in status["tasks"])}


class HandOver:
    """A source and a sink in every state, kept by runtimes that take turns."""

    def __init__(self, directory: Path, broker: EmbeddedBroker, topics: Topics) -> None:
        self.directory, self.broker, self.topics = directory, broker, topics
        self.group = f"take-over-{uuid.uuid4().hex[:8]}"
        self.files = Files(directory, topics)
        self.sources = {state: f"{self.group}-source-{state.lower()}" for state in STATES}
        self.sinks = {state: f"{self.group}-sink-{state.lower()}" for state in STATES}
        self.written: dict[str, int] = dict.fromkeys([*self.sources.values(), *self.sinks.values()], 0)
        self.turns = 0

    def turn(self, kind: type[Target]) -> None:
        """Start a runtime, see that all is as it was left, let it work, change positions, and stop it."""
        self.turns += 1
        target = kind(self.directory / f"turn-{self.turns}", self.broker.bootstrap_servers, group=self.group)
        target.start()
        try:
            client = Connect(target)
            if self.turns == 1:
                self.create(client)
            self.check_states(client)
            self.work(client)
            client.close()
        finally:
            target.stop()

    def create(self, client: Connect) -> None:
        for state, tasks in STATES.items():
            for name, config in (
                (self.sources[state], self.files.source(self.sources[state])),
                (self.sinks[state], self.files.sink(self.sinks[state])),
            ):
                self.feed(name)
                client.create(name, config)
                self.await_fed(client, name)
                if state == "PAUSED":
                    client.pause(name, tasks)
                elif state == "STOPPED":
                    client.stop(name)

    def check_states(self, client: Connect) -> None:
        """Everything is in its state, with the offsets that it had."""
        workers = {url.removeprefix("http://") for url in client.target.urls}
        for state, tasks in STATES.items():
            for name in (self.sources[state], self.sinks[state]):
                eventually(lambda name=name: owners(client, name) <= workers, 60, f"{name} is not taken over")
                client.await_state(name, state, tasks)
                eventually(lambda name=name: owners(client, name) <= workers, 60, f"tasks of {name} are not taken over")
                self.await_fed(client, name)

    def work(self, client: Connect) -> None:
        """Feed the running ones, run the paused for a while, move the stopped one back and forth."""
        for name in self.written:
            self.feed(name)
        for name in (self.sources["RUNNING"], self.sinks["RUNNING"]):
            self.await_fed(client, name)
        for state in ("PAUSED", "STOPPED"):
            for name in (self.sources[state], self.sinks[state]):
                before = client.offsets(name)
                if state == "STOPPED":  # a look with another position, which is undone before anybody reads
                    client.reset(name)
                    assert eventually(lambda name=name: client.offsets(name) == [], 30)
                    rows = [(row["partition"], row["offset"]) for row in before]
                    assert client.alter(name, *rows).status_code == 200
                client.resume(name)
                self.await_fed(client, name)
                if state == "PAUSED":
                    client.pause(name, STATES[state])
                else:
                    client.stop(name)

    def feed(self, name: str) -> None:
        first = 100 + self.written[name]
        if name in self.sources.values():
            self.files.append(name, ROWS, first=first)
        else:
            self.topics.send(name, [f"line{number}" for number in range(first, first + ROWS)])
        self.written[name] += ROWS
        assert self.written[name] + 100 < 1000, "lines have the same length"

    def await_fed(self, client: Connect, name: str) -> None:
        """Wait until all that was fed is behind the connector's offsets."""
        position = self.written[name]
        wanted = {"position": position * 8} if name in self.sources.values() else {"kafka_offset": position}
        eventually(lambda: client.offsets(name)[0]["offset"] == wanted, 60, f"{name} has not worked")

    def check(self) -> None:
        """No record was lost or repeated."""
        for name, count in self.written.items():
            lines = [f"line{number}" for number in range(100, 100 + count)]
            found = self.topics.values(name) if name in self.sources.values() else self.files.read(name)
            assert found == lines, name


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param((KafkaDistributed, TwoSeamarks, KafkaDistributed), id="from-kafka-connect-and-back"),
        pytest.param((TwoSeamarks, KafkaDistributed, TwoSeamarks), id="to-kafka-connect-and-back"),
    ],
)
def test_connectors_states_and_offsets_are_kept(
    tmp_path: Path, broker: EmbeddedBroker, topics: Topics, turns: tuple[type[Target], ...]
) -> None:
    hand_over = HandOver(tmp_path, broker, topics)
    for kind in turns:
        hand_over.turn(kind)
    hand_over.check()
