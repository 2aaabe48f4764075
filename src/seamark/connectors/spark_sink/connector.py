"""Topics into tables and files of any format that Spark writes: Parquet, ORC, JSON, CSV, Delta, Iceberg, PostgreSQL.

A row per record, or the last row of each key; the columns are the fields of the values. Each record is in the table
once, also after a crash: a batch is replayed with the same range and id, and every target can tell that it has it:

* files are committed by rename, see `seamark.connectors.batch_files`,
* a Delta commit carries the connector and the batch (`txnAppId`, `txnVersion`),
* an Iceberg snapshot has the batch in its summary (`wap.id`),
* PostgreSQL gets the rows and the batch (table `seamark_batches`) in one transaction.

Keys that start with `option.` are options of Spark's writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from seamark.config.configdef import ConfigDef, ConfigValue
from seamark.connector.frame import FrameSink, SinkBatch
from seamark.connectors.spark_errors import is_malformed
from seamark.connectors.spark_sink.catalog_files import CatalogFilesTarget
from seamark.connectors.spark_sink.config import Settings, config_def
from seamark.connectors.spark_sink.delta import DeltaTarget
from seamark.connectors.spark_sink.files import FilesTarget
from seamark.connectors.spark_sink.iceberg import IcebergTarget
from seamark.connectors.spark_sink.postgresql import PostgresqlTarget
from seamark.connectors.spark_sink.rows import rows_of, unreadable
from seamark.connectors.spark_sink.target import Target
from seamark.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TABLES: Final[Mapping[str, type[Target]]] = {
    "delta": DeltaTarget,
    "iceberg": IcebergTarget,
    "jdbc": PostgresqlTarget,
}


class SparkSinkConnector(FrameSink):
    """Writes the records of topics to tables and files."""

    version = "0.1.0"
    idempotent = True
    typed = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        return config_def()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        reports = super().validate(config)
        if not any(report.errors for report in reports):
            try:
                Settings.of(config)
            except ConfigError as error:
                for report in reports:
                    if report.name == error.key:
                        report.errors.append(error.message)
        return reports

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self.settings = Settings.of(config)
        self.converts = self.settings.value_format == "converter"
        self.reads_headers = "headers" in self.settings.metadata
        self._targets: dict[str, Target] = {}

    def write(self, frame: DataFrame, batch: SinkBatch) -> None:
        from pyspark.sql import functions as F

        routes = self._routes(frame, batch)
        if len(routes) == 1:
            self._write(frame, next(iter(routes)), batch)
            return
        frame = frame.persist()
        try:
            for name, topics in sorted(routes.items()):
                self._write(frame.where(F.col("topic").isin(topics)), name, batch)
        finally:
            frame.unpersist()

    def _write(self, frame: DataFrame, name: str, batch: SinkBatch) -> None:
        try:
            self._write_rows(frame, name, batch)
        except Exception as error:
            # Spark tells what is wrong with a text, but not of which record.
            if is_malformed(error) and (told := unreadable(frame, self.settings)) is not None:
                raise DataError(told) from error
            raise

    def _write_rows(self, frame: DataFrame, name: str, batch: SinkBatch) -> None:
        rows = rows_of(frame, self.settings)
        if rows is None:
            return
        target = self._targets.get(name)
        if target is None or target.spark is not frame.sparkSession:
            kind = _TABLES.get(self.settings.format, FilesTarget if self.settings.path else CatalogFilesTarget)
            target = self._targets[name] = kind(frame.sparkSession, self.settings, name, batch.connector)
        target.write(rows, batch)
        target.after_batch()

    def _routes(self, frame: DataFrame, batch: SinkBatch) -> dict[str, list[str]]:
        """Where records go -> from which topics."""
        if not self.settings.is_routed:
            return {self.settings.target: []}
        topics = {partition.topic for partition, end in batch.end.items() if end > batch.start.get(partition, 0)}
        if self.config.get("transforms"):  # which may have changed them
            topics = {row.topic for row in frame.select("topic").distinct().collect()}
        routes: dict[str, list[str]] = {}
        for topic in sorted(topics):
            routes.setdefault(self.settings.target_of(topic), []).append(topic)
        return routes
