"""Short-, Integer-, Long-, Float- and DoubleConverter: numbers as big-endian bytes.

Java refuses a number of another class. A Python number has no width of its own, so its schema decides; without a
schema every number that fits is written.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, ClassVar

from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.java_names import java_class
from seamark.connector.numbers import Float32, Int8, Int16, Int32
from seamark.connector.records import SchemaAndValue, ValueBatch
from seamark.connector.schema import (
    OPTIONAL_FLOAT32_SCHEMA,
    OPTIONAL_FLOAT64_SCHEMA,
    OPTIONAL_INT16_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    Schema,
    Type,
)
from seamark.engine.converters.java_numbers import pack_float
from seamark.errors import DataError

_NARROW = {Int8: Type.INT8, Int16: Type.INT16, Int32: Type.INT32, Float32: Type.FLOAT32}


class _NumberConverter(Converter, HeaderConverter):
    """What the five have in common."""

    _name: ClassVar[str]
    _schema: ClassVar[Schema]
    _layout: ClassVar[struct.Struct]
    _deserializer: ClassVar[str]

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        kind = _NARROW.get(type(value), schema.type if schema is not None else self._schema.type)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or kind is not self._schema.type or (isinstance(value, float) and not self._is_float):
            found = java_class(value, kind.name)
            raise DataError(f"Failed to serialize to {self._name} (was class {found}): cannot be cast")
        if kind is Type.FLOAT32:
            return pack_float(value)
        try:
            return self._layout.pack(value)
        except (struct.error, OverflowError) as error:
            raise DataError(f"Failed to serialize to {self._name}: {value} is out of range") from error

    @property
    def _is_float(self) -> bool:
        return self._schema.type in (Type.FLOAT32, Type.FLOAT64)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(self._schema, None)
        if len(data) != self._layout.size:
            raise DataError(
                f"Failed to deserialize {self._name}: Size of data received by {self._deserializer} "
                f"is not {self._layout.size}"
            )
        return SchemaAndValue(self._schema, self._layout.unpack(data)[0])

    def read_batch(self, data: Sequence[bytes | None]) -> ValueBatch:
        """Many values at once, as `to_connect_data` reads each."""
        return ValueBatch(self._schema, [self.to_connect_data("", each).value for each in data])

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, data)

    def configure(self, config: Any, is_key: bool = False) -> None:
        """Nothing to configure."""


class ShortConverter(_NumberConverter):
    """`org.apache.kafka.connect.converters.ShortConverter`."""

    _name, _deserializer = "short", "ShortDeserializer"
    _schema, _layout = OPTIONAL_INT16_SCHEMA, struct.Struct(">h")


class IntegerConverter(_NumberConverter):
    """`org.apache.kafka.connect.converters.IntegerConverter`."""

    _name, _deserializer = "integer", "IntegerDeserializer"
    _schema, _layout = OPTIONAL_INT32_SCHEMA, struct.Struct(">i")


class LongConverter(_NumberConverter):
    """`org.apache.kafka.connect.converters.LongConverter`."""

    _name, _deserializer = "long", "LongDeserializer"
    _schema, _layout = OPTIONAL_INT64_SCHEMA, struct.Struct(">q")


class FloatConverter(_NumberConverter):
    """`org.apache.kafka.connect.converters.FloatConverter`."""

    _name, _deserializer = "float", "Deserializer"
    _schema, _layout = OPTIONAL_FLOAT32_SCHEMA, struct.Struct(">f")


class DoubleConverter(_NumberConverter):
    """`org.apache.kafka.connect.converters.DoubleConverter`."""

    _name, _deserializer = "double", "Deserializer"
    _schema, _layout = OPTIONAL_FLOAT64_SCHEMA, struct.Struct(">d")
