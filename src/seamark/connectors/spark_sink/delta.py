"""Delta tables.

A commit carries the connector and the id of the batch (`txnAppId`, `txnVersion`), so Delta itself leaves out a batch
that the table has, also if two drivers write it at the same moment. The range is in `userMetadata`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from seamark.connector.frame import SinkBatch
from seamark.connectors.spark_sink.fitting import fitted
from seamark.connectors.spark_sink.rows import Rows, quoted
from seamark.connectors.spark_sink.target import (
    Target,
    in_own_session,
    is_written,
    merge_statement,
    note_of,
    told_apart,
)
from seamark.engine.spark_packages import require_package

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_CONF: Final = "spark.databricks.delta"
_VIEW: Final = "seamark_batch"
_RECENT: Final = 50  # commits in which to look for a batch: others may have changed the table since


class DeltaTarget(Target):
    """A Delta table, by its path or its name in a catalog."""

    @property
    def _app(self) -> str:
        return f"seamark-{self.connector}"

    @property
    def _sql_name(self) -> str:
        return self.name if self.settings.path is None else f"delta.{quoted(self.name)}"

    def write(self, rows: Rows, batch: SinkBatch) -> None:
        require_package(self.spark, "delta", "format=delta")
        with told_apart(f"The Delta table {self.name}"):
            if not self._exists():
                self._create(rows.frame)
            if self._is_written(batch):
                return
            schema = self._schema()
            fit = fitted(rows.frame, schema, evolution=self.settings.evolution, target=f"the Delta table {self.name}")
            ready = Rows(self.spread(fit.frame), rows.keys)
            if rows.keys:
                self._merge(ready, schema, fit.added, batch)
            else:
                self._append(ready.frame, batch, has_new=bool(fit.added))

    def compact(self) -> None:
        self.spark.sql(f"OPTIMIZE {self._sql_name}")

    def _append(self, frame: DataFrame, batch: SinkBatch, *, has_new: bool) -> None:
        options = {"txnAppId": self._app, "txnVersion": str(batch.id), "userMetadata": note_of(batch)}
        options |= {"mergeSchema": "true"} if has_new else {}
        writer = frame.write.format("delta").mode("append").options(**{**self.writer_options, **options})
        if self.settings.path is None:
            writer.saveAsTable(self.name)
        else:
            writer.save(self.name)

    def _merge(self, rows: Rows, schema: StructType, added: dict[str, str], batch: SinkBatch) -> None:
        if added:
            columns = ", ".join(f"{name} {kind}" for name, kind in added.items())
            self.spark.sql(f"ALTER TABLE {self._sql_name} ADD COLUMNS ({columns})")
        settings = {
            f"{_CONF}.write.txnAppId": self._app,
            f"{_CONF}.write.txnVersion": str(batch.id),
            f"{_CONF}.commitInfo.userMetadata": note_of(batch),
        }
        frame = in_own_session(rows.frame, settings)
        frame.createOrReplaceTempView(_VIEW)
        frame.sparkSession.sql(merge_statement(self._sql_name, _VIEW, rows, schema))

    def _exists(self) -> bool:
        if self.settings.path is None:
            return bool(self.spark.catalog.tableExists(self.name))
        return bool(self._jvm.io.delta.tables.DeltaTable.isDeltaTable(self.spark._jsparkSession, self.name))  # noqa: SLF001

    def _create(self, frame: DataFrame) -> None:
        writer = (
            self.first_columns(frame).limit(0).write.format("delta").mode("append").options(**self.settings.options)
        )
        if self.partition_columns:
            writer = writer.partitionBy(*self.partition_columns)
        if self.settings.path is None:
            writer.saveAsTable(self.name)
        else:
            writer.save(self.name)

    def _schema(self) -> StructType:
        if self.settings.path is None:
            return self.spark.table(self.name).schema
        return self.spark.read.format("delta").load(self.name).schema

    def _is_written(self, batch: SinkBatch) -> bool:
        last = self._last_batch()
        note = self._note(batch) if last == batch.id else None
        return is_written(f"The Delta table {self.name}", batch, last, note)

    def _last_batch(self) -> int | None:
        empty = self._jvm.scala.Option.empty()
        if self.settings.path is None:
            location = self.spark.sql(f"DESCRIBE DETAIL {self.name}").head()["location"]
        else:
            location = self.name
        log = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, location)  # noqa: SLF001
        found = log.update(False, empty, empty).transactions().get(self._app)
        return int(found.get()) if found.isDefined() else None

    def _note(self, batch: SinkBatch) -> str | None:
        history = self.spark.sql(f"DESCRIBE HISTORY {self._sql_name} LIMIT {_RECENT}").where("userMetadata IS NOT NULL")
        for row in history.select("userMetadata").collect():
            if _is_of(row.userMetadata, batch):
                return str(row.userMetadata)
        return None

    @property
    def _jvm(self) -> Any:
        return self.spark.sparkContext._jvm  # noqa: SLF001 - Delta has no other way from Python


def _is_of(note: str, batch: SinkBatch) -> bool:
    try:
        found = json.loads(note)
    except ValueError:
        return False  # somebody else's
    return isinstance(found, dict) and (found.get("connector"), found.get("batch")) == (batch.connector, batch.id)
