"""The keys of `SparkSink`, what they mean together, and which combinations make no sense."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from seamark.config.configdef import ConfigDef, Importance, NonEmptyString, Range, Type, ValidList, ValidString
from seamark.config.validators import Check, invalid
from seamark.connectors.spark_sink.partitions import Partition, parse_partition
from seamark.engine.transforms.spark_sql import check_schema
from seamark.errors import ConfigError

FILES: Final = ("parquet", "orc", "json", "csv")
TABLES: Final = ("delta", "iceberg", "jdbc")
OPTION: Final = "option."
TOPIC: Final = "${topic}"
METADATA: Final = ("topic", "partition", "offset", "timestamp", "headers")
POSTGRESQL: Final = "jdbc:postgresql:"
CONNECTION: Final = ("url", "user", "password")
"""Of a database; keys of Confluent's connectors, ``connection.``, and of our own, ``jdbc.``."""
_KEYED: Final = ("upsert", "changelog")
_PAIR: Final = re.compile(r"([A-Za-z0-9._-]+):([^:,]+)")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Settings:
    """A config that makes sense."""

    format: str
    mode: str = "append"
    path: str | None = None
    table: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """Topic -> what stands for it in `path` and `table`."""
    value_format: str = "converter"
    key_format: str = "string"
    schema: str | None = None
    evolution: str = "add"
    key_fields: tuple[str, ...] = ()
    key_source: str = "record"
    metadata: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()
    nulls: str = "ignore"
    files: int = 0
    file_records: int = 0
    compact_every: int = 0
    url: str = ""
    user: str | None = None
    password: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_keys(self) -> bool:
        """Whether rows are found again by their key."""
        return self.mode in _KEYED

    @property
    def deletes(self) -> bool:
        """Whether a record without a value deletes the row of its key."""
        return self.mode == "changelog"

    @property
    def target(self) -> str:
        """The pattern of what is written to: a path or a table."""
        return self.path or self.table or ""

    @property
    def is_routed(self) -> bool:
        """Whether topics go to different places."""
        return TOPIC in self.target

    def target_of(self, topic: str) -> str:
        """Where records of a topic go."""
        name = self.names.get(topic)
        if name is None:
            name = topic if self.path else _UNSAFE.sub("_", topic)
        return self.target.replace(TOPIC, name)

    @staticmethod
    def of(config: Mapping[str, str]) -> Settings:
        """Read a config.

        Raises:
            ConfigError: it is wrong.
        """
        values = config_def().parse(config)
        settings = Settings(
            format=values["format"],
            mode=values["mode"],
            path=values["path"],
            table=values["table"],
            names=dict(_pairs("topic.to.table", values["topic.to.table"])),
            value_format=values["value.format"],
            key_format=values["key.format"],
            schema=values["schema"],
            evolution=values["schema.evolution"],
            key_fields=tuple(values["key.fields"]),
            key_source=values["key.source"],
            metadata=tuple(values["metadata.columns"]),
            partitions=tuple(parse_partition("partition.by", each) for each in values["partition.by"]),
            nulls=values["behavior.on.null.values"],
            files=values["files.per.batch"],
            file_records=values["file.max.records"],
            compact_every=values["compact.every.batches"],
            url=_connection(values, "url") or "",
            user=_connection(values, "user"),
            password=None if (secret := _connection(values, "password")) is None else secret.value,
            options={key.removeprefix(OPTION): value for key, value in config.items() if key.startswith(OPTION)},
        )
        for key, problem in problems(settings, config):
            shown = None if key.endswith("password") else config.get(key)
            raise ConfigError(f"{key}: {problem}", key=key, value=shown)
        return settings


def _connection(values: Mapping[str, Any], what: str) -> Any:
    """A setting of the connection, under either of its names."""
    given = values[f"connection.{what}"]
    return values[f"jdbc.{what}"] if given is None else given


def problems(settings: Settings, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Keys that do not go together, each with what would."""
    yield from _place_problems(settings)
    yield from _connection_problems(settings, config)
    yield from _row_problems(settings, config)
    is_file = settings.format in FILES
    if is_file and settings.has_keys:
        yield "mode", f"files cannot be changed in place: use mode=append, or format={' or '.join(TABLES)}"
    if is_file and settings.compact_every:
        yield (
            "compact.every.batches",
            "plain files cannot be replaced while others read them: use delta or iceberg, or larger batches",
        )
    if settings.format == "jdbc":
        for key in ("partition.by", "files.per.batch", "file.max.records", "compact.every.batches"):
            if config.get(key):
                yield key, "has no meaning for a database"
    if settings.format == "csv" and settings.evolution != "none":
        yield "schema.evolution", "columns of CSV files cannot be added later: set schema.evolution=none"


def _place_problems(settings: Settings) -> Iterator[tuple[str, str]]:
    if settings.path and settings.table:
        yield "path", "give either path or table"
    elif settings.format in FILES and not settings.target:
        yield "path", f"format={settings.format} needs a folder to write to, or the table of a catalog"
    elif settings.format in ("iceberg", "jdbc") and not settings.table:
        yield "table", f"format={settings.format} needs the name of a table"
    elif not settings.target:
        yield "path", "give a path, or the table of a catalog"
    if settings.names and not settings.is_routed:
        yield "topic.to.table", f"has a meaning only if path or table contains {TOPIC}"
    if settings.format == "iceberg" and (settings.table or "").count(".") < 2:
        yield "table", "an Iceberg table is named catalog.namespace.table, with a catalog from spark.sql.catalog.*"


def _connection_problems(settings: Settings, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for what in CONNECTION:
        given = [config[key] for key in (f"connection.{what}", f"jdbc.{what}") if config.get(key)]
        if len(set(given)) > 1:
            yield f"jdbc.{what}", f"is another name of connection.{what}, which says something else: give one of them"
    prefix = "jdbc" if any(config.get(f"jdbc.{what}") for what in CONNECTION) else "connection"
    if settings.format == "jdbc":
        if not settings.url.startswith(POSTGRESQL):
            yield f"{prefix}.url", f"must begin with {POSTGRESQL}, the database that is supported so far"
    elif settings.url or settings.user or settings.password:
        names = ", ".join(f"{prefix}.{what}" for what in CONNECTION)
        yield f"{prefix}.url", f"{names} have a meaning only with format=jdbc"


def _row_problems(settings: Settings, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if settings.value_format == "converter":
        if config.get("key.format"):
            yield "key.format", "has a meaning only if value.format is json, string or binary; else key.converter has"
        if settings.schema:
            yield "schema", "has a meaning only with value.format=json; converters know the types of their records"
    elif config.get("errors.tolerance", "none").lower() == "all" and settings.value_format == "json":
        yield "value.format", "json cannot skip bad records (errors.tolerance=all): use value.format=converter"
    if settings.schema and settings.value_format != "json":
        yield "schema", "has a meaning only with value.format=json"
    if settings.key_source == "value":
        if settings.deletes:
            yield "key.source", "a record that deletes has no value: mode=changelog needs key.source=record"
        if not settings.key_fields:
            yield "key.fields", "key.source=value needs the fields of the value that are the key"
    if settings.has_keys and settings.value_format != "converter" and not settings.key_fields:
        yield "key.fields", f"mode={settings.mode} needs the names of the columns that the key goes to"
    if settings.deletes and config.get("behavior.on.null.values"):
        yield "behavior.on.null.values", "mode=changelog deletes the row of a record without a value"


def _pairs(name: str, members: list[str]) -> Iterator[tuple[str, str]]:
    for member in members:
        found = _PAIR.fullmatch(member.strip())
        if found is None:
            raise invalid(name, member, "write pairs as topic:table, separated by commas")
        yield found[1], found[2]


def _check_pairs(name: str, value: Any) -> None:
    list(_pairs(name, value or []))


def _check_partitions(name: str, value: Any) -> None:
    for member in value or ():
        parse_partition(name, member)


def config_def() -> ConfigDef:
    """All keys."""
    return _rows(_target(ConfigDef()))


def _target(definition: ConfigDef) -> ConfigDef:
    group = "Target"
    return (
        definition.define(
            "format",
            Type.STRING,
            validator=ValidString.of(*FILES, *TABLES),
            importance=Importance.HIGH,
            group=group,
            doc="What is written. `delta`, `iceberg` and PostgreSQL's driver must be in the worker's "
            "`seamark.spark.packages`.",
        )
        .define(
            "path",
            Type.STRING,
            None,
            validator=NonEmptyString(),
            importance=Importance.HIGH,
            group=group,
            doc="Folder of files, or of a Delta table: a path, or a URI of a file system that Spark knows. `${topic}` "
            "stands for the topic.",
        )
        .define(
            "table",
            Type.STRING,
            None,
            validator=NonEmptyString(),
            importance=Importance.HIGH,
            group=group,
            doc="Table in a database, or in a catalog of Spark (`catalog.namespace.table`). `${topic}` stands for the "
            "topic, with underscores for what names of tables cannot have.",
        )
        .define(
            "topic.to.table",
            Type.LIST,
            [],
            validator=Check(_check_pairs, "topic:table, ..."),
            importance=Importance.MEDIUM,
            group=group,
            doc="What `${topic}` stands for, where it is not the topic: `orders-v2:orders,clients:customers`. Topics "
            "of the same table are written together.",
        )
        .define(
            "mode",
            Type.STRING,
            "append",
            validator=ValidString.of("append", *_KEYED),
            importance=Importance.HIGH,
            group=group,
            doc="`append` writes a row per record; `upsert` keeps the last row of each key; `changelog` does so too, "
            "and a record without a value deletes the row of its key.",
        )
        .define(
            "schema.evolution",
            Type.STRING,
            "add",
            validator=ValidString.of("add", "none"),
            importance=Importance.MEDIUM,
            group=group,
            doc="What happens to fields that the table does not have: `add` adds columns, `none` fails the connector. "
            "Values that do not fit the type of their column always fail it.",
        )
        .define(
            "partition.by",
            Type.LIST,
            [],
            validator=Check(_check_partitions, "fields, or year|month|day|hour(field)"),
            importance=Importance.MEDIUM,
            group=group,
            doc="How a new table or folder is partitioned: fields such as `country`, or the time in one, as in "
            "`day(created)`. `_timestamp` and `_topic` are those of the record.",
        )
        .define(
            "files.per.batch",
            Type.INT,
            0,
            validator=Range.at_least(0),
            importance=Importance.MEDIUM,
            group=group,
            doc="The most files that a batch adds to each partition of a table; 0: one per Spark task.",
        )
        .define(
            "file.max.records",
            Type.LONG,
            0,
            validator=Range.at_least(0),
            importance=Importance.LOW,
            group=group,
            doc="The most rows of one file; 0: no limit.",
        )
        .define(
            "compact.every.batches",
            Type.INT,
            0,
            validator=Range.at_least(0),
            importance=Importance.MEDIUM,
            group=group,
            doc="After how many batches small files of a Delta or Iceberg table are put together; 0: never.",
        )
        .define(
            "connection.url",
            Type.STRING,
            None,
            importance=Importance.HIGH,
            group=group,
            doc="The database of `format=jdbc`, as in `jdbc:postgresql://host/database`.",
        )
        .define("connection.user", Type.STRING, None, importance=Importance.HIGH, group=group, doc="Who logs in there.")
        .define(
            "connection.password", Type.PASSWORD, None, importance=Importance.HIGH, group=group, doc="The password."
        )
        .define("jdbc.url", Type.STRING, None, importance=Importance.LOW, group=group, doc="Same as `connection.url`.")
        .define(
            "jdbc.user", Type.STRING, None, importance=Importance.LOW, group=group, doc="Same as `connection.user`."
        )
        .define(
            "jdbc.password",
            Type.PASSWORD,
            None,
            importance=Importance.LOW,
            group=group,
            doc="Same as `connection.password`.",
        )
    )


def _rows(definition: ConfigDef) -> ConfigDef:
    group = "Rows"
    return (
        definition.define(
            "value.format",
            Type.STRING,
            "converter",
            validator=ValidString.of("converter", "json", "string", "binary"),
            importance=Importance.HIGH,
            group=group,
            doc="How values are read: by the connector's `converter`, whose fields become columns; or by Spark itself, "
            "which is faster: `json` objects become columns, `string` and `binary` the one column `value`.",
        )
        .define(
            "key.format",
            Type.STRING,
            "string",
            validator=ValidString.of("json", "string", "binary"),
            importance=Importance.MEDIUM,
            group=group,
            doc="How keys are read if Spark reads the values.",
        )
        .define(
            "schema",
            Type.STRING,
            None,
            validator=Check(check_schema, "columns in Spark's DDL"),
            importance=Importance.MEDIUM,
            group=group,
            doc="Columns of `value.format=json` in Spark's DDL, for example `id long, name string`. Without it they "
            "are inferred, batch by batch.",
        )
        .define(
            "key.fields",
            Type.LIST,
            [],
            importance=Importance.HIGH,
            group=group,
            doc="The columns of the key: fields of a key that has some, or the one column that any other key goes to. "
            "If empty, `upsert` and `changelog` take all fields of the key, `append` none.",
        )
        .define(
            "key.source",
            Type.STRING,
            "record",
            validator=ValidString.of("record", "value"),
            importance=Importance.MEDIUM,
            group=group,
            doc="Where `key.fields` are: in the key of the `record`, or in its `value`.",
        )
        .define(
            "metadata.columns",
            Type.LIST,
            [],
            validator=ValidList.of(*METADATA),
            importance=Importance.MEDIUM,
            group=group,
            doc="What else of a record becomes a column, under these names with an underscore before them.",
        )
        .define(
            "behavior.on.null.values",
            Type.STRING,
            "ignore",
            validator=ValidString.of("ignore", "fail"),
            importance=Importance.LOW,
            group=group,
            doc="What to do with records without a value (tombstones) unless `mode=changelog`: `ignore` them, or "
            "`fail` before anything of their batch is written.",
        )
    )
