"""`format=text|json|csv|parquet|orc`: the files of a folder, new ones and, of lines, what is appended.

Source partition ``{"file": "<path>"}``, source offset ``{"length": <bytes that were read>}``. Files of lines (`text`,
`json`, `csv`) may grow; an unfinished last line waits. The others are read once, as a whole.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from seamark.config.configdef import Check, ConfigDef, Importance, Type
from seamark.connector.frame import ReadLimit
from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition
from seamark.connectors.record_columns import CORRUPT, inferred_json, with_corrupt
from seamark.connectors.spark_source.file_lines import Part, complete_lines, cut, is_line_start, read_parts
from seamark.connectors.spark_source.folders import Folder, FoundFile, local_path
from seamark.connectors.spark_source.reader import Reader, Rows, Settings, moved, only_fields, whole_number
from seamark.engine.arrow_records import map_in_arrow
from seamark.engine.transforms.spark_sql import check_schema
from seamark.errors import ConnectError, DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINES: Final = ("text", "json", "csv")
WHOLE: Final = ("parquet", "orc")
LENGTH: Final = "length"
MOST_FILES: Final = 1000  # of a batch: its offsets are recorded together
BYTES_PER_PART: Final = 8 * 1024 * 1024  # fewer are not worth another task
_NO_LIMIT: Final = 1 << 62
_BAD_LINES: Final = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
_SHOWN: Final = 300  # of a line that is told


class FilesReader(Reader):
    """Reads files."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        group = "Files"
        return (
            ConfigDef()
            .define(
                "path",
                Type.STRING,
                None,
                importance=Importance.HIGH,
                group=group,
                doc="The folder to read, or the Delta or Iceberg table: a path, or a URI of a file system that Spark "
                "knows. `text`, `json` and `csv` need a path that driver and executors share.",
            )
            .define(
                "file.pattern",
                Type.STRING,
                "*",
                importance=Importance.MEDIUM,
                group=group,
                doc="Which files of the folder, as in `orders-*.json`. Names that begin with a dot or an underscore "
                "are never read.",
            )
            .define(
                "schema",
                Type.STRING,
                None,
                validator=Check(check_schema, "columns in Spark's DDL"),
                importance=Importance.MEDIUM,
                group=group,
                doc="The columns of `json` and `csv` in Spark's DDL, as in `id long, name string`. `csv` needs it; of "
                "`json` they are inferred without it, batch by batch.",
            )
            .define(
                "csv.header",
                Type.BOOLEAN,
                False,
                importance=Importance.LOW,
                group=group,
                doc="Whether the first line of each `csv` file is left out.",
            )
        )

    @classmethod
    def problems(cls, settings: Settings) -> dict[str, str]:
        found: dict[str, str] = {}
        kind, path = settings["format"], settings["path"]
        if not settings["topic"]:
            found["topic"] = f"format={kind} needs the topic to write to"
        if not path:
            found["path"] = f"format={kind} needs the path of a folder"
        elif kind in LINES and local_path(path) is None:
            found["path"] = f"format={kind} needs a path without a scheme, or with file:, that all machines share"
        if kind == "csv" and not settings["schema"]:
            found["schema"] = "format=csv needs a schema, as in id long, name string"
        if settings["schema"] and kind not in ("json", "csv"):
            found["schema"] = "schema has a meaning only with format=json and format=csv"
        return found

    @property
    def _is_lines(self) -> bool:
        return self.settings["format"] in LINES

    def latest(self, spark: SparkSession, start: Offsets, limit: ReadLimit) -> Offsets:
        lines_left, bytes_left = limit.records or _NO_LIMIT, limit.bytes or _NO_LIMIT
        folder = Folder(spark, self.settings["path"])
        ends: list[tuple[dict[str, str], dict[str, int]]] = []
        for file in self._files(folder):
            path = folder.file(file.name)
            done = _length(start.get({"file": path}))
            if done and (file.length < done or (not self._is_lines and file.length != done)):
                raise _changed(path, file.length, done)
            if file.length == done:
                continue
            end, lines = file.length, 1
            if self._is_lines:
                end, lines = complete_lines(path, done, lines_left, bytes_left)
                if end == done:
                    continue
            elif ends and file.length > bytes_left:
                break
            ends.append(({"file": path}, {LENGTH: end}))
            lines_left, bytes_left = lines_left - lines, bytes_left - (end - done)
            if lines_left <= 0 or bytes_left <= 0 or len(ends) >= MOST_FILES:
                break
        return Offsets(ends)

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> Rows:
        ranges = {
            partition["file"]: (_length(start.get(partition)), _length(end[partition]))
            for partition in moved(start, end)
        }
        topic, kind = self.settings["topic"], self.settings["format"]
        if not self._is_lines:
            return Rows(spark.read.format(kind).options(**self.settings["options"]).load(list(ranges)), topic)
        lines = self._lines(spark, [Part(path, *between) for path, between in ranges.items()])
        if kind == "text":
            return Rows(lines, topic, is_whole=True)
        return Rows(self._columns(lines), topic)

    def check(self, spark: SparkSession, partition: SourcePartition, offset: SourceOffset) -> None:
        folder = Folder(spark, self.settings["path"])
        files = {folder.file(file.name): file for file in self._files(folder)}
        only_fields(offset, LENGTH)
        length = whole_number(offset, LENGTH)
        path = partition.get("file")
        if set(partition) != {"file"} or path not in files:
            some = ", ".join(repr(each) for each in sorted(files)[:5]) or "none"
            raise DataError(
                f"The source partition {dict(partition)} is no file that this connector reads; it must be "
                f"{{'file': <path>}}, with a path such as: {some}."
            )
        size = files[path].length
        if self._is_lines and (length > size or not is_line_start(path, length)):
            raise DataError(
                f"File {path} has {size} bytes, and no line begins after {length}; an offset must be the length of "
                "complete lines."
            )
        if not self._is_lines and length not in (0, size):
            raise DataError(
                f"File {path} is read as a whole: its offset is {{'{LENGTH}': {size}}}, or "
                f"{{'{LENGTH}': 0}} to read it again, not {length}."
            )

    def _files(self, folder: Folder) -> Iterator[FoundFile]:
        """Oldest first, so that what was there before comes before."""
        pattern = self.settings["file.pattern"]
        found = [file for file in folder.files() if fnmatch.fnmatchcase(file.name, pattern)]
        yield from sorted(found, key=lambda file: (file.modified_ms, file.name))

    def _lines(self, spark: SparkSession, ranges: list[Part]) -> DataFrame:
        for part in ranges:
            if not os.path.exists(part.path):
                raise ConnectError(f"File {part.path} is gone, and {part.end - part.start} bytes of it were not read.")
        most = int(self.settings["tasks.max"])
        parts = [
            piece for part in ranges for piece in cut(part, min(most, 1 + (part.end - part.start) // BYTES_PER_PART))
        ]
        numbers = spark.range(0, len(parts), 1, min(most, len(parts)))
        has_header = self.settings["format"] == "csv" and self.settings["csv.header"]
        return map_in_arrow(numbers, partial(read_parts, parts, has_header), "value string")

    def _columns(self, lines: DataFrame) -> DataFrame:
        """The lines as columns; blank ones are left out, as Spark's own readers do."""
        from pyspark.sql import functions as F

        kind, options = self.settings["format"], {**self.settings["options"], **_BAD_LINES}
        lines = lines.where(F.trim("value") != "")
        schema = with_corrupt(self.settings["schema"] or inferred_json(lines))
        if kind == "csv":
            parsed = F.from_csv("value", f"{self.settings['schema']}, {CORRUPT} string", options)
        else:
            parsed = F.from_json("value", schema, options)
        # A line that is not what it should be must not become nulls.
        told = F.concat(F.lit(f"A line is not {kind.upper()} with the columns that it should have: "), F.col("value"))
        is_bad = F.col("row").isNull() | F.col(f"row.{CORRUPT}").isNotNull()
        good = F.when(is_bad, F.raise_error(F.left(told, F.lit(_SHOWN)))).otherwise(F.col("row"))
        rows = lines.select("value", parsed.alias("row")).select(good.alias("row"))
        return rows.select(*[F.col("row").getField(name).alias(name) for name in schema.names if name != CORRUPT])


def _length(offset: SourceOffset | None) -> int:
    return 0 if offset is None else int(offset[LENGTH])


def _changed(path: str, length: int, done: int) -> ConnectError:
    return ConnectError(
        f"File {path} has {length} bytes now, but {done} were read already: it was truncated or replaced. Give new "
        "files new names; or stop the connector and reset the offset of this one, to read it again."
    )
