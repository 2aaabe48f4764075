"""JsonConverter: JSON with the schema beside the data, or without.

The bytes are those of Java's converter, and so is what it reads from bytes, down to the order of maps.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from seamark.config.configdef import ConfigDef, Importance, ValidString, Width
from seamark.config.configdef import Type as ConfigType
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.records import SchemaAndValue, ValueBatch
from seamark.connector.schema import Schema
from seamark.engine.converters.batches import of_one_schema
from seamark.engine.converters.caching import LruCache
from seamark.engine.converters.json_columns import Columns, read_maps, struct_columns, write_fields
from seamark.engine.converters.json_fast import Plain, Unsure, compile_plain, dumps, plain_value
from seamark.engine.converters.json_parsing import MISSING, Inexact, parse, parse_exact
from seamark.engine.converters.json_readers import JsonReaders, Reader, read_schemaless
from seamark.engine.converters.json_schema import read_schema, write_schema
from seamark.engine.converters.json_writer import JsonWriter
from seamark.errors import DataError

_ENVELOPE_START, _ENVELOPE_MIDDLE = '{"schema":', ',"payload":'
_KNOWN_ENVELOPES = 8


def json_config_def() -> ConfigDef:
    """The keys of `JsonConverter`."""
    return (
        ConfigDef()
        .define(
            "schemas.enable",
            ConfigType.BOOLEAN,
            True,
            importance=Importance.HIGH,
            doc='Whether the JSON is `{"schema": ..., "payload": ...}` or just the data.',
            group="Schemas",
            order=0,
            width=Width.MEDIUM,
            display_name="Enable Schemas",
        )
        .define(
            "schemas.cache.size",
            ConfigType.INT,
            1000,
            importance=Importance.HIGH,
            doc="How many schemas are remembered, in each direction.",
            group="Schemas",
            order=1,
            width=Width.MEDIUM,
            display_name="Schema Cache Size",
        )
        .define(
            "schema.content",
            ConfigType.STRING,
            None,
            importance=Importance.HIGH,
            doc="A schema, as JSON, of all messages that are read: they are then just the data, without an envelope. "
            "Needs `schemas.enable`; what is written is not affected.",
            group="Schemas",
            order=2,
            width=Width.MEDIUM,
            display_name="Schema Content",
        )
        .define(
            "decimal.format",
            ConfigType.STRING,
            "BASE64",
            validator=ValidString.of_ignoring_case("NUMERIC", "BASE64"),
            importance=Importance.LOW,
            doc="How decimals are written; both forms are read.",
            group="Serialization",
            order=0,
            width=Width.MEDIUM,
            display_name="Decimal Format",
        )
        .define(
            "replace.null.with.default",
            ConfigType.BOOLEAN,
            True,
            importance=Importance.LOW,
            doc="Whether a field that is null and has a default is written and read as the default.",
            group="Serialization",
            order=1,
            width=Width.MEDIUM,
            display_name="Replace null with default",
        )
    )


class JsonConverter(Converter, HeaderConverter):
    """`org.apache.kafka.connect.json.JsonConverter`."""

    def __init__(self) -> None:
        self.configure({})

    @classmethod
    def config_def(cls) -> ConfigDef:
        return json_config_def()

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        values = self.config_def().parse(config)
        self._with_schemas: bool = values["schemas.enable"]
        self._writer = JsonWriter(
            numeric_decimals=values["decimal.format"].upper() == "NUMERIC",
            defaults_for_null=values["replace.null.with.default"],
        )
        self._readers = JsonReaders(defaults_for_null=values["replace.null.with.default"])
        size: int = values["schemas.cache.size"]
        self._written: LruCache[Schema, tuple[Schema, bytes, Plain]] = LruCache(size)
        self._latest: tuple[Schema | None, bytes, Plain] = (None, b'{"schema":null,"payload":', plain_value)
        self._latest_fields: tuple[Schema | None, list[tuple[str, Columns]] | None] = (None, None)
        self._read_schemas: LruCache[str, tuple[Schema | None, Reader]] = LruCache(size)
        self._envelopes: list[tuple[bytes, Schema | None, Reader]] = []
        self._content = self._schema_content(values["schema.content"])

    def _schema_content(self, text: str | None) -> tuple[Schema | None, Reader] | None:
        if not text or not self._with_schemas:
            return None
        try:
            return self._schema(parse_exact(text.encode()))
        except DataError as error:
            raise DataError(f"Failed to parse schema in converter config: {error}") from error

    # to bytes

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None and value is None:
            return None
        # Batches share a schema object, so it is nearly always the one used last.
        latest, start, plain = self._latest if schema is self._latest[0] else self._schema_parts(schema)
        try:
            payload = dumps(plain(value))
        except Unsure:
            payload = self._writer.write(latest, value).encode()
        return b"%b%b}" % (start, payload) if self._with_schemas else payload

    def write_batch(self, topic: str, batch: ValueBatch) -> list[bytes | None]:
        """Many values at once, as `from_connect_data` writes each."""
        if batch.fields is not None:
            with contextlib.suppress(Unsure):  # then each is looked at
                return self._in_envelopes(batch.schema, write_fields(batch, self._field_writers(batch.schema)))
        schema, write = batch.schema, self.from_connect_data
        return [write(topic, schema, value) for value in batch.rows]

    def envelope(self, schema: Schema) -> tuple[str, str]:
        """What stands before and behind the JSON of a value; nothing without `schemas.enable`."""
        return (self._schema_parts(schema)[1].decode(), "}") if self._with_schemas else ("", "")

    def _in_envelopes(self, schema: Schema | None, payloads: list[bytes]) -> list[bytes | None]:
        if not self._with_schemas:
            return list(payloads)
        start = self._latest[1] if schema is self._latest[0] else self._schema_parts(schema)[1]
        return [b"%b%b}" % (start, payload) for payload in payloads]

    def _field_writers(self, schema: Schema | None) -> list[tuple[str, Columns]] | None:
        if self._latest_fields[0] is not schema:
            self._latest_fields = (schema, None if schema is None else struct_columns(schema, self._writer))
        return self._latest_fields[1]

    def _schema_parts(self, schema: Schema | None) -> tuple[Schema | None, bytes, Plain]:
        if schema is None:
            self._latest = (None, b'{"schema":null,"payload":', plain_value)
            return self._latest
        known = self._written.get(schema)
        if known is None or (known[0] is not schema and b"0.0" in known[1]):
            # Schemas that are equal are written alike; but Python takes defaults of 0.0 and -0.0 for equal, too.
            text = write_schema(schema, self._writer.write)
            start = f"{_ENVELOPE_START}{text}{_ENVELOPE_MIDDLE}".encode()
            known = schema, start, compile_plain(schema, self._writer)
            self._written.put(schema, known)
        self._latest = (schema, known[1], known[2])
        return self._latest

    # from bytes

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        try:
            return self._read_bytes(data)
        except RecursionError as error:
            raise DataError(
                "Converting byte[] to Kafka Connect data failed due to serialization error: nested too deeply"
            ) from error

    def _read_bytes(self, data: bytes) -> SchemaAndValue:
        for start, schema, read in self._envelopes:
            if data.startswith(start) and data.endswith(b"}"):
                try:
                    return SchemaAndValue(schema, read(orjson.loads(memoryview(data)[len(start) : -1])))
                except (ValueError, Inexact):
                    break
        try:
            return self._read(data, parse(data))
        except Inexact:
            return self._read(data, parse_exact(data))

    def read_batch(self, data: Sequence[bytes | None]) -> ValueBatch:
        """Many values at once, as `to_connect_data` reads each. Raises also if their schemas differ."""
        if not self._with_schemas:
            # tombstones, what Jackson reads beyond JSON, and what is nested too deeply
            with contextlib.suppress(ValueError, Inexact, RecursionError):
                nodes = list(map(orjson.loads, data))  # type: ignore[arg-type]
                found = read_maps(nodes)
                return ValueBatch(None, list(map(read_schemaless, nodes))) if found is None else found
        return of_one_schema([self.to_connect_data("", each) for each in data])

    def _read(self, data: bytes, node: Any) -> SchemaAndValue:
        if not self._with_schemas:
            return SchemaAndValue(None, read_schemaless(node))
        if self._content is not None:
            return SchemaAndValue(self._content[0], self._content[1](node))
        if type(node) is not dict or node.keys() != {"schema", "payload"}:
            raise DataError(
                'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain '
                "additional fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in your "
                "converter configuration."
            )
        schema, read = self._schema(node["schema"])
        self._remember_envelope(data, schema, read)
        return SchemaAndValue(schema, read(node["payload"]))

    def _schema(self, node: Any) -> tuple[Schema | None, Reader]:
        key = str(node)
        known = self._read_schemas.get(key)
        if known is None:
            schema = read_schema(None if node is MISSING else node, self._readers.read)
            known = schema, read_schemaless if schema is None else self._readers.compile(schema)
            self._read_schemas.put(key, known)
        return known

    def _remember_envelope(self, data: bytes, schema: Schema | None, read: Reader) -> None:
        """Know the next message with this schema by its first bytes, so that the schema need not be parsed again."""
        if not data.startswith(_ENVELOPE_START.encode()):
            return
        text = data.decode("utf-8", "replace")
        try:
            _, end = json.JSONDecoder().raw_decode(text, len(_ENVELOPE_START))
        except ValueError:  # Jackson reads a little more than JSON
            return
        if text.startswith(_ENVELOPE_MIDDLE, end):
            start = text[: end + len(_ENVELOPE_MIDDLE)].encode()
            self._envelopes.insert(0, (start, schema, read))
            del self._envelopes[_KNOWN_ENVELOPES:]

    # headers

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, data)
