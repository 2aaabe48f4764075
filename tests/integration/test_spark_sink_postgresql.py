"""SparkSink and a real PostgreSQL that is lost, changed by others, or used to the limits of its types."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.frame_data import JSON, STRING, produce
from fixtures.postgres import PostgresDatabase
from fixtures.spark import Frames, run_until_idle
from fixtures.tables import PostgresTable, settings
from seamark.connectors.spark_sink.connector import SparkSinkConnector
from seamark.engine.stage import Ending

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]
CONVERTERS = {"key__converter": STRING, **JSON}


def send(world: Frames, topic: str, *values: Any) -> None:
    produce(world, topic, [(b"k", json.dumps(value).encode()) for value in values])


def stages(postgres: PostgresDatabase) -> list[Any]:
    return postgres.query("SELECT relname FROM pg_class WHERE relname LIKE 'seamark_stage%' AND relkind = 'r'")


def test_a_lost_database_is_waited_for_and_nothing_is_lost(
    frames: Make, topic_name: str, postgres: PostgresDatabase
) -> None:
    world = frames()
    topic = world.topic()
    table = PostgresTable(postgres)
    send(world, topic, {"id": 1})
    stage = world.stage(SparkSinkConnector(), topic_name, **settings(table, topics=topic, **CONVERTERS))
    run_until_idle(stage)
    send(world, topic, {"id": 2})
    postgres.server.stop(is_crash=True)
    try:
        outcome = stage.run()
    finally:
        postgres.server.start()
    assert (outcome.ending, outcome.retriable) == (Ending.FAILED, True)
    assert "refused" in next(iter(outcome.failures.values()))
    run_until_idle(stage)
    assert table.ids() == [1, 2]


def test_a_connection_that_is_cut_in_mid_batch_leaves_nothing_half_written(
    frames: Make, topic_name: str, postgres: PostgresDatabase
) -> None:
    world = frames()
    topic = world.topic()
    table = PostgresTable(postgres)
    # The trigger ends the session that moves the rows, once, after some of them.
    postgres.execute(
        "CREATE TABLE rows (id bigint, name text); CREATE SEQUENCE fired;"
        "CREATE FUNCTION cut() RETURNS trigger AS $$ BEGIN"
        " IF NEW.id = 3 AND nextval('fired') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;"
        " RETURN NEW; END $$ LANGUAGE plpgsql;"
        "CREATE TRIGGER cut BEFORE INSERT ON rows FOR EACH ROW EXECUTE FUNCTION cut()"
    )
    send(world, topic, *[{"id": number, "name": "x"} for number in range(5)])
    stage = world.stage(SparkSinkConnector(), topic_name, **settings(table, topics=topic, **CONVERTERS))
    outcome = stage.run()
    assert (outcome.ending, outcome.retriable) == (Ending.FAILED, True)
    assert table.rows() == []
    run_until_idle(stage)
    assert table.ids() == [0, 1, 2, 3, 4]
    assert stages(postgres) == []


def test_a_table_that_others_have_made_and_changed_gets_what_fits_its_types(
    frames: Make, topic_name: str, postgres: PostgresDatabase
) -> None:
    world = frames()
    topic = world.topic()
    table = PostgresTable(postgres)
    postgres.execute("CREATE TABLE rows (id int PRIMARY KEY, doc jsonb, day date, price numeric(10,2), other text)")
    config = settings(table, topics=topic, mode="upsert", key__fields="id", key__source="value", **CONVERTERS)
    stage = world.stage(SparkSinkConnector(), topic_name, **config)
    send(world, topic, {"id": 1, "doc": {"a": [1]}, "day": "2026-01-31", "price": 1.5})
    run_until_idle(stage)
    postgres.execute("UPDATE rows SET other = 'mine'")
    send(world, topic, {"id": 1, "price": 2.25})
    run_until_idle(stage)
    assert table.rows() == [{"id": 1, "doc": {"a": [1]}, "day": "2026-01-31", "price": 2.25, "other": "mine"}]
    send(world, topic, {"id": 3_000_000_000, "price": 1})
    outcome = stage.run()
    assert outcome.ending is Ending.FAILED
    assert "'3000000000' of type bigint does not fit" in next(iter(outcome.failures.values()))
    postgres.execute("ALTER TABLE rows ALTER COLUMN id TYPE bigint")
    run_until_idle(stage)
    assert table.ids() == [1, 3_000_000_000]


def test_an_upsert_into_a_table_without_a_unique_key_says_so(
    frames: Make, topic_name: str, postgres: PostgresDatabase
) -> None:
    world = frames()
    topic = world.topic()
    table = PostgresTable(postgres)
    postgres.execute("CREATE TABLE rows (id int)")
    send(world, topic, {"id": 1})
    config = settings(table, topics=topic, mode="upsert", key__fields="id", key__source="value", **CONVERTERS)
    stage = world.stage(SparkSinkConnector(), topic_name, **config)
    outcome = stage.run()
    assert (outcome.ending, outcome.retriable) == (Ending.FAILED, False)
    assert "no unique or exclusion constraint" in next(iter(outcome.failures.values()))
    postgres.execute("ALTER TABLE rows ADD PRIMARY KEY (id)")
    run_until_idle(stage)
    assert table.ids() == [1]
