"""Topics into Parquet files, each record once: a row per record, with its key, value and position.

How a batch of files becomes visible is in `seamark.connectors.batch_files`. `SparkSink` writes tables whose columns are
the fields of the values, in this and other formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from seamark.config.configdef import ConfigDef, ConfigValue, Importance, NonEmptyString, Type, ValidString
from seamark.connector.frame import FrameSink, SinkBatch
from seamark.connectors.batch_files import write_files
from seamark.connectors.record_columns import inferred_json, is_text, refusing_nulls

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PARTITION_COLUMNS: Final = {"date": "date", "topic": "topic"}


class ParquetSinkConnector(FrameSink):
    """Writes the records of topics to Parquet files."""

    version = "0.1.0"
    idempotent = True
    typed = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        group = "Parquet"
        return (
            ConfigDef()
            .define(
                "path",
                Type.STRING,
                validator=NonEmptyString(),
                importance=Importance.HIGH,
                group=group,
                doc="Folder to write to: a path, or a URI of a file system that Spark knows.",
            )
            .define(
                "value.format",
                Type.STRING,
                "string",
                validator=ValidString.of("string", "json", "binary"),
                importance=Importance.HIGH,
                group=group,
                doc="What values are: `string` and `binary` are written as they are, `json` becomes columns. If "
                "transforms make them structs or numbers, they are written as such whatever is set here.",
            )
            .define(
                "schema",
                Type.STRING,
                None,
                importance=Importance.MEDIUM,
                group=group,
                doc="Columns of JSON values in Spark's DDL, for example `id long, name string`. "
                "Without it they are inferred, batch by batch.",
            )
            .define(
                "partition.by",
                Type.STRING,
                None,
                validator=ValidString.of("date", "topic"),
                importance=Importance.MEDIUM,
                group=group,
                doc="Put files into one folder per `date` (of the record's timestamp, UTC) or per `topic`.",
            )
            .define(
                "behavior.on.null.values",
                Type.STRING,
                "write",
                validator=ValidString.of_ignoring_case("write", "ignore", "fail"),
                importance=Importance.LOW,
                group=group,
                doc="What to do with records that have no value (tombstones): `write` them as rows whose value is "
                "null, `ignore` them, or `fail` before anything of their batch is written.",
            )
        )

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        reports = super().validate(config)
        if config.get("schema") and config.get("value.format", "string") != "json":
            for report in reports:
                if report.name == "schema":
                    report.errors.append("schema has a meaning only with value.format=json")
        return reports

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self.settings = self.config_def().parse(config)

    def write(self, frame: DataFrame, batch: SinkBatch) -> None:
        write_files(frame, self.settings["path"], batch, self._save)

    def _save(self, frame: DataFrame, folder: str) -> None:
        writer = self._columns(frame).write
        if self.settings["partition.by"]:
            writer = writer.partitionBy(_PARTITION_COLUMNS[self.settings["partition.by"]])
        writer.parquet(folder)

    def _columns(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        frame = self._without_nulls(frame)
        is_json = self.settings["value.format"] == "json" and is_text(frame, "value")
        columns = [
            self._part(frame, "key"),
            self._part(frame, "value"),
            *[F.col(name) for name in ("topic", "partition", "offset", "timestamp", "headers")],
        ]
        if self.settings["partition.by"] == "date":
            columns.append(F.to_date("timestamp").alias("date"))
        shaped = frame.select(*columns)
        if is_json:
            schema = self.settings["schema"] or inferred_json(frame)
            shaped = shaped.withColumn("value", F.from_json("value", schema, {"mode": "FAILFAST"}))
        return shaped

    def _part(self, frame: DataFrame, name: str) -> Column:
        """A key or value: bytes or text as `value.format` says, anything else as the transforms have made it."""
        from pyspark.sql import functions as F

        if not is_text(frame, name):
            return F.col(name)
        return F.col(name).cast("binary" if self.settings["value.format"] == "binary" else "string").alias(name)

    def _without_nulls(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        behavior = self.settings["behavior.on.null.values"].lower()
        if behavior == "ignore":
            return frame.where(F.col("value").isNotNull())
        if behavior == "fail":
            return refusing_nulls(frame)
        return frame
