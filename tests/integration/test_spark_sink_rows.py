"""What rows SparkSink makes of records: formats, routing, partitions, new columns, and records that do not fit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.csv
import pyarrow.json
import pyarrow.orc
import pytest

from fixtures.avro import AVRO, plain_bytes, write_independently
from fixtures.frame_data import JSON, JSON_SCHEMAS, STRING, messages, produce, transforms
from fixtures.registry_server import RegistryServer
from fixtures.spark import Frames, run_until_idle
from fixtures.tables import DeltaFolder, IcebergTable, ParquetFolder, PostgresTable, settings
from seamark.connectors.spark_sink.connector import SparkSinkConnector
from seamark.connectors.spark_sink.iceberg import IcebergTarget
from seamark.engine import spark_packages
from seamark.engine.stage import Ending

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fixtures.postgres import PostgresDatabase

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]
CONVERTERS = {"key__converter": STRING, **JSON}


def send(world: Frames, topic: str, values: Iterable[Any]) -> None:
    produce(world, topic, [(b"k", json.dumps(value).encode()) for value in values])


def failure(world: Frames, name: str, **config: str) -> str:
    outcome = world.stage(SparkSinkConnector(), name, **config).run()
    assert outcome.ending is Ending.FAILED
    return next(iter(outcome.failures.values()))


def data_files(path: Path, ending: str) -> list[Path]:
    return sorted(file for file in path.rglob(f"batch-*{ending}") if "_seamark" not in file.parts)


@pytest.mark.parametrize(
    ("kind", "ending", "read"),
    [
        ("orc", ".orc", pyarrow.orc.read_table),
        ("json", ".json", pyarrow.json.read_json),
        ("csv", ".csv", pyarrow.csv.read_csv),
    ],
)
def test_files_of_other_formats(
    frames: Make, topic_name: str, tmp_path: Path, kind: str, ending: str, read: Callable[[Path], Any]
) -> None:
    world = frames()
    topic = world.topic()
    send(world, topic, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    config = {"topics": topic, "format": kind, "path": str(tmp_path / "out"), "metadata__columns": "offset"}
    config |= {"schema__evolution": "none", "files__per__batch": "1", **CONVERTERS}
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    (file,) = data_files(tmp_path / "out", ending)
    assert read(file).to_pylist() == [
        {"id": 1, "name": "a", "_offset": 0},
        {"id": 2, "name": "b", "_offset": 1},
    ]


def test_spark_reads_json_itself_with_a_schema_and_in_compressed_files(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic = world.topic()
    send(world, topic, [{"id": 1, "name": "a"}, {"id": 2}])
    config = {"topics": topic, "format": "json", "path": str(tmp_path / "out"), "value__format": "json"}
    config |= {"schema": "id int, name string, at timestamp", "option__compression": "gzip", "key__fields": "key"}
    config |= {"files__per__batch": "1"}
    stage = world.stage(SparkSinkConnector(), topic_name, **config)
    run_until_idle(stage)
    (file,) = data_files(tmp_path / "out", ".json.gz")
    assert pyarrow.json.read_json(str(file)).to_pylist() == [
        {"key": "k", "id": 1, "name": "a"},
        {"key": "k", "id": 2, "name": None},
    ]
    assert sum(task.records for task in stage.progress()) == 2
    send(world, topic, ["no object"])
    assert f"offset 2 of {topic}-0 cannot be read as JSON" in failure(world, topic_name, **config)


def test_topics_go_to_their_own_tables_and_those_of_one_table_together(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topics = [world.topic() for _ in range(3)]
    for number, topic in enumerate(topics):
        send(world, topic, [{"id": number}])
    config = {"topics": ",".join(topics), "format": "delta", "path": f"{tmp_path}/${{topic}}", **CONVERTERS}
    config |= {"topic__to__table": f"{topics[0]}:shared,{topics[1]}:shared"}
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    assert DeltaFolder(tmp_path / "shared").ids() == [0, 1]
    assert DeltaFolder(tmp_path / topics[2]).ids() == [2]


@pytest.mark.parametrize("kind", ["iceberg", "postgresql"])
def test_names_of_tables_have_underscores_for_what_they_cannot_have(
    frames: Make, spark: SparkSession, topic_name: str, tmp_path: Path, postgres: PostgresDatabase, kind: str
) -> None:
    world = frames()
    topics = [world.topic(), world.topic()]
    for number, topic in enumerate(topics):
        send(world, topic, [{"id": number}])
    names = [f"x_{topic.replace('-', '_')}" for topic in topics]
    lake = IcebergTable(tmp_path / "lake", spark)
    table = PostgresTable(postgres) if kind == "postgresql" else lake
    config = settings(table, topics=",".join(topics), **CONVERTERS)
    config |= {"table": "x_${topic}" if kind == "postgresql" else f"{lake.catalog}.db.x_${{topic}}"}
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    if kind == "postgresql":
        assert [PostgresTable(postgres, name).ids() for name in names] == [[0], [1]]
    else:
        assert [[row.id for row in spark.table(f"{lake.catalog}.db.{name}").collect()] for name in names] == [[0], [1]]


def test_rows_are_partitioned_by_fields_and_times(
    frames: Make, spark: SparkSession, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic = world.topic()
    at = 1_700_000_000_000
    schema = {
        "type": "struct",
        "fields": [
            {"field": "id", "type": "int32"},
            {"field": "land", "type": "string"},
            {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
        ],
    }
    rows = [{"id": n, "land": "de" if n % 2 else "at", "at": at + n * 3_600_000} for n in range(4)]
    send(world, topic, [{"schema": schema, "payload": row} for row in rows])
    config = {"topics": topic, "partition__by": "land,hour(at)", "files__per__batch": "1", "key__converter": STRING}
    config |= JSON_SCHEMAS
    files = ParquetFolder(tmp_path / "files")
    run_until_idle(world.stage(SparkSinkConnector(), f"{topic_name}-files", **settings(files, **config)))
    folders = {str(file.parent.relative_to(files.path)) for file in data_files(files.path, ".parquet")}
    assert folders == {
        f"land={'de' if n % 2 else 'at'}/at_hour=2023-11-{14 + (n > 1)}-{(22 + n) % 24:02}" for n in range(4)
    }
    delta = DeltaFolder(tmp_path / "delta")
    run_until_idle(world.stage(SparkSinkConnector(), f"{topic_name}-delta", **settings(delta, **config)))
    assert delta.table().metadata().partition_columns == ["land", "at_hour"]
    assert delta.ids() == [0, 1, 2, 3]
    lake = IcebergTable(tmp_path / "lake", spark)
    run_until_idle(world.stage(SparkSinkConnector(), f"{topic_name}-lake", **settings(lake, **config)))
    assert [field.name for field in lake.table().spec().fields] == ["land", "at_hour"]
    assert lake.ids() == [0, 1, 2, 3]


def test_new_fields_become_columns_and_others_must_fit(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic = world.topic()
    delta = DeltaFolder(tmp_path / "delta")
    config = settings(delta, topics=topic, **CONVERTERS)
    stage = world.stage(SparkSinkConnector(), topic_name, **config)
    send(world, topic, [{"id": 1, "who": {"name": "a"}, "later": None}])
    run_until_idle(stage)
    assert delta.rows() == [{"id": 1, "who": {"name": "a"}}]
    send(world, topic, [{"id": 2, "who": {"name": "b", "age": 3}, "later": 1.5, "tags": ["x"]}, {"id": "3"}])
    run_until_idle(stage)
    assert sorted(delta.rows(), key=lambda row: row["id"]) == [
        {"id": 1, "who": {"name": "a", "age": None}, "later": None, "tags": None},
        {"id": 2, "who": {"name": "b", "age": 3}, "later": 1.5, "tags": ["x"]},
        {"id": 3, "who": None, "later": None, "tags": None},
    ]
    send(world, topic, [{"id": "four"}])
    told = failure(world, topic_name, **config)
    assert "The column 'id'" in told
    assert "'four' of type string does not fit" in told
    assert delta.ids() == [1, 2, 3]


def test_without_evolution_a_new_field_fails_the_batch_until_the_table_has_it(
    frames: Make, spark: SparkSession, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic = world.topic()
    delta = DeltaFolder(tmp_path / "delta")
    config = settings(delta, topics=topic, schema__evolution="none", **CONVERTERS)
    send(world, topic, [{"id": 1}])
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    send(world, topic, [{"id": 2, "new": 5}])
    assert "schema.evolution=add" in failure(world, topic_name, **config)
    spark.sql(f"ALTER TABLE delta.`{delta.path}` ADD COLUMNS (new int)")
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    assert sorted(delta.rows(), key=lambda row: row["id"]) == [{"id": 1, "new": None}, {"id": 2, "new": 5}]


def test_avro_records_have_the_types_of_their_schema_and_poison_is_a_dead_letter(
    frames: Make, topic_name: str, registry: RegistryServer, postgres: PostgresDatabase
) -> None:
    world = frames()
    topic, dead = world.topic(), f"{topic_name}-dead"
    schema = {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }
    good = write_independently(registry, f"{topic}-value", schema, {"id": 7, "tags": ["a"], "at": 1_700_000_000_123})
    produce(world, topic, [(b"a", good), (b"b", b"poison"), (b"c", good.replace(b"\x0e", b"\x10", 1))])
    table = PostgresTable(postgres)
    config = settings(table, topics=topic, key__converter=STRING, value__converter=AVRO)
    config |= {"value__converter__schema__registry__url": registry.url, "errors__tolerance": "all"}
    config |= {
        "errors__deadletterqueue__topic__name": dead,
        "errors__deadletterqueue__topic__replication__factor": "1",
    }
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    assert sorted(table.rows(), key=lambda row: row["id"]) == [
        {"id": id_, "tags": '["a"]', "at": "2023-11-14T22:13:20.123+00:00"} for id_ in (7, 8)
    ]
    assert [record.value for record in messages(world, dead)] == [b"poison"]


def test_plain_avro_records_go_to_a_table_and_poison_to_a_dead_letter(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic, dead = world.topic(), f"{topic_name}-dead"
    fields = [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ]
    schema = {"type": "record", "name": "Order", "fields": fields}
    good = [plain_bytes(schema, {"id": number, "at": 1_700_000_000_123}) for number in (7, 8)]
    produce(world, topic, [(b"a", good[0]), (b"b", b"poison"), (b"c", None), (b"d", good[1])])
    delta = DeltaFolder(tmp_path / "delta")
    config = settings(delta, topics=topic, key__converter=STRING, value__converter="PlainAvroConverter")
    config |= {"value__converter__schema": json.dumps(schema), "errors__tolerance": "all"}
    config |= {"errors__deadletterqueue__topic__name": dead}
    config |= {"errors__deadletterqueue__topic__replication__factor": "1"}
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    at = datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)
    assert sorted(delta.rows(), key=lambda row: row["id"]) == [{"id": 7, "at": at}, {"id": 8, "at": at}]
    assert [record.value for record in messages(world, dead)] == [b"poison"]


def test_a_query_joins_to_lookup_tables(frames: Make, spark: SparkSession, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic = world.topic()
    customers = str(tmp_path / "customers")
    spark.createDataFrame([(1, "Ada")], "id int, name string").write.parquet(customers)
    send(world, topic, [{"id": 10, "customer": 1}, {"id": 11, "customer": 2}])
    query = "SELECT r.id, c.name FROM records r LEFT JOIN customers c ON r.customer = c.id"
    lookup = {"lookups": "customers", "lookup__customers__format": "parquet", "lookup__customers__path": customers}
    chain = transforms({"type": "SparkSql", "sql": query, **lookup})
    files = ParquetFolder(tmp_path / "out")
    stage = world.stage(SparkSinkConnector(), topic_name, **settings(files, topics=topic, **CONVERTERS, **chain))
    run_until_idle(stage)
    spark.createDataFrame([(2, "Bob")], "id int, name string").write.mode("append").parquet(customers)
    send(world, topic, [{"id": 12, "customer": 2}])
    run_until_idle(stage)
    assert {row["id"]: row["name"] for row in files.rows()} == {10: "Ada", 11: None, 12: "Bob"}


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_small_files_are_put_together_and_nothing_changes_for_readers(
    frames: Make, spark: SparkSession, topic_name: str, tmp_path: Path, kind: str
) -> None:
    world = frames(seamark_batch_max_records="1")
    topic = world.topic()
    send(world, topic, [{"id": number} for number in range(6)])
    table = DeltaFolder(tmp_path / "out") if kind == "delta" else IcebergTable(tmp_path / "out", spark)
    config = settings(table, topics=topic, compact__every__batches="6", **CONVERTERS)
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    assert table.ids() == list(range(6))
    held = table.table()
    files = held.file_uris() if isinstance(table, DeltaFolder) else list(held.scan().plan_files())
    assert len(files) == 1


def test_a_batch_that_reached_only_some_tables_is_completed_after_the_repair(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topics = sorted(world.topic() for _ in range(2))
    for topic in topics:
        send(world, topic, [{"id": 1}, {"id": 2}])
    in_the_way = tmp_path / topics[1]
    in_the_way.write_text("not a folder")
    config = {"topics": ",".join(topics), "format": "delta", "path": f"{tmp_path}/${{topic}}", **CONVERTERS}
    failure(world, topic_name, **config)
    assert DeltaFolder(tmp_path / topics[0]).ids() == [1, 2]
    in_the_way.unlink()
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    assert [DeltaFolder(tmp_path / topic).ids() for topic in topics] == [[1, 2], [1, 2]]


def test_a_key_with_several_fields_in_a_table_of_a_catalog(
    frames: Make, spark: SparkSession, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic, table = world.topic(), f"t{uuid.uuid4().hex}"
    keys = [{"land": "de", "id": 1}, {"land": "at", "id": 1}]
    produce(world, topic, [(json.dumps(key).encode(), json.dumps({"n": 1}).encode()) for key in keys])
    config = {"topics": topic, "format": "delta", "table": table, "option__path": str(tmp_path / "out"), **JSON}
    config |= {"mode": "changelog", "key__converter": JSON["value__converter"]}
    config |= {"key__converter__schemas__enable": "false"}
    stage = world.stage(SparkSinkConnector(), topic_name, **config)
    run_until_idle(stage)
    produce(world, topic, [(json.dumps(keys[0]).encode(), None), (json.dumps(keys[1]).encode(), b'{"n": 2}')])
    run_until_idle(stage)
    assert DeltaFolder(tmp_path / "out").rows() == [{"land": "at", "id": 1, "n": 2}]
    assert spark.table(table).count() == 1
    produce(world, topic, [(json.dumps(keys[0]).encode(), b'{"n": 3}'), (None, b'{"n": 4}')])
    outcome = stage.run()
    assert outcome.ending is Ending.FAILED
    assert f"The record at offset 5 of {topic}-0 has no key" in next(iter(outcome.failures.values()))


def test_an_iceberg_table_that_others_change_between_staging_and_picking(
    frames: Make, spark: SparkSession, topic_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = frames()
    topic = world.topic()
    lake = IcebergTable(tmp_path / "lake", spark)
    config = settings(lake, topics=topic, mode="upsert", key__fields="id", key__source="value", **CONVERTERS)
    stage = world.stage(SparkSinkConnector(), topic_name, **config)
    send(world, topic, [{"id": 1, "n": 1}])
    run_until_idle(stage)
    stages = IcebergTarget._stage

    def meddled(self: IcebergTarget, rows: Any, batch: Any) -> Any:
        staged = stages(self, rows, batch)
        monkeypatch.undo()
        spark.sql(f"INSERT INTO {lake.name} VALUES (9, 9)")
        return staged

    monkeypatch.setattr(IcebergTarget, "_stage", meddled)
    send(world, topic, [{"id": 1, "n": 2}])
    outcome = stage.run()
    assert (outcome.ending, outcome.retriable) == (Ending.FAILED, True)
    run_until_idle(stage)
    assert {row["id"]: row["n"] for row in lake.rows()} == {1: 2, 9: 9}


def test_a_package_that_the_worker_lacks_is_named_with_the_property_to_set(
    frames: Make, topic_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = frames()
    topic = world.topic()
    send(world, topic, [{"id": 1}])
    monkeypatch.setitem(spark_packages._PROOF, "delta", "com.example.Missing")
    told = failure(world, topic_name, **settings(DeltaFolder(tmp_path / "delta"), topics=topic, **CONVERTERS))
    assert "seamark.spark.packages=delta" in told
