"""Parquet, ORC, JSON and CSV files: committed by rename, see `seamark.connectors.batch_files`.

Files have no table around them that says which columns there are, so the folder keeps that itself::

    <path>/_seamark/schemas/<n>.json   Spark's JSON of all columns so far; the highest n counts
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from seamark.connector.frame import SinkBatch
from seamark.connectors.batch_files import OWN_FOLDER, write_files
from seamark.connectors.hadoop_folder import HadoopFolder
from seamark.connectors.spark_sink.fitting import fitted
from seamark.connectors.spark_sink.rows import Rows, quoted
from seamark.connectors.spark_sink.target import Target, told_apart
from seamark.errors import RetriableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_VERSION: Final = re.compile(r"(\d+)\.json")


class FilesTarget(Target):
    """A folder of files."""

    def write(self, rows: Rows, batch: SinkBatch) -> None:
        with told_apart(f"The folder {self.name}"):
            write_files(rows.frame, self.name, batch, self._save)

    def _save(self, frame: DataFrame, folder: str) -> None:
        writer = self.spread(self._with_all_columns(frame)).write.format(self.settings.format)
        writer = writer.options(**{**self.format_options, **self.writer_options})
        if self.partition_columns:
            writer = writer.partitionBy(*self.partition_columns)
        writer.save(folder)

    @property
    def format_options(self) -> dict[str, str]:
        """What readers of the files have to know, too."""
        return {"header": "true"} if self.settings.format == "csv" else {}

    def _with_all_columns(self, frame: DataFrame) -> DataFrame:
        """The rows, with every column that earlier batches had, in the same order."""
        from pyspark.sql.types import StructType

        folder = HadoopFolder(self.spark, self.name)
        versions = f"{folder.root}/{OWN_FOLDER}/schemas"
        # Whoever was killed while writing one has left it under another name.
        names = [path.rpartition("/")[2] for path, _ in folder.listed(versions)]
        last = max((int(found[1]) for name in names if (found := _VERSION.fullmatch(name))), default=0)
        if not last:
            first = self.first_columns(frame)
            self._remember(folder, f"{versions}/1.json", first.schema)
            return first
        known = StructType.fromJson(folder.read(f"{versions}/{last}.json") or {})
        fit = fitted(frame, known, evolution=self.settings.evolution, target=f"the folder {self.name}")
        schema = _extended(known, fit.frame.schema)
        if fit.added:
            self._remember(folder, f"{versions}/{last + 1}.json", schema)
        return in_order_of(schema, fit.frame)

    def _remember(self, folder: HadoopFolder, version: str, schema: StructType) -> None:
        if not folder.create(version, schema.jsonValue()):
            raise RetriableError(f"Another driver has changed the columns of {self.name} at the same time.")


def in_order_of(schema: StructType, frame: DataFrame) -> DataFrame:
    """The rows with these columns in this order, null where they have none."""
    from pyspark.sql import functions as F

    there = set(frame.columns)
    return frame.select(
        *[
            F.col(quoted(member.name)) if member.name in there else F.lit(None).cast(member.dataType).alias(member.name)
            for member in schema.fields
        ]
    )


def _extended(known: StructType, found: StructType) -> StructType:
    """The known columns with the types that rows have now, which hold more at most; new ones at the end."""
    from pyspark.sql.types import StructType

    types = {member.name: member for member in found.fields}
    names = {member.name for member in known.fields}
    kept = [types.get(member.name, member) for member in known.fields]
    return StructType([*kept, *[member for member in found.fields if member.name not in names]])
