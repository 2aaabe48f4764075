"""Record transforms of frame connectors on a real broker and a real Spark: same results as one record at a time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from fixtures.drivers import PLUGINS, Doomed, run_deadly_drivers
from fixtures.frame_data import (
    JSON,
    JSON_SCHEMAS,
    STRING,
    Kept,
    KeptTyped,
    Rows,
    messages,
    produce,
    run_once,
    transforms,
)
from fixtures.spark import Frames, run_until_idle
from seamark.connector import Offsets, SinkBatch, TopicPartition
from seamark.connectors.parquet_sink import ParquetSinkConnector
from seamark.engine.stage import Ending

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(PLUGINS))

from frame_plugins import TABLE, NumbersSource

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]
T = "org.apache.kafka.connect.transforms."
P = f"{T}predicates."


def hoist(field: str) -> dict[str, str]:
    return {"type": f"{T}HoistField$Value", "field": field}


def insert(field: str, value: str) -> dict[str, str]:
    return {"type": f"{T}InsertField$Value", "static__field": field, "static__value": value}


def route(regex: str, replacement: str) -> dict[str, str]:
    return {"type": f"{T}RegexRouter", "regex": regex, "replacement": replacement}


def rows(path: Path) -> list[dict[str, Any]]:
    files = [file for file in path.rglob("*.parquet") if "_seamark" not in file.parts]
    return [row for file in sorted(files) for row in pq.ParquetFile(file).read().to_pylist()]


# sources


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_sources_rows_go_through_the_chain(frames: Make, topic_name: str, exactly_once: bool) -> None:
    world = frames(seamark_batch_max_records="400")
    topic = world.topic(partitions=2)
    chain = transforms(hoist("number"), insert("from", "spark"), route("raw", topic))
    stage = world.stage(
        NumbersSource(), topic_name, exactly_once=exactly_once, rows="1000", topic="raw", **chain, **JSON
    )
    run_until_idle(stage)
    found = [(key, json.loads(value)) for key, value in world.records(topic)]
    assert sorted(int(value["number"]) for _, value in found) == list(range(1000))
    assert {value["from"] for _, value in found} == {"spark"}
    assert all(key == value["number"][-1:].encode() for key, value in found)
    for digit in range(10):
        of_key = [int(value["number"]) for key, value in found if key == str(digit).encode()]
        assert of_key == sorted(of_key)
    assert world.store.read(topic_name) == Offsets([(TABLE, {"row": 1000})])
    assert sum(task.records for task in stage.progress()) == 1000


def test_text_bytes_and_headers_that_no_transform_touches_stay_as_they_are(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()

    def build(spark: SparkSession) -> DataFrame:
        row = ("text", b"\xff\x00", [{"key": "h", "value": b"\x01"}, {"key": "n", "value": None}], 1_700_000_000_123)
        schema = "value string, key binary, headers array<struct<key:string,value:binary>>, timestamp long"
        return spark.createDataFrame([row], schema)

    header = {"type": f"{T}InsertHeader", "header": "added", "value__literal": "7"}
    chain = transforms(route("raw", topic), header)
    json_headers = {"header__converter": "org.apache.kafka.connect.json.JsonConverter", **JSON_SCHEMAS}
    run_once(world, Rows(build), topic_name, topic="raw", **chain, **json_headers)
    (message,) = messages(world, topic)
    assert (message.key, message.value, message.timestamp) == (b"\xff\x00", b"text", 1_700_000_000_123)
    assert message.headers[:2] == (("h", b"\x01"), ("n", None))
    assert json.loads(message.headers[2][1] or b"")["payload"] == 7


def test_logical_types_tombstones_and_predicates_of_a_source(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()

    def build(spark: SparkSession) -> DataFrame:
        from pyspark.sql import functions as F

        columns = [
            "'k' AS key",
            "named_struct('at', timestamp'2026-01-02 03:04:05.678', 'price', cast('1.50' as decimal(10,2))) AS value",
        ]
        full = spark.range(1).selectExpr(*columns)
        none = full.withColumn("value", F.when(F.lit(False), F.col("value")))
        return full.union(none)

    day = {"type": f"{T}TimestampConverter$Value", "target__type": "string", "field": "at", "format": "yyyy-MM-dd"}
    drop = {"type": f"{T}Filter", "predicate": "gone"}
    with_drop = transforms(day, drop, gone=f"{P}RecordIsTombstone")
    run_once(world, Rows(build), topic_name, topic=topic, **with_drop, **JSON)
    assert [json.loads(m.value or b"") for m in messages(world, topic)] == [{"at": "2026-01-02", "price": "AJY="}]
    other = world.topic()
    run_once(world, Rows(build), f"{topic_name}-2", topic=other, **transforms(day), **JSON)
    assert sorted(m.value or b"" for m in messages(world, other)) == [b"", b'{"at":"2026-01-02","price":"AJY="}']


SOURCE_STEPS = ["begin_batch:after", "write_batch:after", "end_batch:before"]
SINK_STEPS = ["begin_batch:after", "write_batch:after"]
Killed = dict[tuple[str, str], tuple[Frames, str, dict[str, str]]]


@pytest.fixture(scope="module")
def killed(module_frames: Make, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Worlds, names and configs of sources and sinks with a chain whose driver was killed at a step."""
    scenes: Killed = {}
    doomed = []
    for step in SOURCE_STEPS:
        world = module_frames(plugin_path=str(PLUGINS), seamark_batch_max_records="400")
        topic = world.topic(partitions=2)
        # What it inserts differs from run to run: a replay must not depend on what transforms give.
        config = {"rows": "1000", "topic": topic, **transforms(hoist("n"), {"type": "frame_plugins.Stamp"}), **JSON}
        scenes["source", step] = (world, f"killed-{topic}", config)
        order = {"name": f"killed-{topic}", "connector.class": "frame_plugins:NumbersSource", **config}
        doomed.append(Doomed(world, order, step))
    for step in SINK_STEPS:
        world = module_frames(seamark_batch_max_records="100")
        topic = world.topic(partitions=2)
        produce(world, topic, [(str(n).encode(), b'{"n": %d}' % n) for n in range(250)])
        path = tmp_path_factory.mktemp("killed") / "out"
        config = {"topics": topic, "path": str(path), "key__converter": STRING, **JSON}
        config |= transforms(insert("x", "y"))
        scenes["sink", step] = (world, f"killed-{topic}", config)
        parquet = "seamark.connectors.parquet_sink:ParquetSinkConnector"
        doomed.append(Doomed(world, {"name": f"killed-{topic}", "connector.class": parquet, **config}, step))
    run_deadly_drivers(doomed)
    return scenes


@pytest.mark.parametrize("die", SOURCE_STEPS)
def test_with_a_chain_each_row_is_still_written_once(killed: Killed, die: str) -> None:
    world, name, config = killed["source", die]
    run_until_idle(world.stage(NumbersSource(), name, **config))
    found = [json.loads(value) for value in world.values(config["topic"])]
    assert sorted(int(each["n"]) for each in found) == list(range(1000))
    assert len({each["stamp"] for each in found}) == 1000


def test_a_killed_python_worker_leaves_no_trace_of_the_chain_it_ran(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames(plugin_path=str(PLUGINS))
    topic, flag = world.topic(partitions=2), tmp_path / "killed"
    deadly = {"value__converter": "frame_plugins.DeadlyConverter", "value__converter__at": "700"}
    config = {**transforms(hoist("number")), **deadly, "value__converter__flag": str(flag)}
    run_until_idle(world.stage(NumbersSource(), topic_name, rows="1000", topic=topic, **config))
    assert flag.exists()
    assert sorted(map(int, world.values(topic))) == list(range(1000))


def test_a_source_fails_at_a_row_that_cannot_be_transformed_and_goes_on_after_a_fix(
    frames: Make, topic_name: str
) -> None:
    world = frames(plugin_path=str(PLUGINS))
    topic = world.topic(partitions=2)
    poison = {"type": "frame_plugins.Poison", "at": "77"}
    stage = world.stage(NumbersSource(), topic_name, rows="200", topic=topic, **transforms(poison))
    outcome = stage.run()
    (trace,) = outcome.failures.values()
    assert (outcome.ending, outcome.retriable) == (Ending.FAILED, False)
    assert "Tolerance exceeded in error handler" in trace
    assert "77 is poison" in trace
    assert "frame_plugins.Poison" in trace
    assert sum(task.errors.get("total_record_errors", 0) for task in stage.progress()) == 1
    assert "77" not in world.values(topic)
    stage.close()

    tolerant = world.stage(
        NumbersSource(), topic_name, rows="200", topic=topic, errors__tolerance="all", **transforms(poison)
    )
    run_until_idle(tolerant)
    assert sorted(map(int, world.values(topic))) == [number for number in range(200) if number != 77]
    assert sum(task.errors["total_records_skipped"] for task in tolerant.progress()) == 1


def test_without_transforms_a_row_that_cannot_be_converted_is_tolerated_too(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames(plugin_path=str(PLUGINS))
    topic = world.topic()
    deadly = {"value__converter": "frame_plugins.DeadlyConverter", "value__converter__at": "7"}
    deadly |= {"value__converter__always": "1", "value__converter__flag": str(tmp_path / "never")}
    config = {"struct": "1", "rows": "20", "topic": topic, "errors__tolerance": "all", **deadly}
    run_until_idle(world.stage(NumbersSource(), topic_name, **config))
    assert sorted(map(int, world.values(topic))) == [number for number in range(20) if number != 7]


# sinks


def test_a_sink_gets_typed_columns_or_bytes_after_the_chain(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()
    produce(world, topic, [(b"k1", b'{"id": 1, "tags": ["a"]}'), (b"k2", b'{"id": 2.5, "who": {"name": "x"}}')])
    chain = transforms(insert("from", "kafka"), route(topic, "renamed"))
    config = {"topics": topic, "key__converter": STRING, **chain, **JSON}
    typed = KeptTyped()
    run_once(world, typed, f"{topic_name}-typed", **config)
    assert "value:struct<from:string,id:double,tags:array<string>,who:struct<name:string>>" in typed.schema
    assert [(row.key, row.value.id, row.topic, row.offset) for row in typed.rows] == [
        ("k1", 1.0, "renamed", 0),
        ("k2", 2.5, "renamed", 1),
    ]
    assert typed.rows[1].value.who.name == "x"

    plain = Kept()
    run_once(world, plain, f"{topic_name}-bytes", **config)
    assert plain.schema.startswith("struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:")
    assert json.loads(bytes(plain.rows[0].value)) == {"id": 1, "tags": ["a"], "from": "kafka"}
    assert bytes(plain.rows[0].key) == b"k1"


def test_what_no_transform_touches_reaches_a_sink_byte_for_byte(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()
    odd = b'{ "a" :1.50 }'  # a converter would write it otherwise
    headers = [("quoted", b'"text"'), ("n", None)]
    produce(world, topic, [(b'"k"', odd), (None, None)], headers=headers)
    sink = Kept()
    config = {"topics": topic, **transforms(route(topic, "other")), **JSON}
    config |= {"key__converter": config["value__converter"], "key__converter__schemas__enable": "false"}
    run_once(world, sink, topic_name, **config)
    assert [(row.key and bytes(row.key), row.value and bytes(row.value)) for row in sink.rows] == [
        (b'"k"', odd),
        (None, None),
    ]
    assert [(h.key, h.value and bytes(h.value)) for h in sink.rows[0].headers] == headers
    assert {row.topic for row in sink.rows} == {"other"}


def test_schemas_of_records_become_columns_of_the_same_types(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic = world.topic()
    fields = [
        {"field": "id", "type": "int32", "optional": False},
        {"field": "day", "type": "int32", "optional": True, "name": "org.apache.kafka.connect.data.Date"},
        {"field": "at", "type": "int64", "optional": True, "name": "org.apache.kafka.connect.data.Timestamp"},
    ]
    schema = {"type": "struct", "fields": fields}
    payloads = [{"id": 1, "day": 20_000, "at": 1_700_000_000_123}, {"id": 2, "day": None, "at": None}]
    produce(world, topic, [(None, json.dumps({"schema": schema, "payload": each}).encode()) for each in payloads])
    config = {"topics": topic, "path": str(tmp_path / "out"), "key__converter": STRING, **JSON_SCHEMAS}
    run_once(world, ParquetSinkConnector(), topic_name, **config, **transforms(insert("source", "x")))
    found = [row["value"] for row in rows(tmp_path / "out")]
    assert [str(each["day"]) for each in found] == ["2024-10-04", "None"]
    assert found[0]["at"].isoformat() == "2023-11-14T22:13:20.123000"
    assert [(each["id"], each["source"]) for each in found] == [(1, "x"), (2, "x")]


def test_a_sinks_poison_records_become_dead_letters_and_the_rest_arrives(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames(seamark_batch_max_records="100")
    topic, dead = world.topic(), f"{topic_name}-dead"
    poisoned = {3: b"\x00not json", 44: b'{"n": "x"}', 150: b"[]"}  # converter, Cast, Cast
    produce(world, topic, [(b"k", poisoned.get(n, b'{"n": %d}' % n)) for n in range(200)])
    cast = {"type": f"{T}Cast$Value", "spec": "n:int64"}
    config = {"topics": topic, "path": str(tmp_path / "out"), "key__converter": STRING, **JSON, **transforms(cast)}
    outcome = world.stage(ParquetSinkConnector(), f"{topic_name}-strict", **config).run()
    (trace,) = outcome.failures.values()
    assert (outcome.ending, outcome.retriable) == (Ending.FAILED, False)
    assert f"the record at offset 3 of {topic}-0" in trace
    assert rows(tmp_path / "out") == []

    config |= {
        "errors__tolerance": "all",
        "errors__deadletterqueue__topic__name": dead,
        "errors__deadletterqueue__topic__replication__factor": "1",
        "errors__deadletterqueue__context__headers__enable": "true",
    }
    stage = world.stage(ParquetSinkConnector(), topic_name, **config)
    run_until_idle(stage)
    assert [row["value"]["n"] for row in rows(tmp_path / "out")] == [n for n in range(200) if n not in poisoned]
    letters = messages(world, dead)
    headers = [{name.removeprefix("__connect.errors."): data for name, data in each.headers} for each in letters]
    assert [(int(each["offset"] or b""), letter.value) for each, letter in zip(headers, letters, strict=True)] == list(
        poisoned.items()
    )
    assert [each["stage"] for each in headers] == [b"VALUE_CONVERTER", b"TRANSFORMATION", b"TRANSFORMATION"]
    assert headers[1]["class.name"] == f"{T}Cast$Value".encode()
    errors = [task.errors for task in stage.progress()]
    assert sum(each.get("total_records_skipped", 0) for each in errors) == 3
    assert sum(each.get("deadletterqueue_produce_requests", 0) for each in errors) == 3
    assert sum(task.records for task in stage.progress()) == 200
    assert world.admin.group_offsets(f"connect-{topic_name}") == {TopicPartition(topic, 0): 200}


def test_each_record_is_transformed_once_however_often_the_sink_reads_the_frame(frames: Make, topic_name: str) -> None:
    world = frames(plugin_path=str(PLUGINS))
    topic = world.topic()
    produce(world, topic, [(None, b'{"n": 1}'), (None, b'{"n": 2}')])
    seen: list[list[str]] = []

    class Twice(KeptTyped):
        def write(self, frame: DataFrame, batch: SinkBatch) -> None:
            for _ in range(2):
                seen.append([row.value.stamp for row in frame.collect()])

    config = {"topics": topic, "key__converter": STRING, **JSON, **transforms({"type": "frame_plugins.Stamp"})}
    run_once(world, Twice(), topic_name, **config)
    assert len(set(seen[0])) == 2
    assert seen[0] == seen[1]


@pytest.mark.parametrize("die", SINK_STEPS)
def test_a_transformed_batch_of_a_killed_driver_is_in_the_files_once(killed: Killed, die: str) -> None:
    world, name, config = killed["sink", die]
    run_until_idle(world.stage(ParquetSinkConnector(), name, **config))
    assert sorted(row["value"]["n"] for row in rows(Path(config["path"]))) == list(range(250))


@pytest.mark.parametrize(("behavior", "expected"), [("write", ["a", None, "b"]), ("ignore", ["a", "b"])])
@pytest.mark.parametrize("transformed", [False, True])
def test_parquet_files_hold_tombstones_or_not(
    frames: Make, topic_name: str, tmp_path: Path, behavior: str, expected: list[str | None], transformed: bool
) -> None:
    world = frames()
    topic = world.topic()
    produce(world, topic, [(b"1", b"a"), (b"2", None), (b"3", b"b")])
    config = {"topics": topic, "path": str(tmp_path / "out"), "behavior__on__null__values": behavior}
    config |= {"key__converter": STRING, "value__converter": STRING}
    config |= transforms(route(topic, "x")) if transformed else {}
    run_once(world, ParquetSinkConnector(), topic_name, **config)
    assert [row["value"] for row in rows(tmp_path / "out")] == expected
    assert world.admin.group_offsets(f"connect-{topic_name}") == {TopicPartition(topic, 0): 3}


def test_parquet_fails_at_a_tombstone_if_told_so_and_writes_nothing(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic = world.topic()
    produce(world, topic, [(b"1", b"a"), (b"2", None)])
    config = {"topics": topic, "path": str(tmp_path / "out")}
    outcome = world.stage(ParquetSinkConnector(), topic_name, behavior__on__null__values="fail", **config).run()
    assert outcome.ending is Ending.FAILED
    assert f"The record at offset 1 of {topic}-0 has no value" in next(iter(outcome.failures.values()))
    assert rows(tmp_path / "out") == []
    run_until_idle(world.stage(ParquetSinkConnector(), topic_name, behavior__on__null__values="ignore", **config))
    assert [row["value"] for row in rows(tmp_path / "out")] == ["a"]
