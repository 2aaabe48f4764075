"""Rows and the table that they go to: which columns are new, and values in the types that the table has.

A value goes into a column of another type only if nothing of it is lost: numbers that fit, text that can be read as
what the column holds, anything as text. Whatever does not fit fails the batch, and nothing of it becomes visible.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from seamark.connectors.spark_sink.rows import DELETED, quoted
from seamark.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField, StructType

# Each holds all values of those before it.
_WIDENING: Final = ("tinyint", "smallint", "int", "bigint")


@dataclass(slots=True)
class Fitted:
    """Rows with the types of their table."""

    frame: DataFrame
    added: dict[str, str] = field(default_factory=dict)
    """Columns that the table does not have yet -> their types in SQL; a dot leads into a struct."""


def fitted(frame: DataFrame, table: StructType, *, evolution: str, target: str) -> Fitted:
    """Rows as the table takes them.

    Args:
        frame: the rows.
        table: the columns that the table has.
        evolution: `add` if it may get new ones.
        target: what to call the table.

    Raises:
        DataError: they cannot go into this table.
    """
    from pyspark.sql import functions as F

    fitting = _Fitting(target)
    known = {member.name.lower(): member for member in table.fields}
    columns, new = [], []
    for member in frame.schema.fields:
        column, there = F.col(quoted(member.name)), known.get(member.name.lower())
        if member.name == DELETED:
            columns.append(column)
        elif there is None:
            new.append(member)
        else:
            columns.append(fitting.column(column, member.dataType, there.dataType, there.name).alias(there.name))
    new = with_values(frame, new) if evolution == "add" else new
    fitting.added |= {quoted(member.name): member.dataType.simpleString() for member in new}
    if fitting.added and evolution != "add":
        raise DataError(
            f"Records have fields that {target} does not have: {', '.join(fitting.added)}. Add the columns, leave the "
            "fields out with the transform ReplaceField, or set schema.evolution=add."
        )
    return Fitted(frame.select(*columns, *[F.col(quoted(member.name)) for member in new]), fitting.added)


def with_values(frame: DataFrame, new: list[StructField]) -> list[StructField]:
    """Of new columns, those that have a type: a field that is null in all records is text for lack of another."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    doubtful = [member for member in new if isinstance(member.dataType, StringType)]
    if not doubtful:
        return new
    counts = frame.agg(*[F.count(F.col(quoted(member.name))) for member in doubtful]).head()
    empty = {member.name for member, count in zip(doubtful, counts or (), strict=True) if not count}
    return [member for member in new if member.name not in empty]


class _Fitting:
    def __init__(self, target: str) -> None:
        self._target = target
        self.added: dict[str, str] = {}

    def column(self, column: Column, have: DataType, want: DataType, name: str) -> Column:
        """The column in the type that the table has."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import ArrayType, MapType, StringType, StructType

        if have.simpleString() == want.simpleString():
            return column
        if isinstance(have, StructType) and isinstance(want, StructType):
            return self._struct(column, have, want, name)
        if isinstance(have, ArrayType) and isinstance(want, ArrayType):
            return F.transform(
                column, lambda each: self.column(each, have.elementType, want.elementType, f"{name}.element")
            )
        if isinstance(have, MapType) and isinstance(want, MapType) and _same(have.keyType, want.keyType):
            return F.transform_values(
                column, lambda _, each: self.column(each, have.valueType, want.valueType, f"{name}.value")
            )
        is_nested = isinstance(have, StructType | ArrayType | MapType)
        if isinstance(want, StringType):
            return F.to_json(column) if is_nested else column.cast("string")
        if is_nested or isinstance(want, StructType | ArrayType | MapType):
            raise DataError(
                f"The column {name!r} of {self._target} is of type {want.simpleString()}, but records have "
                f"{have.simpleString()} there, which cannot become that."
            )
        return self._scalar(column, have, want, name)

    def _struct(self, column: Column, have: StructType, want: StructType, name: str) -> Column:
        from pyspark.sql import functions as F

        given = {member.name.lower(): member for member in have.fields}
        members = []
        for member in want.fields:
            found = given.pop(member.name.lower(), None)
            if found is None:
                inner = F.lit(None).cast(member.dataType)
            else:
                inner = self.column(
                    column.getField(found.name), found.dataType, member.dataType, f"{name}.{member.name}"
                )
            members.append(inner.alias(member.name))
        for new in given.values():
            self.added[".".join(quoted(part) for part in (*name.split("."), new.name))] = new.dataType.simpleString()
            members.append(column.getField(new.name).alias(new.name))
        return F.when(column.isNotNull(), F.struct(*members))

    def _scalar(self, column: Column, have: DataType, want: DataType, name: str) -> Column:
        from pyspark.sql import functions as F
        from pyspark.sql.types import StringType

        if _is_wider(have.simpleString(), want.simpleString()):
            return column.cast(want)
        if not _can_cast(have, want):
            raise DataError(
                f"The column {name!r} of {self._target} is of type {want.simpleString()}, but records have "
                f"{have.simpleString()} there, which cannot become that."
            )
        became = column.try_cast(want)
        fits = became.isNotNull()
        if not isinstance(have, StringType):
            fits = fits & became.try_cast(have).eqNullSafe(column)
        text = column.cast("string")
        told = F.concat(
            F.lit(f"The column {name!r} of {self._target} is of type {want.simpleString()}, and the value '"),
            F.coalesce(text, F.lit("?")),
            F.lit(f"' of type {have.simpleString()} does not fit: change the column, or the records with a transform."),
        )
        return F.when(column.isNull() | fits, became).otherwise(F.raise_error(told).cast(want))


def _same(one: Any, other: Any) -> bool:
    return bool(one.simpleString() == other.simpleString())


def _is_wider(have: str, want: str) -> bool:
    if have in _WIDENING and want in _WIDENING:
        return _WIDENING.index(have) <= _WIDENING.index(want)
    return (have, want) in {("float", "double"), ("tinyint", "double"), ("smallint", "double"), ("int", "double")} or (
        (have, want) == ("date", "timestamp")
    )


def _can_cast(have: DataType, want: DataType) -> bool:
    """Whether Spark has a cast at all: there is none between, say, a number and a date."""
    from pyspark.sql.types import (
        BinaryType,
        BooleanType,
        DateType,
        NumericType,
        StringType,
        TimestampNTZType,
        TimestampType,
    )

    if isinstance(have, StringType):
        return True
    numbers, times = (NumericType, BooleanType), (DateType, TimestampType, TimestampNTZType)
    return any(isinstance(have, kinds) and isinstance(want, kinds) for kinds in (numbers, times, (BinaryType,)))
