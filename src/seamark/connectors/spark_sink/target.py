"""What all targets have in common: a table or a folder that takes batches, each once."""

from __future__ import annotations

import json
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from seamark.connector.frame import SinkBatch
from seamark.connectors.batch_files import range_of
from seamark.connectors.spark_errors import real_cause
from seamark.connectors.spark_sink.config import Settings
from seamark.connectors.spark_sink.fitting import with_values
from seamark.connectors.spark_sink.rows import DELETED, Rows, quoted
from seamark.errors import ConnectError, RetriableError
from seamark.formats import check_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

NOTE_VERSION: Final = 1
log = logging.getLogger(__name__)
# Others at work on the same table, or a system that is away: the same batch may succeed when it is written again.
_PASSING: Final = re.compile(
    r"Concurrent\w*Exception|CommitFailedException|DELTA_CONCURRENT|DELTA_METADATA_CHANGED|DELTA_PROTOCOL_CHANGED|"
    r"SQLState: (?:08|57P|53300|40)|Connection to \S+ refused|The connection attempt failed|"
    r"An I/O error occurred while sending|This connection has been closed|the database system is|"
    r"terminating connection due to administrator command|"
    r"violates unique constraint \"seamark_stage"  # a Spark task that ran twice
)


class Target(ABC):
    """One table or folder."""

    def __init__(self, spark: SparkSession, settings: Settings, name: str, connector: str) -> None:
        self.spark, self.settings, self.name, self.connector = spark, settings, name, connector
        self._batches = 0

    @abstractmethod
    def write(self, rows: Rows, batch: SinkBatch) -> None:
        """Write the batch, unless it was written before; when this returns it is there as a whole."""

    def compact(self) -> None:
        """Put small files together; what readers see does not change. Targets without files have nothing to do."""
        return

    def after_batch(self) -> None:
        """Compact the table if it is time to. A failure is told, and does no harm."""
        self._batches += 1
        every = self.settings.compact_every
        if every and self._batches % every == 0:
            try:
                self.compact()
            except Exception as error:
                log.warning("[%s] %s could not be compacted: %s", self.connector, self.name, real_cause(error))

    def spread(self, frame: DataFrame) -> DataFrame:
        """Rows in as many Spark partitions as the batch may have files, for each partition of the table."""
        from pyspark.sql import functions as F

        files, columns = self.settings.files, self.partition_columns
        if not files:
            return frame
        if not columns:
            return frame.coalesce(files)
        others = [F.col(quoted(name)) for name in frame.columns if name not in columns]
        by = [F.col(quoted(name)) for name in columns]
        return frame.repartition(*by, *([F.pmod(F.hash(*others), F.lit(files))] if files > 1 and others else []))

    def first_columns(self, frame: DataFrame, *, is_table: bool = True) -> DataFrame:
        """The rows with the columns that a new table gets.

        A field that is null in all records so far has no type; if columns can be added later, it waits until then.

        Args:
            frame: the rows.
            is_table: leave out what only says that a row is to be deleted.
        """
        fields = [member for member in frame.schema.fields if member.name != DELETED]
        kept = with_values(frame, fields) if self.settings.evolution == "add" else fields
        needed = {name for each in self.settings.partitions for name in (each.field, each.column)}
        names = [member.name for member in fields if not kept or member in kept or member.name in needed]
        names += [] if is_table or DELETED not in frame.columns else [DELETED]
        return frame.select(*map(quoted, names))

    @property
    def partition_columns(self) -> list[str]:
        """The columns that folders are named after."""
        return [partition.column for partition in self.settings.partitions]

    @property
    def writer_options(self) -> dict[str, str]:
        """Options of Spark's writer."""
        limit = {"maxRecordsPerFile": str(self.settings.file_records)} if self.settings.file_records else {}
        return {**limit, **self.settings.options}


def note_of(batch: SinkBatch) -> str:
    """What is kept beside a batch in a table: whose it is, and its range.

    Version 1 has no field that says so: those who compare the whole text still find it.
    """
    return json.dumps({"connector": batch.connector, "batch": batch.id, **range_of(batch)}, sort_keys=True)


def is_note_of(note: str, batch: SinkBatch, target: str) -> bool:
    """Whether what is kept beside a batch in a table is about this one, with the same range.

    Raises:
        NewerFormatError: a newer Seamark has written it.
    """
    try:
        found = json.loads(note)
    except ValueError:
        return False
    check_version(found, NOTE_VERSION, f"{target} has a batch {batch.id}, which")
    return all(found.get(name) == value for name, value in json.loads(note_of(batch)).items())


def is_written(target: str, batch: SinkBatch, last: int | None, note: str | None) -> bool:
    """Whether a table has a batch already.

    Args:
        target: what to call the table.
        batch: which one.
        last: the last batch of this connector that the table has.
        note: what is kept beside that, if that is known.

    Raises:
        ConnectError: it has what this connector has not written.
    """
    if last is None or last < batch.id:
        return False
    if last == batch.id and (note is None or is_note_of(note, batch, target)):
        return True
    # Newer ones are also what a driver finds that was replaced and does not know it yet: it will not commit.
    kind = RetriableError if last > batch.id else ConnectError
    raise kind(
        f"{target} has batch {last} of a connector {batch.connector!r} that is not this one, or that has been "
        f"replaced, so batch {batch.id} is not written. Give each connector that writes to a table a name of its own."
    )


def merge_statement(target: str, source: str, rows: Rows, table: StructType) -> str:
    """MERGE of rows with keys: the last row of each key, or none if it was deleted.

    Columns of the table that no record of the batch has are left as they are.
    """
    known = {member.name.lower(): member.name for member in table.fields}
    columns = [known.get(name.lower(), name) for name in rows.columns]
    on = " AND ".join(f"t.{quoted(known.get(name.lower(), name))} = s.{quoted(name)}" for name in rows.keys)
    changed = ", ".join(f"{quoted(name)} = s.{quoted(name)}" for name in columns if name not in rows.keys)
    has_deletes = DELETED in rows.frame.columns
    clauses = [f"MERGE INTO {target} AS t USING {source} AS s ON {on}"]
    if has_deletes:
        clauses.append(f"WHEN MATCHED AND s.{DELETED} THEN DELETE")
    if changed:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {changed}")
    names = ", ".join(map(quoted, columns))
    values = ", ".join(f"s.{quoted(name)}" for name in columns)
    condition = f" AND NOT s.{DELETED}" if has_deletes else ""
    clauses.append(f"WHEN NOT MATCHED{condition} THEN INSERT ({names}) VALUES ({values})")  # noqa: S608 - quoted
    return " ".join(clauses)


def in_own_session(frame: DataFrame, settings: dict[str, str]) -> DataFrame:
    """The same rows in a session with settings of its own.

    Some writers take what belongs to one batch from the session, which all connectors of a worker share.
    """
    from pyspark.sql import DataFrame as SparkDataFrame

    shared = frame.sparkSession
    session = type(shared)(shared.sparkContext, shared._jsparkSession.cloneSession())  # noqa: SLF001 - as newSession does
    for key, value in settings.items():
        session.conf.set(key, value)
    dataset = session._jvm.org.apache.spark.sql.classic.Dataset  # noqa: SLF001 - no public way to move a plan
    moved = dataset.ofRows(session._jsparkSession, frame._jdf.logicalPlan())  # noqa: SLF001
    return SparkDataFrame(moved, session)


@contextmanager
def told_apart(target: str) -> Iterator[None]:
    """Say what went wrong in the end; errors that may pass by themselves become ones that the runtime tries again."""
    try:
        yield
    except ConnectError:
        raise
    except Exception as error:
        if _PASSING.search(str(error)):
            raise RetriableError(f"{target} could not be written this time: {real_cause(error)}") from error
        raise ConnectError(f"{target} could not be written: {real_cause(error)}") from error
