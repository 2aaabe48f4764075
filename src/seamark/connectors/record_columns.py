"""What sinks that work on DataFrames do with the columns of records: text, JSON, records without a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

CORRUPT: Final = "_corrupt_record"
"""The column in which Spark puts what it could not read."""


def is_text(frame: DataFrame, name: str) -> bool:
    """Whether a column is text or bytes."""
    from pyspark.sql.types import BinaryType, StringType

    return isinstance(frame.schema[name].dataType, StringType | BinaryType)


def place() -> Column:
    """Where a record stands, for messages: offset, topic and partition as far as they are known."""
    from pyspark.sql import functions as F

    known = [F.coalesce(F.col(name).cast("string"), F.lit("?")) for name in ("offset", "topic", "partition")]
    return F.format_string("The record at offset %s of %s-%s", *known)


def refusing_nulls(frame: DataFrame) -> DataFrame:
    """The records; reading one without a value fails."""
    from pyspark.sql import functions as F

    told = F.concat(place(), F.lit(" has no value, and behavior.on.null.values is 'fail'."))
    return frame.withColumn("value", F.coalesce("value", F.raise_error(told)))


def inferred_json(frame: DataFrame, name: str = "value") -> StructType:
    """The schema that holds all JSON texts of a column; it has `CORRUPT` if some are no objects."""
    from pyspark.sql import functions as F

    texts = frame.where(F.col(name).isNotNull()).select(F.col(name).cast("string"))
    return frame.sparkSession.read.json(texts.rdd.map(lambda row: row[0])).schema


def with_corrupt(schema: str | StructType) -> StructType:
    """Columns, and one for the text that they could not be read from."""
    from pyspark.sql.types import StringType, StructField, StructType, _parse_datatype_string

    known = cast("StructType", _parse_datatype_string(schema)) if isinstance(schema, str) else schema
    fields = [member for member in known.fields if member.name != CORRUPT]
    return StructType([*fields, StructField(CORRUPT, StringType())])
