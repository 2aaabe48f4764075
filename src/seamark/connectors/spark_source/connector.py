"""SparkSource: database tables, files and lakehouse tables into topics, a range at a time.

`format` says what is read; each format has keys and offsets of its own. A row becomes a struct with the columns as
fields and goes through the connector's converters.

Keys that start with `option.` are options of Spark's reader, such as `option.sep` of `csv` or `option.queryTimeout` of
`jdbc`. What is for the database's driver belongs in `connection.url`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from seamark.config.configdef import ConfigDef, ConfigValue, Importance, Range, Type, ValidString
from seamark.connector.frame import FrameSource, ReadLimit
from seamark.connector.offsets import Offsets
from seamark.connector.source import ExactlyOnceSupport
from seamark.connectors import VERSION
from seamark.connectors.spark_source.delta import DeltaReader
from seamark.connectors.spark_source.files import LINES, WHOLE, FilesReader
from seamark.connectors.spark_source.iceberg import IcebergReader
from seamark.connectors.spark_source.jdbc import JdbcReader
from seamark.connectors.spark_source.rate import RateReader
from seamark.connectors.spark_source.reader import Reader, Rows, spark_column
from seamark.errors import ConfigError, ConnectError, DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

READERS: Final[dict[str, type[Reader]]] = {
    "jdbc": JdbcReader,
    **dict.fromkeys((*LINES, *WHOLE), FilesReader),
    "delta": DeltaReader,
    "iceberg": IcebergReader,
    "rate": RateReader,
}
OPTION: Final = "option."
_GROUP: Final = "SparkSource"


class SparkSourceConnector(FrameSource):
    """Reads what Spark reads: tables over JDBC, files, Delta and Iceberg tables, and made-up rows for demos."""

    version = VERSION

    def __init__(self) -> None:
        self._looked_at = float("-inf")

    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = (
            ConfigDef()
            .define(
                "format",
                Type.STRING,
                validator=ValidString.of(*READERS),
                importance=Importance.HIGH,
                group=_GROUP,
                doc="What is read. Each format has keys of its own.",
            )
            .define(
                "topic",
                Type.STRING,
                None,
                importance=Importance.HIGH,
                group=_GROUP,
                doc="The topic to write to; `format=jdbc` has `topic.prefix` instead.",
            )
            .define(
                "key.fields",
                Type.LIST,
                [],
                importance=Importance.MEDIUM,
                group=_GROUP,
                doc="The columns that make the record's key: of one its value, of several a struct. Without any, "
                "records have no key.",
            )
            .define(
                "poll.interval.ms",
                Type.LONG,
                5000,
                validator=Range.at_least(1),
                importance=Importance.MEDIUM,
                group=_GROUP,
                doc="How long to wait before looking again when there was nothing new; with `mode=bulk`, before "
                "loading the table again.",
            )
        )
        for reader in dict.fromkeys(READERS.values()):
            definition.extend(reader.config_def())
        return definition

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        reports = super().validate(config)
        by_name = {report.name: report for report in reports}
        settings = {name: report.value for name, report in by_name.items()}
        reader = READERS.get(settings["format"])
        for key, problem in ({} if reader is None else reader.problems(settings)).items():
            if not by_name[key].errors:
                by_name[key].errors.append(problem)
        return reports

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._reader = _reader(config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        reader = READERS.get(config.get("format", ""))
        if reader is None:
            return None
        is_replayable = reader.is_replayable(config)
        return ExactlyOnceSupport.SUPPORTED if is_replayable else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        wanted = [(partition, offset) for partition, offset in offsets.items() if offset is not None]
        if wanted:  # anything may be removed, also what an earlier config left behind
            reader, spark = _reader(config), self._session()
            for partition, offset in wanted:
                reader.check(spark, partition, offset)
        return True

    def has_work(self, config: Mapping[str, str], offsets: Offsets) -> bool | None:
        # To look is to ask another system, which may take its time: the connector's own thread does that.
        return time.monotonic() - self._looked_at >= self._reader.settings["poll.interval.ms"] / 1000

    def latest(self, start: Offsets, limit: ReadLimit) -> Offsets:
        self._looked_at = time.monotonic()
        return self._reader.latest(self._session(), start, limit)

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> DataFrame:
        return as_records(self._reader.read(spark, start, end), self._reader.settings["key.fields"])

    def _session(self) -> SparkSession:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        context = getattr(self, "context", None)
        if context is not None and context.spark is not None:
            return context.spark()
        if SparkContext._active_spark_context is None:  # noqa: SLF001 - no public way to ask
            raise ConnectError("There is no Spark session to look at the source with: no worker runs in this process.")
        return SparkSession.builder.getOrCreate()  # the one that runs; each thread has to ask for it


def as_records(rows: Rows, key_fields: list[str]) -> DataFrame:
    """The rows as `FrameSource.read` gives them.

    Raises:
        DataError: there is no such column.
    """
    from pyspark.sql import functions as F

    frame = rows.frame
    missing = [name for name in key_fields if name not in frame.columns]
    if missing:
        raise DataError(
            f"key.fields names {', '.join(map(repr, missing))}, but the rows have {', '.join(frame.columns)}."
        )
    column = {name: spark_column(name) for name in frame.columns}
    value = F.col("value") if rows.is_whole else F.struct(*column.values()).alias("value")
    selected = [value, F.lit(rows.topic).alias("topic")]
    if key_fields:
        key = column[key_fields[0]] if len(key_fields) == 1 else F.struct(*[column[name] for name in key_fields])
        selected.append(key.alias("key"))
    return frame.select(*selected)


def _reader(config: Mapping[str, str]) -> Reader:
    settings: dict[str, Any] = SparkSourceConnector.config_def().parse(config)
    reader = READERS[settings["format"]]
    for key, problem in reader.problems(settings).items():
        raise ConfigError(problem, key=key, value=config.get(key))
    options = {key.removeprefix(OPTION): value for key, value in config.items() if key.startswith(OPTION)}
    return reader({**settings, "tasks.max": int(config.get("tasks.max", "1")), "options": options})
