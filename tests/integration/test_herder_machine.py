"""A state machine: any order of requests leaves a real herder in the state that a simple model has.

Each step asks the herder over REST and the model, and compares statuses, states, configurations and offsets. Files are
never filled, so nothing but requests can move an offset.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fixtures.herders import Cluster, Connect, path_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NAMES = ("one", "two")
STATES = ("RUNNING", "PAUSED", "STOPPED")
names = st.sampled_from(NAMES)
positions = st.integers(0, 1 << 40)


@dataclass
class Modelled:
    """A connector as it should be."""

    config: dict[str, str]
    state: str
    """The target state."""
    has_tasks: bool
    """A connector that was paused when it was stopped, or created so, has none until it is resumed."""


@dataclass
class Model:
    """Connectors by name; offsets outlive them."""

    connectors: dict[str, Modelled] = field(default_factory=dict)
    offsets: dict[str, dict[str, int]] = field(default_factory=dict)


class HerderMachine(RuleBasedStateMachine):
    """Requests in any order."""

    connect: Connect
    directory: Path

    @initialize()
    def begin(self) -> None:
        self.model = Model()
        self.prefix = f"machine-{uuid.uuid4().hex[:8]}"

    def teardown(self) -> None:
        for name in list(getattr(self, "model", Model()).connectors):
            self.connect.call("DELETE", path_of(self.full(name)))

    def full(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def file(self, name: str, number: int = 0) -> str:
        return str(self.directory / f"{self.full(name)}-{number}.txt")

    def ask(self, method: str, name: str, end: str = "", body: Any = None) -> httpx.Response:
        return self.connect.call(method, f"{path_of(self.full(name))}{end}", body)

    # requests

    @rule(name=names, state=st.sampled_from((None, *STATES, "paused")))
    def create(self, name: str, state: str | None) -> None:
        config = {"connector.class": "FileStreamSource", "file": self.file(name), "topic": self.prefix}
        body = {"name": self.full(name), "config": config} | ({} if state is None else {"initial_state": state})
        answer = self.connect.call("POST", "/connectors", body)
        if name in self.model.connectors:
            assert answer.status_code == httpx.codes.CONFLICT
            return
        assert answer.status_code == httpx.codes.CREATED, answer.text
        target = (state or "RUNNING").upper()
        self.model.connectors[name] = Modelled({**config, "name": self.full(name)}, target, target == "RUNNING")

    @rule(name=names, key=st.sampled_from(("batch.size", "errors.log.enable")), on=st.booleans())
    def configure(self, name: str, key: str, on: bool) -> None:
        if name not in self.model.connectors:
            return
        mine = self.model.connectors[name]
        value = {"batch.size": "7" if on else "9", "errors.log.enable": str(on).lower()}[key]
        assert self.ask("PATCH", name, "/config", {key: value}).status_code == httpx.codes.OK
        mine.config = {**mine.config, key: value}

    @rule(name=names, what=st.sampled_from(("pause", "resume", "stop")))
    def target(self, name: str, what: str) -> None:
        answer = self.ask("PUT", name, f"/{what}")
        mine = self.model.connectors.get(name)
        if mine is None:
            assert answer.status_code == httpx.codes.NOT_FOUND
            return
        assert answer.is_success, answer.text
        mine.state = {"pause": "PAUSED", "resume": "RUNNING", "stop": "STOPPED"}[what]
        mine.has_tasks = what == "resume" or (what == "pause" and mine.has_tasks)

    @rule(name=names, with_tasks=st.booleans())
    def restart(self, name: str, with_tasks: bool) -> None:
        answer = self.ask("POST", name, f"/restart?includeTasks={str(with_tasks).lower()}")
        if name not in self.model.connectors:
            assert answer.is_error  # a standalone Java worker says 500, so Seamark does
        else:
            assert answer.status_code in (httpx.codes.NO_CONTENT, httpx.codes.ACCEPTED, httpx.codes.CONFLICT), (
                answer.text
            )

    @rule(name=names)
    def delete(self, name: str) -> None:
        answer = self.ask("DELETE", name)
        known = self.model.connectors.pop(name, None)
        assert answer.status_code == (httpx.codes.NOT_FOUND if known is None else httpx.codes.NO_CONTENT)

    @rule(name=names, number=st.integers(0, 1), position=positions | st.none())
    def alter(self, name: str, number: int, position: int | None) -> None:
        file = self.file(name, number)
        row = {"partition": {"filename": file}, "offset": None if position is None else {"position": position}}
        if self._may_change(name, self.ask("PATCH", name, "/offsets", {"offsets": [row]})):
            mine = self.model.offsets.setdefault(name, {})
            mine.pop(file, None)
            if position is not None:
                mine[file] = position

    @rule(name=names)
    def reset(self, name: str) -> None:
        if self._may_change(name, self.ask("DELETE", name, "/offsets")):
            self.model.offsets.pop(name, None)

    @rule(name=names, bad=st.sampled_from(({"position": -1}, {"position": "x"}, {"place": 1}, 7)))
    def alter_wrongly(self, name: str, bad: Any) -> None:
        row = {"partition": {"filename": self.file(name)}, "offset": bad}
        answer = self.ask("PATCH", name, "/offsets", {"offsets": [row]})
        assert answer.is_client_error or answer.is_server_error

    def _may_change(self, name: str, answer: httpx.Response) -> bool:
        mine = self.model.connectors.get(name)
        if mine is None:
            assert answer.status_code == httpx.codes.NOT_FOUND
        elif mine.state != "STOPPED":
            assert answer.status_code == httpx.codes.BAD_REQUEST
        else:
            assert answer.status_code == httpx.codes.OK, answer.text
        return answer.is_success

    # what must be true after each of them

    @invariant()
    @precondition(lambda self: hasattr(self, "model"))
    def the_herder_is_as_the_model(self) -> None:
        listed = {name for name in self.connect.ask("GET", "/connectors") if name.startswith(self.prefix)}
        assert listed == {self.full(name) for name in self.model.connectors}
        for name, mine in self.model.connectors.items():
            assert self.ask("GET", name, "/config").json() == mine.config
            tasks = [mine.state] if mine.has_tasks else []
            self.connect.await_state(self.full(name), mine.state, tasks)
            rows = self.ask("GET", name, "/offsets").json()["offsets"]
            shown = {row["partition"]["filename"]: row["offset"]["position"] for row in rows}
            assert shown == self.model.offsets.get(name, {})


@pytest.mark.parametrize("kind", ["standalone", "exactly-once"])
def test_any_order_of_requests(kind: str, clusters: Callable[[str], Cluster], tmp_path: Path) -> None:
    cluster = clusters(kind)

    class Machine(HerderMachine):
        connect, directory = cluster.connect(), tmp_path

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=6,
            stateful_step_count=14,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
