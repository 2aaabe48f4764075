"""SparkSource without Spark: configs, and positions in tables as SQL."""

from __future__ import annotations

import datetime
import zoneinfo
from typing import Any

import pytest

from seamark.connectors.spark_source.connector import SparkSourceConnector
from seamark.connectors.spark_source.jdbc_positions import Order, Position, check_offset, text_of_instant
from seamark.errors import ConfigError, DataError

JDBC = {
    "format": "jdbc",
    "connection.url": "jdbc:postgresql://db/shop",
    "mode": "timestamp+incrementing",
    "incrementing.column.name": "id",
    "timestamp.column.name": "changed",
    "table.whitelist": "orders",
    "topic.prefix": "shop-",
}
BY_NUMBER, BY_TIME, BY_BOTH = Order("id"), Order(timestamp="t"), Order("id", "t")


def without(*keys: str, **more: str) -> dict[str, str]:
    config = {key: value for key, value in JDBC.items() if key not in keys}
    return config | {key.replace("__", "."): value for key, value in more.items()}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (without("connection.url"), "connection.url"),
        (without(connection__url="postgresql://db/shop"), "connection.url"),
        (without("mode"), "mode"),
        (without("incrementing.column.name"), "incrementing.column.name"),
        (without("timestamp.column.name"), "timestamp.column.name"),
        (without("table.whitelist"), "table.whitelist"),
        (without(query="SELECT 1"), "table.whitelist"),
        (without("topic.prefix"), "topic.prefix"),
        (without(mode="newest"), "mode"),
        (without(db__timezone="Mars/Olympus"), "db.timezone"),
        (without(timestamp__delay__interval__ms="-1"), "timestamp.delay.interval.ms"),
        ({"format": "jpeg"}, "format"),
        ({"format": "rate"}, "topic"),
        ({"format": "text", "topic": "t"}, "path"),
        ({"format": "text", "topic": "t", "path": "s3a://bucket/folder"}, "path"),
        ({"format": "csv", "topic": "t", "path": "/data"}, "schema"),
        ({"format": "parquet", "topic": "t", "path": "/data", "schema": "id long"}, "schema"),
        ({"format": "delta", "topic": "t"}, "table"),
        ({"format": "delta", "topic": "t", "table": "shop.orders", "path": "/data"}, "table"),
        ({"format": "iceberg", "table": "lake.orders"}, "topic"),
        ({}, "format"),
    ],
)
def test_a_config_that_cannot_work_names_the_key(config: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SparkSourceConnector().start(config)
    assert caught.value.key == key
    assert [report.name for report in SparkSourceConnector().validate(config) if report.errors] == [key]


def test_each_mode_needs_only_its_own_columns() -> None:
    for mode, unneeded in (
        ("bulk", ["incrementing.column.name", "timestamp.column.name"]),
        ("incrementing", ["timestamp.column.name"]),
        ("timestamp", ["incrementing.column.name"]),
    ):
        config = without(*unneeded, mode=mode)
        SparkSourceConnector().start(config)
        support = SparkSourceConnector().exactly_once_support(config)
        assert support is not None
        assert support.value == ("UNSUPPORTED" if mode == "bulk" else "SUPPORTED")
    assert SparkSourceConnector().exactly_once_support({}) is None


@pytest.mark.parametrize(
    "offset",
    [
        {"incrementing": 7},
        {"timestamp": 1_700_000_000_123, "timestamp_nanos": 123_456_789},
        {"incrementing": -3, "timestamp": -1, "timestamp_nanos": 999_000_000},
    ],
)
def test_offsets_are_those_of_the_java_connector_and_back(offset: dict[str, int]) -> None:
    position = Position.of(offset)
    assert position is not None
    assert position.offset() == offset


def test_an_offset_without_nanoseconds_is_the_millisecond() -> None:
    assert Position.of({"timestamp": 1234}) == Position(None, 1_234_000_000)
    assert Position.of(None) is None
    assert Position.of({}) is None


def test_conditions_between_two_rows() -> None:
    assert BY_NUMBER.after(None) == "id IS NOT NULL"
    assert BY_NUMBER.after(Position(7)) == "id > 7"
    assert BY_NUMBER.until(Position(9)) == "id <= 9"
    assert BY_TIME.after(Position(None, 5)) == "t > 5"
    assert BY_TIME.until(Position(None, 9)) == "t <= 9"
    assert BY_BOTH.after(None) == "t IS NOT NULL AND id IS NOT NULL"
    assert BY_BOTH.after(Position(7, 5)) == "(t > 5 OR (t = 5 AND id > 7))"
    assert BY_BOTH.after(Position(None, 5)) == "(t > 5 OR (t = 5 AND id > -1))"
    assert BY_BOTH.until(Position(8, 9)) == "(t < 9 OR (t = 9 AND id <= 8))"
    assert BY_BOTH.by("DESC") == "t DESC, id DESC"


@pytest.mark.parametrize(("low", "high", "parts"), [(1, 100, 4), (-10, 10, 3), (5, 5, 4), (0, 2, 8), (1, 2, 2)])
def test_every_row_is_in_exactly_one_slice(low: int, high: int, parts: int) -> None:
    slices = BY_NUMBER.slices(low, high, parts)
    assert len(slices) <= parts
    for number in [None, *range(low - 2, high + 3)]:
        assert sum(_holds(each, number) for each in slices) == 1, (slices, number)


def _holds(condition: str, number: int | None) -> bool:
    if condition == "1 = 1":
        return True
    text = condition.replace("id IS NULL", str(number is None)).replace("AND", "and").replace("OR", "or")
    if number is None:
        return "True" in text
    return bool(eval(text, {"id": number}))


def test_times_are_written_with_no_more_digits_than_they_have() -> None:
    assert text_of_instant(0, datetime.UTC) == "1970-01-01 00:00:00.0"
    assert text_of_instant(1_700_000_000_123_456_000, datetime.UTC) == "2023-11-14 22:13:20.123456"
    assert text_of_instant(1_700_000_000_123_456_789, zoneinfo.ZoneInfo("Asia/Kolkata")) == (
        "2023-11-15 03:43:20.123456789"
    )


@pytest.mark.parametrize(
    ("order", "offset"),
    [
        (BY_NUMBER, {"incrementing": "7"}),
        (BY_NUMBER, {"incrementing": True}),
        (BY_NUMBER, {"incrementing": 7.5}),
        (BY_NUMBER, {"timestamp": 7}),
        (BY_NUMBER, {"incrementing": 7, "row": 1}),
        (BY_NUMBER, {}),
        (BY_TIME, {"incrementing": 7}),
        (BY_TIME, {"timestamp": "2026-01-01"}),
        (BY_TIME, {"timestamp": 1234, "timestamp_nanos": 235_000_000}),
        (BY_TIME, {"timestamp": 1234, "timestamp_nanos": -1}),
        (BY_BOTH, {"incrementing": 7}),
        (BY_BOTH, {"incrementing": "x", "timestamp": 5}),
    ],
)
def test_offsets_that_mean_nothing_are_refused(order: Order, offset: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        check_offset(offset, order)


def test_offsets_that_mean_something_are_taken() -> None:
    assert check_offset({"incrementing": -5}, BY_NUMBER) == Position(-5)
    assert check_offset({"timestamp": 1234, "timestamp_nanos": 234_999_999}, BY_TIME) == Position(None, 1_234_999_999)
    assert check_offset({"timestamp": 1234}, BY_BOTH) == Position(None, 1_234_000_000)
