"""JSON that Spark writes itself, where that is what Java's `JsonConverter` would write in the same JVM.

A row of a frame source is mostly a struct of numbers, texts and times, and goes through `JsonConverter`. Spark writes
these with the library that Java's converter has, inside its own code, so the rows need not become Python's objects.
Whatever is not known to come out the same is left to the converter: decimals, bytes, maps, transforms, subclasses.

Two things differ. Characters beyond the first 65,536 are escaped by Java's converter and not by Spark: the writers do
that (`escaped`). And before Java 19 a few floating-point numbers have other digits than our own converter writes, which
stand for the same number: `2.0E23` is `1.9999999999999998E23` there, as with Java's converter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from seamark.connector.converter import Converter
from seamark.engine.arrow_records import connect_schema
from seamark.engine.converters.json import JsonConverter

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Spark's types -> what they are on the way to the writers, see `arrow_records`.
_SAME: Final = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
}
_DATE, _TIME, _LOCAL_TIME = "date", "timestamp", "timestamp_ntz"
_TIMES: Final = {_DATE: pa.date32(), _TIME: pa.timestamp("us", "UTC"), _LOCAL_TIME: pa.timestamp("us")}
_FOUR_BYTES: Final = re.compile(rb"[\xf0-\xf4]")  # how such a character begins in UTF-8
_BEYOND: Final = re.compile("[\U00010000-\U0010ffff]")


def with_json_values(frame: DataFrame, converter: Converter) -> DataFrame:
    """The rows with values that are the texts which the converter would make of them; as they are where that is not
    sure.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    kind = frame.schema["value"].dataType
    if type(converter) is not JsonConverter or not isinstance(kind, StructType):
        return frame
    has_utc = frame.sparkSession.conf.get("spark.sql.session.timeZone") == "UTC"
    arrow = _arrow_type(kind, has_utc)
    if arrow is None:
        return frame
    schema, _ = connect_schema(arrow)
    start, end = converter.envelope(schema)
    value = F.to_json(_plain(F.col("value"), kind), {"ignoreNullFields": "false"})
    if start:
        value = F.concat(F.lit(start), value, F.lit(end))
    # A row without a value is a tombstone, with an envelope as without.
    return frame.withColumn("value", F.when(F.col("value").isNotNull(), value))


def escaped(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with values as Java's converter escapes them."""
    at = batch.schema.get_field_index("value")
    texts = batch.column(at)
    data = texts.buffers()[-1]
    if data is None or _FOUR_BYTES.search(memoryview(data)) is None:
        return batch
    values = [None if text is None else _BEYOND.sub(_surrogates, text) for text in texts.to_pylist()]
    return batch.set_column(at, batch.schema.field(at), pa.array(values, texts.type))


def _surrogates(found: re.Match[str]) -> str:
    code = ord(found[0]) - 0x10000
    return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"


def _arrow_type(kind: Any, has_utc: bool) -> pa.DataType | None:
    """The struct as Arrow has it; None if a field has a type that is left to the converter."""
    members = []
    for member in kind.fields:
        name = member.dataType.simpleString()
        found = _SAME.get(name) or _TIMES.get(name)
        # A time without a zone is taken for UTC: Spark can only read it so if that is the session's.
        if found is None or (name == _LOCAL_TIME and not has_utc):
            return None
        members.append((member.name, found))
    names = [name for name, _ in members]
    return pa.struct(members) if members and len(set(names)) == len(names) else None


def _plain(value: Column, kind: Any) -> Column:
    """The struct with times as the numbers that the converter writes."""
    from pyspark.sql import functions as F

    members = []
    for member in kind.fields:
        column, name = value.getField(member.name), member.dataType.simpleString()
        if name == _DATE:
            column = F.unix_date(column)
        elif name in _TIMES:
            column = F.unix_millis(column.cast("timestamp"))
        members.append(column.alias(member.name))
    return F.struct(*members)
