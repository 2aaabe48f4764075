"""PlainAvroConverter: Avro's binary form alone, without a registry; the schema is in the converter's settings.

All records have that one schema, which is mapped as `AvroConverter` maps it. The bytes are those that Avro's own
`BinaryEncoder` writes: no magic byte, no id, no container file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from seamark.config.configdef import Check, ConfigDef, Importance, Type
from seamark.config.validators import invalid
from seamark.connector.converter import Converter
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import Schema
from seamark.engine.converters.avro.decoding import Decoders, Input
from seamark.engine.converters.avro.encoding import Encode, Encoders
from seamark.engine.converters.avro.settings import AvroSettings
from seamark.engine.converters.avro.to_connect import ToConnect
from seamark.engine.converters.avro.types import parse
from seamark.engine.converters.caching import LruCache
from seamark.errors import DataError

_KNOWN_SCHEMAS: Final = 100


def _check_schema(name: str, value: Any) -> None:
    if value is None:  # is told as missing
        return
    try:
        ToConnect(AvroSettings()).convert(parse(value), None)
    except DataError as error:
        raise invalid(name, value, error.message) from error


class PlainAvroConverter(Converter):
    """Avro without a schema registry."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "schema",
            Type.STRING,
            validator=Check(_check_schema, "an Avro schema in JSON"),
            importance=Importance.HIGH,
            doc="The Avro schema of all records, in JSON. A config provider can fetch it from a file, as in "
            "`${file:/etc/schemas.properties:orders}`.",
        )

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        settings = AvroSettings()
        self._avro = parse(self.config_def().parse(config)["schema"])
        self._schema = ToConnect(settings).convert(self._avro, None)
        self._decode = Decoders(settings).compile(self._schema, self._avro)
        self._compile = Encoders(settings).compile
        self._encoders: LruCache[Schema, Encode] = LruCache(_KNOWN_SCHEMAS)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        source = Input(data)
        try:
            value = self._decode(source)
        except (IndexError, struct.error, RecursionError, DataError) as error:
            raise self._unreadable(topic, "it is cut off, or was written with another schema") from error
        if source.position != len(data):
            told = f"{len(data) - source.position} of {len(data)} bytes are left over, so it was written with another"
            raise self._unreadable(topic, f"{told} schema, or has a header, as with a registry")
        return SchemaAndValue(self._schema, value)

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if schema is None:
            raise DataError(f"Data without a schema, for topic {topic}, cannot be written as Avro")
        encode = self._encoders.get(schema)
        if encode is None:
            encode = self._compile(schema, self._avro)
            self._encoders.put(schema, encode)
        out = bytearray()
        encode(out, value)
        return bytes(out)

    def _unreadable(self, topic: str, why: str) -> DataError:
        return DataError(f"Failed to read data of topic {topic} as Avro {self._avro.full_name}: {why}")
