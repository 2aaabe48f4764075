"""Iceberg tables, by write, audit, publish.

A batch is first *staged*: a snapshot that is not the table's, with the id of the batch in its summary (`wap.id`). Then
it is picked: Iceberg refuses that, in the moment of the commit, for an id that the table has already. So each batch is
in the table once, also if two drivers write it at the same moment. What was staged before a crash is picked after it.
The range of a batch is in the summary, too, as `seamark.batch`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from seamark.connector.frame import SinkBatch
from seamark.connectors.spark_sink.fitting import fitted
from seamark.connectors.spark_sink.rows import DELETED, Rows
from seamark.connectors.spark_sink.target import (
    Target,
    in_own_session,
    is_note_of,
    merge_statement,
    note_of,
    told_apart,
)
from seamark.engine.spark_packages import require_package
from seamark.errors import ConfigError, ConnectError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_NOTE: Final = "seamark.batch"
_SUMMARY: Final = "spark.sql.iceberg.snapshot-property."
_VIEW: Final = "seamark_batch"
_WAP: Final = "write.wap.enabled"
# By its id, or as the very snapshot that was staged.
_HAS_IT: Final = re.compile(r"DuplicateWAPCommit|published already|CherrypickAncestorCommit|already an ancestor")


class IcebergTarget(Target):
    """An Iceberg table of a catalog."""

    @property
    def _catalog(self) -> str:
        return self.name.partition(".")[0]

    def write(self, rows: Rows, batch: SinkBatch) -> None:
        require_package(self.spark, "iceberg", "format=iceberg")
        if not self.spark.conf.get(f"spark.sql.catalog.{self._catalog}", None):
            raise ConfigError(
                f"The catalog {self._catalog!r} of table={self.name} is not known to Spark: set spark.sql.catalog."
                f"{self._catalog} and its settings in the worker's properties.",
                key="table",
                value=self.name,
            )
        with told_apart(f"The Iceberg table {self.name}"):
            if self.spark.catalog.tableExists(self.name):
                self._refresh()
            else:
                self._create(rows.frame)
            if batch.replay and self._picked_before(batch):
                return
            staged = self._stage(rows, batch)
            self._pick(staged, batch)

    def compact(self) -> None:
        self.spark.sql(f"CALL {self._catalog}.system.rewrite_data_files('{self._local_name}')")

    def _refresh(self) -> None:
        """Forget what this session knows of the table: others change it, and so does the session that stages."""
        self.spark.sql(f"REFRESH TABLE {self.name}")

    def _stage(self, rows: Rows, batch: SinkBatch) -> Rows:
        schema = self._enabled_schema()
        fit = fitted(rows.frame, schema, evolution=self.settings.evolution, target=f"the Iceberg table {self.name}")
        if fit.added:
            columns = ", ".join(f"{name} {kind}" for name, kind in fit.added.items())
            self.spark.sql(f"ALTER TABLE {self.name} ADD COLUMNS ({columns})")
        settings = {"spark.wap.id": self._wap_id(batch), f"{_SUMMARY}{_NOTE}": note_of(batch)}
        frame = in_own_session(self.spread(fit.frame), settings)
        if not rows.keys:
            # Columns that no record of the batch has are null; Iceberg wants to see all of them.
            frame = _with_all(frame, self.spark.table(self.name).schema)
            frame.writeTo(self.name).options(**self.writer_options).append()
            return Rows(frame)
        frame.createOrReplaceTempView(_VIEW)
        frame.sparkSession.sql(merge_statement(self.name, _VIEW, Rows(frame, rows.keys), schema))
        return Rows(frame, rows.keys)

    def _picked_before(self, batch: SinkBatch) -> bool:
        """Pick what an earlier attempt has staged, if that is possible still."""
        found = self._staged(batch)
        if found is None:
            return False
        note = found["summary"].get(_NOTE)
        if note is not None and not is_note_of(note, batch, f"The Iceberg table {self.name}"):
            raise ConnectError(
                f"The Iceberg table {self.name} has a batch {batch.id} of a connector {batch.connector!r} with another "
                "range. Give each connector that writes to a table a name of its own."
            )
        return self._call_pick(found["snapshot_id"])

    def _pick(self, rows: Rows, batch: SinkBatch) -> None:
        self._refresh()
        found = self._staged(batch)
        if found is None:
            if self._changes_nothing(rows):
                return
            raise ConnectError(
                f"Iceberg has not staged batch {batch.id} for {self.name}: does somebody else change its {_WAP}?"
            )
        if not self._call_pick(found["snapshot_id"]):
            raise _ChangedError(self.name)

    def _changes_nothing(self, rows: Rows) -> bool:
        """Whether all that a changelog holds is deletions of rows that the table does not have."""
        if DELETED not in rows.frame.columns:
            return rows.frame.isEmpty()
        table = rows.frame.sparkSession.table(self.name)
        there = rows.frame.join(table, list(rows.keys), "left_semi")
        return rows.frame.where(f"NOT {DELETED}").isEmpty() and there.isEmpty()

    def _call_pick(self, snapshot: int) -> bool:
        """Make a staged snapshot part of the table; False if the table has changed so that it cannot be."""
        try:
            self.spark.sql(f"CALL {self._catalog}.system.cherrypick_snapshot('{self._local_name}', {snapshot})")
        except Exception as error:
            if _HAS_IT.search(str(error)):
                return True
            if "not append, dynamic overwrite, or fast-forward" in str(error):
                return False
            raise
        return True

    def _staged(self, batch: SinkBatch) -> Any:
        """The last snapshot with the id of the batch."""
        from pyspark.sql import functions as F

        snapshots = self.spark.table(f"{self.name}.snapshots").select("snapshot_id", "summary", "committed_at")
        mine = snapshots.where(F.col("summary").getItem("wap.id") == self._wap_id(batch))
        return mine.orderBy(F.col("committed_at").desc()).head()

    def _create(self, frame: DataFrame) -> None:
        columns = self.first_columns(frame)._jdf.schema().toDDL()  # noqa: SLF001 - the one that quotes nested names
        by = ", ".join(partition.iceberg for partition in self.settings.partitions)
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {self.name.rpartition('.')[0]}")
        partitioned = f" PARTITIONED BY ({by})" if by else ""
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self.name} ({columns}) USING iceberg{partitioned} "
            f"TBLPROPERTIES ('{_WAP}'='true')"
        )

    def _enabled_schema(self) -> StructType:
        properties = {row.key: row.value for row in self.spark.sql(f"SHOW TBLPROPERTIES {self.name}").collect()}
        if properties.get(_WAP) != "true":
            self.spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{_WAP}'='true')")
        return self.spark.table(self.name).schema

    def _wap_id(self, batch: SinkBatch) -> str:
        return f"seamark-{self.connector}-{batch.id}"

    @property
    def _local_name(self) -> str:
        return self.name.partition(".")[2]

    @property
    def partition_columns(self) -> list[str]:
        return []  # Iceberg distributes rows by itself


class _ChangedError(ConnectError):
    """The table was changed by others between staging and picking."""

    retriable = True

    def __init__(self, table: str) -> None:
        super().__init__(
            f"Somebody else has changed the Iceberg table {table} at the same time: the batch is repeated."
        )


def _with_all(frame: DataFrame, schema: StructType) -> DataFrame:
    from pyspark.sql import functions as F

    there = {name.lower() for name in frame.columns}
    missing = [member for member in schema.fields if member.name.lower() not in there]
    return (
        frame.withColumns({member.name: F.lit(None).cast(member.dataType) for member in missing}) if missing else frame
    )
