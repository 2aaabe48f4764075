"""SparkSource on files, and on real Delta and Iceberg tables on disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.drivers import run_deadly_driver
from fixtures.postgres import PostgresDatabase
from fixtures.spark import Frames, run_until_idle
from fixtures.spark_source import CLASS, PLAIN_JSON, failure, jdbc, numbers, source, topic_of, values
from seamark.connector import ConnectError, DataError, Offsets
from seamark.connectors.spark_source.connector import SparkSourceConnector
from seamark.engine.frame_source import FrameSourceStage
from seamark.engine.source_ledger import SourceIntent, SourceLedger
from seamark.engine.stage import Ending

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]


class Interrupted(FrameSourceStage):
    """Writes a batch, and fails before it is ended."""

    def end_batch(self, ledger: SourceLedger, intent: SourceIntent) -> None:
        raise ConnectError("interrupted")


def refused(config: dict[str, str], partition: dict[str, Any], offset: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        SparkSourceConnector().alter_offsets(config, Offsets([(partition, offset)]))


def taken(config: dict[str, str], partition: dict[str, Any], offset: dict[str, Any]) -> bool:
    return SparkSourceConnector().alter_offsets(config, Offsets([(partition, offset)]))


# --- rate -------------------------------------------------------------------------------------------------------------


def test_rate_makes_up_each_row_once_at_its_time(frames: Make, topic_name: str) -> None:
    world = frames(seamark_batch_max_records="200")
    topic = topic_of(world, topic_name)
    config = {"format": "rate", "topic": topic, "rows.per.second": "1000", **PLAIN_JSON}
    partition, since_ms = {"rate": "rows"}, int(time.time() * 1000) - 500
    assert taken(config, partition, {"value": 0, "since_ms": since_ms})
    world.store.write(topic_name, Offsets([(partition, {"value": 0, "since_ms": since_ms})]))
    stage = source(world, topic_name, config)
    assert [stage.run().ending for _ in range(3)] == [Ending.WORKED] * 3
    (position,) = stage.progress()[0].positions
    assert position["partition"] == partition
    end = position["offset"]["value"]
    assert 600 >= end >= 500
    rows = sorted(values(world, topic), key=lambda row: row["value"])
    assert rows == [{"value": n, "timestamp": since_ms + n} for n in range(end)]
    refused(config, {"rate": "other"}, {"value": 1}, "is not")
    refused(config, partition, {"value": -1}, "whole number")
    refused(config, partition, {"rows": 1}, "'rows'")


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exactly_once", [True, False])
def test_new_files_and_appended_lines_are_read_once(
    frames: Make, topic_name: str, tmp_path: Path, exactly_once: bool
) -> None:
    world = frames(seamark_batch_max_records="3")
    topic = topic_of(world, topic_name)
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text("a1\na2\na3\na4\nunfin")
    (tmp_path / ".hidden.log").write_text("no\n")
    (tmp_path / "other.txt").write_text("no\n")
    config = {"format": "text", "topic": topic, "path": str(tmp_path), "file.pattern": "*.log"}
    stage = source(world, topic_name, config, exactly_once=exactly_once)
    assert run_until_idle(stage) == [Ending.WORKED] * 2 + [Ending.IDLE]
    assert sorted(world.values(topic)) == ["a1", "a2", "a3", "a4"]
    assert world.store.read(topic_name) == Offsets([({"file": str(first)}, {"length": 12})])
    with first.open("a") as file:
        file.write("ished\n")
    second.write_text("b1\nb2\n")
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    assert sorted(world.values(topic)) == ["a1", "a2", "a3", "a4", "b1", "b2", "unfinished"]
    first.write_text("new\n")
    trace, is_retriable = failure(stage)
    assert not is_retriable
    assert f"File {first} has 4 bytes now, but 23 were read already" in trace


def test_lines_of_json_and_csv_become_columns(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    for folder in ("json", "csv"):
        (tmp_path / folder).mkdir()
    (tmp_path / "json" / "a").write_text('{"id": 1, "tags": ["x"]}\n{"id": 2, "name": "two"}\n')
    (tmp_path / "csv" / "a").write_text('id,name\n1,"one, first"\n2,two\n')
    expected: dict[str, list[dict[str, Any]]] = {
        "json": [{"id": 1, "name": None, "tags": ["x"]}, {"id": 2, "name": "two", "tags": None}],
        "csv": [{"id": 1, "name": "one, first"}, {"id": 2, "name": "two"}],
    }
    for kind, rows in expected.items():
        topic = topic_of(world, f"{topic_name}-{kind}")
        config = {"format": kind, "topic": topic, "path": str(tmp_path / kind), "key.fields": "id", **PLAIN_JSON}
        config |= {"schema": "id long, name string", "csv.header": "true"} if kind == "csv" else {}
        run_until_idle(source(world, f"{topic_name}-{kind}", config))
        assert sorted(values(world, topic), key=lambda row: row["id"]) == rows
    (tmp_path / "csv" / "b").write_text("id,name\nnumber,x\n")
    trace, _ = failure(source(world, f"{topic_name}-csv", config))
    assert "A line is not CSV with the columns that it should have: number,x" in trace


@pytest.mark.parametrize("schema", ["id long, name string", ""])
def test_blank_lines_are_left_out_and_a_line_that_is_no_json_is_told(
    frames: Make, topic_name: str, tmp_path: Path, schema: str
) -> None:
    world = frames()
    topic, file = topic_of(world, topic_name), tmp_path / "a"
    file.write_text('{"id": 1, "name": "a"}\n\n  \n{"id": 2, "name": "b"}\n')
    config = {"format": "json", "topic": topic, "path": str(tmp_path), **PLAIN_JSON}
    config |= {"schema": schema} if schema else {}
    run_until_idle(source(world, topic_name, config))
    assert numbers(world, topic) == [1, 2]
    with file.open("a") as lines:
        lines.write('{"id": 3, "name": "c"}\n{"id": 4, \n')
    trace, is_retriable = failure(source(world, topic_name, config))
    assert not is_retriable
    assert 'A line is not JSON with the columns that it should have: {"id": 4,' in trace
    file.write_text(file.read_text().replace('{"id": 4, \n', '{"id": 4 }\n'))
    run_until_idle(source(world, topic_name, config))
    assert numbers(world, topic) == [1, 2, 3, 4]


def test_options_go_to_the_reader(frames: Make, postgres: PostgresDatabase, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    (tmp_path / "a").write_text("1;'one; first'\n\n2;two\n")
    topic = topic_of(world, topic_name)
    config = {"format": "csv", "topic": topic, "path": str(tmp_path), "schema": "id long, name string", **PLAIN_JSON}
    run_until_idle(source(world, topic_name, {**config, "option.sep": ";", "option.quote": "'"}))
    assert sorted((row["id"], row["name"]) for row in values(world, topic)) == [(1, "one; first"), (2, "two")]
    topic = topic_of(world, f"{topic_name}-rows")
    query = "SELECT 1 AS id, current_setting('application_name') AS name"
    config = {
        **jdbc(postgres, topic, "bulk", query=query),
        "option.sessionInitStatement": "SET application_name = shop",
    }
    assert source(world, topic, config, exactly_once=False).run().ending is Ending.WORKED
    assert values(world, topic) == [{"id": 1, "name": "shop"}]


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_files_of_columns_are_read_whole_and_once(frames: Make, topic_name: str, tmp_path: Path, kind: str) -> None:
    world = frames()
    topic, folder = topic_of(world, topic_name), tmp_path / "rows"
    assert world.spark is not None
    world.spark.range(0, 50, 1, 2).write.format(kind).save(str(folder))
    config = {"format": kind, "topic": topic, "path": str(folder), **PLAIN_JSON}
    stage = source(world, topic_name, config)
    run_until_idle(stage)
    world.spark.range(50, 60, 1, 1).write.format(kind).mode("append").save(str(folder))
    run_until_idle(stage)
    assert numbers(world, topic) == list(range(60))
    some = sorted(file for file in folder.iterdir() if file.suffix == f".{kind}")[0]
    assert taken(config, {"file": str(some)}, {"length": 0})
    refused(config, {"file": str(some)}, {"length": 5}, "read as a whole")


def test_offsets_are_checked_against_the_files(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("one\ntwo\n")
    config = {"format": "text", "topic": "t", "path": str(tmp_path)}
    partition = {"file": str(file)}
    assert taken(config, partition, {"length": 4})
    refused(config, partition, {"length": 3}, "no line begins after 3")
    refused(config, partition, {"length": 400}, "has 8 bytes")
    refused(config, partition, {"position": 4}, "'position'")
    refused(config, {"file": str(tmp_path / "gone")}, {"length": 0}, "no file that this connector reads")
    with pytest.raises(ConnectError, match="cannot be listed"):
        taken(config | {"path": str(tmp_path / "nowhere")}, partition, {"length": 4})


@pytest.mark.parametrize("kind", ["text", "parquet"])
def test_a_batch_of_files_that_was_written_but_not_ended_is_not_written_again(
    frames: Make, topic_name: str, tmp_path: Path, kind: str
) -> None:
    world = frames()
    topic = topic_of(world, topic_name)
    assert world.spark is not None
    config = {"format": kind, "topic": topic, "path": str(tmp_path / "rows"), **PLAIN_JSON}
    ids = world.spark.range(0, 50, 1, 2)
    rows = ids.selectExpr("concat('{\"id\":', id, '}')") if kind == "text" else ids
    rows.write.format(kind).save(config["path"])
    assert "interrupted" in failure(source(world, topic_name, config, stage_class=Interrupted))[0]
    ids = world.spark.range(50, 60, 1, 1)
    rows = ids.selectExpr("concat('{\"id\":', id, '}')") if kind == "text" else ids
    rows.write.format(kind).mode("append").save(config["path"])
    if kind == "text":
        with next((tmp_path / "rows").glob("*.txt")).open("a") as file:
            file.write('{"id":60}\n')
    run_until_idle(source(world, topic_name, config))
    assert numbers(world, topic) == list(range(61 if kind == "text" else 60))


def test_moved_offsets_read_a_file_again_from_there(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic, file = topic_of(world, topic_name, partitions=1), tmp_path / "a"
    file.write_text("one\ntwo\nthree\n")
    config = {"format": "text", "topic": topic, "path": str(tmp_path)}
    run_until_idle(source(world, topic_name, config))
    world.store.write(topic_name, Offsets([({"file": str(file)}, {"length": 4})]))
    run_until_idle(source(world, topic_name, config))
    assert sorted(world.values(topic)) == ["one", "three", "three", "two", "two"]


# --- Delta ------------------------------------------------------------------------------------------------------------


def delta_table(world: Frames, path: Path) -> dict[str, str]:
    """A table that records its changes, with 100 rows; the config of a connector that reads it."""
    assert world.spark is not None
    world.spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, name STRING) USING delta "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    world.spark.sql(f"INSERT INTO delta.`{path}` SELECT id, 'old' FROM range(100)")
    return {"format": "delta", "path": str(path), "key.fields": "id", **PLAIN_JSON}


def changes(world: Frames, topic: str) -> list[tuple[int, str, str]]:
    return sorted((row["id"], row["name"], row["_change_type"]) for row in values(world, topic))


def test_delta_changes_follow_the_table_as_it_was(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic, path = topic_of(world, topic_name), tmp_path / "orders"
    config = delta_table(world, path) | {"topic": topic}
    assert world.spark is not None
    stage = source(world, topic_name, config)
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    assert world.store.read(topic_name) == Offsets([({"table": str(path)}, {"version": 1})])
    inserted = [(n, "old", "insert") for n in range(100)]
    assert changes(world, topic) == inserted
    world.spark.sql(f"UPDATE delta.`{path}` SET name = 'new' WHERE id = 7")
    world.spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 7")
    world.spark.sql(f"INSERT INTO delta.`{path}` VALUES (7, 'again')")
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    assert world.store.read(topic_name) == Offsets([({"table": str(path)}, {"version": 4})])
    of_seven = [(row["_change_type"], row["name"]) for row in values(world, topic) if row["id"] == 7]
    assert of_seven == [
        ("insert", "old"),
        ("update_preimage", "old"),
        ("update_postimage", "new"),
        ("delete", "new"),
        ("insert", "again"),
    ]
    partition = {"table": str(path)}
    assert taken(config, partition, {"version": 0})
    refused(config, partition, {"version": 5}, "has no version 5 to go on from; there are 0 to 4")
    refused(config, {"table": "other"}, {"version": 1}, "is not")
    world.store.write(topic_name, Offsets([(partition, {"version": 3})]))
    run_until_idle(stage)
    assert [row["name"] for row in values(world, topic) if row["id"] == 7][-2:] == ["again", "again"]


def test_delta_versions_as_whole_tables(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic, path = topic_of(world, topic_name), tmp_path / "orders"
    assert world.spark is not None
    world.spark.range(5).write.format("delta").save(str(path))
    config = {"format": "delta", "path": str(path), "topic": topic, **PLAIN_JSON}
    trace, is_retriable = failure(source(world, topic_name, config))
    assert not is_retriable
    assert "does not record its changes" in trace
    stage = source(world, topic_name, config | {"table.mode": "snapshots"})
    run_until_idle(stage)
    world.spark.range(5, 7).write.format("delta").mode("append").save(str(path))
    run_until_idle(stage)
    assert numbers(world, topic) == sorted([*range(5), *range(7)])


@pytest.mark.slow
def test_a_batch_of_delta_goes_on_where_a_killed_driver_left_it(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic, path = topic_of(world, topic_name), tmp_path / "orders"
    config = delta_table(world, path) | {"topic": topic}
    run_deadly_driver(world, {"name": topic_name, "connector.class": CLASS, **config}, "end_batch:before")
    assert world.spark is not None
    world.spark.sql(f"INSERT INTO delta.`{path}` SELECT id, 'more' FROM range(100, 120)")
    run_until_idle(source(world, topic_name, config))
    assert numbers(world, topic) == list(range(120))


def test_what_is_no_delta_table_is_told(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    config = {"format": "delta", "path": str(tmp_path), "topic": topic_name}
    trace, is_retriable = failure(source(world, topic_name, config))
    assert not is_retriable
    assert "Delta table" in trace


# --- Iceberg ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> str:
    """The name of an Iceberg table with 100 rows, in a catalog of the test's own."""
    catalog = f"lake_{tmp_path.name.replace('-', '_')}"
    spark.conf.set(f"spark.sql.catalog.{catalog}", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set(f"spark.sql.catalog.{catalog}.type", "hadoop")
    spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", str(tmp_path))
    name = f"{catalog}.shop.orders"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, name STRING) USING iceberg")
    spark.sql(f"INSERT INTO {name} SELECT id, 'old' FROM range(100)")
    return name


def test_iceberg_appends_follow_the_table_as_it_was(frames: Make, lake: str, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic = topic_of(world, topic_name)
    assert world.spark is not None
    config = {"format": "iceberg", "table": lake, "topic": topic, "key.fields": "id", **PLAIN_JSON}
    stage = source(world, topic_name, config)
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    world.spark.sql(f"INSERT INTO {lake} SELECT id, 'new' FROM range(100, 130)")
    world.spark.sql(f"INSERT INTO {lake} SELECT id, 'new' FROM range(130, 140)")
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    assert numbers(world, topic) == list(range(140))
    partition = {"table": lake}
    snapshots = [row[0] for row in world.spark.sql(f"SELECT snapshot_id FROM {lake}.snapshots").collect()]
    assert (world.store.read(topic_name)[partition] or {})["snapshot_id"] == snapshots[-1]
    assert taken(config, partition, {"snapshot_id": snapshots[1]})
    refused(config, partition, {"snapshot_id": 42}, "has no snapshot 42")
    refused(config, partition, {"version": 1}, "'version'")
    world.store.write(topic_name, Offsets([(partition, {"snapshot_id": snapshots[1]})]))
    run_until_idle(stage)
    assert numbers(world, topic) == sorted([*range(140), *range(130, 140)])
    by_path = config | {"table": "", "path": str(tmp_path / "shop" / "orders"), "topic": f"{topic}-p"}
    del by_path["table"]
    topic_of(world, f"{topic}-p")
    run_until_idle(source(world, f"{topic_name}-p", by_path))
    assert numbers(world, f"{topic}-p") == list(range(140))


def test_iceberg_rewrites_fail_or_are_left_out(frames: Make, lake: str, topic_name: str) -> None:
    world = frames()
    topic = topic_of(world, topic_name)
    assert world.spark is not None
    config = {"format": "iceberg", "table": lake, "topic": topic, **PLAIN_JSON}
    run_until_idle(source(world, topic_name, config))
    world.spark.sql(f"DELETE FROM {lake} WHERE id = 5")
    world.spark.sql(f"INSERT INTO {lake} VALUES (500, 'new')")
    trace, is_retriable = failure(source(world, topic_name, config))
    assert not is_retriable
    assert "iceberg.rewrites=skip" in trace
    run_until_idle(source(world, topic_name, config | {"iceberg.rewrites": "skip"}))
    assert numbers(world, topic) == [*range(100), 500]


def test_a_batch_of_iceberg_goes_on_where_a_failed_one_left_it(frames: Make, lake: str, topic_name: str) -> None:
    world = frames()
    topic = topic_of(world, topic_name)
    assert world.spark is not None
    config = {"format": "iceberg", "table": lake, "topic": topic, **PLAIN_JSON}
    assert "interrupted" in failure(source(world, topic_name, config, stage_class=Interrupted))[0]
    world.spark.sql(f"INSERT INTO {lake} VALUES (100, 'new')")
    stage = source(world, topic_name, config)
    assert run_until_idle(stage) == [Ending.WORKED] * 2 + [Ending.IDLE]
    assert numbers(world, topic) == list(range(101))


def test_an_iceberg_table_that_is_missing_is_told(frames: Make, lake: str, topic_name: str) -> None:
    world = frames()
    config = {"format": "iceberg", "table": f"{lake}s", "topic": topic_name}
    trace, is_retriable = failure(source(world, topic_name, config))
    assert not is_retriable
    assert "cannot be loaded" in trace
