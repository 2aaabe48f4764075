"""`seamark offsets`: what is shown, asked and sent."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from fixtures.command import Ran, Run
from seamark.cli import exits
from unit.cli.conftest import FleetHerder, sink_offset

FILE = {"partition": {"filename": "f"}, "offset": {"position": 6}}


@pytest.fixture
def some(fleet: FleetHerder) -> FleetHerder:
    fleet.add(
        "orders", state="STOPPED", offsets=[sink_offset("t", 1, 10), sink_offset("t", 0, 5), sink_offset("u", 0, 7)]
    )
    fleet.add("lines", "source", "STOPPED", offsets=[FILE])
    return fleet


def positions(fleet: FleetHerder, name: str = "orders") -> dict[str, int]:
    return {
        f"{each['partition']['kafka_topic']}:{each['partition']['kafka_partition']}": each["offset"]["kafka_offset"]
        for each in fleet.offsets[name]
    }


def refused(said: Ran, *words: str) -> None:
    assert said.code == exits.REFUSED, said
    for each in words:
        assert each in said.err


def test_offsets_are_listed(run: Run, some: FleetHerder) -> None:
    assert [line.split() for line in run("offsets", "list", "orders").out.splitlines()] == [
        ["TOPIC", "PARTITION", "OFFSET"],
        ["t", "0", "5"],
        ["t", "1", "10"],
        ["u", "0", "7"],
    ]
    assert '{"filename": "f"}   {"position": 6}' in run("offsets", "list", "lines").out
    assert json.loads(run("offsets", "list", "lines", "-o", "json").out) == {"offsets": [FILE]}
    some.offsets["lines"] = []
    assert run("offsets", "list", "lines").err == "Connector lines has no offsets.\n"


def test_where_lag_is_known_it_is_listed(run: Run, some: FleetHerder) -> None:
    partition = {"kafka_topic": "t", "kafka_partition": 0}
    some.ends[json.dumps(partition)] = 1205
    assert [line.split() for line in run("offsets", "list", "orders").out.splitlines()][:3] == [
        ["TOPIC", "PARTITION", "OFFSET", "END", "LAG"],
        ["t", "0", "5", "1205", "1,200"],
        ["t", "1", "10", "-", "-"],
    ]


def test_the_preview_comes_before_the_question(run: Run, some: FleetHerder) -> None:
    said = run("offsets", "set", "orders", "--to", "t:0=3", "--to", "u=+1", typed="n\n")
    assert said.code == 1
    assert [line.split() for line in said.err.splitlines()[:4]] == [
        ["connector", "orders:"],
        ["TOPIC", "PARTITION", "OLD", "NEW", "BY"],
        ["t", "0", "5", "3", "-2"],
        ["u", "0", "7", "8", "+1"],
    ]
    assert positions(some) == {"t:0": 5, "t:1": 10, "u:0": 7}
    said = run("offsets", "set", "orders", "--to", "t:0=3", "--to", "u=+1", typed="y\n")
    assert (said.code, said.out) == (0, "altered\n")
    assert positions(some) == {"t:0": 3, "t:1": 10, "u:0": 8}


def test_the_more_exact_position_wins(run: Run, some: FleetHerder) -> None:
    run("offsets", "set", "orders", "--to", "-1", "--to", "t=2", "--to", "t:1=1", "--yes")
    assert positions(some) == {"t:0": 2, "t:1": 1, "u:0": 6}


def test_a_partition_without_an_offset_can_be_named(run: Run, some: FleetHerder) -> None:
    run("offsets", "set", "orders", "--to", "v:3=9", "--yes")
    assert positions(some)["v:3"] == 9


def test_what_is_there_already_is_not_sent(run: Run, some: FleetHerder) -> None:
    said = run("offsets", "set", "orders", "--to", "t:0=5")
    assert (said.code, said.out) == (0, "")
    assert "Nothing to change" in said.err
    assert not [call for call in some.calls if call[0] == "alter_offsets"]


def test_a_dry_run_changes_nothing_in_any_state(run: Run, some: FleetHerder) -> None:
    some.states["orders"] = "RUNNING"
    for command in (("set", "--to", "1"), ("reset",)):
        said = run("offsets", command[0], "orders", *command[1:], "--dry-run", "--stop")
        assert said.code == 0
        assert "it is a dry run" in said.err
    assert some.states["orders"] == "RUNNING"
    assert positions(some) == {"t:0": 5, "t:1": 10, "u:0": 7}


def test_a_running_connector_is_refused_or_stopped_for_it(run: Run, some: FleetHerder) -> None:
    some.states["orders"] = "RUNNING"
    refused(
        run("offsets", "set", "orders", "--to", "1", "--yes"), "orders is RUNNING", "hint: Run `seamark stop orders`"
    )
    assert positions(some)["t:0"] == 5
    said = run("offsets", "set", "orders", "--to", "1", "--yes", "--stop")
    assert (said.code, said.out) == (0, "altered\n")
    assert "goes on: it was RUNNING" in said.err
    assert (some.states["orders"], positions(some)["t:0"]) == ("RUNNING", 1)
    some.states["orders"] = "PAUSED"
    assert run("offsets", "reset", "orders", "--yes", "--stop").out == "reset\n"
    assert (some.states["orders"], positions(some)) == ("PAUSED", {})


def test_a_shift_begins_where_it_was_stopped(run: Run, some: FleetHerder, monkeypatch: pytest.MonkeyPatch) -> None:
    some.states["orders"] = "RUNNING"
    stop = some.stop_connector

    def stop_later(name: str) -> None:
        some.offsets[name] = [sink_offset("t", 0, 100)]  # it went on while the question was asked
        stop(name)

    monkeypatch.setattr(some, "stop_connector", stop_later)
    run("offsets", "set", "orders", "--to", "t=-1", "--yes", "--stop")
    assert positions(some) == {"t:0": 99}


def test_a_change_that_fails_lets_the_connector_go_on(
    run: Run, some: FleetHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    some.states["orders"] = "RUNNING"

    def fail(name: str, offsets: object) -> str:
        raise RuntimeError("broken")

    monkeypatch.setattr(some, "alter_connector_offsets", fail)
    said = run("offsets", "set", "orders", "--to", "1", "--yes", "--stop")
    assert said.code == exits.SERVER_FAILED
    assert "goes on: it was RUNNING" in said.err
    assert some.states["orders"] == "RUNNING"


def test_a_command_that_is_terminated_lets_the_connector_go_on(
    run: Run, some: FleetHerder, monkeypatch: pytest.MonkeyPatch
) -> None:
    some.states["orders"] = "RUNNING"
    is_resumed = threading.Event()
    alter = some.alter_connector_offsets

    def alter_slowly(name: str, offsets: Sequence[tuple[object, object]]) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        is_resumed.wait(30)
        return alter(name, [])

    monkeypatch.setattr(some, "alter_connector_offsets", alter_slowly)
    said = run("offsets", "set", "orders", "--to", "1", "--yes", "--stop")
    is_resumed.set()
    assert said.code == 128 + signal.SIGTERM
    assert "goes on: it was RUNNING" in said.err
    assert some.states["orders"] == "RUNNING"


@pytest.mark.parametrize("position", ["earliest", "latest", "-2h", "t=2026-05-01T12:00:00Z"])
def test_what_needs_the_log_is_not_for_every_worker(run: Run, some: FleetHerder, position: str) -> None:
    said = run("offsets", "set", "orders", "--to", position, "--yes")
    assert said.code == exits.UNSUPPORTED
    assert "+10 or -10" in said.err


def test_bad_positions_are_refused(run: Run, some: FleetHerder) -> None:
    refused(run("offsets", "set", "orders", "--to", "soon"), "'earliest'", "-2h")
    refused(run("offsets", "set", "orders", "--to", "x=3"), "topic 'x'", "t, u")
    refused(run("offsets", "set", "orders", "--to", "t=-6", "--yes"), "t:0 is at 5")
    refused(run("offsets", "set", "orders", "--to", "v:0=+1", "--yes"), "v:0 has no offset")
    refused(run("offsets", "set", "orders", "--to", "t=1", "--to", "t=2"), "two positions")
    refused(run("offsets", "set", "orders"), "--to POSITION")
    refused(
        run("offsets", "set", "lines", "--to", "3"), """like {"filename": "f"}""", "hint: Name them with --partition"
    )
    refused(run("offsets", "reset", "orders", "--only", "t:7"), "t: 0 to 1; u: 0")
    assert positions(some) == {"t:0": 5, "t:1": 10, "u:0": 7}


def test_sources_are_moved_by_json(run: Run, some: FleetHerder) -> None:
    said = run("offsets", "set", "lines", "--partition", '{"filename": "f"}', "--offset", '{"position": 0}', "--yes")
    assert said.out == "altered\n"
    assert '{"filename": "f"}   {"position": 6}   {"position": 0}' in said.err
    assert some.offsets["lines"] == [{"partition": {"filename": "f"}, "offset": {"position": 0}}]
    run("offsets", "set", "lines", "--partition", '{"filename": "f"}', "--offset", "null", "--yes")
    assert some.offsets["lines"] == []
    refused(run("offsets", "set", "lines", "--partition", "f", "--offset", "{}"), "--partition is not valid JSON")
    refused(run("offsets", "set", "lines", "--partition", "{}"), "one --offset for each --partition")


def test_some_partitions_are_reset(run: Run, some: FleetHerder) -> None:
    run("offsets", "reset", "orders", "--only", "t:1", "--only", "u", "--yes")
    assert positions(some) == {"t:0": 5}


def test_what_was_exported_is_imported(run: Run, some: FleetHerder, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    assert run("offsets", "export", "orders", "-f", str(file)).code == 0
    content = json.loads(file.read_text())
    assert (content["version"], content["kafka_cluster_id"]) == (1, "cluster-1")
    some.offsets["orders"] = [sink_offset("t", 0, 1), sink_offset("z", 0, 1)]
    said = run("offsets", "import", "orders", "-f", str(file), "--yes")
    assert (said.code, said.out) == (0, "altered\n")
    assert positions(some) == {"t:0": 5, "t:1": 10, "u:0": 7, "z:0": 1}
    run("offsets", "import", "orders", "-f", str(file), "--replace", "--yes")
    assert positions(some) == {"t:0": 5, "t:1": 10, "u:0": 7}
    exported = run("offsets", "export", "orders").out
    some.offsets["orders"] = []
    assert run("offsets", "import", "orders", "-f", "-", "--yes", typed=exported).code == 0
    assert positions(some) == {"t:0": 5, "t:1": 10, "u:0": 7}


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"offsets": []}', '{"offsets": [1]}', '{"offsets": [{"partition": {}, "offset": 3}]}',
     '{"offsets": [{"partition": {"a": 1}, "offset": {"b": 1}}, {"partition": {"a": 1}, "offset": {"b": 2}}]}',
     '{"version": 2, "offsets": [{"partition": {"a": 1}, "offset": {"b": 1}}]}'],
)  # fmt: skip
def test_what_was_not_exported_is_refused(run: Run, some: FleetHerder, tmp_path: Path, content: str) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(content)
    refused(run("offsets", "import", "orders", "-f", str(file), "--yes"), "offsets.json")
