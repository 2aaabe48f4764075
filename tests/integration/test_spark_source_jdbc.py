"""SparkSource on a real PostgreSQL, Spark and broker: each row once, whatever dies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from fixtures.drivers import run_deadly_driver
from fixtures.herders import MakeCase
from fixtures.postgres import PostgresDatabase
from fixtures.spark import Frames, run_until_idle
from fixtures.spark_source import CLASS, failure, jdbc, numbers, source, table, topic_of, values
from seamark.connector import ConnectError, DataError, Offsets
from seamark.connectors.spark_source.connector import SparkSourceConnector
from seamark.engine.frame_source import FrameSourceStage
from seamark.engine.source_ledger import SourceIntent
from seamark.engine.stage import Ending
from seamark.engine.writer import Ledger
from seamark.testing.waiting import eventually

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]

ORDERS = "CREATE TABLE orders (id bigserial PRIMARY KEY, name text, changed timestamptz NOT NULL DEFAULT now())"


def insert(database: PostgresDatabase, rows: int) -> None:
    database.execute(f"INSERT INTO orders (name) SELECT 'row ' || n FROM generate_series(1, {rows}) AS n")


@pytest.fixture
def orders(postgres: PostgresDatabase) -> PostgresDatabase:
    postgres.execute(ORDERS)
    return postgres


def committed(world: Frames, name: str) -> dict[str, Any]:
    """The offset of the table."""
    offset = world.store.read(name).get(table())
    assert offset is not None
    return dict(offset)


@pytest.mark.parametrize("exactly_once", [True, False])
def test_incrementing_reads_each_row_once_and_goes_on_with_new_ones(
    frames: Make, orders: PostgresDatabase, topic_name: str, exactly_once: bool
) -> None:
    world = frames(seamark_batch_max_records="400")
    topic = topic_of(world, f"{topic_name}-orders")
    insert(orders, 1000)
    config = jdbc(orders, f"{topic_name}-", "incrementing", key__fields="name")
    stage = source(world, topic_name, config, exactly_once=exactly_once)
    assert run_until_idle(stage) == [Ending.WORKED] * 3 + [Ending.IDLE]
    assert world.store.read(topic_name) == Offsets([(table(), {"incrementing": 1000})])
    insert(orders, 5)
    orders.execute("INSERT INTO orders (id) VALUES (5000)")
    eventually(lambda: stage.has_work())
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    assert numbers(world, topic) == [*range(1, 1006), 5000]
    assert committed(world, topic_name) == {"incrementing": 5000}
    keys = {key: value for key, value in world.records(topic)}
    assert len(keys) == 1001  # 5 names came twice, one is missing


def test_many_rows_are_read_over_several_connections(frames: Make, orders: PostgresDatabase, topic_name: str) -> None:
    world = frames()
    topic = topic_of(world, f"{topic_name}-orders")
    insert(orders, 20_000)
    stage = source(world, topic_name, jdbc(orders, f"{topic_name}-", "incrementing"), tasks=3)
    connector = stage.environment.connector
    assert isinstance(connector, SparkSourceConnector)
    frame = connector.read(stage.environment.spark, Offsets(), Offsets([(table(), {"incrementing": 20_000})]))
    assert frame.rdd.getNumPartitions() == 3
    run_until_idle(stage)
    assert numbers(world, topic) == list(range(1, 20_001))


def test_values_keep_their_types_in_a_schema(frames: Make, postgres: PostgresDatabase, topic_name: str) -> None:
    world = frames()
    topic = topic_of(world, f"{topic_name}-things")
    postgres.execute(
        'CREATE TABLE things (id int, "a.b" boolean, price numeric(10, 2), at timestamp, zoned timestamptz, day date, '
        "raw bytea, tags text[]);"
        "INSERT INTO things VALUES (1, true, 12.5, '2026-01-31 10:20:30.5', '2026-01-31 10:20:30.5+02', '2026-01-31', "
        "'\\xcafe', '{a,b}'), (2, null, null, null, null, null, null, null)"
    )
    more = {"table__whitelist": "public.things", "value__converter__schemas__enable": "true"}
    config = jdbc(postgres, f"{topic_name}-", "incrementing", db__timezone="Europe/Berlin", **more)
    run_until_idle(source(world, topic_name, config))
    messages = {message["payload"]["id"]: message for message in values(world, topic)}
    fields = {field["field"]: (field["type"], field.get("name", "")) for field in messages[1]["schema"]["fields"]}
    logical = "org.apache.kafka.connect.data."
    assert fields == {
        "id": ("int32", ""),
        "a.b": ("boolean", ""),
        "price": ("bytes", f"{logical}Decimal"),
        "at": ("int64", f"{logical}Timestamp"),
        "zoned": ("int64", f"{logical}Timestamp"),
        "day": ("int32", f"{logical}Date"),
        "raw": ("bytes", ""),
        "tags": ("array", ""),
    }
    first = messages[1]["payload"]
    assert (first["at"], first["zoned"]) == (1_769_851_230_500, 1_769_847_630_500)  # 9:20:30.5 and 8:20:30.5 UTC
    assert (first["a.b"], first["day"], first["tags"], first["raw"]) == (True, 20484, ["a", "b"], "yv4=")
    assert all(value is None for name, value in messages[2]["payload"].items() if name != "id")


def test_a_query_and_its_own_conditions(frames: Make, orders: PostgresDatabase, topic_name: str) -> None:
    world = frames()
    topic = topic_of(world, topic_name)
    insert(orders, 10)
    query = "SELECT id, upper(name) AS name FROM orders WHERE id % 2 = 0;"
    run_until_idle(source(world, topic_name, jdbc(orders, topic_name, "incrementing", query=query)))
    found = sorted(values(world, topic), key=lambda value: value["id"])
    assert found == [{"id": n, "name": f"ROW {n}"} for n in range(2, 11, 2)]
    assert world.store.read(topic_name) == Offsets([({"query": "query"}, {"incrementing": 10})])


def test_tables_take_turns_and_have_topics_of_their_own(
    frames: Make, orders: PostgresDatabase, topic_name: str
) -> None:
    world = frames(seamark_batch_max_records="30")
    topics = [topic_of(world, f"{topic_name}-{name}") for name in ("orders", "Odd_Names")]
    insert(orders, 50)
    orders.execute('CREATE TABLE "Odd_Names" ("Id" int, "x y" text); INSERT INTO "Odd_Names" VALUES (1, $$a$$)')
    config = jdbc(orders, f"{topic_name}-", "incrementing", table__whitelist="orders,Odd_Names")
    stage = source(world, topic_name, config)
    assert [stage.run().ending for _ in range(2)] == [Ending.WORKED] * 2
    moved = Offsets([(table(), {"incrementing": 30}), (table("Odd_Names"), {"incrementing": 1})])
    eventually(lambda: world.store.read(topic_name) == moved)
    run_until_idle(stage)
    assert numbers(world, topics[0]) == list(range(1, 51))
    assert values(world, topics[1]) == [{"Id": 1, "x y": "a"}]


def test_bulk_loads_the_table_again_when_it_is_due(frames: Make, orders: PostgresDatabase, topic_name: str) -> None:
    world = frames()
    topic = topic_of(world, f"{topic_name}-orders")
    insert(orders, 20)
    config = jdbc(orders, f"{topic_name}-", "bulk", poll__interval__ms="3600000", incrementing__column__name="id")
    world.store.write(topic_name, Offsets([(table(), {"incrementing": 3})]))  # it had another mode before
    stage = source(world, topic_name, config)
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    assert numbers(world, topic) == list(range(1, 21))
    assert committed(world, topic_name).keys() == {"loaded_ms"}
    sooner = source(world, topic_name, config | {"poll.interval.ms": "1"})
    assert eventually(sooner.run).ending is Ending.WORKED
    assert numbers(world, topic) == sorted([*range(1, 21)] * 2)


def test_changed_rows_come_again_and_rows_of_one_instant_are_not_torn(
    frames: Make, orders: PostgresDatabase, topic_name: str
) -> None:
    world = frames(seamark_batch_max_records="7")
    topic = topic_of(world, f"{topic_name}-orders", partitions=1)
    insert(orders, 20)  # in one transaction, so with the same time
    stage = source(world, topic_name, jdbc(orders, f"{topic_name}-", "timestamp+incrementing"), tasks=1)
    eventually(lambda: run_until_idle(stage) and len(values(world, topic)) == 20)
    assert [value["id"] for value in values(world, topic)] == list(range(1, 21))
    assert committed(world, topic_name)["incrementing"] == 20
    orders.execute("UPDATE orders SET name = 'new', changed = clock_timestamp() WHERE id IN (3, 11)")
    eventually(lambda: run_until_idle(stage) and len(values(world, topic)) == 22)
    assert sorted(value["id"] for value in values(world, topic)[20:]) == [3, 11]

    by_time = source(world, f"{topic_name}-t", jdbc(orders, f"{topic_name}-t-", "timestamp"), tasks=1)
    topic = topic_of(world, f"{topic_name}-t-orders")
    run_until_idle(by_time)
    assert numbers(world, topic) == list(range(1, 21))


@pytest.mark.parametrize("kind", ["timestamptz", "timestamp"])
def test_a_row_that_is_committed_late_is_found_after_the_delay(
    frames: Make, postgres: PostgresDatabase, topic_name: str, kind: str
) -> None:
    world = frames()
    topic = topic_of(world, f"{topic_name}-orders", partitions=1)
    now = "now()" if kind == "timestamptz" else "now() AT TIME ZONE 'America/New_York'"
    postgres.execute(f"CREATE TABLE orders (id int, changed {kind})")
    more = {"timestamp__delay__interval__ms": "6000", "db__timezone": "America/New_York"}
    stage = source(world, topic_name, jdbc(postgres, f"{topic_name}-", "timestamp", **more), tasks=1)
    late = f"BEGIN; INSERT INTO orders VALUES (1, {now}); SELECT pg_sleep(2); COMMIT"
    thread = threading.Thread(target=postgres.execute, args=[late])
    thread.start()
    is_open = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND wait_event = 'PgSleep'"
    eventually(lambda: postgres.query(is_open))
    postgres.execute(f"INSERT INTO orders VALUES (2, {now})")  # has a later time, and is there before
    assert postgres.query("SELECT id FROM orders") == [{"id": 2}]
    eventually(lambda: run_until_idle(stage) and values(world, topic), 60)
    thread.join()
    run_until_idle(stage)
    assert [value["id"] for value in values(world, topic)] == [1, 2]


def test_rows_of_many_transactions_are_each_read_once_while_they_come(
    frames: Make, orders: PostgresDatabase, topic_name: str
) -> None:
    world = frames(seamark_batch_max_records="150")
    topic = topic_of(world, f"{topic_name}-orders")
    config = jdbc(orders, f"{topic_name}-", "timestamp+incrementing", timestamp__delay__interval__ms="3000")
    stage = source(world, topic_name, config)
    # Each writer's rows are open for a while, so times and numbers are committed out of order.
    statement = "BEGIN; INSERT INTO orders (name) SELECT 'x' FROM generate_series(1, 7); SELECT pg_sleep({}); COMMIT;"
    writers = [
        threading.Thread(target=orders.execute, args=["".join(statement.format(pause / 10) for _ in range(10))])
        for pause in range(1, 5)
    ]
    for writer in writers:
        writer.start()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        assert stage.run().ending is not Ending.FAILED
        seen = len(values(world, topic))
    assert 0 < seen
    eventually(lambda: run_until_idle(stage) and len(values(world, topic)) >= 280, 60)
    run_until_idle(stage)
    assert numbers(world, topic) == [row["id"] for row in orders.query("SELECT id FROM orders ORDER BY id")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "die"), [("incrementing", "write_batch:after"), ("timestamp+incrementing", "end_batch:before")]
)
def test_a_batch_goes_on_where_a_killed_driver_left_it(
    frames: Make, orders: PostgresDatabase, topic_name: str, mode: str, die: str
) -> None:
    world = frames(seamark_batch_max_records="400")
    topic = topic_of(world, f"{topic_name}-orders")
    insert(orders, 1000)
    config = jdbc(orders, f"{topic_name}-", mode)
    run_deadly_driver(world, {"name": topic_name, "connector.class": CLASS, **config}, die)
    assert 0 < len(values(world, topic)) <= 400
    insert(orders, 50)  # must not become part of the batch that is replayed
    run_until_idle(source(world, topic_name, config))
    assert numbers(world, topic) == list(range(1, 1051))


def test_a_batch_whose_rows_changed_before_its_replay_loses_none(
    frames: Make, orders: PostgresDatabase, topic_name: str
) -> None:
    world = frames()
    topic = topic_of(world, f"{topic_name}-orders")
    insert(orders, 100)
    config = jdbc(orders, f"{topic_name}-", "timestamp+incrementing")

    class Interrupted(FrameSourceStage):
        def write_batch(self, frame: Any, intent: SourceIntent, ledger: Ledger) -> list[Any]:
            raise ConnectError("interrupted")

    assert source(world, topic_name, config, stage_class=Interrupted).run().ending is Ending.FAILED
    orders.execute("UPDATE orders SET name = 'new', changed = clock_timestamp() WHERE id <= 10")
    stage = source(world, topic_name, config)
    eventually(lambda: run_until_idle(stage) and len(values(world, topic)) == 100)
    assert numbers(world, topic) == list(range(1, 101))
    assert sum(value["name"] == "new" for value in values(world, topic)) == 10


def test_a_database_that_is_lost_may_come_back(frames: Make, orders: PostgresDatabase, topic_name: str) -> None:
    world = frames()
    topic = topic_of(world, f"{topic_name}-orders")
    insert(orders, 10)
    stage = source(world, topic_name, jdbc(orders, f"{topic_name}-", "incrementing"))
    run_until_idle(stage)
    orders.server.stop(is_crash=True)
    try:
        trace, is_retriable = failure(stage)
    finally:
        orders.server.start()
    assert is_retriable
    assert f"The database {orders.url} cannot be reached" in trace
    insert(orders, 10)
    run_until_idle(stage)
    # Not 1 to 20: a server that has crashed leaves some numbers out.
    assert numbers(world, topic) == [row["id"] for row in orders.query("SELECT id FROM orders ORDER BY id")]
    assert len(numbers(world, topic)) == 20


def test_connections_that_are_lost_in_mid_batch_leave_each_row_once(
    frames: Make, orders: PostgresDatabase, topic_name: str
) -> None:
    world = frames()
    topic = topic_of(world, topic_name)
    insert(orders, 200)
    # The rows take a while, those that only look where the range ends do not.
    query = "SELECT id, name, pg_sleep(CASE WHEN name = '' THEN 0 ELSE 0.01 END)::text AS slept FROM orders"
    stage = source(world, topic_name, jdbc(orders, topic_name, "incrementing", query=query))
    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.append(stage.run()))
    thread.start()
    reading = "query LIKE '%slept%' AND wait_event = 'PgSleep' AND pid <> pg_backend_pid()"
    end_all = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {reading}"
    eventually(lambda: orders.query(end_all))
    thread.join()
    assert outcomes[0].ending is Ending.WORKED or outcomes[0].retriable, outcomes[0].failures
    run_until_idle(stage)
    assert numbers(world, topic) == list(range(1, 201))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"table.whitelist": "oders"}, ["no table 'oders'", "public.orders"]),
        ({"incrementing.column.name": "idd"}, ["Table public.orders has no column 'idd'", "it has id, name, changed"]),
        ({"incrementing.column.name": "name"}, ["'name'", "is of type text", "whole numbers"]),
        ({"mode": "timestamp", "timestamp.column.name": "id"}, ["'id'", "bigserial", "timestamps"]),
        ({"key.fields": "customer"}, ["key.fields names 'customer'", "id, name, changed"]),
        ({"connection.password": "wrong"}, ["password authentication failed"]),
        ({"connection.url": "jdbc:nosuchdb://localhost/x"}, ["no JDBC driver for jdbc:nosuchdb"]),
    ],
)
def test_what_does_not_fit_the_database_fails_and_says_so(
    frames: Make, orders: PostgresDatabase, topic_name: str, settings: dict[str, str], told: list[str]
) -> None:
    world = frames()
    insert(orders, 1)
    config = jdbc(orders, f"{topic_name}-", "incrementing") | settings
    trace, is_retriable = failure(source(world, topic_name, config))
    assert not is_retriable
    assert [text for text in told if text not in trace] == []
    assert orders.password not in trace


@pytest.mark.parametrize(
    ("partition", "offset", "told"),
    [
        (table("oders"), {"incrementing": 1}, "public.orders"),
        ({"file": "x"}, {"incrementing": 1}, "public.orders"),
        (table(), {"incrementing": "7"}, "whole number"),
        (table(), {"position": 7}, "'incrementing'"),
        (table(), {"incrementing": 2**62 * 2}, "never holds"),
    ],
)
def test_offsets_are_checked_against_the_table(
    spark: Any, orders: PostgresDatabase, partition: dict[str, str], offset: dict[str, Any], told: str
) -> None:
    config = jdbc(orders, "x-", "incrementing")
    assert SparkSourceConnector().alter_offsets(config, Offsets([(table(), {"incrementing": 4}), ({"old": 1}, None)]))
    with pytest.raises(DataError, match=told):
        SparkSourceConnector().alter_offsets(config, Offsets([(partition, offset)]))


def test_offsets_are_checked_against_the_columns_and_the_clock_of_the_database(
    spark: Any, orders: PostgresDatabase
) -> None:
    by_time = jdbc(orders, "x-", "timestamp")
    assert SparkSourceConnector().alter_offsets(by_time, Offsets([(table(), {"timestamp": 1_600_000_000_000})]))
    with pytest.raises(DataError, match="lies in the future"):
        SparkSourceConnector().alter_offsets(by_time, Offsets([(table(), {"timestamp": 9_600_000_000_000})]))
    for settings, told in (
        ({"timestamp.column.name": "name"}, "is of type text"),
        ({"timestamp.column.name": "gone"}, "no column 'gone'"),
        ({"table.whitelist": "gone"}, "no table 'gone'"),
    ):
        with pytest.raises(ConnectError, match=told):
            SparkSourceConnector().alter_offsets(by_time | settings, Offsets([(table(), {"timestamp": 1})]))


def test_a_stopped_connector_is_moved_over_rest_and_reads_again_from_there(
    make_case: MakeCase, frames: Make, orders: PostgresDatabase
) -> None:
    insert(orders, 10)
    case = make_case("exactly-once", "SparkSource")
    case.config |= jdbc(orders, f"{case.name}-", "incrementing")
    world, topic = frames(), f"{case.name}-orders"
    topic_of(world, topic)
    case.create()
    eventually(lambda: numbers(world, topic) == list(range(1, 11)), 60)
    connect, name = case.connect, case.name
    eventually(lambda: connect.offsets(name) == [(table(), {"incrementing": 10})])
    connect.stop(name)
    status, message = connect.alter(name, (table(), {"incrementing": "seven"}))
    assert (status, "needs a whole number" in message) == (500, True), message
    assert connect.offsets(name) == [(table(), {"incrementing": 10})]
    assert connect.alter(name, (table(), {"incrementing": 7}))[0] == 200
    insert(orders, 2)
    connect.resume(name)
    eventually(lambda: numbers(world, topic) == [*range(1, 8), 8, 8, 9, 9, 10, 10, 11, 12], 60)
    connect.stop(name)
    assert connect.reset(name)[0] == 200
    assert connect.offsets(name) == []
