"""`seamark plan` on measurements of the test's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from seamark.capacity.model import Costs, Measurements
from seamark.cli import main as cli_main

SINK = Costs(record_us=10.0, byte_ns=10.0, cpu_record_us=20.0, cpu_byte_ns=0.0)
TABLE = Costs(record_us=4.0, byte_ns=10.0, cpu_record_us=8.0, cpu_byte_ns=0.0, batch_ms=400, task_ms=50)
MEASURED = Measurements("a machine", "v1", "2026-01-01", "none", {"sink": SINK, "table": TABLE}, 600.0, 3.0, 0.5)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "costs.json"
    path.write_text(json.dumps(MEASURED.to_json()))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["seamark", "plan", "--measurements", str(path), *arguments])
        with pytest.raises(SystemExit) as ended:
            cli_main.main()
            sys.exit(0)
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


def test_settings_are_suggested_as_a_table(run) -> None:
    code, out, err = run("--rate", "70000", "--record-size", "1000", "--partitions", "8", "--connector-kind", "sink")
    assert code == 0
    rows = {line.split("   ")[0]: line for line in out.splitlines()}
    assert rows["tasks.max"].split()[1] == "2"
    assert "seamark.batch.max.records" not in rows  # a sink task has no batches of its own
    assert "yes" in rows["keeps up"]
    assert "rate" in rows["limited by"]
    assert "a machine" in err


def test_programs_get_the_same_as_json_and_yaml(run) -> None:
    asked = ("--rate", "10000", "--record-size", "1000", "--partitions", "8", "--connector-kind", "table")
    code, out, _ = run(*asked, "-o", "json")
    assert code == 0
    found = json.loads(out)
    assert found["connector"]["tasks.max"] == "1"
    assert int(found["connector"]["seamark.batch.max.records"]) >= 1000
    assert found["plan"]["binding"] == "one-task"
    assert found["spark"]["spark.executor.instances"] == "1"
    assert yaml.safe_load(run(*asked, "-o", "yaml")[1]) == found


def test_what_would_keep_up_is_told_on_stderr(run) -> None:
    code, out, err = run("--rate", "350000", "--record-size", "1000", "--partitions", "4", "--connector-kind", "sink")
    assert code == 0
    assert "NO" in out and "partitions" in out
    assert "needs about 10 partitions" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--rate", "0", "--record-size", "100", "--connector-kind", "sink"), 5, "--rate is 0"),
        (("--rate", "1", "--record-size", "100", "--connector-kind", "sink", "--exactly-once"), 5, "at-least-once"),
        (("--rate", "1", "--record-size", "100", "--connector-kind", "mirror"), 5, "bench capacity"),
        (("--rate", "x", "--record-size", "100", "--connector-kind", "sink"), 2, "--rate"),
        (("--rate", "1", "--record-size", "100", "--connector-kind", "lake"), 2, "table-source"),
        (("--rate", "1", "--connector-kind", "sink"), 2, "--record-size"),
    ],
)
def test_nonsense_is_refused(run, arguments: tuple[str, ...], code: int, message: str) -> None:
    ended, out, err = run(*arguments)
    assert (ended, out) == (code, "")
    assert message in err
