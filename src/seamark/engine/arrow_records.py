"""Between Spark's columns and Kafka's records: how the rows of a frame source become keys, values and headers.

Strings and bytes are produced as they are, a whole Arrow column at a time, and so is null: a row without a value is a
tombstone. Any other Spark type becomes Connect data, with a schema, and goes through the connector's converter.
Logical types keep their base form (days, milliseconds, unscaled bytes), as they are stored, unless transforms are
going to look at them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from seamark.connector.converter import Converter
from seamark.connector.records import ValueBatch
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.batches import batch_writer
from seamark.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PRIMITIVES: Final = (
    (pa.types.is_boolean, Type.BOOLEAN),
    (pa.types.is_int8, Type.INT8),
    (pa.types.is_int16, Type.INT16),
    (pa.types.is_int32, Type.INT32),
    (pa.types.is_int64, Type.INT64),
    (pa.types.is_float32, Type.FLOAT32),
    (pa.types.is_float64, Type.FLOAT64),
    (pa.types.is_string, Type.STRING),
    (pa.types.is_large_string, Type.STRING),
    (pa.types.is_binary, Type.BYTES),
    (pa.types.is_large_binary, Type.BYTES),
)
_LOGICAL: Final = "org.apache.kafka.connect.data."
_EPOCH: Final = datetime.date(1970, 1, 1)
ToConnect = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class TopicRows:
    """Neighbouring rows that go to the same topic, as columns; None stands for a column without any value."""

    topic: str
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    partitions: list[int | None] | None = None
    timestamps: list[int | None] | None = None
    headers: list[list[tuple[str, bytes | None]] | None] | None = None

    @property
    def bytes(self) -> int:
        """The size of keys and values."""
        columns = (self.values, self.keys or ())
        return sum(len(item) for column in columns for item in column if item is not None)


class RowConverter:
    """Rows of a frame source to records.

    Args:
        key: for keys that are neither strings nor bytes.
        value: the same for values.
        topic: where rows go that name no topic.
    """

    def __init__(self, key: Converter, value: Converter, topic: str | None) -> None:
        self._key, self._value, self._topic = key, value, topic

    def convert(self, batch: pa.RecordBatch) -> Iterator[TopicRows]:
        """The rows of a batch, in order.

        Raises:
            DataError: a row names no topic, or a converter refuses it.
        """
        columns = {name: batch.column(name) for name in batch.schema.names}
        partitions = plain(columns, "partition")
        timestamps = milliseconds(columns)
        headers = headers_of(columns)
        for topic, start, end in self._runs(columns.get("topic"), batch.num_rows):
            yield TopicRows(
                topic,
                self._bytes(self._value, topic, columns["value"].slice(start, end - start)),
                self._bytes(self._key, topic, columns["key"].slice(start, end - start)) if "key" in columns else None,
                None if partitions is None else partitions[start:end],
                None if timestamps is None else timestamps[start:end],
                None if headers is None else headers[start:end],
            )

    def _runs(self, column: pa.Array | None, rows: int) -> Iterator[tuple[str, int, int]]:
        topics = [self._topic] * rows if column is None else [name or self._topic for name in column.to_pylist()]
        start = 0
        while start < rows:
            topic, end = topics[start], start + 1
            while end < rows and topics[end] == topic:
                end += 1
            if topic is None:
                raise DataError("A row names no topic: add a 'topic' column, or set 'topic' in the connector's config.")
            yield topic, start, end
            start = end

    @staticmethod
    def _bytes(converter: Converter, topic: str, column: pa.Array) -> list[bytes | None]:
        if _is_text(column.type):
            return list(column.cast(pa.binary()).to_pylist())
        if _is_bytes(column.type):
            return list(column.to_pylist())
        if pa.types.is_struct(column.type) and column.type.num_fields and not column.null_count:
            write = batch_writer(converter)
            if write is not None:
                return list(write(topic, _by_field(column)))
        schema, to_connect = connect_schema(column.type)
        convert = converter.from_connect_data
        return [None if item is None else convert(topic, schema, to_connect(item)) for item in column.to_pylist()]


def connect_schema(arrow: pa.DataType, *, logical: bool = False) -> tuple[Schema, ToConnect]:
    """The Connect schema of an Arrow type, and what turns a value of it (as Arrow hands it to Python) into Connect
    data.

    Everything is optional, as every Spark column may be. With `logical`, values of logical types are Python's dates
    and datetimes instead of their base form: transforms expect these.

    Raises:
        DataError: Connect has no such type.
    """
    for is_type, kind in _PRIMITIVES:
        if is_type(arrow):
            return Schema(kind, optional=True), _same
    if pa.types.is_decimal(arrow):
        parameters = {"scale": str(arrow.scale)}
        schema = Schema(Type.BYTES, True, name=_LOGICAL + "Decimal", version=1, parameters=parameters)
        return schema, _same  # how it is written is the converter's to say
    if pa.types.is_date(arrow):
        days: ToConnect = lambda item: (item - _EPOCH).days  # noqa: E731
        return Schema(Type.INT32, True, name=_LOGICAL + "Date", version=1), _same if logical else days
    if pa.types.is_timestamp(arrow):
        schema = Schema(Type.INT64, True, name=_LOGICAL + "Timestamp", version=1)
        return schema, _in_milliseconds if logical else _epoch_ms
    if pa.types.is_struct(arrow):
        return _struct(arrow, logical)
    if pa.types.is_map(arrow):
        keys, to_key = connect_schema(arrow.key_type, logical=logical)
        items, to_item = connect_schema(arrow.item_type, logical=logical)
        return Schema.map(keys, items, optional=True), lambda pairs: {
            to_key(key): None if item is None else to_item(item) for key, item in pairs
        }
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        elements, to_element = connect_schema(arrow.value_type, logical=logical)
        return Schema.array(elements, optional=True), lambda items: [
            None if item is None else to_element(item) for item in items
        ]
    raise DataError(f"Spark's type {arrow} has no equivalent in Kafka Connect; cast the column to another type.")


def _struct(arrow: pa.DataType, logical: bool) -> tuple[Schema, ToConnect]:
    members = {member.name: connect_schema(member.type, logical=logical) for member in arrow}
    schema = Schema.struct({name: member for name, (member, _) in members.items()}, optional=True)

    def to_struct(row: dict[str, Any]) -> Struct:
        return Struct(schema, {name: None if row[name] is None else to(row[name]) for name, (_, to) in members.items()})

    return schema, to_struct


def _by_field(column: pa.Array) -> ValueBatch:
    """Structs, none of them null, as a list of values for each field."""
    schema, _ = connect_schema(column.type)
    fields: dict[str, list[Any]] = {}
    for member, values in zip(column.type, column.flatten(), strict=True):
        _, to_connect = connect_schema(member.type)
        items = values.to_pylist()
        fields[member.name] = (
            items if to_connect is _same else [None if item is None else to_connect(item) for item in items]
        )
    return ValueBatch.by_field(schema, fields)


def map_in_arrow(frame: DataFrame, work: Callable[[Iterator[Any]], Iterator[Any]], schema: Any) -> DataFrame:
    """`DataFrame.mapInArrow` for a driver without pandas, which PySpark asks for although nothing here uses it."""
    from pyspark.sql import DataFrame
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.util import PythonEvalType

    function = UserDefinedFunction(work, returnType=schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column = function(*[frame[name] for name in frame.columns])
    return DataFrame(frame._jdf.mapInArrow(column._jc, False, None), frame.sparkSession)  # noqa: SLF001


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def _is_bytes(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow))


def plain(columns: Mapping[str, pa.Array], name: str) -> list[Any] | None:
    """The values of a column; None if it is missing or holds nothing."""
    column = columns.get(name)
    return None if column is None or column.null_count == len(column) else list(column.to_pylist())


def milliseconds(columns: Mapping[str, pa.Array]) -> list[int | None] | None:
    """The `timestamp` column in milliseconds; None if no row has one."""
    column = columns.get("timestamp")
    if column is not None and pa.types.is_timestamp(column.type):
        columns = {"timestamp": column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())}
    return plain(columns, "timestamp")


def headers_of(columns: Mapping[str, pa.Array]) -> list[list[tuple[str, bytes | None]] | None] | None:
    """The `headers` column as pairs; None if no row has any."""
    rows = plain(columns, "headers")
    if rows is None:
        return None
    return [None if row is None else [(header["key"], header["value"]) for header in row] for row in rows]


def _same(item: Any) -> Any:
    return item


def _in_milliseconds(item: datetime.datetime) -> datetime.datetime:
    item = item.replace(tzinfo=datetime.UTC) if item.tzinfo is None else item
    return item.replace(microsecond=item.microsecond // 1000 * 1000)


def _epoch_ms(item: datetime.datetime) -> int:
    if item.tzinfo is None:
        item = item.replace(tzinfo=datetime.UTC)
    return (item - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)
