"""SparkSink and plain files, in folders and as tables of Spark's catalog, read back by Arrow."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

from fixtures.frame_data import JSON, STRING, produce
from fixtures.spark import Frames, run_until_idle
from fixtures.tables import ParquetFolder, settings
from seamark.connectors.spark_sink.connector import SparkSinkConnector
from seamark.engine.stage import Ending
from seamark.errors import cause_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]
CONVERTERS = {"key__converter": STRING, **JSON}


def send(world: Frames, topic: str, *values: Any) -> None:
    produce(world, topic, [(b"k", json.dumps(value).encode()) for value in values])


def failure(world: Frames, name: str, **config: str) -> str:
    """Of a batch that must fail: the line that says why."""
    outcome = world.stage(SparkSinkConnector(), name, **config).run()
    assert outcome.ending is Ending.FAILED
    return cause_of(next(iter(outcome.failures.values())))


def read(folder: Path) -> list[dict[str, Any]]:
    """What another engine sees, by id."""
    files = sorted(folder.rglob("batch-*"), key=lambda file: file.stat().st_mtime_ns)
    newest = pq.read_schema(files[-1])
    found = dataset.dataset(files, schema=newest, format="parquet").to_table().to_pylist()
    return sorted(found, key=lambda row: str(row["id"]))


def test_files_get_new_columns_and_fill_the_old_ones(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic, folder = world.topic(), ParquetFolder(tmp_path / "out")
    config = settings(folder, topics=topic, **CONVERTERS)
    stage = world.stage(SparkSinkConnector(), topic_name, **config)
    send(world, topic, {"id": 1, "who": {"name": "a"}, "later": None})
    run_until_idle(stage)
    # What a driver leaves that is killed while it writes down the columns.
    (folder.path / "_seamark" / "schemas" / f".2.json-{uuid.uuid4().hex}").write_text('{"type"')
    send(world, topic, {"id": 2, "who": {"name": "b", "age": 3}, "later": 1.5})
    run_until_idle(stage)
    send(world, topic, {"id": "3"})
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    assert read(folder.path) == [
        {"id": 1, "who": {"name": "a", "age": None}, "later": None},
        {"id": 2, "who": {"name": "b", "age": 3}, "later": 1.5},
        {"id": 3, "who": None, "later": None},
    ]
    send(world, topic, {"id": {"no": "number"}})
    told = failure(world, topic_name, **config)
    assert "The column 'id' of the folder" in told
    assert "records have struct<no:string> there" in told


def test_files_have_no_more_rows_than_they_may(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic, folder = world.topic(), ParquetFolder(tmp_path / "out")
    send(world, topic, *[{"id": number} for number in range(25)])
    config = settings(folder, topics=topic, files__per__batch="1", file__max__records="10", **CONVERTERS)
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    counts = [pq.read_metadata(file).num_rows for file in folder.path.glob("batch-*")]
    assert sorted(counts) == [5, 10, 10]
    assert folder.ids() == list(range(25))


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_values_as_they_are(frames: Make, topic_name: str, tmp_path: Path, kind: str) -> None:
    world = frames()
    topic, folder = world.topic(), ParquetFolder(tmp_path / "out")
    produce(world, topic, [(b"a", "grün".encode()), (b"b", None), (None, b"")])
    config = settings(folder, topics=topic, value__format=kind, key__format=kind, key__fields="id")
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    found = folder.rows()
    expected: list[Any] = [(None, ""), ("a", "grün")]
    if kind == "binary":
        expected = [tuple(None if part is None else part.encode() for part in pair) for pair in expected]
    assert sorted(((row["id"], row["value"]) for row in found), key=str) == sorted(expected, key=str)


SCHEMA = "id long, name string"


@pytest.mark.parametrize(
    ("poison", "schema"),
    [
        (b'{"id": ', SCHEMA),
        (b'{"id": ', None),
        (b'"no object"', SCHEMA),
        (b'"no object"', None),
        (b"", SCHEMA),
        (b" \n", None),
        (b'{"id": "seven", "name": "x"}', SCHEMA),
    ],
)
def test_a_record_that_spark_cannot_read_is_named(
    frames: Make, topic_name: str, tmp_path: Path, poison: bytes, schema: str | None
) -> None:
    world = frames()
    topic, folder = world.topic(), ParquetFolder(tmp_path / "out")
    produce(world, topic, [(b"k", b'{"id": 1, "name": "a"}'), (b"k", poison), (b"k", b'{"id": 2, "name": "b"}')])
    config = settings(folder, topics=topic, value__format="json", **({"schema": schema} if schema else {}))
    told = failure(world, topic_name, **config)
    assert f"The record at offset 1 of {topic}-0 cannot be read as JSON" in told
    assert (poison.decode().strip() or "its value is empty") in told
    assert folder.rows() == []


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    name = f"t{uuid.uuid4().hex}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.parametrize("kind", ["parquet", "orc", "json", "csv"])
def test_files_are_a_table_of_a_catalog(
    frames: Make, spark: SparkSession, topic_name: str, tmp_path: Path, table: str, kind: str
) -> None:
    world = frames()
    topic, place = world.topic(), tmp_path / "out"
    evolution = "none" if kind == "csv" else "add"
    config = {"topics": topic, "format": kind, "table": table, "option__path": str(place), **CONVERTERS}
    config |= {"partition__by": "land", "schema__evolution": evolution}
    stage = world.stage(SparkSinkConnector(), topic_name, **config)
    send(world, topic, {"id": 1, "land": "de", "name": "ä, ö"}, {"id": 2, "land": "at", "name": "x"})
    run_until_idle(stage)
    send(world, topic, {"id": 3, "land": "ch", "name": "y"} | ({} if kind == "csv" else {"more": 1.5}))
    run_until_idle(stage)
    rows = {row["id"]: row.asDict() for row in spark.table(table).collect()}
    assert {id_: (row["land"], row["name"]) for id_, row in rows.items()} == {
        1: ("de", "ä, ö"),
        2: ("at", "x"),
        3: ("ch", "y"),
    }
    assert kind == "csv" or [rows[n]["more"] for n in (1, 2, 3)] == [None, None, 1.5]
    assert sorted(path.name for path in place.glob("land=*")) == ["land=at", "land=ch", "land=de"]


def test_a_table_of_another_format_is_refused(frames: Make, spark: SparkSession, topic_name: str, table: str) -> None:
    world = frames()
    topic = world.topic()
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING orc")
    send(world, topic, {"id": 1})
    told = failure(world, topic_name, topics=topic, format="parquet", table=table, **CONVERTERS)
    assert f"The table {table} is of format orc, and the connector writes format=parquet" in told
