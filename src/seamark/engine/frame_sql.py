"""The `SparkSql` transform on a DataFrame of records: which columns its query sees, and what its rows become.

The query is run as ``WITH <view> AS (...), <lookup table> AS (...) SELECT * FROM (<query>)``: its views are visible to
it alone, so connectors of one Spark session do not get in each other's way.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from seamark.engine.transforms.spark_sql import SparkSql, first_line
from seamark.errors import ConnectError, DataError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TOMBSTONE: Final = "_tombstone"
VALUE: Final = "_value"
_HEADERS: Final = "array<struct<key:string,value:binary>>"
# Column of a record -> how the query knows it, and the type that it must have to become a record again.
_METADATA: Final = {
    "key": ("_key", None),
    "topic": ("_topic", "string"),
    "partition": ("_partition", "int"),
    "offset": ("_offset", "bigint"),
    "timestamp": ("_timestamp", "timestamp"),
    "headers": ("_headers", _HEADERS),
}
_NAMES: Final = frozenset({name for name, _ in _METADATA.values()} | {TOMBSTONE, VALUE})
# Operators that make rows of each Spark partition from rows of the same partition, in order.
_NARROW: Final = frozenset(
    {"Project", "Filter", "Generate", "SubqueryAlias", "View", "WithCTE", "CTERelationDef", "CTERelationRef"}
)


class Query:
    """The query of one transform on one batch."""

    def __init__(self, alias: str, transform: SparkSql, frame: DataFrame, *, is_sink: bool) -> None:
        """`frame` has the columns of records, its value of whatever type."""
        self._alias, self._transform, self._is_sink = alias, transform, is_sink
        self._session = frame.sparkSession
        self._view = self._columns(frame)
        self._result = self._run()

    def records(self) -> DataFrame:
        """The rows of the result as records.

        Raises:
            DataError: they cannot be.
        """
        from pyspark.sql import functions as F

        names = self._result.columns
        folded = [name.lower() for name in names]
        repeated = sorted({name for name, fold in zip(names, folded, strict=True) if folded.count(fold) > 1})
        if repeated:
            raise self._refused(f"its result has more than one column {', '.join(repeated)}: use AS to rename them")
        columns = dict(zip(folded, names, strict=True))
        fields = [name for fold, name in columns.items() if fold not in _NAMES]
        if VALUE in columns and fields:
            raise self._refused(
                f"its result has {VALUE} beside fields of the value ({', '.join(fields)}): select either"
            )
        value = F.lit(None).cast("binary")
        if VALUE in columns:
            value = _column(columns[VALUE])
        elif fields:
            value = F.struct(*[_column(name) for name in fields])
        if TOMBSTONE in columns:
            value = F.when(F.coalesce(_column(columns[TOMBSTONE]), F.lit(False)), None).otherwise(value)
        return self._result.select(*self._metadata(columns, value))

    def keeps_partitions(self) -> bool:
        """Whether each row of the result comes from rows of the same Spark partition alone."""
        origin = self._view._jdf.queryExecution().analyzed()  # noqa: SLF001
        return _is_narrow(self._result._jdf.queryExecution().analyzed(), origin)  # noqa: SLF001

    def _columns(self, frame: DataFrame) -> DataFrame:
        """What the query sees."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import IntegralType, StructType

        value = frame.schema["value"].dataType
        is_null = F.col("value").isNull()
        if not self._transform.queries_nulls:
            frame = frame.where(~is_null)
        if self._transform.schema is not None:
            fields = self._declared(frame)
        elif isinstance(value, StructType):
            clashes = sorted(name for name in value.names if name.lower() in _NAMES)
            if clashes:
                raise self._refused(
                    f"values have the fields {', '.join(clashes)}, which are names of its own: rename them before, for "
                    "example with ReplaceField"
                )
            fields = [F.col("value").getField(name).alias(name) for name in value.names]
        else:
            fields = [F.col("value").alias(VALUE)]
        columns = list(fields)
        for column, (name, _) in _METADATA.items():
            if column not in frame.columns:
                continue
            is_number = isinstance(frame.schema[column].dataType, IntegralType)
            found = F.timestamp_millis(column) if column == "timestamp" and is_number else F.col(column)
            columns.append(found.alias(name))
        if self._transform.queries_nulls:
            columns.append(is_null.alias(TOMBSTONE))
        return frame.select(*columns)

    def _declared(self, frame: DataFrame) -> list[Column]:
        from pyspark.sql import functions as F
        from pyspark.sql.types import BinaryType, StringType, StructType, _parse_datatype_string

        wanted, value = _parse_datatype_string(self._transform.schema or ""), frame.schema["value"].dataType
        if isinstance(value, StringType | BinaryType):
            parsed = F.from_json(F.col("value").cast("string"), wanted, {"mode": "FAILFAST"})
            return [parsed.getField(member.name).alias(member.name) for member in wanted]
        if not isinstance(value, StructType):
            raise self._refused(f"values are of type {value.simpleString()} and have no fields, but 'schema' is set")
        known = {name.lower(): name for name in value.names}
        return [
            (F.col("value").getField(known[member.name.lower()]) if member.name.lower() in known else F.lit(None))
            .cast(member.dataType)
            .alias(member.name)
            for member in wanted
        ]

    def _run(self) -> DataFrame:
        from pyspark.errors import AnalysisException

        views: dict[str, str] = {}
        try:
            for name, frame in self._tables():
                views[name] = f"__seamark_{uuid.uuid4().hex}"
                frame.createOrReplaceTempView(views[name])
            tables = ", ".join(f"`{name}` AS (SELECT * FROM `{view}`)" for name, view in views.items())  # noqa: S608
            # The query is what whoever may configure connectors wants to run; nothing in it comes from records.
            return self._session.sql(f"WITH {tables} SELECT * FROM (\n{self._transform.sql}\n)")  # noqa: S608
        except AnalysisException as error:
            raise self._refused(
                f"Spark says: {first_line(error)}. The columns of this batch are {', '.join(self._view.columns)}; "
                f"transforms.{self._alias}.schema says which ones there are to be in every batch"
            ) from error
        finally:
            for view in views.values():
                self._session.catalog.dropTempView(view)

    def _tables(self) -> Iterator[tuple[str, DataFrame]]:
        """What the query sees: the records, and the tables to look things up in."""
        yield self._transform.view, self._view
        for lookup in self._transform.lookups:
            yield lookup.name, lookup.frame(self._session)

    def _metadata(self, columns: dict[str, str], value: Column) -> Iterator[Column]:
        """The columns of a record; for a sink all that Spark's Kafka source has, in its order."""
        from pyspark.sql import functions as F

        for column, (name, kind) in _METADATA.items():
            if name in columns:
                found = _column(columns[name])
                yield (found if kind is None else self._cast(columns[name], kind)).alias(column)
            elif self._is_sink:
                yield F.lit(None).cast(kind or "binary").alias(column)
            if column == "key":
                yield value.alias("value")
            elif column == "timestamp" and self._is_sink:
                yield F.lit(0 if name in columns else -1).alias("timestampType")

    def _cast(self, name: str, kind: str) -> Column:
        from pyspark.sql import functions as F
        from pyspark.sql.types import ArrayType, IntegralType

        found = self._result.schema[name].dataType
        if kind == "timestamp" and isinstance(found, IntegralType):
            return F.timestamp_millis(_column(name))
        if kind == _HEADERS and not isinstance(found, ArrayType):
            raise self._refused(f"its column {name} is of type {found.simpleString()} instead of {_HEADERS}")
        return _column(name).cast(kind)

    def _refused(self, reason: str) -> ConnectError:
        return DataError(f"The query of transform '{self._alias}' cannot be used: {reason}.")


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def _is_narrow(plan: Any, origin: Any) -> bool:
    if plan.equals(origin):
        return True
    if plan.nodeName() not in _NARROW or plan.subqueries().size():
        return False
    children = plan.children()
    if not children.size():
        return bool(plan.nodeName() == "CTERelationRef")
    return all(_is_narrow(children.apply(index), origin) for index in range(children.size()))
