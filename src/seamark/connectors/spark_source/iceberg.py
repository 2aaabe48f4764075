"""`format=iceberg`: the rows that are appended to an Iceberg table, or the table as it is after each change.

Source partition ``{"table": "<path or name>"}``, source offset ``{"snapshot_id": n}``: what came up to that snapshot
was read. A first batch is the table as it is. Snapshots are found in the table's metadata, which costs no Spark job.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from seamark.config.configdef import ConfigDef, Importance, Type, ValidString
from seamark.connector.frame import ReadLimit
from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.connectors.spark_source.delta import CHANGES, SNAPSHOTS, partition_of, table_problems
from seamark.connectors.spark_source.reader import Reader, Rows, Settings, only_fields, whole_number
from seamark.engine.spark_packages import require_package
from seamark.errors import ConnectError, DataError, RetriableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SNAPSHOT: Final = "snapshot_id"
FAIL, SKIP = "fail", "skip"
_APPEND, _REPLACE = "append", "replace"  # a replace only arranges rows anew, as compaction does


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the table, and what led to it."""

    id: int
    operation: str
    added: int


class IcebergReader(Reader):
    """Reads an Iceberg table."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._partition = partition_of(settings)
        self._table: Any = None

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "iceberg.rewrites",
            Type.STRING,
            FAIL,
            validator=ValidString.of(FAIL, SKIP),
            importance=Importance.MEDIUM,
            group="Tables",
            doc="What to do with snapshots that change or delete rows of an Iceberg table, which are not read as "
            "changes: `fail`, or `skip` them.",
        )

    @classmethod
    def problems(cls, settings: Settings) -> dict[str, str]:
        return table_problems(settings)

    def latest(self, spark: SparkSession, start: Offsets, limit: ReadLimit) -> Offsets:
        table = self._loaded(spark)
        current = table.currentSnapshot()
        if current is None:
            return start
        committed = start.get(self._partition)
        if committed is None or self.settings["table.mode"] == SNAPSHOTS:
            return Offsets([(self._partition, {SNAPSHOT: int(current.snapshotId())})])
        new = self._since(table, int(committed[SNAPSHOT]))
        end, rows = committed, 0
        for snapshot in new[: self.settings["table.max.versions"]]:
            if rows and limit.records is not None and rows + snapshot.added > limit.records:
                break
            self._refuse_rewrite(snapshot)
            end, rows = {SNAPSHOT: snapshot.id}, rows + snapshot.added
        return Offsets([(self._partition, end)])

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> Rows:
        self._loaded(spark)
        committed, last = start.get(self._partition), (end[self._partition] or {})[SNAPSHOT]
        reader = spark.read.format("iceberg").options(**self.settings["options"])
        if committed is None or self.settings["table.mode"] == SNAPSHOTS:
            reader = reader.option("snapshot-id", last)
        else:
            reader = reader.option("start-snapshot-id", committed[SNAPSHOT]).option("end-snapshot-id", last)
        return Rows(reader.load(self._partition["table"]), self.settings["topic"])

    def check(self, spark: SparkSession, partition: SourcePartition, offset: SourceOffset) -> None:
        if partition != self._partition:
            raise DataError(f"The source partition {dict(partition)} is not {dict(self._partition)}.")
        only_fields(offset, SNAPSHOT)
        wanted = whole_number(offset, SNAPSHOT)
        history = list(_history(self._loaded(spark)))
        if wanted not in [snapshot.id for snapshot in history]:
            newest = ", ".join(str(snapshot.id) for snapshot in history[:5]) or "none"
            raise DataError(
                f"Iceberg table {self._name} has no snapshot {wanted} in the history of its current state; the newest "
                f"are: {newest}."
            )

    @property
    def _name(self) -> str:
        return repr(self._partition["table"])

    def _since(self, table: Any, snapshot: int) -> list[Snapshot]:
        """The snapshots after one, oldest first."""
        newer: list[Snapshot] = []
        for each in _history(table):
            if each.id == snapshot:
                return newer[::-1]
            newer.append(each)
        raise ConnectError(
            f"Snapshot {snapshot} of Iceberg table {self._name}, up to which rows were read, is not in the history of "
            "its current state: it has expired, or the table was rolled back. Stop the connector and set its offset "
            "to a snapshot that is there, or reset it to read the table again."
        )

    def _refuse_rewrite(self, snapshot: Snapshot) -> None:
        if snapshot.operation not in (_APPEND, _REPLACE) and self.settings["iceberg.rewrites"] == FAIL:
            raise ConnectError(
                f"Snapshot {snapshot.id} of Iceberg table {self._name} is an {snapshot.operation}: it changes or "
                "deletes rows, and only appended rows can be read as changes. Set iceberg.rewrites=skip to leave such "
                f"snapshots out, or table.mode={SNAPSHOTS} instead of {CHANGES}."
            )

    def _loaded(self, spark: SparkSession) -> Any:
        """The table, as it is now."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import AnalysisException

        require_package(spark, "iceberg", "format=iceberg")
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - no public way
        iceberg = jvm.org.apache.iceberg
        try:
            if self._table is not None:
                self._table.refresh()
            elif self.settings["table"]:
                session = spark._jsparkSession  # noqa: SLF001
                self._table = iceberg.spark.Spark3Util.loadIcebergTable(session, self.settings["table"])
            else:
                conf = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
                self._table = iceberg.hadoop.HadoopTables(conf).load(self.settings["path"])
        except AnalysisException as error:  # a catalog that has no such table
            raise self._not_loaded(str(error), is_missing=True) from error
        except Py4JJavaError as error:
            cause = error.java_exception
            kind = str(cause.getClass().getSimpleName())
            raise self._not_loaded(f"{kind}: {cause.getMessage()}", is_missing=kind.startswith("NoSuch")) from error
        return self._table

    def _not_loaded(self, why: str, *, is_missing: bool) -> ConnectError:
        self._table = None
        told = f"Iceberg table {self._name} cannot be loaded: {why.splitlines()[0]}"
        return ConnectError(told) if is_missing else RetriableError(told)


def _history(table: Any) -> Iterator[Snapshot]:
    """The snapshots that led to the current one, newest first, as far as they are kept."""
    snapshot = table.currentSnapshot()
    while snapshot is not None:
        added = snapshot.summary().get("added-records")
        yield Snapshot(int(snapshot.snapshotId()), str(snapshot.operation()), int(added or 0))
        parent = snapshot.parentId()
        snapshot = None if parent is None else table.snapshot(parent)
