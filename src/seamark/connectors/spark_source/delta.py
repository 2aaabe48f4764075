"""`format=delta`: the changes of a Delta table, or the table as it is after each change.

Source partition ``{"table": "<path or name>"}``, source offset ``{"version": n}``: what came up to version *n* was
read. A first batch is the table as it is. Versions are found by the files of the table's log, which costs no Spark job.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from seamark.config.configdef import ConfigDef, Importance, Range, Type, ValidString
from seamark.connector.frame import ReadLimit
from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.connectors.spark_source.folders import Folder
from seamark.connectors.spark_source.reader import Reader, Rows, Settings, only_fields, whole_number
from seamark.engine.spark_packages import require_package
from seamark.errors import ConnectError, DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHANGES, SNAPSHOTS = "changes", "snapshots"
VERSION: Final = "version"
_COMMIT: Final = re.compile(r"(\d{20})\.json")
_FEED: Final = "delta.enableChangeDataFeed"
_BEFORE: Final = ("delete", "update_preimage")


def define_table(definition: ConfigDef) -> ConfigDef:
    """The keys of table formats, beside `path`."""
    group = "Tables"
    return (
        definition.define(
            "table",
            Type.STRING,
            None,
            importance=Importance.HIGH,
            group=group,
            doc="The Delta or Iceberg table by its name in a catalog, as in `lake.shop.orders`; or set `path`.",
        )
        .define(
            "table.mode",
            Type.STRING,
            CHANGES,
            validator=ValidString.of(CHANGES, SNAPSHOTS),
            importance=Importance.HIGH,
            group=group,
            doc="`changes`: the table as it is, then what changes; `snapshots`: the whole table after each change.",
        )
        .define(
            "table.max.versions",
            Type.LONG,
            100,
            validator=Range.at_least(1),
            importance=Importance.LOW,
            group=group,
            doc="The most versions of a Delta table, or snapshots of an Iceberg table, in one batch of changes.",
        )
    )


def table_problems(settings: Settings) -> dict[str, str]:
    """What is wrong with the settings of a table format, by key."""
    kind = settings["format"]
    found = {} if settings["topic"] else {"topic": f"format={kind} needs the topic to write to"}
    if bool(settings["path"]) == bool(settings["table"]):
        found["table"] = f"format={kind} needs exactly one of table and path"
    return found


def partition_of(settings: Settings) -> SourcePartition:
    """The one source partition of a table."""
    return SourcePartition(table=settings["table"] or settings["path"])


class DeltaReader(Reader):
    """Reads a Delta table."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._partition = partition_of(settings)
        self._location: str | None = None
        self._newest = -1

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_table(ConfigDef())

    @classmethod
    def problems(cls, settings: Settings) -> dict[str, str]:
        return table_problems(settings)

    def latest(self, spark: SparkSession, start: Offsets, limit: ReadLimit) -> Offsets:
        log = self._log(spark)
        committed, newest = start.get(self._partition), self._newest_version(log)
        if committed is None:
            return Offsets([(self._partition, {VERSION: newest})])
        version = int(committed[VERSION])
        if version > newest:
            raise ConnectError(
                f"Delta table {self._name} has versions up to {newest}, but {version} was read already: it was made "
                "anew or restored from a copy. Stop the connector and reset its offset to read the table again."
            )
        if self.settings["table.mode"] == CHANGES:
            newest = min(newest, version + self.settings["table.max.versions"])
        return Offsets([(self._partition, {VERSION: newest})])

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> Rows:
        self._log(spark)
        committed, version = start.get(self._partition), int((end[self._partition] or {})[VERSION])
        if self.settings["table.mode"] == SNAPSHOTS or committed is None:
            frame = self._reader(spark).option("versionAsOf", version).load(self._location)
            if self.settings["table.mode"] == CHANGES:
                frame = _as_inserts(frame, version)
            return Rows(frame, self.settings["topic"])
        changes = self._reader(spark).option("readChangeFeed", "true")
        changes = changes.option("startingVersion", int(committed[VERSION]) + 1).option("endingVersion", version)
        return Rows(_in_order(changes.load(self._location)), self.settings["topic"])

    def check(self, spark: SparkSession, partition: SourcePartition, offset: SourceOffset) -> None:
        if partition != self._partition:
            raise DataError(f"The source partition {dict(partition)} is not {dict(self._partition)}.")
        only_fields(offset, VERSION)
        wanted = whole_number(offset, VERSION)
        known = _versions(self._log(spark))
        # Reading goes on with the next version, whose log entry must still be there.
        if wanted > known[-1] or (wanted != known[-1] and wanted + 1 < known[0]):
            raise DataError(
                f"Delta table {self._name} has no version {wanted} to go on from; there are {max(0, known[0] - 1)} to "
                f"{known[-1]}."
            )

    @property
    def _name(self) -> str:
        return repr(self._partition["table"])

    def _reader(self, spark: SparkSession) -> Any:
        return spark.read.format("delta").options(**self.settings["options"])

    def _log(self, spark: SparkSession) -> Folder:
        if self._location is None:
            require_package(spark, "delta", "format=delta")
            self._location = self._described(spark)
        return Folder(spark, f"{self._location}/_delta_log")

    def _described(self, spark: SparkSession) -> str:
        """Where the table is.

        Raises:
            ConnectError: there is none, or its changes are not recorded.
        """
        from pyspark.errors import PySparkException

        path, name = self.settings["path"], self.settings["table"]
        quoted = name or "delta.`" + str(path).replace("`", "``") + "`"
        try:
            row = spark.sql(f"DESCRIBE DETAIL {quoted}").first()
        except PySparkException as error:
            raise ConnectError(f"{self._name} cannot be read as a Delta table: {str(error).splitlines()[0]}") from error
        if row is None or row["format"] != "delta":
            raise ConnectError(f"{self._name} is no Delta table.")
        if self.settings["table.mode"] == CHANGES and row["properties"].get(_FEED) != "true":
            raise ConnectError(
                f"Delta table {self._name} does not record its changes. Have it do so with ALTER TABLE {quoted} SET "
                f"TBLPROPERTIES ({_FEED} = true), or set table.mode={SNAPSHOTS}."
            )
        return str(row["location"]).removesuffix("/")

    def _newest_version(self, log: Folder) -> int:
        if self._newest < 0 or not log.has(_commit(self._newest)):
            self._newest = _versions(log)[-1]
        while log.has(_commit(self._newest + 1)):  # mostly a single look, however long the log is
            self._newest += 1
        return self._newest


def _versions(log: Folder) -> list[int]:
    found = sorted(int(match[1]) for file in log.files() if (match := _COMMIT.fullmatch(file.name)))
    if not found:
        raise ConnectError(f"The log of the Delta table in {log.path!r} is empty.")
    return found


def _commit(version: int) -> str:
    return f"{version:020d}.json"


def _as_inserts(frame: DataFrame, version: int) -> DataFrame:
    """Rows of the table as if they had been inserted by this version."""
    from pyspark.sql import functions as F

    return frame.select(
        "*",
        F.lit("insert").alias("_change_type"),
        F.lit(version).cast("long").alias("_commit_version"),
        F.lit(None).cast("timestamp").alias("_commit_timestamp"),
    )


def _in_order(changes: DataFrame) -> DataFrame:
    """As they happened, so that the changes of a key stay in order; what a row was comes before what it is."""
    from pyspark.sql import functions as F

    is_after = F.when(F.col("_change_type").isin(*_BEFORE), 0).otherwise(1)
    return changes.orderBy("_commit_version", is_after)
