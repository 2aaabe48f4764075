"""Parsers of records' keys, values and headers, and of the schemas that a registry gives."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from typing import Any

from fuzz.target import Target, of_text
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import Schema, Type, validate_value
from seamark.engine.converters.avro.converter import AvroConverter
from seamark.engine.converters.avro.types import AvroType
from seamark.engine.converters.avro.types import parse as parse_avro
from seamark.engine.converters.boolean import BooleanConverter
from seamark.engine.converters.bytes_ import ByteArrayConverter
from seamark.engine.converters.json import JsonConverter
from seamark.engine.converters.jsonschema.converter import JsonSchemaConverter
from seamark.engine.converters.jsonschema.to_connect import ToConnect as JsonSchemaToConnect
from seamark.engine.converters.numbers import (
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from seamark.engine.converters.registry import RegistryConverter
from seamark.engine.converters.simple_header import SimpleHeaderConverter
from seamark.engine.converters.string import StringConverter
from seamark.engine.converters.values import parse_value
from seamark.engine.transforms.date_parsing import SimpleDateFormat
from seamark.engine.transforms.errors import IllegalArgumentError
from seamark.errors import DataError
from seamark.kafka.schema_registry import RegisteredSchema, SchemaRegistryClient, SchemaRegistryError, SchemaText

TOPIC = "orders"
AVRO_SCHEMAS: tuple[Any, ...] = (
    "string",
    "long",
    "bytes",
    {"type": "array", "items": "null"},
    {"type": "map", "values": ["null", "double"]},
    {"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS"]},
    {"type": "fixed", "name": "Two", "size": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    ["null", "string", "int", {"type": "array", "items": "float"}],
    {
        "type": "record",
        "name": "Person",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "name", "type": ["null", "string"], "default": None},
            {"name": "tags", "type": {"type": "array", "items": {"type": "map", "values": "boolean"}}},
        ],
    },
    {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "value", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
    },
    {"type": "array", "items": {"type": "record", "name": "Nothing", "fields": []}},
)
"""By their ids, from 0 on."""
JSON_SCHEMAS: tuple[Any, ...] = (
    {"type": "string"},
    {"type": "integer", "connect.type": "int8"},
    {"type": "number", "title": "org.apache.kafka.connect.data.Decimal", "connect.parameters": {"scale": "2"}},
    {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
    },
    {"oneOf": [{"type": "null"}, {"type": "string"}]},
    {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "boolean"}}}]},
    {"type": "object", "connect.type": "map", "additionalProperties": {"type": "number"}},
    {"type": "string", "connect.type": "bytes"},
    {"type": "integer", "title": "org.apache.kafka.connect.data.Timestamp", "connect.type": "int64"},
)


class KnownSchemas(SchemaRegistryClient):
    """A registry without a server: it has these schemas, all under the subject that is asked for."""

    def __init__(self, kind: str, schemas: tuple[Any, ...]) -> None:
        self._kind, self._schemas = kind, [json.dumps(schema) for schema in schemas]

    def schema(self, schema_id: int, subject: str | None = None) -> SchemaText:
        if schema_id >= len(self._schemas):
            raise SchemaRegistryError("Schema not found", status=404, code=40403)
        return SchemaText(self._schemas[schema_id], self._kind)

    def lookup(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> RegisteredSchema:
        return RegisteredSchema(schema, 1, subject, 1)

    def references(self, schema: SchemaText) -> dict[str, SchemaText]:
        return {}


def registry_converter(converter: RegistryConverter[Any], schemas: tuple[Any, ...]) -> RegistryConverter[Any]:
    converter.configure({"schema.registry.url": "http://localhost:1"})
    converter.registry = KnownSchemas(converter.schema_type, schemas)
    return converter


def json_converter(**config: str) -> JsonConverter:
    converter = JsonConverter()
    converter.configure({key.replace("_", "."): value for key, value in config.items()})
    return converter


def _check_typed(data: bytes, found: SchemaAndValue) -> None:
    """The value is one that its schema allows; what is of another kind reads as null, as in Java."""
    if found.schema is not None and found.value is not None:
        with contextlib.suppress(RecursionError):  # to look at it takes more than to read it
            validate_value(found.schema, found.value, "value")


def _check_json_value(data: bytes, found: SchemaAndValue) -> None:
    assert found.schema is None
    _plain(found.value)


def _plain(value: Any) -> None:
    assert isinstance(value, str | int | float | bool | list | dict | None), f"a {type(value).__name__}"
    if isinstance(value, (list, dict)):
        for member in value if isinstance(value, list) else value.values():
            _plain(member)


def _avro_schema(text: str) -> tuple[AvroType, Schema]:
    """A schema, and what reading with it needs."""
    parsed = parse_avro(text)
    _AVRO.decoder(parsed, 1)
    return parsed, _AVRO._to_connect.convert(parsed, 1)


def _check_avro_schema(data: bytes, found: tuple[AvroType, Schema]) -> None:
    written = str(found[0])
    assert str(parse_avro(written)) == written, "it reads otherwise as it is written"
    _check_schema(data, found[1])


def _json_schema(text: str) -> Schema:
    parsed = _JSON_SCHEMA.parse(text, {})
    _JSON_SCHEMA.decoder(parsed, 1)
    return JsonSchemaToConnect(
        _JSON_SCHEMA._settings, _JSON_SCHEMA._readers, parsed.document, parsed.references
    ).convert(1)


def _check_schema(data: bytes, found: Schema) -> None:
    for schema in _schemas_of(found):
        assert schema is not None
        assert isinstance(schema.name, str | None), f"its name is {schema.name!r}"
        assert isinstance(schema.doc, str | None), f"its doc is {schema.doc!r}"
        assert schema.version is None or type(schema.version) is int, f"its version is {schema.version!r}"
        for pair in (schema.parameters or {}).items():
            assert all(isinstance(each, str) for each in pair), f"a parameter is {pair!r}"
        assert all(isinstance(field.name, str) for field in schema.fields)


def _numbers(data: bytes) -> list[SchemaAndValue]:
    found = []
    for converter in (ShortConverter(), IntegerConverter(), LongConverter(), FloatConverter(), DoubleConverter()):
        try:
            read = converter.to_connect_data(TOPIC, data)
        except DataError as error:
            assert str(error)
            continue
        found.append(read)
        is_number = not math.isnan(read.value)
        assert not is_number or converter.from_connect_data(TOPIC, read.schema, read.value) == data
    return found


def _check_numbers(data: bytes, found: list[SchemaAndValue]) -> None:
    assert len(found) == {2: 1, 4: 2, 8: 2}.get(len(data), 0), "a number of another size"


def _strings(data: bytes) -> list[Any]:
    found: list[Any] = [ByteArrayConverter().to_connect_data(TOPIC, data).value]
    for encoding in ("UTF-8", "UTF-16", "UTF-32", "ISO-8859-1", "US-ASCII"):
        converter = StringConverter()
        converter.configure({"converter.encoding": encoding})
        found.append(converter.to_connect_data(TOPIC, data).value)
    return found


def _check_strings(data: bytes, found: list[Any]) -> None:
    assert found[0] == data
    assert all(isinstance(each, str) for each in found[1:])
    assert found[4].encode("latin-1") == data


def _header(data: bytes) -> SchemaAndValue:
    return SimpleHeaderConverter().to_connect_header(TOPIC, "header", data)


def _check_header(data: bytes, found: SchemaAndValue) -> None:
    if found.value is not None and found.schema is not None and None not in _schemas_of(found.schema):
        _check_typed(data, found)
    try:
        SimpleHeaderConverter().from_connect_header(TOPIC, "header", found.schema, found.value)
    except DataError as error:
        assert "too deeply" in str(error), f"it can be read, but not be written: {error}"


def _schemas_of(schema: Schema) -> list[Schema | None]:
    """A schema and those within it; None where a list or map has members of several kinds."""
    found: list[Schema | None] = []
    left: list[Schema | None] = [schema]
    while left:
        each = left.pop()
        found.append(each)
        if each is not None:
            left += {Type.ARRAY: [each.value_schema], Type.MAP: [each.key_schema, each.value_schema]}.get(each.type, [])
            left += [field.schema for field in each.fields]
    return found


def _batch(data: bytes) -> list[Any]:
    """Many messages, a line each: read at once, and one by one."""
    lines = data.split(b"\n")
    one_by_one = [_PLAIN.to_connect_data(TOPIC, line) for line in lines]
    batch = _PLAIN.read_batch(lines)
    assert batch.schema is None
    assert list(map(repr, batch.rows)) == [repr(each.value) for each in one_by_one], "read at once, they differ"
    return list(batch.rows)


def _dates(text: str) -> int | None:
    pattern, _, written = text.partition("\n")
    return SimpleDateFormat(pattern).parse(written)


def _reader(converter: Callable[[], Any]) -> Callable[[bytes], Any]:
    """A converter reads with a memory of its own: what came before must not matter."""
    return lambda data: converter().to_connect_data(TOPIC, data)


_AVRO: Any = registry_converter(AvroConverter(), AVRO_SCHEMAS)
_JSON_SCHEMA: Any = registry_converter(JsonSchemaConverter(), JSON_SCHEMAS)
_PLAIN = json_converter(schemas_enable="false")
_SCHEMA_TOKENS = (
    b'{"type":"record","name":"A","fields":[]}',
    b'"type"',
    b'"fields"',
    b'"items"',
    b'"values"',
    b'"symbols"',
    b'"logicalType"',
    b'"decimal"',
    b'"timestamp-millis"',
    b'"connect.type"',
    b'"connect.name"',
    b'"connect.version"',
    b'"connect.default"',
    b'"connect.parameters"',
    b'"default"',
    b'["null","string"]',
    b'"namespace"',
    b'"size"',
)
_CONNECT_TOKENS = (
    b'{"schema":{"type":"int32"},"payload":1}',
    b'"type":"struct","fields":[]',
    b'"optional":true',
    b'"default":1',
    b'"name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}',
    b'"items":{"type":"string"}',
    b'"keys":{"type":"string"}',
    b'"version":1',
    b'"field":"a"',
    b'"int8"',
    b'"bytes"',
    b'"float32"',
    b'"org.apache.kafka.connect.data.Timestamp"',
    b'"org.apache.kafka.connect.data.Date"',
)

TARGETS = (
    Target("json-value", lambda data: _PLAIN.to_connect_data(TOPIC, data), (DataError,), _check_json_value),
    Target("json-with-schema", _reader(JsonConverter), (DataError,), _check_typed, _CONNECT_TOKENS),
    Target("json-batch", _batch, (DataError,), None, (b"\n", b'{"a":1}', b"01", b"1.0")),
    Target("avro-schema", of_text(_avro_schema), (DataError,), _check_avro_schema, _SCHEMA_TOKENS),
    Target(
        "avro-value",
        lambda data: _AVRO.to_connect_data(TOPIC, data),
        (DataError,),
        _check_typed,
        (b"\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x03", b"\x02", b"\x01", b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"),
    ),
    Target(
        "json-schema",
        of_text(_json_schema),
        (DataError,),
        _check_schema,
        (*_SCHEMA_TOKENS, b'"oneOf":', b'"$ref":"#"', b'"properties":'),
    ),
    Target(
        "json-schema-value",
        lambda data: _JSON_SCHEMA.to_connect_data(TOPIC, data),
        (DataError,),
        None,
        (b"\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x05", b'{"key":1,"value":2}'),
    ),
    Target("number", _numbers, (), _check_numbers),
    Target("boolean", lambda data: BooleanConverter().to_connect_data(TOPIC, data).value, (DataError,)),
    Target("string", _strings, (), _check_strings),
    Target(
        "header",
        _header,
        (),
        _check_header,
        (b"[1,2]", b'{"a":1}', b"12:34:56.789Z", b"2026-05-01T12:00:00.000Z", b"1.5", b'\\"'),
    ),
    Target(
        "header-literal",
        of_text(parse_value),
        (DataError,),
        None,
        (b"[1,2]", b'{"a":1}', b'{{"a":1}:[]}', b"2026-05-01", b"1e5"),
    ),
    Target(
        "date-pattern",
        of_text(_dates),
        (IllegalArgumentError,),
        None,
        (
            b"yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
            b"\n",
            b"EEE, d MMM yyyy",
            b"''",
            b"G",
            b"z",
            b"k",
            b"w",
            b"2026-05-01T12:00:00.000+02:00",
        ),
    ),
)
