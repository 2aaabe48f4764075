"""The keys of `format=jdbc`: Confluent's JDBC source connector has the same."""

from __future__ import annotations

import zoneinfo
from typing import Any, Final

from seamark.config.configdef import Check, ConfigDef, Importance, Range, Type, ValidString
from seamark.connectors.spark_source.reader import Settings
from seamark.errors import ConfigError

BULK, BY_NUMBER, BY_TIME, BY_BOTH = "bulk", "incrementing", "timestamp", "timestamp+incrementing"
_GROUP: Final = "JDBC"


def _is_zone(name: str, value: Any) -> None:
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"Invalid value {value} for configuration {name}: it is no time zone, such as UTC or Europe/Berlin",
            key=name,
            value=value,
        ) from error


def config_def() -> ConfigDef:
    """How to reach the database, what to read, and in which order."""
    return _rows(_connection(ConfigDef()))


def _connection(definition: ConfigDef) -> ConfigDef:
    return (
        definition.define(
            "connection.url",
            Type.STRING,
            None,
            importance=Importance.HIGH,
            group=_GROUP,
            doc="The database, as in `jdbc:postgresql://db:5432/shop`. PostgreSQL's driver is there with "
            "`seamark.spark.packages=postgresql` in the worker's properties, others with `spark.jars.packages`.",
        )
        .define(
            "connection.user", Type.STRING, None, importance=Importance.HIGH, group=_GROUP, doc="Whom to log in as."
        )
        .define(
            "connection.password", Type.PASSWORD, None, importance=Importance.HIGH, group=_GROUP, doc="Its password."
        )
        .define(
            "db.timezone",
            Type.STRING,
            "UTC",
            validator=Check(_is_zone, "a time zone"),
            importance=Importance.MEDIUM,
            group=_GROUP,
            doc="The time zone of times in columns that do not have one.",
        )
    )


def _rows(definition: ConfigDef) -> ConfigDef:
    return (
        definition.define(
            "mode",
            Type.STRING,
            None,
            validator=ValidString.of(BULK, BY_NUMBER, BY_TIME, BY_BOTH),
            importance=Importance.HIGH,
            group=_GROUP,
            doc="How new rows are found. `bulk`: the whole table, every `poll.interval.ms`. `incrementing`: rows with "
            "a higher number. `timestamp`: rows with a later time, so changed ones. `timestamp+incrementing`: both.",
        )
        .define(
            "incrementing.column.name",
            Type.STRING,
            None,
            importance=Importance.HIGH,
            group=_GROUP,
            doc="The column whose whole numbers only grow. With `mode=bulk`, what reading in parallel goes by.",
        )
        .define(
            "timestamp.column.name",
            Type.LIST,
            [],
            importance=Importance.HIGH,
            group=_GROUP,
            doc="The column with the time of a row's last change; of several, the first that is not null counts.",
        )
        .define(
            "timestamp.delay.interval.ms",
            Type.LONG,
            0,
            validator=Range.at_least(0),
            importance=Importance.HIGH,
            group=_GROUP,
            doc="How long a row is left alone after its time. Rows get their time before they are committed: what is "
            "committed later than this is not seen any more.",
        )
        .define(
            "table.whitelist",
            Type.LIST,
            [],
            importance=Importance.HIGH,
            group=_GROUP,
            doc="The tables and views to read, each with or without its schema. Each goes to its own topic.",
        )
        .define(
            "query",
            Type.STRING,
            None,
            importance=Importance.MEDIUM,
            group=_GROUP,
            doc="A `SELECT` to read instead of tables. It may have a `WHERE` of its own.",
        )
        .define(
            "topic.prefix",
            Type.STRING,
            None,
            importance=Importance.HIGH,
            group=_GROUP,
            doc="What topics begin with; the table's name, without its schema, follows. For a query, the topic.",
        )
    )


def problems(settings: Settings) -> dict[str, str]:
    """What does not go together, by key."""
    found: dict[str, str] = {}
    if not (settings["connection.url"] or "").startswith("jdbc:"):
        found["connection.url"] = (
            "format=jdbc needs a connection.url that begins with jdbc:, as in jdbc:postgresql://..."
        )
    if bool(settings["table.whitelist"]) == bool(settings["query"]):
        found["table.whitelist"] = "exactly one of table.whitelist and query must be set"
    if not settings["topic.prefix"]:
        found["topic.prefix"] = "format=jdbc needs a topic.prefix, which topics begin with"
    mode = settings["mode"]
    if mode is None:
        found["mode"] = f"format=jdbc needs a mode: {BULK}, {BY_NUMBER}, {BY_TIME} or {BY_BOTH}"
    if mode in (BY_NUMBER, BY_BOTH) and not settings["incrementing.column.name"]:
        found["incrementing.column.name"] = f"mode={mode} needs the column whose numbers grow"
    if mode in (BY_TIME, BY_BOTH) and not settings["timestamp.column.name"]:
        found["timestamp.column.name"] = f"mode={mode} needs the column with the time of a row's last change"
    return found
