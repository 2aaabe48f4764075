"""`seamark checkpoint`: what is shown, asked and refused, without a Kafka."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fixtures.checkpoints import Written, line, snapshot
from seamark.cli import exits
from unit.cli.conftest import FleetHerder, Run, sink_offset

MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"


@pytest.fixture
def written(tmp_path: Path) -> Written:
    (tmp_path / "checkpoint").mkdir()
    made = Written(tmp_path / "checkpoint")
    made.began(0, line(orders={0: 1, 1: 0}))
    made.batch(0, line(orders={0: 10, 1: 0}))
    return made


def test_positions_are_shown(run_command: Run, written: Written) -> None:
    said = run_command("checkpoint", "show", str(written.root))
    assert [row.split() for row in said.out.splitlines()] == [
        ["TOPIC", "PARTITION", "POSITION"],
        ["orders", "0", "10"],
        ["orders", "1", "0"],
    ]
    assert re.search(
        r"query 2ab1e1c4-9a09-4ad5-a2ef-4f0f1ba3e1fd: batch 0 is committed; last change \d+ s ago", said.err
    )
    shown = json.loads(run_command("checkpoint", "show", f"file://{written.root}", "-o", "json").out)
    assert shown["committed_batch"] == 0
    assert shown["sources"] == [
        {
            "source": "0",
            "type": "kafka",
            "partitions": [
                {"topic": "orders", "partition": 0, "position": 10},
                {"topic": "orders", "partition": 1, "position": 0},
            ],
        }
    ]


def test_an_unfinished_batch_and_other_sources_are_shown(run_command: Run, written: Written) -> None:
    written.batch(1, line(orders={0: 20, 1: 5}), '{"logOffset":3}', is_committed=False)
    written.write("state/0/0/1.delta", "x")
    said = run_command("checkpoint", "show", str(written.root))
    assert [row.split() for row in said.out.splitlines()][:2] == [
        ["SOURCE", "TOPIC", "PARTITION", "POSITION", "PLANNED"],
        ["0", "orders", "0", "10", "20"],
    ]
    assert "Batch 1 is unfinished: it will be run again, from POSITION to PLANNED." in said.err
    assert 'Source 1 is no Kafka source, or has not begun: {"logOffset":3}' in said.err
    assert "The query is stateful." in said.err


def test_what_is_no_checkpoint_is_refused(run_command: Run, tmp_path: Path) -> None:
    said = run_command("checkpoint", "show", str(tmp_path / "gone"))
    assert said.code == exits.NOT_FOUND
    assert f"error: There is no directory {tmp_path}/gone" in said.err
    assert "hint: Valid is what the query was given as checkpointLocation" in said.err
    (tmp_path / "part-0.parquet").write_text("x")
    said = run_command("checkpoint", "set", str(tmp_path), "--to", "earliest", "--bootstrap-server", "none:1")
    assert said.code == exits.REFUSED
    assert "is no checkpoint of a Structured Streaming query" in said.err
    assert "here is: part-0.parquet" in said.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["set", "--to", "2026-05-01"], "is no RFC 3339 time"),
        (["set", "--to", "soon"], "Valid are 'earliest', 'latest'"),
        (["set", "--to", "orders=1", "--to", "orders=2"], "orders is given two positions"),
        (["set", "--to", "earliest"], "give --bootstrap-server HOST:PORT"),
        (["set", "--to", "earliest", "--source", "3"], "There is no source 3. Valid: 0"),
        (["set", "--to", "earliest", "--command-config", "gone.properties"], "gone.properties"),
        (["reset", "--initial", "--only", "orders"], "not both"),
        (["reset", "--only", "orders:x"], "'x' is no number of a partition"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_changes(
    run_command: Run, written: Written, arguments: list[str], says: str
) -> None:
    before = snapshot(written.root)
    verb, *options = arguments
    said = run_command("checkpoint", verb, str(written.root), *options, "--yes")
    assert said.code == exits.REFUSED, said
    assert says in said.err
    assert snapshot(written.root) == before


def test_there_is_nothing_to_restore(run_command: Run, written: Written) -> None:
    said = run_command("checkpoint", "restore", str(written.root), "--yes")
    assert said.code == exits.REFUSED
    assert "has no backups" in said.err


# import


def test_a_sink_goes_on_where_the_query_is(run: Run, fleet: FleetHerder, written: Written) -> None:
    fleet.add("copy", state="STOPPED", offsets=[sink_offset("orders", 0, 3)])
    fleet.configs["copy"]["topics"] = "orders, other"
    said = run("checkpoint", "import", str(written.root), "copy", "--wait", "0", typed="y\n")
    assert said.code == 0, said
    assert [row.split() for row in said.err.splitlines() if row.startswith("  ")] == [
        ["TOPIC", "PARTITION", "OLD", "NEW", "BY"],
        ["orders", "0", "3", "10", "+7"],
        ["orders", "1", "-", "0", "-"],
    ]
    assert fleet.offsets["copy"] == [sink_offset("orders", 0, 10), sink_offset("orders", 1, 0)]
    assert "seamark resume copy" in said.err
    again = run("checkpoint", "import", str(written.root), "copy", "--wait", "0", "--yes")
    assert "Nothing to change: connector copy is there already." in again.err


def test_a_mirror_has_copied_what_lies_before(run: Run, fleet: FleetHerder, written: Written) -> None:
    fleet.add("mirror", "source", "STOPPED")
    fleet.configs["mirror"] |= {"connector.class": MIRROR, "source.cluster.alias": "A"}
    said = run("checkpoint", "import", str(written.root), "mirror", "--wait", "0", "--yes")
    assert said.code == 0, said
    assert fleet.offsets["mirror"] == [
        {"partition": {"cluster": "A", "partition": 0, "topic": "orders"}, "offset": {"offset": 9}}
    ]


def test_what_cannot_take_the_positions_is_refused(run: Run, fleet: FleetHerder, written: Written) -> None:
    fleet.add("lines", "source", "STOPPED")
    fleet.add("other", state="STOPPED")
    fleet.configs["other"]["topics"] = "payments"
    fleet.add("pattern", state="STOPPED")
    fleet.configs["pattern"]["topics.regex"] = "pay.*"
    fleet.add("running")
    for name, says in {
        "lines": "positions in Kafka's topics are only for sinks and MirrorSourceConnector",
        "other": "does not read orders, which the query reads. It reads: payments",
        "pattern": "does not read orders, which the query reads. It reads: pay.*",
        "running": "Connector running is RUNNING; its offsets can change only while it is STOPPED",
    }.items():
        said = run("checkpoint", "import", str(written.root), name, "--wait", "0", "--yes")
        assert said.code == exits.REFUSED, said
        assert says in said.err
        assert fleet.offsets[name] == []
    said = run("checkpoint", "import", str(written.root), "unknown", "--wait", "0", "--yes")
    assert said.code == exits.NOT_FOUND


def test_a_dry_run_and_no_confirmation_change_nothing(run: Run, fleet: FleetHerder, written: Written) -> None:
    fleet.add("copy", state="STOPPED")
    assert run("checkpoint", "import", str(written.root), "copy", "--dry-run").code == 0
    assert run("checkpoint", "import", str(written.root), "copy", "--wait", "0", typed="n\n").code == exits.FAILED
    assert fleet.offsets["copy"] == []


def test_state_stays_behind(run: Run, fleet: FleetHerder, written: Written) -> None:
    fleet.add("copy", state="STOPPED")
    written.write("state/0/0/1.delta", "x")
    said = run("checkpoint", "import", str(written.root), "copy", "--wait", "0", "--yes")
    assert said.code == exits.REFUSED
    assert "error: The query is stateful." in said.err and "add --force" in said.err
    assert run("checkpoint", "import", str(written.root), "copy", "--wait", "0", "--yes", "--force").code == 0


def test_an_unfinished_batch_comes_again(run: Run, fleet: FleetHerder, written: Written) -> None:
    fleet.add("copy", state="STOPPED")
    written.batch(1, line(orders={0: 20, 1: 5}), is_committed=False)
    said = run("checkpoint", "import", str(written.root), "copy", "--wait", "0", "--yes")
    assert "Batch 1 is unfinished: the connector begins before it" in said.err
    assert fleet.offsets["copy"] == [sink_offset("orders", 0, 10), sink_offset("orders", 1, 0)]


def test_bodies_are_printed(run_command: Run, written: Written) -> None:
    said = run_command("checkpoint", "import", str(written.root), "copy", "--print", "--class", "FileStreamSink")
    assert json.loads(said.out) == {
        "create": {
            "name": "copy",
            "config": {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": "orders"},
            "initial_state": "STOPPED",
        },
        "offsets": {"offsets": [sink_offset("orders", 0, 10), sink_offset("orders", 1, 0)]},
    }
    arguments = ["checkpoint", "import", str(written.root), "copy", "--print", "--class", MIRROR]
    assert run_command(*arguments).code == exits.REFUSED
    printed = json.loads(run_command(*arguments, "--cluster", "A").out)
    assert printed["create"]["config"]["source.cluster.alias"] == "A"
    assert printed["offsets"]["offsets"] == [
        {"partition": {"cluster": "A", "partition": 0, "topic": "orders"}, "offset": {"offset": 9}}
    ]
