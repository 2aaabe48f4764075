"""Records as rows of a table: the fields of the value, the columns of the key, and what else of a record is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from seamark.connectors.record_columns import CORRUPT, inferred_json, is_text, place, refusing_nulls, with_corrupt
from seamark.connectors.spark_sink.config import Settings
from seamark.connectors.spark_sink.partitions import RECORD_FIELDS
from seamark.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DELETED: Final = "__seamark_deleted"
"""The column of a changelog's rows that says that the row of the key is to be deleted."""
VALUE: Final = "value"
_OFFSET: Final = "__seamark_offset"
_SHOWN: Final = 200  # of a text that is told
_IS_OBJECT: Final = "__seamark_is_object"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a batch."""

    frame: DataFrame
    keys: tuple[str, ...] = ()
    """The columns by which rows are found again; each key is there once. Empty if rows are only added."""

    @property
    def columns(self) -> list[str]:
        """Those of the table."""
        return [name for name in self.frame.columns if name != DELETED]


def quoted(name: str) -> str:
    """A column's name as SQL takes it, whatever it consists of."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def rows_of(records: DataFrame, settings: Settings) -> Rows | None:
    """The rows that records become; None if there are none, and it is not even known what columns they would have.

    Raises:
        DataError: they cannot become rows of a table.
    """
    from pyspark.sql import functions as F

    frame = _without_nulls(_read(records, settings), settings)
    values = _value_columns(frame)
    keys = _key_columns(frame, settings)
    if not values and not (keys and settings.deletes):
        return None
    key_names = {name.lower() for name in keys}
    columns = {**keys, **{name: column for name, column in values.items() if name.lower() not in key_names}}
    named = [f"_{name}" for name in settings.metadata]
    named += [p.field for p in settings.partitions if p.field in RECORD_FIELDS and p.field not in named]
    for name in named:
        _refuse_clash(name, columns)
        columns[name] = F.col(name.removeprefix("_"))
    _refuse_twins(list(columns))
    chosen = [column.alias(name) for name, column in columns.items()]
    if not settings.has_keys:
        return Rows(_partitioned(frame.select(*chosen), settings))
    chosen += [F.col("value").isNull().alias(DELETED)] if settings.deletes else []
    last = _last_of_each(frame.select(*chosen, _order().alias(_OFFSET)), tuple(keys))
    return Rows(_partitioned(last, settings), tuple(keys))


def _read(frame: DataFrame, settings: Settings) -> DataFrame:
    """Keys and values as the settings say, where converters and transforms have not read them."""
    from pyspark.sql import functions as F

    if settings.value_format == "converter":
        return frame
    for name, kind in (("key", settings.key_format), ("value", settings.value_format)):
        if not is_text(frame, name):
            continue
        if kind == "binary":
            frame = frame.withColumn(name, F.col(name).cast("binary"))
            continue
        frame = frame.withColumn(name, F.col(name).cast("string"))
        if kind == "json":
            schema: Any = (settings.schema if name == "value" else None) or inferred_json(frame, name)
            if name == "value":
                _refuse_unreadable(frame, settings, schema)
                frame = frame.withColumn(_IS_OBJECT, F.col(name).startswith("{"))
            frame = frame.withColumn(name, _refusing_blanks(name, F.from_json(name, schema, {"mode": "FAILFAST"})))
    return frame


def _refusing_blanks(name: str, parsed: Column) -> Column:
    """What was read of a text. Of one without anything in it Spark makes a null, which would pass for a tombstone."""
    from pyspark.sql import functions as F

    text = F.col(name)
    told = F.concat(place(), F.lit(f" cannot be read as JSON: its {name} is empty."))
    is_blank = text.isNotNull() & ~text.startswith("{") & text.rlike(r"^\s*$")
    return F.when(is_blank, F.raise_error(told)).otherwise(parsed)


def unreadable(records: DataFrame, settings: Settings) -> str | None:
    """Of records that Spark could not read as JSON: where the first of them is, and what it holds; None if all can be.

    It costs a job, so it is asked only when a batch has failed.
    """
    from pyspark.sql import functions as F

    if settings.value_format != "json" or not is_text(records, VALUE):
        return None
    texts = records.where(F.col(VALUE).isNotNull()).withColumn(VALUE, F.col(VALUE).cast("string"))
    schema = with_corrupt(settings.schema or inferred_json(texts))
    # With an option, or Spark would look at the one field that is asked for alone.
    parsed = texts.withColumn("parsed", F.from_json(VALUE, schema, {"mode": "PERMISSIVE"}))
    bad = parsed.where(F.col(f"parsed.{CORRUPT}").isNotNull())
    first = bad.orderBy("topic", "partition", "offset").select(place().alias("place"), VALUE).head()
    if first is None:
        return None
    columns = f"schema={settings.schema}" if settings.schema else "an object"
    return f"{first.place} cannot be read as JSON ({columns}): {first.value[:_SHOWN]!r}"


def _refuse_unreadable(records: DataFrame, settings: Settings, schema: Any) -> None:
    """Refuse a batch of which it is already known that not all can be read."""
    if not isinstance(schema, str) and CORRUPT in schema.names and (told := unreadable(records, settings)) is not None:
        raise DataError(told)


def _without_nulls(frame: DataFrame, settings: Settings) -> DataFrame:
    from pyspark.sql import functions as F

    if settings.deletes:
        return frame
    if settings.nulls == "fail":
        return refusing_nulls(frame)
    is_there = F.col("value").isNotNull()
    if _IS_OBJECT in frame.columns:
        # Spark asks before it makes columns, and so would parse every text twice. One that begins like an object is
        # one, or fails.
        is_there = F.coalesce(F.col(_IS_OBJECT), F.lit(False)) | is_there
    return frame.where(is_there)


def _value_columns(frame: DataFrame) -> dict[str, Column]:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructType

    kind = frame.schema["value"].dataType
    if isinstance(kind, StructType):
        return {name: F.col("value").getField(name) for name in kind.names}
    # A batch in which no record has a value has text for lack of another type.
    if isinstance(kind, StringType) and frame.where(F.col("value").isNotNull()).isEmpty():
        return {}
    return {VALUE: F.col("value")}


def _key_columns(frame: DataFrame, settings: Settings) -> dict[str, Column]:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    names = settings.key_fields
    if not names and not settings.has_keys:
        return {}
    side = "value" if settings.key_source == "value" else "key"
    kind = frame.schema[side].dataType
    if isinstance(kind, StructType):
        unknown = sorted(set(names) - set(kind.names))
        if unknown:
            raise DataError(
                f"key.fields names {', '.join(unknown)}, but the {side} of the records has the fields "
                f"{', '.join(kind.names)}."
            )
        return {name: _present(F.col(side).getField(name), name, settings) for name in names or kind.names}
    if side == "value":
        raise DataError(
            f"key.source=value needs values with fields, but those of this batch are of type {kind.simpleString()}."
        )
    if len(names) != 1:
        raise DataError(
            f"The keys of this batch have no fields (they are of type {kind.simpleString()}, or there are none): "
            f"key.fields must be the one column that they go to, not '{','.join(names)}'."
        )
    return {names[0]: _present(F.col("key"), names[0], settings)}


def _present(column: Column, name: str, settings: Settings) -> Column:
    """The column; if rows are found by it, a record without it fails."""
    from pyspark.sql import functions as F

    if not settings.has_keys:
        return column
    told = F.concat(place(), F.lit(f" has no key for the column {name!r}, which mode={settings.mode} needs."))
    return F.coalesce(column, F.raise_error(told))


def _order() -> Column:
    from pyspark.sql import functions as F

    told = F.lit("Rows without an offset have no order: let the query of SparkSql select _offset, too.")
    return F.coalesce(F.col("offset"), F.raise_error(told).cast("bigint"))


def _last_of_each(frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The last row of each key. All records of a key are in one partition, so offsets tell which that is."""
    from pyspark.sql import functions as F

    rest = [F.col(quoted(name)) for name in frame.columns if name not in keys and name != _OFFSET]
    grouped = frame.groupBy(*[F.col(quoted(name)) for name in keys])
    if not rest:
        return grouped.agg(F.max(_OFFSET)).drop(f"max({_OFFSET})")
    last = grouped.agg(F.max_by(F.struct(*rest), _OFFSET).alias("last"))
    return last.select(*[F.col(quoted(name)) for name in keys], "last.*")


def _partitioned(frame: DataFrame, settings: Settings) -> DataFrame:
    """With the columns that folders are named after."""
    known = {name.lower() for name in frame.columns}
    for partition in settings.partitions:
        if partition.field.lower() not in known:
            raise DataError(
                f"partition.by names {partition.field!r}, but the rows of this batch have {', '.join(frame.columns)}."
            )
        if partition.unit is not None and settings.format != "iceberg":
            _refuse_clash(partition.column, frame.columns)
            frame = frame.withColumn(partition.column, partition.value())
    return frame


def _refuse_clash(name: str, columns: Any) -> None:
    if name.lower() in {column.lower() for column in columns}:
        raise DataError(f"The records have a field {name!r}, which is a column of its own here: rename the field.")


def _refuse_twins(names: Sequence[str]) -> None:
    folded = [name.lower() for name in names]
    twins = sorted(name for name in names if folded.count(name.lower()) > 1)
    if twins:
        raise DataError(
            f"The fields {', '.join(twins)} differ only in case, which columns cannot: rename one, for example with "
            "the transform ReplaceField."
        )
