"""The SparkSql transform on a real broker and a real Spark: alone, between other transforms, and where it fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from fixtures.drivers import PLUGINS, Doomed, run_deadly_drivers
from fixtures.frame_data import JSON, STRING, Kept, KeptTyped, Rows, messages, produce, run_once, transforms
from fixtures.spark import Frames, run_until_idle
from fixtures.worker import MakeWorker, Topics
from seamark.connector import TopicPartition
from seamark.connectors.parquet_sink import ParquetSinkConnector
from seamark.engine.stage import Ending
from seamark.errors import ConfigError
from seamark.testing.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(PLUGINS))

from frame_plugins import NumbersSource, StableNumbersSource

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]
T = "org.apache.kafka.connect.transforms."
SINK = {"key__converter": STRING, **JSON}
ORDERS = [
    (b"a", b'{"id": 1, "amount": 5}'),
    (b"b", b'{"id": 2, "amount": -1}'),
    (b"c", b'{"id": 3, "amount": 7}'),
]


def sql(query: str, **settings: str) -> dict[str, str]:
    return {"type": "SparkSql", "sql": query, **settings}


# sinks


def test_a_query_alone_sees_fields_and_metadata_and_gives_a_sink_its_columns(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()
    produce(world, topic, ORDERS, headers=[("h", b"1")])
    sink = KeptTyped()
    query = "SELECT *, amount * 2 AS twice FROM records WHERE amount > 0;"
    run_once(world, sink, topic_name, topics=topic, **SINK, **transforms(sql(query)))
    assert sink.schema.startswith("struct<key:string,value:struct<amount:bigint,id:bigint,twice:bigint>,topic:string,")
    found = [(row.key, row.value.id, row.value.twice, row.topic, row.partition, row.offset) for row in sink.rows]
    assert found == [("a", 1, 10, topic, 0, 0), ("c", 3, 14, topic, 0, 2)]
    assert [(h.key, bytes(h.value)) for h in sink.rows[0].headers] == [("h", b"1")]
    assert {row.timestampType for row in sink.rows} == {0}
    assert world.admin.group_offsets(f"connect-{topic_name}") == {TopicPartition(topic, 0): 3}


def test_transforms_before_and_after_a_query_run_in_their_places(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()
    produce(world, topic, ORDERS)
    chain = transforms(
        {"type": f"{T}Cast$Value", "spec": "amount:float64"},
        sql("SELECT _key, _topic, id, amount / 2 AS half FROM input WHERE amount > 0", view="input"),
        {"type": f"{T}InsertField$Value", "static__field": "from", "static__value": "sql"},
        sql("SELECT _key, _topic, id, half, upper(from) AS from FROM records WHERE id > 1"),
        {"type": f"{T}RegexRouter", "regex": topic, "replacement": "routed"},
    )
    typed = KeptTyped()
    run_once(world, typed, f"{topic_name}-typed", topics=topic, **SINK, **chain)
    assert [(row.key, row.value.asDict(), row.topic, row.offset) for row in typed.rows] == [
        ("c", {"id": 3, "half": 3.5, "from": "SQL"}, "routed", None)
    ]
    plain = Kept()
    run_once(world, plain, f"{topic_name}-bytes", topics=topic, **SINK, **chain)
    assert [(bytes(row.key), json.loads(bytes(row.value)), row.topic) for row in plain.rows] == [
        (b"c", {"id": 3, "half": 3.5, "from": "SQL"}, "routed")
    ]


def test_a_query_that_aggregates_gives_bytes_to_a_sink_that_takes_no_other(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic(partitions=2)
    produce(world, topic, ORDERS * 10)
    sink = Kept()
    query = "WITH good AS (SELECT * FROM records WHERE amount > 0) SELECT id, count(*) AS n FROM good GROUP BY id"
    run_once(world, sink, topic_name, topics=topic, **SINK, **transforms(sql(query)))
    assert sink.schema.startswith("struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,")
    assert sorted(bytes(row.value) for row in sink.rows) == [b'{"id":1,"n":10}', b'{"id":3,"n":10}']
    assert {(row.key, row.topic, row.offset) for row in sink.rows} == {(None, None, None)}


def test_values_without_fields_are_one_column(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()
    produce(world, topic, [(b"k", b"one"), (b"k", b"two")])
    sink = KeptTyped()
    config = {"topics": topic, "key__converter": STRING, "value__converter": STRING}
    run_once(world, sink, topic_name, **config, **transforms(sql("SELECT _key, upper(_value) AS _value FROM records")))
    assert [(row.key, row.value) for row in sink.rows] == [("k", "ONE"), ("k", "TWO")]


def test_a_schema_fixes_the_columns_whatever_a_batch_holds(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()
    produce(world, topic, [(None, b'{"id": 1, "other": true}')])
    chain = transforms(sql("SELECT id, name FROM records", schema="id string, name string"))
    for converter in (JSON, {"value__converter": STRING}):  # text is read as JSON
        sink = KeptTyped()
        name = f"{topic_name}-{len(converter)}"
        run_once(world, sink, name, topics=topic, key__converter=STRING, **converter, **chain)
        assert "value:struct<id:string,name:string>" in sink.schema
        assert [row.value.asDict() for row in sink.rows] == [{"id": "1", "name": None}]


def test_tombstones_are_left_out_or_queried(frames: Make, topic_name: str) -> None:
    world = frames()
    topic, empty = world.topic(), world.topic()
    produce(world, topic, [(b"a", b'{"id": 1}'), (b"b", None)])
    produce(world, empty, [(b"b", None)])
    dropped = KeptTyped()
    run_once(world, dropped, f"{topic_name}-1", topics=topic, **SINK, **transforms(sql("SELECT _key, id FROM records")))
    assert [(row.key, row.value.id) for row in dropped.rows] == [("a", 1)]
    for number, sink in enumerate((KeptTyped(), Kept())):  # nothing says what columns there are, and nothing need to
        name, chain = f"{topic_name}-2{number}", transforms(sql("SELECT _key, id FROM records"))
        run_once(world, sink, name, topics=empty, **SINK, **chain)
        assert sink.rows == []
        assert world.admin.group_offsets(f"connect-{name}") == {TopicPartition(empty, 0): 1}

    kept = Kept()
    query = sql("SELECT _key, _tombstone, id FROM records", null__values="query")
    run_once(world, kept, f"{topic_name}-3", topics=topic, **SINK, **transforms(query))
    assert [(bytes(row.key), row.value and bytes(row.value)) for row in kept.rows] == [
        (b"a", b'{"id":1}'),
        (b"b", None),
    ]


def test_a_query_that_does_not_fit_the_batch_fails_the_connector_and_says_what_would(
    frames: Make, topic_name: str
) -> None:
    world = frames()
    topic = world.topic()
    produce(world, topic, ORDERS)
    cases = {
        "SELECT nonsense FROM records": ["UNRESOLVED_COLUMN", "nonsense", "amount, id, _key", "transforms.t0.schema"],
        "SELECT id, amount AS id FROM records": ["more than one column id", "use AS"],
        "SELECT id, 'x' AS _value FROM records": ["select either"],
        "SELECT * FROM elsewhere": ["TABLE_OR_VIEW_NOT_FOUND"],
        "SELECT id, 'x' AS _headers FROM records": ["_headers is of type string"],
    }
    for number, (query, told) in enumerate(cases.items()):
        stage = world.stage(Kept(), f"{topic_name}-{number}", topics=topic, **SINK, **transforms(sql(query)))
        outcome = stage.run()
        (trace,) = outcome.failures.values()
        assert (outcome.ending, outcome.retriable) == (Ending.FAILED, False)
        assert "The query of transform 't0' cannot be used" in trace
        for text in told:
            assert text in trace


def test_dead_letters_of_transforms_on_both_sides_of_a_query(frames: Make, topic_name: str) -> None:
    world = frames(plugin_path=str(PLUGINS))
    topic, dead = world.topic(), f"{topic_name}-dead"
    produce(world, topic, [(b"a", b'{"n": "1"}'), (b"b", b'{"n": "x"}'), (b"c", b'{"n": "30000"}')])
    chain = transforms(
        {"type": f"{T}Cast$Value", "spec": "n:int32"},
        sql("SELECT _key, _topic, _offset, _partition, cast(n AS string) AS n FROM records"),
        {"type": f"{T}Cast$Value", "spec": "n:int8"},
    )
    errors = {
        "errors__tolerance": "all",
        "errors__deadletterqueue__topic__name": dead,
        "errors__deadletterqueue__topic__replication__factor": "1",
        "errors__deadletterqueue__context__headers__enable": "true",
    }
    sink = KeptTyped()
    stage = run_once(world, sink, topic_name, topics=topic, **SINK, **chain, **errors)
    assert [(row.key, row.value.n) for row in sink.rows] == [("a", 1)]
    letters = messages(world, dead)
    assert sorted((each.key, each.value) for each in letters) == [(b"b", b'{"n": "x"}'), (b"c", b'{"n":"30000"}')]
    offsets = {dict(each.headers)["__connect.errors.offset"] for each in letters}
    assert offsets == {b"1", b"2"}
    assert sum(task.errors.get("total_records_skipped", 0) for task in stage.progress()) == 2


# sources


def sourced(topic: str, query: str, *after: dict[str, str], before: dict[str, str] | None = None) -> dict[str, str]:
    chain = ([before] if before else []) + [sql(query), *after]
    return {"rows": "1000", "topic": topic, **transforms(*chain), **JSON}


HOIST = {"type": f"{T}HoistField$Value", "field": "n"}
STAMP = {"type": "frame_plugins.Stamp"}
NARROW = "SELECT _key, cast(n AS int) AS n, uuid() AS u FROM records WHERE cast(n AS int) % 2 = 0"
WIDE = "SELECT _key, n, rand() AS r FROM (SELECT _key, cast(n AS int) AS n FROM records) WHERE n % 2 = 0 ORDER BY r"


@pytest.mark.parametrize("source", [NumbersSource, StableNumbersSource])
@pytest.mark.parametrize("exactly_once", [True, False])
@pytest.mark.parametrize("query", [NARROW, WIDE], ids=["narrow", "wide"])
def test_a_sources_rows_go_through_transforms_and_query(
    frames: Make, topic_name: str, source: type[NumbersSource], exactly_once: bool, query: str
) -> None:
    world = frames(seamark_batch_max_records="400", plugin_path=str(PLUGINS))
    topic = world.topic(partitions=2)
    config = sourced(topic, query, STAMP, before=HOIST)
    stage = world.stage(source(), topic_name, exactly_once=exactly_once, **config)
    run_until_idle(stage)
    found = [(key, json.loads(value)) for key, value in world.records(topic)]
    assert sorted(value["n"] for _, value in found) == list(range(0, 1000, 2))
    assert all(key == str(value["n"])[-1].encode() and value["stamp"] for key, value in found)
    if query is NARROW and source is NumbersSource:  # partitions that are kept may each have rows of a key
        for digit in range(10):
            of_key = [value["n"] for key, value in found if key == str(digit).encode()]
            assert of_key == sorted(of_key)
    assert sum(task.records for task in stage.progress()) == 500


# killed drivers

STEPS = ["begin_batch:after", "write_batch:after"]
QUERIES = {"narrow": NARROW, "wide": WIDE}
Killed = dict[tuple[str, str], tuple[Frames, str, dict[str, str]]]


@pytest.fixture(scope="module")
def killed(module_frames: Make, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Worlds, names and configs of sources and sinks with a query whose driver was killed at a step."""
    scenes: Killed = {}
    doomed = []
    wanted = [(kind, step) for kind in QUERIES for step in STEPS] + [("dealt otherwise", "begin_batch:after")]
    for kind, step in wanted:
        world = module_frames(plugin_path=str(PLUGINS), seamark_batch_max_records="400")
        topic = world.topic(partitions=2)
        config = sourced(topic, QUERIES.get(kind, NARROW), before=HOIST)
        scenes[kind, step] = (world, f"killed-{topic}", config)
        order = {"name": f"killed-{topic}", "connector.class": "frame_plugins:NumbersSource", **config}
        doomed.append(Doomed(world, order, step))
    for step in STEPS:
        world = module_frames(seamark_batch_max_records="100")
        topic = world.topic(partitions=2)
        produce(world, topic, [(str(n).encode(), b'{"n": %d}' % n) for n in range(250)])
        path = tmp_path_factory.mktemp("killed") / "out"
        query = transforms(sql("SELECT n + 1 AS m FROM records"))
        config = {"topics": topic, "path": str(path), **SINK, **query}
        scenes["sink", step] = (world, f"killed-{topic}", config)
        parquet = "seamark.connectors.parquet_sink:ParquetSinkConnector"
        doomed.append(Doomed(world, {"name": f"killed-{topic}", "connector.class": parquet, **config}, step))
    run_deadly_drivers(doomed)
    return scenes


@pytest.mark.parametrize("die", STEPS)
def test_files_of_a_queried_batch_of_a_killed_driver_hold_each_record_once(killed: Killed, die: str) -> None:
    world, name, config = killed["sink", die]
    run_until_idle(world.stage(ParquetSinkConnector(), name, **config))
    files = [file for file in Path(config["path"]).rglob("batch-*.parquet")]
    found = [row["value"]["m"] for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    assert sorted(found) == list(range(1, 251))


@pytest.mark.parametrize("kind", list(QUERIES))
@pytest.mark.parametrize("die", STEPS)
def test_with_a_query_each_row_is_still_written_once(killed: Killed, kind: str, die: str) -> None:
    world, name, config = killed[kind, die]
    run_until_idle(world.stage(NumbersSource(), name, **config))
    assert sorted(json.loads(value)["n"] for value in world.values(config["topic"])) == list(range(0, 1000, 2))


def test_a_batch_that_was_begun_is_not_replayed_with_a_query_that_deals_its_rows_otherwise(killed: Killed) -> None:
    world, name, config = killed["dealt otherwise", "begin_batch:after"]
    topic = config["topic"]
    outcome = world.stage(NumbersSource(), name, **sourced(topic, WIDE, before=HOIST)).run()
    assert outcome.ending is Ending.FAILED
    assert "go back to the transforms that it had" in next(iter(outcome.failures.values()))
    assert world.values(topic) == []


def test_a_query_sets_topic_timestamp_headers_and_tombstones_of_a_source(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()

    def build(spark: SparkSession) -> DataFrame:
        schema = "value struct<id:int,price:decimal(10,2)>, key string, timestamp long"
        from decimal import Decimal

        return spark.createDataFrame([((1, Decimal("1.50")), "a", 1000), (None, "b", 2000)], schema)

    query = f"""-- a comment
        SELECT concat('k-', _key) AS _key, '{topic}' AS _topic, _timestamp + INTERVAL 1 SECOND AS _timestamp,
               array(struct('h' AS key, cast('v' AS binary) AS value)) AS _headers, _tombstone, id
        FROM records"""
    run_once(world, Rows(build), topic_name, topic="unused", **JSON, **transforms(sql(query, null__values="query")))
    found = sorted((each.key, each.value, each.timestamp, each.headers) for each in messages(world, topic))
    assert found == [(b"k-a", b'{"id":1}', 2000, (("h", b"v"),)), (b"k-b", None, 3000, (("h", b"v"),))]


# at a worker


def test_a_worker_refuses_what_cannot_run_and_runs_what_can(
    make_worker: MakeWorker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    worker = make_worker()
    topic = topics.create(topic_name)
    topics.send(topic, ['{"id": 1}', '{"id": 2}'])
    parquet = {"connector.class": "ParquetSink", "topics": topic, "path": str(tmp_path / "out")}
    parquet |= {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    parquet |= {"value.converter.schemas.enable": "false"}

    def query(text: str, **settings: str) -> dict[str, str]:
        return {key.replace("__", "."): value for key, value in transforms(sql(text, **settings)).items()}

    refused = {
        "SELEKT * FROM records": "SELECT or WITH",
        "SELECT * FORM records": "PARSE_SYNTAX_ERROR",
        "SELECT 1; SELECT 2": "PARSE_SYNTAX_ERROR",
        "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x": "PARSE_SYNTAX_ERROR",
        "": "a SELECT query is needed",
    }
    for text, told in refused.items():
        with pytest.raises(ConfigError, match=told) as error:
            worker.start_connector("bad", {**parquet, **query(text)})
        assert error.value.key in ("transforms.t0.sql", "sql")
    with pytest.raises(ConfigError, match="Spark's DDL"):
        worker.start_connector("bad", {**parquet, **query("SELECT 1", schema="id nonsense")})
    file_sink = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out.txt")}
    with pytest.raises(ConfigError, match=r"handles records one by one.*ParquetSink"):
        worker.start_connector("bad", {**file_sink, **query("SELECT * FROM records")})
    with_predicate = {**query("SELECT * FROM records", predicate="p"), "predicates": "p"}
    with_predicate["predicates.p.type"] = f"{T}predicates.RecordIsTombstone"
    with pytest.raises(ConfigError, match=r"takes no predicate.*WHERE"):
        worker.start_connector("bad", {**parquet, **with_predicate})
    assert worker.connectors() == []

    worker.start_connector("good", {**parquet, **query("SELECT id * 10 AS ten FROM records")})
    eventually(lambda: worker.progress("good") and worker.progress("good")[0].records == 2, within_s=90)
    files = list((tmp_path / "out").glob("batch-*.parquet"))
    found = [row["value"]["ten"] for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    assert sorted(found) == [10, 20]
