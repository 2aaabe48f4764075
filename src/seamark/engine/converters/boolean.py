"""BooleanConverter: one byte, 1 for true and 0 for false."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.java_names import java_class
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import OPTIONAL_BOOLEAN_SCHEMA, Schema, Type
from seamark.errors import DataError

_TRUE, _FALSE = b"\x01", b"\x00"


class BooleanConverter(Converter, HeaderConverter):
    """`org.apache.kafka.connect.converters.BooleanConverter`."""

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        """Nothing to configure."""

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is None:
            return None
        if not isinstance(value, bool):
            raise DataError(f"BooleanConverter is not compatible with objects of type class {java_class(value)}")
        return _TRUE if value else _FALSE

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(OPTIONAL_BOOLEAN_SCHEMA, None)
        if len(data) != 1:
            raise DataError("Failed to deserialize boolean: Size of data received by BooleanDeserializer is not 1")
        if data not in (_TRUE, _FALSE):
            number = int.from_bytes(data, signed=True)
            raise DataError(f"Failed to deserialize boolean: Unexpected byte received by BooleanDeserializer: {number}")
        return SchemaAndValue(OPTIONAL_BOOLEAN_SCHEMA, data == _TRUE)

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, data)
