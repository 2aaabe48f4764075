"""The command as it is called, against a REST server whose herder is in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fixtures.command import Run, caller
from seamark.config.worker import WorkerConfig
from seamark.errors import BadRequestError, NotFoundError
from seamark.rest import RestServer
from seamark.runtime.herder import (
    ConfigInfos,
    ConnectorInfo,
    ConnectorStateInfo,
    Created,
    StateInfo,
    TaskId,
    TaskStateInfo,
)
from seamark.runtime.offset_views import OffsetViews
from seamark.runtime.states import TargetState
from unit.rest.herders import MemoryHerder

TRACE = "Traceback (most recent call last):\n  File x\nValueError: no such table"


class FleetViews(OffsetViews):
    """The table of offsets; of logs only their ends are known, where a test says so."""

    def __init__(self, herder: FleetHerder) -> None:
        self._herder = herder

    def table(self, name: str, *, with_times: bool, topic: str | None, first: int, limit: int | None) -> dict[str, Any]:
        rows = [
            {
                **dict.fromkeys(("topic", "number", "position", "start", "time")),
                **row,
                "end": (end := self._herder.ends.get(json.dumps(row["partition"]))),
                "lag": None if end is None else end - row["offset"]["kafka_offset"],
            }
            for row in self._herder.offsets[name]
        ]
        total = {"partitions": len(rows), "lag": None}
        found = {"kind": "sink", "can_move": True, "why_not": None, "partitions": rows, "total": total, "error": None}
        return found | {"topics": [], "can_peek": False}


class FleetHerder(MemoryHerder):
    """Connectors with states and offsets; those whose class ends in Sink are sinks."""

    def reset(self) -> None:
        super().reset()
        self.states: dict[str, str] = {}
        self.failed: set[str] = set()
        self.offsets: dict[str, list[dict[str, Any]]] = {}
        self.invalid: dict[str, list[str]] = {}
        self.ends: dict[str, int] = {}

    @property
    def offset_views(self) -> FleetViews:
        return FleetViews(self)

    def add(
        self, name: str, kind: str = "sink", state: str = "RUNNING", offsets: Sequence[dict[str, Any]] = ()
    ) -> None:
        self.configs[name] = {"name": name, "connector.class": "a.Sink" if kind == "sink" else "a.Source", "a": "1"}
        self.states[name] = state
        self.offsets[name] = list(offsets)

    def _kind(self, name: str) -> str:
        return "sink" if str(self.configs[name].get("connector.class")).endswith("Sink") else "source"

    def connector_info(self, name: str) -> ConnectorInfo:
        return ConnectorInfo(name, self._known(name), [TaskId(name, 0)], self._kind(name))

    def connector_status(self, name: str) -> ConnectorStateInfo:
        self._known(name, "No status found for connector {}")
        state = self.states.get(name, "RUNNING")
        task = TaskStateInfo(state, self.worker_id, "4.2.0", None, 0)
        if name in self.failed:
            task = TaskStateInfo("FAILED", self.worker_id, "4.2.0", TRACE, 0)
        tasks = [] if state == "STOPPED" else [task]
        return ConnectorStateInfo(name, StateInfo(state, self.worker_id, "4.2.0"), tasks, self._kind(name))

    def put_connector_config(
        self, name: str, config: Mapping[str, str | None], target: TargetState | None, *, allow_replace: bool
    ) -> Created:
        created = super().put_connector_config(name, config, target, allow_replace=allow_replace)
        self.states.setdefault(name, "RUNNING" if target is None else target.value)
        return created

    def pause_connector(self, name: str) -> None:
        super().pause_connector(name)
        self.states[name] = "PAUSED"

    def resume_connector(self, name: str) -> None:
        super().resume_connector(name)
        self.states[name] = "RUNNING"

    def stop_connector(self, name: str) -> None:
        super().stop_connector(name)
        self.states[name] = "STOPPED"

    def connector_offsets(self, name: str) -> list[dict[str, Any]]:
        self._known(name)
        return self.offsets.get(name, [])

    def alter_connector_offsets(self, name: str, offsets: Sequence[tuple[Any, Any]]) -> str:
        self._called("alter_offsets", name, list(offsets))
        self._require_stopped(name)
        kept = {str(sorted(each["partition"].items())): each for each in self.offsets[name]}
        for partition, offset in offsets:
            kept.pop(str(sorted(partition.items())), None)
            if offset is not None:
                kept[str(sorted(partition.items()))] = {"partition": partition, "offset": offset}
        self.offsets[name] = list(kept.values())
        return "altered"

    def reset_connector_offsets(self, name: str) -> str:
        self._require_stopped(name)
        self.offsets[name] = []
        return "reset"

    def _require_stopped(self, name: str) -> None:
        if self.states.get(name) != "STOPPED":
            raise BadRequestError("Connectors must be in the STOPPED state before their offsets can be modified.")

    def plugin_config(self, plugin: str, version: str | None) -> list[dict[str, Any]]:
        if plugin != "Sink":
            raise NotFoundError(f"Unknown plugin {plugin}.")
        key = {"type": "STRING", "importance": "HIGH", "documentation": "The  table.\nOf records."}
        return [{"name": "table", "required": True, "default_value": None, **key}]

    def validate_config(self, config: Mapping[str, str | None], *, resolves: bool = True) -> ConfigInfos:
        name = str(config.get("name"))
        value = {"name": "a", "value": None, "recommended_values": [], "errors": self.invalid.get(name, [])}
        return ConfigInfos(
            "a.Sink", len(value["errors"]), [], [{"definition": None, "value": {**value, "visible": True}}]
        )


def sink_offset(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {"partition": {"kafka_topic": topic, "kafka_partition": partition}, "offset": {"kafka_offset": offset}}


@pytest.fixture(scope="session")
def shared_fleet() -> Iterator[tuple[FleetHerder, str]]:
    herder = FleetHerder()
    server = RestServer(WorkerConfig({"listeners": "http://127.0.0.1:0"}))
    server.bind()
    server.start(herder)
    yield herder, server.url
    server.stop(5)


@pytest.fixture
def fleet(shared_fleet: tuple[FleetHerder, str]) -> FleetHerder:
    """As new for every test."""
    shared_fleet[0].reset()
    return shared_fleet[0]


@pytest.fixture
def worker_url(shared_fleet: tuple[FleetHerder, str], fleet: FleetHerder) -> str:
    return shared_fleet[1]


@pytest.fixture
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where contexts are kept: nowhere yet."""
    path = tmp_path / "seamark" / "config.yaml"
    monkeypatch.setenv("SEAMARK_CONFIG", str(path))
    for variable in ("SEAMARK_URL", "SEAMARK_CONTEXT"):
        monkeypatch.delenv(variable, raising=False)
    return path


@pytest.fixture
def run_command(config_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run_command("get", "connectors", typed="y\\n")`."""
    return caller(monkeypatch, capsys)


@pytest.fixture
def run(run_command: Run, worker_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same, against the worker."""
    monkeypatch.setenv("SEAMARK_URL", worker_url)
    return run_command
