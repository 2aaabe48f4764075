"""What REST says of a SparkSink that failed: the real cause, at the end of the trace. After the repair it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.frame_data import produce
from fixtures.herders import Case, MakeCase, path_of
from fixtures.postgres import PostgresDatabase
from fixtures.spark import Frames
from fixtures.tables import DeltaFolder, ParquetFolder, PostgresTable, Table
from seamark.kafka import TopicSpec
from seamark.testing.waiting import eventually

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]
CONVERTERS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


def begun(make_case: MakeCase, world: Frames, table: Table, *values: Any) -> Case:
    """A sink that has a topic with these values to write to the table."""
    case = make_case("distributed", "SparkSink")
    case.config |= {**CONVERTERS, **table.config}
    world.admin.create_topics([TopicSpec(case.topic, 1, 1)])
    produce(world, case.topic, [(b"k", json.dumps(value).encode()) for value in values])
    return case.create()


def told(case: Case) -> str:
    """The last line of the trace of the task that failed."""
    status = case.connect.await_state(case.name, "RUNNING", ["FAILED"])
    return str(status["tasks"][0]["trace"].strip().splitlines()[-1])


def restart(case: Case) -> None:
    case.connect.ask("POST", f"{path_of(case.name)}/restart?includeTasks=true&onlyFailed=true", status=202)


def test_a_row_that_the_database_refuses(make_case: MakeCase, frames: Make, postgres: PostgresDatabase) -> None:
    table = PostgresTable(postgres)
    postgres.execute("CREATE TABLE rows (id int, name text CONSTRAINT short CHECK (length(name) < 3))")
    case = begun(make_case, frames(), table, {"id": 1, "name": "ok"}, {"id": 2, "name": "too long"})
    status = case.connect.await_state(case.name, "RUNNING", ["FAILED"])
    trace = status["tasks"][0]["trace"]
    assert 'refused to change tables: PSQLException: ERROR: new row for relation "rows" violates' in trace
    assert postgres.password not in trace
    postgres.execute("ALTER TABLE rows DROP CONSTRAINT short")
    restart(case)
    eventually(lambda: table.ids() == [1, 2], 60)
    case.connect.await_state(case.name, "RUNNING")


def test_a_folder_that_is_in_the_way(make_case: MakeCase, frames: Make, tmp_path: Path) -> None:
    folder = ParquetFolder(tmp_path / "lake" / "rows")
    folder.path.parent.write_text("no folder")
    case = begun(make_case, frames(), folder, {"id": 1})
    assert f"ConnectError: The folder {folder.path} could not be written: " in (line := told(case))
    assert f"Parent path is not a directory: file:{folder.path.parent}" in line
    folder.path.parent.unlink()
    restart(case)
    eventually(lambda: folder.ids() == [1], 60)


def test_a_field_whose_type_drifts(make_case: MakeCase, frames: Make, tmp_path: Path) -> None:
    world, table = frames(), DeltaFolder(tmp_path / "rows")
    case = begun(make_case, world, table, {"id": 1, "n": 5})
    eventually(lambda: table.ids() == [1], 60)
    produce(world, case.topic, [(b"k", b'{"id": 2, "n": "many"}'), (b"k", b'{"id": 3, "n": "7"}')])
    line = told(case)
    assert f"The Delta table {table.path} could not be written: The column 'n' of the Delta table" in line
    assert "is of type bigint, and the value 'many' of type string does not fit" in line
    leave_out = {"transforms": "drop", "transforms.drop.type": "ReplaceField$Value", "transforms.drop.exclude": "n"}
    case.connect.ask("PUT", f"{path_of(case.name)}/config", {**case.config, **leave_out})
    eventually(lambda: table.ids() == [1, 2, 3], 60)
    assert {row["id"]: row["n"] for row in table.rows()} == {1: 5, 2: None, 3: None}
