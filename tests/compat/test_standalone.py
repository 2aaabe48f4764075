"""What only a standalone worker does: connectors from its command line, and some answers of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat.client import Connect, expect, path_of
from compat.conftest import Files, Parked
from compat.differences import differs
from compat.targets import SOURCE, TARGETS, Target
from seamark.testing.waiting import eventually

UNKNOWN = "no-such-connector"


@pytest.mark.requirement("K980-07")
@pytest.mark.requirement("K980-08")
@pytest.mark.requirement("K980-09")
@pytest.mark.requirement("K980-10")
@pytest.mark.requirement("K980-11")
@pytest.mark.requirement("K980-30")
@pytest.mark.requirement("K980-31")
@pytest.mark.parametrize(
    "name", ["cli-properties", "cli-properties-in-json", "cli-flat", "cli-flat-in-properties", "cli-request"]
)
def test_connector_of_the_command_line(standalone: Target, connect: Connect, files: Files, name: str) -> None:
    connect.await_state(name, "RUNNING")
    config = expect(connect.get(path_of(name, "config")), 200)
    assert config["connector.class"] == SOURCE
    assert (config["name"], config["tasks.max"]) == (name, "1")
    assert "note" not in config
    eventually(lambda: files.topics.values(config["topic"]) == [name], 60)


@pytest.mark.requirement("K980-20")
@pytest.mark.requirement("K980-24")
@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_state_of_a_connector_of_the_command_line(standalone: Target, connect: Connect, state: str) -> None:
    name = f"cli-{state.lower()}"
    connect.await_state(name, state, [])
    assert "initial_state" not in expect(connect.get(path_of(name, "config")), 200)


CONFIG = {"connector.class": SOURCE, "file": "f", "topic": "t"}
BAD_FILES = {
    "no-name": (json.dumps(CONFIG), "is missing the mandatory 'name' configuration"),
    "other-name": (
        json.dumps({"name": "a", "config": {**CONFIG, "name": "b"}}),
        "Connector name configuration in 'config' doesn't match the one specified in 'name' at",
    ),
    "bad-state": (
        json.dumps({"name": "a", "config": CONFIG, "initial_state": "BOGUS"}),
        "missing the mandatory 'name'",
    ),
    "bad-config": ("name=a\nconnector.class=NoSuchConnector\n", "Failed to find any class that implements Connector"),
}


@pytest.mark.requirement("K980-12")
@pytest.mark.parametrize("case", BAD_FILES)
def test_connector_file_that_is_refused(standalone: Target, tmp_path: Path, case: str) -> None:
    content, message = BAD_FILES[case]
    file = tmp_path / "connector.json"
    file.write_text(content)
    other = TARGETS[standalone.name](tmp_path / "worker", standalone.bootstrap_servers, connector_files=[file])
    (worker,) = other.workers
    worker.start()
    try:
        assert worker.exit_code(90) == 3
        if case == "bad-state" and differs(standalone, "command-line/bad-state"):
            assert "BOGUS" in worker.log
            assert "initial_state" in worker.log
            assert message not in worker.log
        else:
            assert message in worker.log
        if case != "bad-config":
            assert str(file) in worker.log
    finally:
        worker.kill()


def test_restart_of_an_unknown_connector(standalone: Target, connect: Connect) -> None:
    response = connect.post(path_of(UNKNOWN, "restart"))
    connect.refuses(response, 500, ["null"], "standalone/restart-unknown")
    for query in ("?includeTasks=true", "?onlyFailed=true"):
        response = connect.post(path_of(UNKNOWN, f"restart{query}"))
        connect.refuses(response, 404, f"Unknown connector: {UNKNOWN}")


def test_restart_of_an_unknown_task(standalone: Target, connect: Connect, files: Files, name: str) -> None:
    message = f"Failed to start task {UNKNOWN}-0 since it is not a recognizable type (source or sink)"
    connect.refuses(connect.post(path_of(UNKNOWN, "tasks/0/restart")), 500, message, "standalone/restart-task-unknown")
    connect.create(name, files.source(name))
    connect.await_state(name, "RUNNING")
    connect.refuses(connect.post(path_of(name, "tasks/7/restart")), 404, f"Task {name}-7 not found")
    if differs(standalone, "standalone/bogus-task"):
        connect.await_state(name, "RUNNING")
    else:  # a defect of Kafka Connect: a task that never was fails for good
        connect.await_state(name, "RUNNING", ["RUNNING", "FAILED"])


def test_offsets_topic_is_ignored(standalone: Target, connect: Connect, files: Files, name: str) -> None:
    topic = f"{name}-own-offsets"
    connect.create(name, files.source(name, 1, offsets__storage__topic=topic))
    eventually(lambda: connect.offsets(name), 60)
    assert files.topics.admin.partitions_of([topic]) == []


def test_level_of_the_cluster_is_that_of_the_worker(standalone: Target, connect: Connect, name: str) -> None:
    logger = f"compat.standalone.{name}"
    expect(connect.put(f"/admin/loggers/{logger}?scope=cluster", {"level": "ERROR"}), 204)
    assert expect(connect.get(f"/admin/loggers/{logger}"), 200)["level"] == "ERROR"


def test_offsets_survive_in_a_file(standalone: Target, connect: Connect, running_source: Parked) -> None:
    (worker,) = standalone.workers
    assert connect.offsets(running_source.name)
    eventually(lambda: running_source.name.encode() in (worker.directory / "offsets").read_bytes(), 30)
