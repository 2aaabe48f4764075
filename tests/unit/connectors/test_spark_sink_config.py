from __future__ import annotations

import pytest

from seamark.connectors.spark_sink.config import Settings
from seamark.connectors.spark_sink.connector import SparkSinkConnector
from seamark.connectors.spark_sink.partitions import Partition
from seamark.connectors.spark_sink.postgresql import statements
from seamark.engine.plugins import Plugins
from seamark.errors import ConfigError

DELTA = {"format": "delta", "path": "/data/orders"}
JDBC = {"format": "jdbc", "table": "orders", "jdbc.url": "jdbc:postgresql://host/db"}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"format": "parquet"}, "path"),
        ({"format": "delta"}, "path"),
        ({**DELTA, "table": "orders"}, "path"),
        ({"format": "iceberg", "path": "/data"}, "table"),
        ({"format": "iceberg", "table": "orders"}, "table"),
        ({**JDBC, "jdbc.url": "jdbc:oracle:thin:@host"}, "jdbc.url"),
        ({**JDBC, "partition.by": "day(at)"}, "partition.by"),
        ({**DELTA, "jdbc.user": "me"}, "jdbc.url"),
        ({**DELTA, "connection.user": "me"}, "connection.url"),
        ({"format": "jdbc", "table": "orders"}, "connection.url"),
        ({**JDBC, "connection.url": "jdbc:postgresql://other/db"}, "jdbc.url"),
        ({**JDBC, "jdbc.password": "a", "connection.password": "b"}, "jdbc.password"),
        ({"format": "orc", "path": "/x", "mode": "upsert"}, "mode"),
        ({"format": "orc", "path": "/x", "compact.every.batches": "2"}, "compact.every.batches"),
        ({"format": "csv", "path": "/x"}, "schema.evolution"),
        ({**DELTA, "topic.to.table": "a:b"}, "topic.to.table"),
        ({**DELTA, "topic.to.table": "a=b"}, "topic.to.table"),
        ({**DELTA, "partition.by": "week(at)"}, "partition.by"),
        ({**DELTA, "key.format": "json"}, "key.format"),
        ({**DELTA, "schema": "id int"}, "schema"),
        ({**DELTA, "value.format": "string", "schema": "id int"}, "schema"),
        ({**DELTA, "value.format": "json", "errors.tolerance": "all"}, "value.format"),
        ({**DELTA, "value.format": "json", "mode": "upsert"}, "key.fields"),
        ({**DELTA, "mode": "upsert", "key.source": "value"}, "key.fields"),
        ({**DELTA, "mode": "changelog", "key.source": "value", "key.fields": "id"}, "key.source"),
        ({**DELTA, "mode": "changelog", "behavior.on.null.values": "fail"}, "behavior.on.null.values"),
        ({**DELTA, "metadata.columns": "topic,key"}, "metadata.columns"),
    ],
)
def test_what_does_not_go_together_is_refused_at_its_key(config: dict[str, str], key: str) -> None:
    reports = SparkSinkConnector().validate(config)
    assert [report.name for report in reports if report.errors] == [key]
    with pytest.raises(ConfigError) as error:
        Settings.of(config)
    assert error.value.key == key


def test_the_connector_is_found_by_its_name() -> None:
    assert Plugins().connector_class("SparkSink") is SparkSinkConnector


def test_topics_are_routed_by_name_or_by_what_stands_for_it() -> None:
    paths = Settings.of({**DELTA, "path": "/data/${topic}", "topic.to.table": "orders-v2:orders, b:sales"})
    assert [paths.target_of(topic) for topic in ("orders-v2", "b", "c.d-e")] == [
        "/data/orders",
        "/data/sales",
        "/data/c.d-e",
    ]
    assert paths.is_routed
    tables = Settings.of({**JDBC, "table": "public.${topic}"})
    assert tables.target_of("c.d-e") == "public.c_d_e"
    assert not Settings.of(DELTA).is_routed


def test_partitions_are_fields_or_times() -> None:
    settings = Settings.of({**DELTA, "partition.by": "land, day(created),hour( _timestamp )"})
    assert settings.partitions == (Partition("land"), Partition("created", "day"), Partition("_timestamp", "hour"))
    assert [partition.column for partition in settings.partitions] == ["land", "created_day", "timestamp_hour"]
    assert [partition.iceberg for partition in settings.partitions] == [
        "`land`",
        "days(`created`)",
        "hours(`_timestamp`)",
    ]


def test_a_password_and_options_reach_the_writer() -> None:
    settings = Settings.of({**JDBC, "jdbc.user": "me", "jdbc.password": "secret", "option.batchsize": "7"})
    assert (settings.user, settings.password, settings.options) == ("me", "secret", {"batchsize": "7"})
    login = {"connection.url": JDBC["jdbc.url"], "connection.user": "me", "connection.password": "secret"}
    named_otherwise = Settings.of({"format": "jdbc", "table": "orders", "jdbc.user": "me", **login})
    assert (named_otherwise.url, named_otherwise.user, named_otherwise.password) == (settings.url, "me", "secret")


def test_rows_with_only_a_key_are_left_alone_if_they_are_there() -> None:
    types = {"id": "bigint"}
    (only,) = statements('"t"', "s", types, ["id"], ("id",), has_deletes=False)
    assert only == 'INSERT INTO "t" ("id") SELECT s."id"::bigint FROM s s ON CONFLICT ("id") DO NOTHING'
    delete, insert = statements('"t"', "s", {**types, "n": "int"}, ["id", "n"], ("id",), has_deletes=True)
    assert delete.startswith('DELETE FROM "t" t USING s s WHERE s."__seamark_deleted" AND t."id" = s."id"::bigint')
    assert insert.endswith('DO UPDATE SET "n" = excluded."n"')
