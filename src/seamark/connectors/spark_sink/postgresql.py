"""Tables in PostgreSQL: all of a batch, and the note that it was written, in one transaction.

Spark's tasks write to the database side by side, each in transactions of its own. So they write to a *stage*, a table
of the batch alone; then one transaction moves the rows to the target and updates the note::

    seamark_stage_<digest of connector and table>_<batch>_<attempt>   dropped in the same transaction
    seamark_batches(connector, target, batch, note)                   the last batch of each connector and table

The row of `seamark_batches` is locked meanwhile, so a driver that was replaced waits, sees that its batch is there and
leaves it alone. A stage numbers its rows: a Spark task that runs twice cannot put them there twice.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from seamark.connector.frame import SinkBatch
from seamark.connectors.jdbc import Database, Transaction
from seamark.connectors.spark_sink.config import Settings
from seamark.connectors.spark_sink.fitting import fitted
from seamark.connectors.spark_sink.rows import DELETED, Rows
from seamark.connectors.spark_sink.target import Target, is_written, note_of, told_apart
from seamark.engine.spark_packages import require_package

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCHES: Final = "seamark_batches"
_STAGE: Final = "seamark_stage"
_NUMBER: Final = "__seamark_row"
_COLUMNS: Final = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
WHERE a.attrelid = to_regclass(?) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


class PostgresqlTarget(Target):
    """A table, by its name or as `schema.table`; names are taken as they are written."""

    def __init__(self, spark: SparkSession, settings: Settings, name: str, connector: str) -> None:
        super().__init__(spark, settings, name, connector)
        self._database = Database(spark, settings.url, _properties(settings))
        self._table = _quoted_path(name)
        self._schema = f"{self._table.rpartition('.')[0]}." if "." in name else ""
        digest = hashlib.sha256(f"{connector} {name}".encode()).hexdigest()[:10]
        self._stages = f"{_STAGE}_{digest}_"

    def write(self, rows: Rows, batch: SinkBatch) -> None:
        require_package(self.spark, "postgresql", "format=jdbc with a PostgreSQL database")
        with told_apart(f"The table {self.name}"):
            with self._database.transaction() as transaction:
                if self._is_written(transaction, batch):
                    return
                self._drop_stages(transaction)
                known = self._types(transaction, self._table)
            frame = self._fitted(rows.frame, bool(known))
            stage = f'{self._schema}"{self._stages}{batch.id}_{uuid.uuid4().hex[:8]}"'
            self._fill(frame, stage)
            with self._database.transaction() as transaction:
                if self._note(transaction, batch):
                    self._move(transaction, stage, rows.keys)
                transaction.execute(f"DROP TABLE {stage}")

    def _fitted(self, frame: DataFrame, exists: bool) -> DataFrame:
        frame = _flat(frame)
        if not exists:
            return self.first_columns(frame, is_table=False)
        table = self.spark.read.format("jdbc").options(**self._database.options, dbtable=self._table).load().schema
        return fitted(frame, table, evolution=self.settings.evolution, target=f"the table {self.name}").frame

    def _fill(self, frame: DataFrame, stage: str) -> None:
        from pyspark.sql import functions as F

        numbered = frame.withColumn(_NUMBER, F.monotonically_increasing_id())
        options = {"batchsize": "5000", "isolationLevel": "READ_COMMITTED", **self._database.options, "dbtable": stage}
        # Spark knows the types; the rest is for us to say before there are rows.
        numbered.limit(0).write.format("jdbc").mode("append").options(**options).save()
        with self._database.transaction() as transaction:
            transaction.execute(f'ALTER TABLE {stage} SET UNLOGGED, ADD PRIMARY KEY ("{_NUMBER}")')
        numbered.write.format("jdbc").mode("append").options(**options).save()

    def _move(self, transaction: Transaction, stage: str, keys: tuple[str, ...]) -> None:
        staged = {name: kind for name, kind in self._types(transaction, stage).items() if name != _NUMBER}
        has_deletes = staged.pop(DELETED, None) is not None
        known = self._types(transaction, self._table)
        if not known:
            columns = [f"{_quoted(name)} {kind}" for name, kind in staged.items()]
            columns += [f"PRIMARY KEY ({', '.join(map(_quoted, keys))})"] if keys else []
            transaction.execute(f"CREATE TABLE {self._table} ({', '.join(columns)})")
            known = staged
        for name in staged.keys() - known.keys():
            transaction.execute(f"ALTER TABLE {self._table} ADD COLUMN {_quoted(name)} {staged[name]}")
        folded = {name.lower(): name for name in staged}
        found_by = tuple(folded[key.lower()] for key in keys)  # which the table may write in another case
        for statement in statements(self._table, stage, {**staged, **known}, list(staged), found_by, has_deletes):
            transaction.execute(statement)

    def _is_written(self, transaction: Transaction, batch: SinkBatch) -> bool:
        notes = f"{self._schema}{BATCHES}"
        if not transaction.query("SELECT 1 WHERE to_regclass(?) IS NOT NULL", notes):
            # Two connectors that begin at the same moment would otherwise get in each other's way.
            transaction.query("SELECT 1 FROM pg_advisory_xact_lock(hashtext(?))", BATCHES)
            transaction.execute(
                f"CREATE TABLE IF NOT EXISTS {notes} (connector text, target text, batch bigint NOT NULL, note text, "
                "written_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (connector, target))"
            )
        found = transaction.query(
            f"SELECT batch, note FROM {notes} WHERE connector = ? AND target = ?",  # noqa: S608
            self.connector,
            self.name,
        )
        last, note = found[0] if found else (None, None)
        return is_written(f"The table {self.name}", batch, last, note)

    def _note(self, transaction: Transaction, batch: SinkBatch) -> bool:
        """Note the batch, unless another driver has done so; one that is about to is waited for."""
        changed = transaction.execute(
            f"INSERT INTO {self._schema}{BATCHES} (connector, target, batch, note) VALUES (?, ?, ?, ?) "  # noqa: S608
            "ON CONFLICT (connector, target) DO UPDATE SET batch = excluded.batch, note = excluded.note, "
            f"written_at = now() WHERE {BATCHES}.batch < excluded.batch",
            self.connector,
            self.name,
            batch.id,
            note_of(batch),
        )
        return changed == 1

    def _drop_stages(self, transaction: Transaction) -> None:
        """Drop what attempts that failed have left."""
        left = transaction.query(
            "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relkind = 'r' AND starts_with(c.relname, ?)",
            self._stages,
        )
        for (name,) in left:
            transaction.execute(f"DROP TABLE IF EXISTS {name}")

    @staticmethod
    def _types(transaction: Transaction, table: str) -> dict[str, str]:
        return dict(transaction.query(_COLUMNS, table))


def statements(
    table: str, stage: str, types: Mapping[str, str], columns: list[str], keys: tuple[str, ...], has_deletes: bool
) -> list[str]:
    """What moves the rows of a stage to their table.

    Args:
        table: the target.
        stage: where the rows are.
        types: of the target's columns.
        columns: those that the rows have.
        keys: by which rows are found again; empty if rows are only added.
        has_deletes: whether rows say that they are to be deleted.
    """
    names = ", ".join(map(_quoted, columns))
    values = ", ".join(f"s.{_quoted(name)}::{types[name]}" for name in columns)
    kept = f' WHERE NOT s."{DELETED}"' if has_deletes else ""
    insert = f"INSERT INTO {table} ({names}) SELECT {values} FROM {stage} s{kept}"  # noqa: S608 - names are quoted
    if not keys:
        return [insert]
    changed = [name for name in columns if name not in keys]
    update = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in changed)
    insert += f" ON CONFLICT ({', '.join(map(_quoted, keys))}) DO " + (f"UPDATE SET {update}" if changed else "NOTHING")
    if not has_deletes:
        return [insert]
    same = " AND ".join(f"t.{_quoted(name)} = s.{_quoted(name)}::{types[name]}" for name in keys)
    return [f'DELETE FROM {table} t USING {stage} s WHERE s."{DELETED}" AND {same}', insert]  # noqa: S608


def _properties(settings: Settings) -> dict[str, str]:
    login = {"user": settings.user, "password": settings.password}
    given = {key: value for key, value in login.items() if value is not None}
    # Otherwise the driver sends row by row.
    return {"reWriteBatchedInserts": "true", **given, **settings.options}


def _flat(frame: DataFrame) -> DataFrame:
    """The rows with JSON where a column is nested."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, MapType, StructType

    nested = [m.name for m in frame.schema.fields if isinstance(m.dataType, StructType | ArrayType | MapType)]
    return frame.withColumns({name: F.to_json(F.col(f"`{name}`")) for name in nested}) if nested else frame


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _quoted_path(name: str) -> str:
    return ".".join(_quoted(part) for part in name.split("."))
