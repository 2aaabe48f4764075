"""A driver that is killed while a table is being written: half-written batches are completed, or were never there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.drivers import Doomed, run_deadly_drivers
from fixtures.frame_data import JSON, STRING, produce
from fixtures.postgres import PostgresDatabase
from fixtures.spark import Frames, run_until_idle
from fixtures.tables import DeltaFolder, IcebergTable, ParquetFolder, PostgresTable, Table, settings
from seamark.connectors.spark_sink.connector import SparkSinkConnector

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]
Make = Callable[..., Frames]
CLASS = "seamark.connectors.spark_sink.connector:SparkSinkConnector"
SINK = "seamark.connectors.spark_sink"
FILES = "seamark.connectors.batch_files:BatchFiles"
CONVERTERS = {"key__converter": STRING, **JSON}
CHANGELOG = {"mode": "changelog", "key__fields": "k"}
APPEND, KEYED = False, True
STEPS = {
    "parquet": (
        (f"{FILES}.claim:before", APPEND),  # Spark has written the files, nothing says that they count
        (f"{FILES}.claim:after", APPEND),  # they count, but are not where readers look
        (f"{FILES}._sweep:before", APPEND),  # they are all there, and what is left over, too
    ),
    "delta": (
        (f"{SINK}.delta:DeltaTarget._append:before", APPEND),  # there is an empty table
        (f"{SINK}.delta:DeltaTarget._append:after", APPEND),
        (f"{SINK}.delta:DeltaTarget._merge:after", KEYED),
    ),
    "iceberg": (
        (f"{SINK}.iceberg:IcebergTarget._pick:before", APPEND),  # all rows are staged
        (f"{SINK}.iceberg:IcebergTarget._pick:before", KEYED),
        (f"{SINK}.iceberg:IcebergTarget._pick:after", APPEND),
    ),
    "postgresql": (
        (f"{SINK}.postgresql:PostgresqlTarget._fill:after", APPEND),  # all rows are staged
        (f"{SINK}.postgresql:PostgresqlTarget._move:after", APPEND),  # and moved, but not committed
        (f"{SINK}.postgresql:PostgresqlTarget._move:after", KEYED),
    ),
}


def table_of(kind: str, folder: Path, spark: SparkSession, postgres: PostgresDatabase) -> Table:
    if kind == "postgresql":
        return PostgresTable(postgres, f"rows_{folder.name}")
    if kind == "iceberg":
        return IcebergTable(folder, spark)
    return (DeltaFolder if kind == "delta" else ParquetFolder)(folder)


def numbers(first: int, count: int) -> list[tuple[bytes | None, bytes | None]]:
    return [(str(n).encode(), json.dumps({"id": n}).encode()) for n in range(first, first + count)]


@pytest.mark.parametrize("kind", list(STEPS))
def test_a_driver_that_is_killed_while_it_writes_leaves_each_record_once(
    frames: Make, spark: SparkSession, topic_name: str, tmp_path: Path, postgres: PostgresDatabase, kind: str
) -> None:
    steps = STEPS[kind]
    tables = [table_of(kind, tmp_path / str(at), spark, postgres) for at in range(len(steps))]
    catalogs = {key.replace(".", "_"): value for table in tables for key, value in table.worker.items()}
    world = frames(seamark_batch_max_records="60", **catalogs)
    topic = world.topic()
    produce(world, topic, [*numbers(0, 58), (b"7", None), (b"8", b'{"id": 8}')])
    configs = [
        settings(table, topics=topic, **CONVERTERS, **(CHANGELOG if is_keyed else {}))
        for table, (_, is_keyed) in zip(tables, steps, strict=True)
    ]
    names = [f"{topic_name}-{at}" for at in range(len(steps))]
    run_deadly_drivers(
        [
            Doomed(world, {"name": name, "connector.class": CLASS, **config}, step)
            for name, config, (step, _) in zip(names, configs, steps, strict=True)
        ]
    )
    produce(world, topic, numbers(58, 20))
    changed, added = [n for n in range(78) if n != 7], sorted([*range(78), 8])
    for name, config, table, (step, is_keyed) in zip(names, configs, tables, steps, strict=True):
        run_until_idle(world.stage(SparkSinkConnector(), name, **config))
        assert table.ids() == (changed if is_keyed else added), f"killed at {step}"
    left = postgres.query("SELECT relname FROM pg_class WHERE relname LIKE 'seamark_stage%' AND relkind = 'r'")
    assert left == []
