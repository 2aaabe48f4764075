"""SimpleHeaderConverter: header values as text, their types guessed when they are read."""

from __future__ import annotations

import logging
from typing import Any

from seamark.connector.converter import HeaderConverter
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import BYTES_SCHEMA, Schema
from seamark.engine.converters.values import format_value, parse_value
from seamark.errors import DataError

log = logging.getLogger(__name__)


class SimpleHeaderConverter(HeaderConverter):
    """`org.apache.kafka.connect.storage.SimpleHeaderConverter`."""

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        try:
            return None if value is None else format_value(value, schema).encode("utf-8", "replace")
        except RecursionError as error:
            raise DataError(f"The value of header {name!r} on topic {topic!r} is nested too deeply") from error

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        try:
            return parse_value(data.decode("utf-8", "replace"))
        except DataError as error:
            log.warning("Header %r on topic %r could not be read, it is kept as bytes: %s", name, topic, error)
            return SchemaAndValue(BYTES_SCHEMA, data)
