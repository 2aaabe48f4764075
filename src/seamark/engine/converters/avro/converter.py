"""AvroConverter: Avro's binary form, with schemas in a Confluent-compatible registry.

Schemas are mapped as Confluent's converter maps them, with the same names and properties, so that it reads what this
one writes, and the other way round, under the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import Schema
from seamark.engine.converters.avro.decoding import Decoders, Input
from seamark.engine.converters.avro.encoding import Encoders, write_bytes
from seamark.engine.converters.avro.from_connect import anything, to_avro_schema
from seamark.engine.converters.avro.settings import AvroSettings
from seamark.engine.converters.avro.to_connect import ToConnect
from seamark.engine.converters.avro.types import AvroType, parse
from seamark.engine.converters.registry import RegistryConverter, registry_config_def
from seamark.errors import DataError


class AvroConverter(RegistryConverter[AvroType]):
    """`io.confluent.connect.avro.AvroConverter`."""

    schema_type = "AVRO"
    unsupported = ("generalized.sum.type.support", "discard.type.doc.default")
    data_name = "Avro"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return registry_config_def(
            (
                "enhanced.avro.schema.support",
                False,
                Importance.MEDIUM,
                "Whether enums stay enums, and the branches of a union are named with their namespaces.",
            ),
            (
                "connect.meta.data",
                True,
                Importance.LOW,
                "Whether names, versions, parameters and the like travel as properties of the Avro schema.",
            ),
            (
                "scrub.invalid.names",
                False,
                Importance.MEDIUM,
                "Whether characters that Avro does not allow in names are replaced.",
            ),
            (
                "allow.optional.map.keys",
                False,
                Importance.LOW,
                "Whether a map whose keys are optional texts becomes a map, not an array of entries.",
            ),
            (
                "flatten.singleton.unions",
                True,
                Importance.LOW,
                "Whether a union with one branch is read as that branch.",
            ),
        )

    def configure_data(self, values: Mapping[str, Any]) -> None:
        names = AvroSettings.__dataclass_fields__
        settings = AvroSettings(**{name: values[name.replace("_", ".")] for name in names})
        self._settings = settings
        self._to_connect = ToConnect(settings)
        self._compile_encoder, self._compile_decoder = Encoders(settings).compile, Decoders(settings).compile

    def to_registry(self, schema: Schema | None) -> AvroType:
        return to_avro_schema(schema, self._settings)

    def parse(self, text: str, references: Mapping[str, str]) -> AvroType:
        return parse(text, references)

    def record_name(self, parsed: AvroType) -> str | None:
        return parsed.full_name if parsed.kind == "record" else None

    def encoder(self, schema: Schema | None, parsed: AvroType) -> Callable[[bytearray, Any], None]:
        if parsed.kind != "bytes":
            return self._compile_encoder(schema, parsed)
        if schema is None:
            raise DataError("Data without a schema cannot be written as bytes")
        encode = self._compile_encoder(schema, parsed)

        def encode_bare(out: bytearray, value: Any) -> None:
            # Bytes that are the whole message come without their length.
            with_length = bytearray()
            encode(with_length, value)
            source = Input(bytes(with_length))
            out += source.take(source.long())

        return encode_bare

    def decoder(self, parsed: AvroType, version: int | None) -> Callable[[bytes], SchemaAndValue]:
        if str(parsed) == _ANYTHING:
            decode_value, schema = self._compile_decoder(None, parsed), None
        else:
            schema = self._to_connect.convert(parsed, version)
            decode_value = self._compile_decoder(schema, parsed)
        if parsed.kind == "bytes":
            return lambda data: SchemaAndValue(schema, decode_value(_with_length(data[5:])))
        return lambda data: SchemaAndValue(schema, decode_value(Input(data, 5)))

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            if schema is not None and not schema.optional:
                raise DataError("Found null value for non-optional schema")
            return None
        return self.write(topic, schema, value)


_ANYTHING = str(anything())


def _with_length(data: bytes) -> Input:
    framed = bytearray()
    write_bytes(framed, data)
    return Input(bytes(framed))
