"""The verbs of `seamark` as people type them, against every kind of worker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from compat.client import Connect
from compat.conftest import Files
from compat.targets import SINK, SOURCE, Target
from compat.test_offsets_sink import row
from fixtures.checkpoints import Written
from fixtures.checkpoints import line as positions_line
from fixtures.command import caller
from seamark.cli import exits
from seamark.testing.waiting import eventually

Run = Callable[..., str]


@pytest.fixture
def run(connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("get", "connectors")`: what it prints; `code` is what it should end with, `typed` what is typed."""
    monkeypatch.setenv("SEAMARK_URL", connect.url)
    monkeypatch.setenv("SEAMARK_CONFIG", str(tmp_path / "contexts.yaml"))
    call = caller(monkeypatch, capsys)

    def run(*arguments: str, code: int = 0, typed: str = "") -> str:
        done = call(*arguments, typed=typed)
        said = f"{arguments} -> {done.code}\n{done.out}\n{done.err}"
        assert done.code == code, said
        assert "Traceback" not in done.err, said
        return done.out if code == 0 else done.err

    return run


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_source_from_a_file_to_its_end(run: Run, connect: Connect, files: Files, name: str, tmp_path: Path) -> None:
    file = tmp_path / "source.yaml"
    config = files.source(name, 3)
    lines = "".join(f"  {key}: {value}\n" for key, value in config.items())
    file.write_text(f"name: {name}\nconfig:\n{lines}")
    run("validate", "-f", str(file))
    run("apply", "-f", str(file), code=exits.FAILED)  # nobody confirms it
    assert (
        run("apply", "-f", str(file), "--yes", "--wait")
        == f"connector {name} is created\nconnector {name} is RUNNING\n"
    )
    eventually(lambda: connect.offsets(name), 60)
    assert run("apply", "-f", str(file)) == "", "it is unchanged"
    eventually(lambda: [name, "source", "RUNNING", "1/1"] in table(run("get")), 60)
    assert SOURCE in run("get", "connectors", name, "-o", "wide")
    assert json.loads(run("get", "connector", name, "-o", "json"))["config"] == {**config, "name": name}
    assert '{"position": 18}' in run("offsets", "list", name)
    assert f"file = {files.path(name)}" in run("describe", name)
    assert run("pause", name) == f"connector {name} is PAUSED\n"
    assert run("stop", name) == f"connector {name} is STOPPED\n"
    partition = json.dumps(files.partition(name))
    run(
        "offsets",
        "set",
        name,
        "--partition",
        partition,
        "--offset",
        '{"position": -1}',
        "--yes",
        code=exits.SERVER_FAILED,
    )
    run("offsets", "set", name, "--partition", partition, "--offset", '{"position": 6}', "--yes")
    eventually(lambda: '{"position": 6}' in run("offsets", "list", name), 60)
    assert run("resume", name) == f"connector {name} is RUNNING\n"
    eventually(lambda: '{"position": 18}' in run("offsets", "list", name), 60)
    run("restart", name)
    assert run("delete", name, "--yes") == f"connector {name} is deleted\n"
    assert f"There is no connector '{name}'" in run("describe", name, code=exits.NOT_FOUND)


def test_a_sink_is_moved_exported_and_brought_back(
    run: Run, connect: Connect, files: Files, name: str, tmp_path: Path
) -> None:
    connect.create(name, files.sink(name, 3, partitions=2))
    eventually(lambda: connect.offsets(name) == [row(name, 0, 3), row(name, 1, 3)], 60)
    exported = tmp_path / "offsets.json"
    run("offsets", "export", name, "-f", str(exported))
    said = run("offsets", "set", name, "--to", "-2", "--yes", code=exits.REFUSED)
    assert "hint: Run `seamark stop" in said
    before = len(files.read(name))
    run("offsets", "set", name, "--to", "-2", "--to", f"{name}:1=0", "--yes", "--stop")
    # Two records of the one partition and three of the other are written again.
    eventually(lambda: len(files.read(name)) == before + 5, 60)
    eventually(lambda: connect.offsets(name) == [row(name, 0, 3), row(name, 1, 3)], 60)
    run("stop", name)
    run("offsets", "reset", name, "--only", f"{name}:1", "--yes")
    assert connect.offsets(name) == [row(name, 0, 3)]
    run("offsets", "import", name, "-f", str(exported), "--yes")
    assert connect.offsets(name) == [row(name, 0, 3), row(name, 1, 3)]
    run("offsets", "reset", name, "--yes")
    assert connect.offsets(name) == []


def test_additions_are_left_out_where_there_are_none(
    run: Run, connect: Connect, target: Target, files: Files, name: str
) -> None:
    connect.create(name, files.sink(name, 3))
    eventually(lambda: connect.offsets(name) == [row(name, 0, 3)], 60)
    header, *rows = table(run("offsets", "list", name))
    assert rows[0][:3] == [name, "0", "3"]
    assert ("LAG" in header) == target.is_seamark
    assert "RECORDS/S" in run("top", name, "--once", "--interval", "0.2")
    if target.is_seamark:
        run("get", "mirrors")
    else:
        assert "does not support this" in run("get", "mirrors", code=exits.UNSUPPORTED)
    assert ("Seamark" in run("get", "worker")) == target.is_seamark


def test_plugins_loggers_and_watching(run: Run, connect: Connect, files: Files, name: str) -> None:
    assert SINK in run("plugins")
    assert "topic" in run("plugins", "FileStreamSource")
    run("plugins", "NoSuchPlugin", code=exits.NOT_FOUND)
    logger = "org.apache.kafka.connect.seamark.cli.test"
    run("logs", "level", logger, "DEBUG")
    assert table(run("logs", "level", logger))[1][:2] == [logger, "DEBUG"]
    connect.create(name, files.source(name, 1))
    # For a moment it runs without tasks.
    eventually(lambda: f"{name} task 0  " in run("watch", name, "--until", "running", "--timeout", "60"), 60)
    run("watch", name, "--until", "paused", "--timeout", "0.5", code=exits.NOT_REACHED)


def test_a_sink_begins_where_a_query_of_spark_is(
    run: Run, connect: Connect, files: Files, name: str, tmp_path: Path
) -> None:
    (tmp_path / "checkpoint").mkdir()
    written = Written(tmp_path / "checkpoint")
    written.batch(0, positions_line(**{name: {0: 3, 1: 4}}))
    connect.create(name, files.sink(name, 5, partitions=2), "STOPPED")
    eventually(lambda: [name, "sink", "STOPPED", "0/0"] in table(run("get")), 60)
    run("checkpoint", "import", str(written.root), name, "--wait", "0", "--yes")
    assert connect.offsets(name) == [row(name, 0, 3), row(name, 1, 4)]
    run("resume", name)
    eventually(lambda: len(files.read(name)) == 3, 60)
    eventually(lambda: connect.offsets(name) == [row(name, 0, 5), row(name, 1, 5)], 60)
    assert len(files.read(name)) == 3


def test_operations_where_there_are_some(
    run: Run, connect: Connect, target: Target, files: Files, name: str, tmp_path: Path
) -> None:
    connect.create(name, files.sink(name, 3))
    eventually(lambda: connect.offsets(name) == [row(name, 0, 3)], 60)
    if not target.is_seamark:
        for arguments in (
            ["offsets", "rewind", name, "earliest", "--yes"],
            ["offsets", "history", name],
            ["offsets", "undo", name, "--yes"],
            ["offsets", "set", name, "--to", "1", "--clamp", "--yes"],
            ["migrate", name, "--name", f"{name}-b", "--yes"],
            ["delete", name, "--include-offsets", "--yes"],
            ["operations"],
        ):
            assert "no operations on offsets" in run(*arguments, code=exits.UNSUPPORTED)
        assert connect.offsets(name) == [row(name, 0, 3)]
        return
    before = len(files.read(name))
    run("offsets", "rewind", name, "earliest", "--dry-run")
    run("offsets", "rewind", name, "-2", "--reason", "a test", "--yes")
    eventually(lambda: len(files.read(name)) == before + 2, 60)
    eventually(lambda: connect.offsets(name) == [row(name, 0, 3)], 60)
    said = run("offsets", "rewind", name, "2030-01-01T00:00:00Z", "--yes", code=exits.REFUSED)
    assert "future" in said
    connect.create(f"{name}-2", files.sink(f"{name}-2", 4))
    eventually(lambda: connect.offsets(f"{name}-2") == [row(f"{name}-2", 0, 4)], 60)
    run("offsets", "rewind", f"{name}*", "-4", "--yes", code=exits.REFUSED)  # too far for one: none is moved
    assert connect.offsets(f"{name}-2") == [row(f"{name}-2", 0, 4)]
    run("offsets", "rewind", f"{name}*", "-1", "--reason", "both", "--yes")
    for each in (name, f"{name}-2"):
        assert json.loads(run("offsets", "history", each, "-o", "json"))["history"][0]["reason"] == "both"
    eventually(lambda: len(files.read(name)) == before + 3, 60)
    eventually(lambda: connect.offsets(name) == [row(name, 0, 3)], 60)
    run("delete", f"{name}-2", "--include-offsets", "--yes")
    assert [each["reason"] for each in json.loads(run("offsets", "history", name, "-o", "json"))["history"]] == [
        "both",
        "a test",
    ]
    entry = json.loads(run("offsets", "history", name, "-o", "json"))["history"][1]
    assert (entry["phase"], entry["reason"]) == ("DONE", "a test")
    assert table(run("offsets", "history", name))[2][:4] == [entry["id"], name, "change", "DONE"]
    run("stop", name)
    run("offsets", "set", name, "--to", "earliest", "--yes")
    assert connect.offsets(name) == [row(name, 0, 0)]
    run("offsets", "undo", name, "--yes")
    assert connect.offsets(name) == [row(name, 0, 3)]
    assert entry["id"] in run("operations")
    assert "DONE" in run("operations", entry["id"])
    run("migrate", name, "--name", f"{name}-b", "--yes", "--set", "tasks.max=1")
    assert connect.offsets(f"{name}-b") == [row(name, 0, 3)]
    assert f"There is no connector '{name}'" in run("describe", name, code=exits.NOT_FOUND)
    run("delete", f"{name}-b", "--include-offsets", "--yes")
