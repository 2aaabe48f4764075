"""`seamark apply` and `validate`: connectors in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seamark.cli import exits
from seamark.cli.resources import change_of, read_resources
from seamark.config.connector_files import ConnectorFile
from seamark.runtime.states import TargetState
from unit.cli.conftest import FleetHerder, Run

YAML = """
name: b
config:
  connector.class: a.Sink
  tasks.max: 2
  flag: yes
  ratio: 1.50
  none: null
initial_state: stopped
---
name: c
connector.class: a.Source
time: 12:30
"""


def write(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        (directory / name.replace("_", ".")).write_text(text)
    return directory


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "d").mkdir()
    return write(
        tmp_path / "d",
        a_json='{"name": "a", "connector.class": "a.Sink", "n": 1.50, "f": true}',
        b_yaml=YAML,
        e_properties="name=e\nconnector.class=a.Source\n",
        notes_txt="not a connector",
    )


def test_all_kinds_of_files_are_read_and_values_stay_as_they_are_written(files: Path) -> None:
    a, b, c, e = read_resources([str(files)])
    assert a.config == {"name": "a", "connector.class": "a.Sink", "n": "1.50", "f": "true"}
    assert b.config == {
        "connector.class": "a.Sink",
        "tasks.max": "2",
        "flag": "yes",
        "ratio": "1.50",
        "none": None,
        "name": "b",
    }
    assert b.initial_state is TargetState.STOPPED
    assert (c.name, c.config["time"]) == ("c", "12:30")
    assert e.name == "e"


def test_directories_below_are_read_if_wanted(tmp_path: Path, files: Path) -> None:
    assert len(read_resources([str(tmp_path)], is_recursive=True)) == 4
    with pytest.raises(Exception, match="There is no connector in"):
        read_resources([str(tmp_path)])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.json", "{", "not valid JSON"),
        ("x.json", "[1]", "should have objects"),
        ("x.json", '{"connector.class": "a"}', "mandatory 'name'"),
        ("x.yaml", "a: [", "not valid YAML"),
        ("x.yaml", "!!python/object/apply:os.getcwd []", "not valid YAML"),
        ("x.yaml", "name: a\nconfig: {b: {c: d}}", "'config.b' must be a text"),
        ("x.yaml", "name: a\nb: 1\n---\nname: a\nb: 2", "is in .* and again"),
        ("x.json", '{"name": "a", "config": {}, "initial_state": "on"}', "RUNNING, PAUSED, STOPPED"),
    ],
)
def test_files_that_are_wrong_are_refused_with_their_name(
    run: Run, fleet: FleetHerder, tmp_path: Path, name: str, text: str, words: str
) -> None:
    import re

    (tmp_path / name).write_text(text)
    said = run("apply", "-f", str(tmp_path / name), "--yes")
    assert said.code == exits.REFUSED
    assert re.search(words, said.err)
    assert name in said.err
    assert fleet.configs == {}


def test_a_missing_file_is_refused(run: Run, fleet: FleetHerder, tmp_path: Path) -> None:
    for name in ("none.json", "none.properties"):
        said = run("apply", "-f", str(tmp_path / name))
        assert said.code == exits.REFUSED
        assert "No such file" in said.err


def test_the_difference_is_of_keys() -> None:
    resource = ConnectorFile("f", "a", {"name": "a", "x": "1", "y": "2"})
    assert change_of(resource, None).lines == ("+ name = a", "+ x = 1", "+ y = 2")
    change = change_of(resource, {"name": "a", "x": "0", "z": "3", "y": "2"})
    assert change.lines == ("- x = 0", "+ x = 1", "- z = 3")
    assert not change_of(resource, {"name": "a", "x": "1", "y": "2"}).is_needed


def test_connectors_are_created_changed_and_left(run: Run, fleet: FleetHerder, files: Path) -> None:
    fleet.add("a")
    fleet.configs["c"] = {"name": "c", "connector.class": "a.Source", "time": "12:30"}
    said = run("apply", "-f", str(files), typed="n\n")
    assert said.code == 1
    assert "change connector a" in said.err
    assert "  - a = 1\n  + f = true\n" in said.err
    assert "create connector b" in said.err
    assert "initial_state: STOPPED" in said.err
    assert "connector c is unchanged" in said.err
    assert set(fleet.configs) == {"a", "c"}
    said = run("apply", "-f", str(files), "--yes", "--wait")
    assert said.out.splitlines() == [
        "connector a is changed",
        "connector b is created",
        "connector e is created",
        "connector a is RUNNING",
        "connector b is STOPPED",
        "connector e is RUNNING",
    ]
    assert fleet.configs["a"] == {"name": "a", "connector.class": "a.Sink", "n": "1.50", "f": "true"}
    again = run("apply", "-f", str(files))
    assert (again.code, again.out) == (0, "")


def test_nothing_is_applied_if_one_is_invalid(run: Run, fleet: FleetHerder, files: Path) -> None:
    fleet.invalid["e"] = ["Missing a", "Missing a"]
    said = run("apply", "-f", str(files), "--yes")
    assert said.code == exits.REFUSED
    assert "with 1 error; nothing was changed" in said.err
    assert "e.properties: connector e: a: Missing a" in said.err
    assert fleet.configs == {}
    assert run("apply", "-f", str(files), "--dry-run").code == exits.REFUSED


def test_a_dry_run_applies_nothing(run: Run, fleet: FleetHerder, files: Path) -> None:
    said = run("apply", "-f", str(files), "--dry-run")
    assert (said.code, said.out) == (0, "")
    assert "create connector a" in said.err
    assert fleet.configs == {}


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_get_prints_can_be_applied(run: Run, fleet: FleetHerder, form: str) -> None:
    fleet.add("a")
    fleet.add("b", "source")
    printed = run("get", "connectors", "-o", form).out
    configs = dict(fleet.configs)
    fleet.reset()
    assert run("apply", "-f", "-", "--yes", typed=printed).code == 0
    assert fleet.configs == configs


def test_properties_come_from_stdin_too(run: Run, fleet: FleetHerder) -> None:
    run("apply", "-f", "-", "--yes", typed="name=p\nconnector.class=a.Sink\n")
    assert fleet.configs["p"]["connector.class"] == "a.Sink"


def test_validate_lists_errors_and_changes_nothing(run: Run, fleet: FleetHerder, files: Path) -> None:
    said = run("validate", "-f", str(files))
    assert said.code == 0
    assert "connector a is valid" in said.out
    fleet.invalid["e"] = ["Missing a"]
    said = run("validate", "-f", str(files), "-o", "json")
    assert said.code == exits.REFUSED
    assert json.loads(said.out)[3]["errors"] == [{"key": "a", "message": "Missing a"}]
    assert "Missing a" in run("validate", "-f", str(files)).out
    (files / "e.properties").write_text("name=e\n")
    assert "connector.class" in run("validate", "-f", str(files)).out
    assert fleet.configs == {}
