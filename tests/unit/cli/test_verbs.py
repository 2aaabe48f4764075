"""`seamark get|describe|pause|resume|stop|restart|delete|plugins|logs` against a worker."""

from __future__ import annotations

import json
import socket

import pytest
import typer
import yaml

from seamark.cli import exits
from seamark.cli.main import app
from seamark.cli.names import complete_names
from seamark.errors import AlreadyExistsError
from seamark.runtime.herder import RestError
from unit.cli.conftest import FleetHerder, Run, sink_offset


@pytest.fixture
def some(fleet: FleetHerder) -> FleetHerder:
    fleet.add("orders", offsets=[sink_offset("t", 0, 5)])
    fleet.add("lines", "source", "PAUSED")
    fleet.failed.add("orders")
    return fleet


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_connectors_are_listed(run: Run, some: FleetHerder) -> None:
    assert lines(run("get").out) == [
        ["NAME", "TYPE", "STATE", "TASKS"],
        ["lines", "source", "PAUSED", "0/1", "(1", "PAUSED)"],
        ["orders", "sink", "RUNNING", "0/1", "(1", "FAILED)"],
    ]
    said = run("get", "connectors", "ord*", "-o", "wide")
    assert "a.Sink" in said.out
    assert "ValueError: no such table" in said.out
    assert "lines" not in said.out
    assert "\x1b" not in said.out, "no colours in a pipe"


def test_a_list_that_is_empty_is_told_on_stderr(run: Run, fleet: FleetHerder) -> None:
    said = run("get")
    assert (said.code, said.out, said.err) == (0, "", "There is no connector.\n")
    assert json.loads(run("get", "-o", "json").out) == []


def test_json_and_yaml_say_the_same(run: Run, some: FleetHerder) -> None:
    found = json.loads(run("get", "connectors", "-o", "json").out)
    assert [each["name"] for each in found] == ["lines", "orders"]
    assert found[1]["config"]["connector.class"] == "a.Sink"
    assert found[1]["status"]["tasks"][0]["state"] == "FAILED"
    assert yaml.safe_load(run("get", "connectors", "-o", "yaml").out) == found
    assert json.loads(run("get", "connector", "orders", "-o", "json").out) == found[1], "one is not in a list"


def test_other_lists(run: Run, some: FleetHerder) -> None:
    assert lines(run("get", "tasks").out)[2] == ["orders", "0", "FAILED", "worker:8083"]
    assert lines(run("get", "topics", "orders").out)[1] == ["orders", "t"]
    assert ["orders", "a", "1"] in lines(run("get", "config", "orders").out)
    assert run("get", "mirrors").err == "There is no such mirror.\n"
    assert "Seamark" in run("get", "worker").out
    said = run("get", "pods")
    assert said.code == 2
    assert "connectors, tasks, topics" in " ".join(said.err.replace("│", " ").split())


def test_a_connector_is_described(run: Run, some: FleetHerder) -> None:
    said = run("describe", "orders").out
    for words in ("Type:    sink", "0  FAILED  worker:8083", "ValueError: no such table", "a = 1", "TOPIC"):
        assert words in said
    assert json.loads(run("describe", "orders", "-o", "json").out)["offsets"] == [sink_offset("t", 0, 5)]


def test_states_change_and_are_waited_for(run: Run, some: FleetHerder) -> None:
    assert run("stop", "orders").out == "connector orders is STOPPED\n"
    assert run("resume", "orders", "lines").out == "connector orders is RUNNING\nconnector lines is RUNNING\n"
    assert run("pause", "orders", "--no-wait").out == "connector orders shall be PAUSED\n"
    assert some.states == {"orders": "PAUSED", "lines": "RUNNING"}


def test_a_pattern_is_asked_about(run: Run, some: FleetHerder) -> None:
    said = run("stop", "*", typed="n\n")
    assert said.code == 1
    assert "stop lines (PAUSED)\nstop orders (RUNNING)\n" in said.err
    assert "--yes" in said.err
    assert some.states == {"orders": "RUNNING", "lines": "PAUSED"}
    assert run("stop", "*", typed="y\n").code == 0
    assert run("resume", "o*", "--yes").code == 0
    assert some.states == {"orders": "RUNNING", "lines": "STOPPED"}


def test_restarts(run: Run, some: FleetHerder) -> None:
    run("restart", "orders")
    run("restart", "orders", "--no-tasks")
    run("restart", "orders", "--only-failed")
    assert run("restart", "orders", "--task", "0").out == "task orders-0 is restarted\n"
    assert [call for call in some.calls if str(call[0]).startswith("restart")][:3] == [
        ("restart_all", "orders", True, False),
        ("restart", "orders"),
        ("restart_all", "orders", True, True),
    ]


def test_delete_asks_first(run: Run, some: FleetHerder) -> None:
    said = run("delete", "orders")
    assert (said.code, said.out) == (1, "")
    assert "delete orders (RUNNING)" in said.err
    assert run("delete", "orders", "--yes").out == "connector orders is deleted\n"
    assert set(some.configs) == {"lines"}


def test_an_unknown_name_is_answered_with_the_known_and_changes_nothing(run: Run, some: FleetHerder) -> None:
    said = run("stop", "lines", "order")
    assert said.code == exits.NOT_FOUND
    assert said.err == (
        "error: There is no connector 'order'; there are: lines, orders\n\nhint: Did you mean orders?\n"
    )
    assert some.states["lines"] == "PAUSED"
    assert run("stop", "x*").code == exits.NOT_FOUND


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (AlreadyExistsError("exists"), exits.CONFLICT),
        (RestError(403, "no"), exits.FORBIDDEN),
        (RestError(500, "broken"), exits.SERVER_FAILED),
        (RestError(400, "bad"), exits.REFUSED),
        (RestError(404, "gone"), exits.NOT_FOUND),
    ],
)
def test_each_class_of_error_has_its_exit_code(run: Run, some: FleetHerder, failure: RestError, code: int) -> None:
    some.failure = failure
    said = run("get")
    assert said.code == code
    assert said.err.startswith(f"error: {failure.message}\n")


def test_no_worker(run_command: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        said = run_command("get", "--url", f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert said.code == exits.UNREACHABLE
    assert "\nhint: Name the REST address of a worker with --url" in said.err


def test_plugins_and_their_keys(run: Run, fleet: FleetHerder) -> None:
    assert lines(run("plugins").out) == [["CLASS", "TYPE", "VERSION"], ["a.Sink", "sink", "1"]]
    assert "a.Cast" in run("plugins", "--all").out
    assert json.loads(run("plugins", "-o", "json").out) == [{"class": "a.Sink", "type": "sink", "version": "1"}]
    assert lines(run("plugins", "Sink").out)[1] == ["table", "STRING", "(required)", "HIGH"]
    assert "The table. Of records." in run("plugins", "Sink", "-o", "wide").out
    assert run("plugins", "None").code == exits.NOT_FOUND


def test_levels_of_loggers(run: Run, fleet: FleetHerder) -> None:
    assert lines(run("logs", "level").out) == [["LOGGER", "LEVEL", "CHANGED"], ["root", "INFO", "-"]]
    assert run("logs", "level", "root", "debug").out == "logger root is DEBUG; 1 loggers have changed\n"
    assert run("logs", "level", "root", "debug", "--cluster").out == "logger root is DEBUG on all workers\n"
    assert fleet.calls[-2:] == [("set_level", "root", "debug"), ("set_cluster_level", "root", "debug")]
    assert run("logs", "level", "other").code == exits.NOT_FOUND


def test_names_are_completed(some: FleetHerder, worker_url: str, config_file: object) -> None:
    context = typer.Context(typer.main.get_command(app))
    context.params = {"url": worker_url}
    assert complete_names(context, "ord") == ["orders"]
    context.params = {"url": "http://127.0.0.1:1"}
    assert complete_names(context, "") == []
