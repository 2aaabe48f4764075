"""ByteArrayConverter: bytes as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.java_names import java_class
from seamark.connector.records import SchemaAndValue, ValueBatch
from seamark.connector.schema import OPTIONAL_BYTES_SCHEMA, Schema, Type
from seamark.errors import DataError


class ByteArrayConverter(Converter, HeaderConverter):
    """`org.apache.kafka.connect.converters.ByteArrayConverter`."""

    passes = (bytes,)

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        """Nothing to configure."""

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is None or type(value) is bytes:
            return value
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise DataError(f"ByteArrayConverter is not compatible with objects of type class {java_class(value)}")
        return bytes(value)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(OPTIONAL_BYTES_SCHEMA, data)

    def read_batch(self, data: Sequence[bytes | None]) -> ValueBatch:
        """Many values at once, as `to_connect_data` reads each."""
        return ValueBatch(OPTIONAL_BYTES_SCHEMA, data)

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, data)
