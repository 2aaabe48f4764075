"""Tables of Parquet, ORC, JSON or CSV files in Spark's own catalog.

The files are written as those of a folder are (see `seamark.connectors.batch_files`), to the folder of the table. Which
columns and partitions there are is what the catalog says: new ones are added there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from seamark.connector.frame import SinkBatch
from seamark.connectors.batch_files import write_files
from seamark.connectors.spark_sink.files import FilesTarget, in_order_of
from seamark.connectors.spark_sink.fitting import fitted
from seamark.connectors.spark_sink.rows import Rows, quoted
from seamark.connectors.spark_sink.target import told_apart
from seamark.errors import ConnectError, DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PATH: Final = "path"


class CatalogFilesTarget(FilesTarget):
    """A table of files, by its name."""

    def write(self, rows: Rows, batch: SinkBatch) -> None:
        with told_apart(f"The table {self.name}"):
            if not self.spark.catalog.tableExists(self.name):
                self._create(rows.frame)
            write_files(rows.frame, self._location(), batch, self._save)
            if self.partition_columns:
                self.spark.sql(f"ALTER TABLE {self.name} RECOVER PARTITIONS")
            self.spark.catalog.refreshTable(self.name)

    @property
    def writer_options(self) -> dict[str, str]:
        return {key: value for key, value in super().writer_options.items() if key != _PATH}

    def _create(self, frame: DataFrame) -> None:
        columns = self.first_columns(frame)._jdf.schema().toDDL()  # noqa: SLF001 - the one that quotes nested names
        path = self.settings.options.get(_PATH)
        options = ", ".join(f"{_text(key)} {_text(value)}" for key, value in self.format_options.items())
        parts = [
            f"CREATE TABLE IF NOT EXISTS {self.name} ({columns}) USING {self.settings.format}",
            f"OPTIONS ({options})" if options else "",
            f"PARTITIONED BY ({', '.join(map(quoted, self.partition_columns))})" if self.partition_columns else "",
            f"LOCATION {_text(path)}" if path else "",
        ]
        self.spark.sql(" ".join(filter(None, parts)))

    def _location(self) -> str:
        """The folder of the table.

        Raises:
            ConnectError: it is of another format, or has none.
        """
        about = {
            row.col_name: row.data_type for row in self.spark.sql(f"DESCRIBE TABLE EXTENDED {self.name}").collect()
        }
        kind, location = about.get("Provider"), about.get("Location")
        if str(kind).lower() != self.settings.format or not location:
            raise ConnectError(
                f"The table {self.name} is of format {kind}, and the connector writes format={self.settings.format}. "
                "Name another table, or set format to that of the table."
            )
        return str(location)

    def _with_all_columns(self, frame: DataFrame) -> DataFrame:
        known = self.spark.table(self.name).schema
        fit = fitted(frame, known, evolution=self.settings.evolution, target=f"the table {self.name}")
        if fit.added:
            nested = [name for name in fit.added if "`.`" in name]
            if nested:
                raise DataError(
                    f"Records have fields that {self.name} does not have: {', '.join(nested)}. Catalogs cannot add "
                    "columns within a column: leave the fields out with a transform, or use Delta or Iceberg."
                )
            columns = ", ".join(f"{name} {kind}" for name, kind in fit.added.items())
            self.spark.sql(f"ALTER TABLE {self.name} ADD COLUMNS ({columns})")
        return in_order_of(self.spark.table(self.name).schema, fit.frame)


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
