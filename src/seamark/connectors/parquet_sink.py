"""Topics into Parquet files, each record once.

A batch becomes visible file by file, under names that say which batch they belong to, and is complete when its
manifest is there::

    <path>/[date=2026-01-31/|topic=orders/]batch-<id>-part-<n>.parquet
    <path>/_seamark/commits/<id>.json         the range and the files of a complete batch, written last
    <path>/_seamark/claims/<id>.json          the same, written before the files are moved, removed after
    <path>/_seamark/staging/<id>-<attempt>/   what Spark is writing; never read

The claim is the decision: it is created only if there is none, so of two drivers that write the same batch one wins,
and the files of the other stay in its temporary folder and are deleted. After a crash, a batch with a claim is
finished by moving the rest of its files; one without is written anew. Names that begin with an underscore are skipped
by Spark and most other readers.

Everything goes through Hadoop's file systems, so `path` may be a local path or a URI of any that Spark knows (file,
hdfs, s3a, ...). Where renaming is a copy, as in object stores, a batch takes longer to appear; the promise is the
same if creating a file that exists fails.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from seamark.config.configdef import ConfigDef, ConfigValue, Importance, NonEmptyString, Type, ValidString
from seamark.connector.frame import FrameSink, SinkBatch
from seamark.errors import ConnectError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

OWN_FOLDER: Final = "_seamark"
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
        files = BatchFiles(frame.sparkSession, self.settings["path"], batch)
        if files.is_complete() or files.finish():
            return
        staging = files.new_staging()
        writer = self._columns(frame).write
        if self.settings["partition.by"]:
            writer = writer.partitionBy(_PARTITION_COLUMNS[self.settings["partition.by"]])
        writer.parquet(staging)
        files.claim(staging)
        files.finish()

    def _columns(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        frame = self._without_nulls(frame)
        is_json = self.settings["value.format"] == "json" and _is_text(frame, "value")
        columns = [
            self._part(frame, "key"),
            self._part(frame, "value"),
            *[F.col(name) for name in ("topic", "partition", "offset", "timestamp", "headers")],
        ]
        if self.settings["partition.by"] == "date":
            columns.append(F.to_date("timestamp").alias("date"))
        shaped = frame.select(*columns)
        if is_json:
            schema = self.settings["schema"] or self._inferred(frame)
            shaped = shaped.withColumn("value", F.from_json("value", schema, {"mode": "FAILFAST"}))
        return shaped

    def _part(self, frame: DataFrame, name: str) -> Column:
        """A key or value: bytes or text as `value.format` says, anything else as the transforms have made it."""
        from pyspark.sql import functions as F

        if not _is_text(frame, name):
            return F.col(name)
        return F.col(name).cast("binary" if self.settings["value.format"] == "binary" else "string").alias(name)

    def _without_nulls(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        behavior = self.settings["behavior.on.null.values"].lower()
        if behavior == "ignore":
            return frame.where(F.col("value").isNotNull())
        if behavior == "fail":
            where = [F.coalesce(F.col(name).cast("string"), F.lit("?")) for name in ("offset", "topic", "partition")]
            told = F.format_string(
                "The record at offset %s of %s-%s has no value, and behavior.on.null.values is 'fail'.", *where
            )
            return frame.withColumn("value", F.coalesce("value", F.raise_error(told)))
        return frame

    @staticmethod
    def _inferred(frame: DataFrame) -> Any:
        from pyspark.sql import functions as F

        texts = frame.where(F.col("value").isNotNull()).select(F.col("value").cast("string"))
        return frame.sparkSession.read.json(texts.rdd.map(lambda row: row[0])).schema


def _is_text(frame: DataFrame, name: str) -> bool:
    from pyspark.sql.types import BinaryType, StringType

    return isinstance(frame.schema[name].dataType, StringType | BinaryType)


class BatchFiles:
    """The files of one batch, through the file systems of Spark's JVM."""

    def __init__(self, spark: SparkSession, path: str, batch: SinkBatch) -> None:
        jvm = spark.sparkContext._jvm  # noqa: SLF001
        self._jvm: Any = jvm
        self._batch = batch
        self._root = self._path(path.rstrip("/") or "/")
        self._hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
        self._fs = self._root.getFileSystem(self._hadoop)
        self._root = self._fs.makeQualified(self._root)
        own = f"{self._root}/{OWN_FOLDER}"
        self._staging = f"{own}/staging"
        self._manifest = self._path(f"{own}/commits/{batch.id}.json")
        self._claim = self._path(f"{own}/claims/{batch.id}.json")

    def is_complete(self) -> bool:
        """Whether the batch was written before.

        Raises:
            ConnectError: the folder holds another batch of this id.
        """
        return self._checked(self._manifest) is not None

    def new_staging(self) -> str:
        """A folder for this attempt alone: an earlier one may still be alive."""
        return f"{self._staging}/{self._batch.id}-{uuid.uuid4().hex}"

    def claim(self, staging: str) -> None:
        """Decide that the batch consists of the files in this folder, unless another attempt has decided before."""
        sources = sorted(self._parquet_files(self._path(staging)))
        moves: list[list[str]] = []
        counts: dict[str, int] = {}
        for source in sources:
            folder = source[len(str(self._fs.makeQualified(self._path(staging)))) + 1 :].rpartition("/")[0]
            number = counts[folder] = counts.get(folder, -1) + 1
            name = f"batch-{self._batch.id}-part-{number:05d}.parquet"
            moves.append([source, f"{folder}/{name}" if folder else name])
        claim = {
            "connector": self._batch.connector,
            "batch": self._batch.id,
            "start": _range(self._batch.start),
            "end": _range(self._batch.end),
            "moves": moves,
        }
        if not self._create(self._claim, claim):
            self._fs.delete(self._path(staging), True)

    def finish(self) -> bool:
        """Move the files of a claimed batch and write its manifest; False if there is no claim. May be repeated."""
        claim = self._checked(self._claim)
        if claim is None:
            return False
        for source, name in claim["moves"]:
            origin, target = self._path(source), self._path(f"{self._root}/{name}")
            if self._fs.exists(origin):
                self._fs.mkdirs(target.getParent())
                if not self._fs.rename(origin, target) and not self._fs.exists(target):
                    raise ConnectError(f"{source} could not be renamed to {target}.")
            elif not self._fs.exists(target):
                raise ConnectError(
                    f"Batch {self._batch.id} of connector {self._batch.connector!r} was written, but {target} is gone: "
                    "files of an unfinished batch were deleted."
                )
        manifest = {key: value for key, value in claim.items() if key != "moves"}
        self._create(self._manifest, {**manifest, "files": [name for _, name in claim["moves"]]})
        self._sweep()
        self._fs.delete(self._claim, False)
        return True

    def _sweep(self) -> None:
        """Delete what attempts at this batch and earlier ones have left; it is decided that they count for nothing."""
        for status in self._listed(self._staging):
            if int(status.getPath().getName().partition("-")[0]) <= self._batch.id:
                self._fs.delete(status.getPath(), True)

    def _checked(self, path: Any) -> dict[str, Any] | None:
        if not self._fs.exists(path):
            return None
        stream = self._fs.open(path)
        try:
            found: dict[str, Any] = json.loads(bytes(stream.readAllBytes()))
        finally:
            stream.close()
        if found["start"] != _range(self._batch.start) or found["end"] != _range(self._batch.end):
            raise ConnectError(
                f"{self._root} holds a batch {self._batch.id} of connector {found['connector']!r} with another range: "
                "give every connector a path of its own."
            )
        return found

    def _create(self, path: Any, content: Mapping[str, Any]) -> bool:
        """Create a file whole or not at all; False if it exists."""
        self._fs.mkdirs(path.getParent())
        draft = self._path(f"{path.getParent()}/.{path.getName()}-{uuid.uuid4().hex}")
        stream = self._fs.create(draft, False)
        try:
            stream.write(bytearray(json.dumps(content).encode()))
        finally:
            stream.close()
        try:
            context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(self._root.toUri(), self._hadoop)
            options = self._jvm.java.lang.reflect.Array.newInstance(
                self._jvm.java.lang.Class.forName("org.apache.hadoop.fs.Options$Rename"), 0
            )
            context.rename(draft, path, options)
        except Exception as error:
            if "FileAlreadyExists" not in str(error):
                raise
            self._fs.delete(draft, False)
            return False
        return True

    def _parquet_files(self, folder: Any) -> list[str]:
        found = []
        for status in self._listed(str(folder)):
            if status.isDirectory():
                found += self._parquet_files(status.getPath())
            elif status.getPath().getName().endswith(".parquet"):
                found.append(str(status.getPath()))
        return found

    def _listed(self, folder: str) -> list[Any]:
        path = self._path(folder)
        return list(self._fs.listStatus(path)) if self._fs.exists(path) else []

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)


def _range(positions: Mapping[Any, int]) -> dict[str, int]:
    return {f"{partition.topic}-{partition.partition}": offset for partition, offset in sorted(positions.items())}
