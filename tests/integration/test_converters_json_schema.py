"""JsonSchemaConverter with a registry over real HTTP. Expected schemas and data are those of Confluent's mapping."""

from __future__ import annotations

import json
import struct
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from fixtures.random_data import RandomData
from fixtures.registry_server import RegistryServer
from seamark.connector import logical
from seamark.connector.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Struct,
    Type,
)
from seamark.engine.converters.jsonschema.converter import JsonSchemaConverter
from seamark.engine.plugins import Plugins
from seamark.errors import ConfigError, DataError

JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"
NULL = {"type": "null"}
PERSON = Schema.struct({"id": INT64_SCHEMA, "name": OPTIONAL_STRING_SCHEMA}, name="Person", version=2)


def converter_with(registry: RegistryServer, **config: str) -> JsonSchemaConverter:
    settings = {key.replace("_", "."): value for key, value in config.items()}
    converter = Plugins().converter(JSON_SCHEMA, {"schema.registry.url": registry.url, **settings}, is_key=False)
    assert isinstance(converter, JsonSchemaConverter)
    return converter


def message(registry: RegistryServer, schema: Any, payload: str) -> bytes:
    return struct.pack(">bI", 0, registry.add("t-value", json.dumps(schema), "JSON")) + payload.encode()


@pytest.mark.parametrize(
    ("schema", "value", "json_schema", "payload"),
    [
        (INT8_SCHEMA, -5, {"type": "integer", "connect.type": "int8"}, "-5"),
        (FLOAT32_SCHEMA, 0.5, {"type": "number", "connect.type": "float32"}, "0.5"),
        (BOOLEAN_SCHEMA, True, {"type": "boolean"}, "true"),
        (BYTES_SCHEMA, b"\x00", {"type": "string", "connect.type": "bytes"}, '"AA=="'),
        (OPTIONAL_STRING_SCHEMA, "x", {"oneOf": [NULL, {"type": "string"}]}, '"x"'),
        (OPTIONAL_STRING_SCHEMA, None, {"oneOf": [NULL, {"type": "string"}]}, "null"),
        (
            Schema(Type.INT32, name="n", doc="d", default=7, parameters={"a": "b"}),
            1,
            {
                "type": "integer",
                "title": "n",
                "description": "d",
                "default": 7,
                "connect.type": "int32",
                "connect.parameters": {"a": "b"},
            },
            "1",
        ),
        (
            PERSON,
            Struct(PERSON, id=1),
            {
                "type": "object",
                "title": "Person",
                "properties": {
                    "id": {"type": "integer", "connect.type": "int64", "connect.index": 0},
                    "name": {"oneOf": [NULL, {"type": "string"}], "connect.index": 1},
                },
                "connect.version": 2,
            },
            '{"id":1,"name":null}',
        ),
        (Schema.array(STRING_SCHEMA), ["a"], {"type": "array", "items": {"type": "string"}}, '["a"]'),
        (
            Schema.map(STRING_SCHEMA, INT32_SCHEMA),
            {"a": 1},
            {
                "type": "object",
                "additionalProperties": {"type": "integer", "connect.type": "int32"},
                "connect.type": "map",
            },
            '{"a":1}',
        ),
        (
            Schema.map(INT32_SCHEMA, STRING_SCHEMA),
            {1: "x"},
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "key": {"type": "integer", "connect.type": "int32", "connect.index": 0},
                        "value": {"type": "string", "connect.index": 1},
                    },
                },
                "connect.type": "map",
            },
            '[{"key":1,"value":"x"}]',
        ),
        (
            logical.Date.SCHEMA,
            date(1970, 1, 3),
            {
                "type": "integer",
                "title": "org.apache.kafka.connect.data.Date",
                "connect.type": "int32",
                "connect.version": 1,
            },
            "2",
        ),
    ],
)
def test_schemas_and_data_are_mapped_as_confluents_converter_maps_them(
    schema: Schema, value: Any, json_schema: Any, payload: str, registry: RegistryServer
) -> None:
    converter = converter_with(registry)
    data = converter.from_connect_data("t", schema, value)
    assert registry.schema(1) == json_schema
    assert registry.schemas[0]["schemaType"] == "JSON"
    assert data == b"\x00\x00\x00\x00\x01" + payload.encode()
    back = converter.to_connect_data("t", data)
    assert back.value == value
    assert back.schema is not None
    assert back.schema.type is schema.type


def test_decimals_can_be_numbers(registry: RegistryServer) -> None:
    converter = converter_with(registry, decimal_format="NUMERIC")
    data = converter.from_connect_data("t", logical.Decimal.schema(2), Decimal("1.50"))
    assert data is not None
    assert data[5:] == b"1.50"
    assert registry.schema(1)["type"] == "number"
    assert converter.to_connect_data("t", data).value == Decimal("1.50")


def test_nulls(registry: RegistryServer) -> None:
    converter = converter_with(registry)
    assert converter.from_connect_data("t", None, None) is None
    assert converter.from_connect_data("t", STRING_SCHEMA, None) is None
    assert converter.to_connect_data("t", None).value is None
    incomplete = Struct.trusted(PERSON, {"name": "x"})
    data = converter.from_connect_data("t", PERSON, incomplete)
    assert data is not None
    assert data[5:] == b'{"name":"x"}'
    assert converter.to_connect_data("t", data).value["id"] is None
    schema = Schema.struct({"a": Schema(Type.INT32, optional=True, default=7)})
    written = converter.from_connect_data("t", schema, Struct(schema))
    assert written is not None
    assert written[5:] == b'{"a":7}'
    keeping = converter_with(registry, ignore_default_for_nullables="true")
    written = keeping.from_connect_data("t", schema, Struct(schema))
    assert written is not None
    assert written[5:] == b'{"a":null}'


def test_data_without_a_schema_is_refused(registry: RegistryServer) -> None:
    with pytest.raises(DataError, match="JSON Schema needs a schema"):
        converter_with(registry).from_connect_data("t", None, {"a": 1})


def test_schemas_of_others_are_read(registry: RegistryServer) -> None:
    schema = {
        "type": "object",
        "title": "Order",
        "description": "an order",
        "properties": {
            "id": {"type": "string"},
            "count": {"type": "integer", "default": 1},
            "price": {"type": "number"},
            "note": {"type": ["null", "string"]},
            "colour": {"enum": ["red", "blue"]},
            "address": {"$ref": "#/definitions/address"},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["id"],
        "definitions": {"address": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
    payload = '{"id":"a","price":1.5,"note":null,"colour":"red","address":{"city":"Bonn"},"either":5}'
    found = converter_with(registry).to_connect_data("t", message(registry, schema, payload))
    assert found.schema is not None
    assert (found.schema.name, found.schema.doc, found.schema.version) == ("Order", "an order", 1)
    assert (found.value["id"], found.value["count"], found.value["price"]) == ("a", 1, 1.5)
    assert found.value["note"] is None
    assert found.value["address"]["city"] == "Bonn"
    assert found.value["either"]["io.confluent.connect.json.OneOf.field.1"] == 5
    colour = found.schema.field("colour")
    assert colour is not None
    assert colour.schema.parameters == {
        "io.confluent.connect.json.Enum": "",
        "io.confluent.connect.json.Enum.red": "red",
        "io.confluent.connect.json.Enum.blue": "blue",
    }
    optional = converter_with(registry, use_optional_for_nonrequired="true")
    other = optional.to_connect_data("t", message(registry, schema, payload)).schema
    assert other is not None
    assert [field.name for field in other.fields if not field.schema.optional] == ["id"]


def test_a_union_is_its_value(registry: RegistryServer) -> None:
    schema = {"oneOf": [{"type": "integer"}, {"type": "string"}, NULL]}
    converter = converter_with(registry)
    for payload in ("5", '"x"', "null"):
        found = converter.to_connect_data("t", message(registry, schema, payload))
        again = converter.from_connect_data("u", found.schema, found.value)
        assert again is not None
        assert again[5:] == payload.encode()
    with pytest.raises(DataError, match="Did not find matching oneof field for data"):
        converter.to_connect_data("t", message(registry, schema, "true"))


def test_all_of_joins_properties(registry: RegistryServer) -> None:
    schema = {
        "allOf": [{"$ref": "base"}, {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}]
    }
    base = {"type": "object", "properties": {"a": {"type": "integer"}}}
    registry.add("base", json.dumps(base), "JSON")
    references = [{"name": "base", "subject": "base", "version": 1}]
    schema_id = registry.add("t-value", json.dumps(schema), "JSON", references)
    data = struct.pack(">bI", 0, schema_id) + b'{"a":1,"b":"x"}'
    assert dict(converter_with(registry).to_connect_data("t", data).value) == {"a": 1, "b": "x"}


def test_a_property_has_its_place(registry: RegistryServer) -> None:
    schema = {
        "type": "object",
        "properties": {"b": {"type": "integer", "connect.index": 1}, "a": {"type": "integer", "connect.index": 0}},
    }
    found = converter_with(registry).to_connect_data("t", message(registry, schema, '{"a":1,"b":2}'))
    assert list(found.value) == ["a", "b"]


@pytest.mark.parametrize(
    ("schema", "payload", "error"),
    [
        ({"type": "array"}, "[]", "Array schema did not specify the items type"),
        ({"type": "integer", "connect.type": "x"}, "1", "Unsupported type x"),
        ({}, "1", "Unsupported schema type"),
        ({"$ref": "#/definitions/x"}, "1", "refers to #/definitions/x, which is not there"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "{}", "contains itself"),
        ({"type": "string"}, "null", "Invalid null value for required STRING field"),
        ({"type": "object", "properties": {}}, "[]", "Structs should be encoded as JSON objects, but found ARRAY"),
        ({"type": "string"}, "{", "serialization error"),
    ],
)
def test_what_cannot_be_read_is_refused(schema: Any, payload: str, error: str, registry: RegistryServer) -> None:
    with pytest.raises(DataError, match=error):
        converter_with(registry).to_connect_data("t", message(registry, schema, payload))


def test_a_schema_of_another_kind_is_refused(registry: RegistryServer) -> None:
    schema_id = registry.add("t-value", '"string"')
    with pytest.raises(DataError, match="of type AVRO, but JSON is needed"):
        converter_with(registry).to_connect_data("t", struct.pack(">bI", 0, schema_id) + b'"x"')


def test_settings_that_would_be_ignored_are_refused(registry: RegistryServer) -> None:
    with pytest.raises(ConfigError, match=r"json.fail.invalid.schema=true is not supported"):
        converter_with(registry, json_fail_invalid_schema="true")


def test_random_data_comes_back(registry: RegistryServer) -> None:
    converter = converter_with(registry)
    for seed in range(150):
        random = RandomData(seed)
        schema = random.schema()
        value = random.value(schema)
        data = converter.from_connect_data(f"t{seed}", schema, value)
        if data is None:
            continue
        back = converter.to_connect_data(f"t{seed}", data)
        again = converter.from_connect_data(f"u{seed}", back.schema, back.value)
        assert again is not None
        if b"NaN" not in data and b"Infinity" not in data and b"-0.0" not in data:  # all of which read as zero
            assert unordered(json.loads(again[5:])) == unordered(json.loads(data[5:])), f"seed {seed}"


def unordered(value: Any) -> str:
    """JSON as text, its maps in an order that does not depend on Java's hashes."""
    if isinstance(value, list) and all(isinstance(item, dict) and item.keys() == {"key", "value"} for item in value):
        return "[" + ",".join(sorted(map(unordered, value))) + "]"
    if isinstance(value, list):
        return "[" + ",".join(map(unordered, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{key}:{unordered(item)}" for key, item in value.items())) + "}"
    return repr(value)
