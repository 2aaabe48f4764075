"""SparkSink on a real broker, a real Spark and real tables: each record once, whoever dies when."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fixtures.drivers import run_deadly_driver
from fixtures.frame_data import JSON, STRING, produce
from fixtures.spark import Frames, run_until_idle
from fixtures.tables import DeltaFolder, IcebergTable, ParquetFolder, PostgresTable, Table, settings
from seamark.connector import TopicPartition
from seamark.connectors.spark_sink.connector import SparkSinkConnector
from seamark.engine.frame_sink import FrameSinkStage
from seamark.engine.sink_ledger import SinkIntent, SinkLedger
from seamark.engine.stage import Ending

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]
SPARK_SINK = "seamark.connectors.spark_sink.connector:SparkSinkConnector"
CONVERTERS = {"key__converter": STRING, **JSON}
ALL = ("parquet", "delta", "iceberg", "postgresql")
KEYED = ALL[1:]


@pytest.fixture
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    kind = request.param
    if kind == "iceberg":
        return IcebergTable(tmp_path / "out", request.getfixturevalue("spark"))
    if kind == "postgresql":
        return PostgresTable(request.getfixturevalue("postgres"))
    return {"parquet": ParquetFolder, "delta": DeltaFolder}[kind](tmp_path / "out")


def numbers(count: int, start: int = 0) -> list[tuple[bytes | None, bytes | None]]:
    return [(str(n).encode(), json.dumps({"id": n, "name": f"n{n}"}).encode()) for n in range(start, start + count)]


class Stumbling(FrameSinkStage):
    """Fails once between the table's commit and the consumer group's."""

    has_failed = False

    def end_batch(self, ledger: SinkLedger, intent: SinkIntent) -> None:
        if not self.has_failed:
            self.has_failed = True
            raise OSError("the power is out")
        super().end_batch(ledger, intent)


@pytest.mark.parametrize("table", ALL, indirect=True)
def test_batches_become_rows_and_a_batch_that_was_not_ended_is_not_written_twice(
    frames: Make, topic_name: str, table: Table
) -> None:
    world = frames(seamark_batch_max_records="40")
    topic = world.topic(partitions=2)
    produce(world, topic, numbers(100))
    config = settings(table, topics=topic, **CONVERTERS)
    stage = world.stage(SparkSinkConnector(), topic_name, stage_class=Stumbling, **config)
    outcome = stage.run()
    assert outcome.ending is Ending.FAILED
    assert "the power is out" in next(iter(outcome.failures.values()))
    before = table.ids()
    assert 0 < len(before) <= 40
    produce(world, topic, numbers(20, 100))
    run_until_idle(stage)
    assert table.ids() == list(range(120))
    assert {row["name"] for row in table.rows()} == {f"n{n}" for n in range(120)}
    assert sum(world.admin.group_offsets(f"connect-{topic_name}").values()) == 120
    assert sum(task.records for task in stage.progress()) == 120


@pytest.mark.slow
@pytest.mark.parametrize("table", ALL, indirect=True)
def test_a_killed_driver_leaves_each_record_once(frames: Make, topic_name: str, table: Table) -> None:
    world = frames(seamark_batch_max_records="60", **{key.replace(".", "_"): v for key, v in table.worker.items()})
    topic = world.topic(partitions=2)
    produce(world, topic, numbers(100))
    config = settings(table, topics=topic, **CONVERTERS)
    run_deadly_driver(world, {"name": topic_name, "connector.class": SPARK_SINK, **config}, "write_batch:after")
    assert 0 < len(table.ids()) <= 60
    produce(world, topic, numbers(50, 100))
    run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
    assert table.ids() == list(range(150))


@pytest.mark.parametrize("table", ALL, indirect=True)
def test_a_driver_that_was_replaced_unawares_changes_neither_the_table_nor_the_group(
    frames: Make, topic_name: str, table: Table
) -> None:
    world = frames(seamark_batch_max_records="20")
    topic = world.topic()
    produce(world, topic, numbers(40))
    config = settings(table, topics=topic, **CONVERTERS)

    class Replaced(FrameSinkStage):
        """Stands still after its batch was recorded, until another driver has done it and the next one."""

        is_replaced = False

        def write_batch(self, intent: SinkIntent, *, replay: bool, readable_from: Mapping[TopicPartition, int]) -> None:
            if not self.is_replaced:
                self.is_replaced = True
                run_until_idle(world.stage(SparkSinkConnector(), topic_name, **config))
            super().write_batch(intent, replay=replay, readable_from=readable_from)

    zombie = world.stage(SparkSinkConnector(), topic_name, stage_class=Replaced, **config)
    outcome = zombie.run()
    assert (outcome.ending, outcome.retriable) == (Ending.FAILED, True)
    assert table.ids() == list(range(40))
    assert zombie.run().ending is Ending.IDLE
    assert world.admin.group_offsets(f"connect-{topic_name}") == {TopicPartition(topic, 0): 40}


def changes(world: Frames, topic: str, *pairs: tuple[str, dict[str, Any] | None]) -> None:
    produce(world, topic, [(k.encode(), None if v is None else json.dumps(v).encode()) for k, v in pairs])


def by_key(table: Table) -> dict[str, Any]:
    found = {row["k"]: row.get("n") for row in table.rows()}
    assert len(found) == len(table.rows())
    return found


@pytest.mark.parametrize("table", KEYED, indirect=True)
def test_a_changelog_keeps_the_last_row_of_each_key_and_deletes(frames: Make, topic_name: str, table: Table) -> None:
    world = frames()
    topic = world.topic()
    changes(world, topic, ("a", {"n": 1}), ("b", {"n": 2}), ("a", {"n": 3}), ("c", {"n": 4}), ("c", None))
    config = settings(table, topics=topic, mode="changelog", key__fields="k", **CONVERTERS)
    stage = world.stage(SparkSinkConnector(), topic_name, stage_class=Stumbling, **config)
    assert stage.run().ending is Ending.FAILED
    assert by_key(table) == {"a": 3, "b": 2}
    run_until_idle(stage)
    assert by_key(table) == {"a": 3, "b": 2}
    changes(world, topic, ("b", None), ("a", None), ("a", {"n": 5}), ("d", {"n": 6, "extra": "x"}), ("e", None))
    run_until_idle(stage)
    assert by_key(table) == {"a": 5, "d": 6}
    assert {row["k"]: row["extra"] for row in table.rows()} == {"a": None, "d": "x"}
    changes(world, topic, ("a", None))  # a batch without any value
    run_until_idle(stage)
    assert by_key(table) == {"d": 6}


@pytest.mark.parametrize("table", KEYED, indirect=True)
def test_an_upsert_finds_rows_by_fields_of_the_value_and_ignores_tombstones(
    frames: Make, topic_name: str, table: Table
) -> None:
    world = frames()
    topic = world.topic()
    changes(world, topic, ("x", {"k": "a", "n": 1}), ("x", {"k": "b", "n": 2}), ("x", None), ("x", {"k": "a", "n": 3}))
    config = settings(table, topics=topic, mode="upsert", key__fields="k", key__source="value", **CONVERTERS)
    stage = world.stage(SparkSinkConnector(), topic_name, **config)
    run_until_idle(stage)
    assert by_key(table) == {"a": 3, "b": 2}
    changes(world, topic, ("x", {"k": "b", "n": 4}))
    run_until_idle(stage)
    assert by_key(table) == {"a": 3, "b": 4}
