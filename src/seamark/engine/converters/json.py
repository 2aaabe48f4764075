"""JsonConverter: JSON with the schema beside the data, or without.

The bytes are those of Java's converter: no spaces, members in its order, Jackson's escapes, Java's way to print
numbers. Reading is as lenient as Java's, too: a member of the wrong JSON type reads as zero, false or null, not as an
error.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, ValidString
from seamark.config.configdef import Type as ConfigType
from seamark.connector.converter import Converter, HeaderConverter
from seamark.connector.records import SchemaAndValue
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters import logical
from seamark.engine.converters.java_text import java_double, java_float, json_string
from seamark.engine.converters.json_nodes import (
    BITS,
    LruCache,
    is_number,
    node_type,
    parse_json,
    read_base64,
    read_logical,
    read_schemaless,
    type_of,
    wrap,
)
from seamark.engine.converters.json_schema import read_schema, write_schema
from seamark.errors import DataError


class JsonConverter(Converter, HeaderConverter):
    """`org.apache.kafka.connect.json.JsonConverter`."""

    def __init__(self) -> None:
        self._settings(self.config_def().parse({}))

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define(
                "schemas.enable",
                ConfigType.BOOLEAN,
                True,
                importance=Importance.HIGH,
                doc='Whether the JSON is `{"schema": ..., "payload": ...}` or just the data.',
            )
            .define(
                "schemas.cache.size",
                ConfigType.INT,
                1000,
                importance=Importance.HIGH,
                doc="How many schemas are remembered.",
            )
            .define(
                "decimal.format",
                ConfigType.STRING,
                "BASE64",
                validator=ValidString.of_ignoring_case("BASE64", "NUMERIC"),
                importance=Importance.LOW,
                doc="How decimals are written; both forms are read.",
            )
            .define(
                "replace.null.with.default",
                ConfigType.BOOLEAN,
                True,
                importance=Importance.LOW,
                doc="Whether a field that is null and has a default is written and read as the default.",
            )
        )

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        self._settings(self.config_def().parse(config))

    def _settings(self, values: Mapping[str, Any]) -> None:
        self._with_schemas: bool = values["schemas.enable"]
        self._numeric_decimals = values["decimal.format"].upper() == "NUMERIC"
        self._defaults_for_null: bool = values["replace.null.with.default"]
        size = values["schemas.cache.size"]
        self._written_schemas: LruCache[Schema, str] = LruCache(size)
        self._read_schemas: LruCache[str, Schema | None] = LruCache(size)
        self._latest: tuple[Schema | None, str] = (None, '{"schema":null,"payload":')

    # to bytes

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None and value is None:
            return None
        text = self._write(schema, value)
        if self._with_schemas:
            # Batches share a schema object, so its text is nearly always the one used last.
            if schema is not self._latest[0]:
                self._latest = (schema, f'{{"schema":{self._schema_text(schema)},"payload":')
            text = f"{self._latest[1]}{text}}}"
        return text.encode()

    def _schema_text(self, schema: Schema | None) -> str:
        if schema is None:
            return "null"
        text = self._written_schemas.get(schema)
        if text is None:
            text = write_schema(schema, self._write)
            self._written_schemas.put(schema, text)
        return text

    def _write(self, schema: Schema | None, value: Any) -> str:
        if value is None:
            return self._write_null(schema)
        if schema is not None and schema.name in logical.LOGICAL_NAMES:
            return self._write_logical(schema, value)
        kind = type_of(value) if schema is None else schema.type
        if kind is Type.STRING and isinstance(value, str):
            return json_string(value)
        if kind in BITS and isinstance(value, int) and not isinstance(value, bool):
            if not -(1 << (BITS[kind] - 1)) <= value < 1 << (BITS[kind] - 1):
                raise DataError(f"{value} is out of range for {kind.name}")
            return str(value)
        if kind is Type.BOOLEAN and isinstance(value, bool):
            return "true" if value else "false"
        if kind in (Type.FLOAT32, Type.FLOAT64) and isinstance(value, (float, int)) and not isinstance(value, bool):
            text = java_float(float(value)) if kind is Type.FLOAT32 else java_double(float(value))
            return f'"{text}"' if text[-1] in "Ny" else text  # Jackson quotes NaN and Infinity
        if kind is Type.BYTES and isinstance(value, (bytes, bytearray, memoryview)):
            return f'"{base64.b64encode(value).decode()}"'
        if kind is Type.ARRAY and isinstance(value, (list, tuple)):
            items = None if schema is None else schema.value_schema
            return "[" + ",".join(self._write(items, item) for item in value) + "]"
        if kind is Type.STRUCT and isinstance(value, Struct):
            return self._write_struct(schema, value)
        if kind is Type.MAP and isinstance(value, Mapping):
            return self._write_map(schema, value)
        raise DataError(f"Invalid type for {kind.name}: {type(value).__name__}")

    def _write_null(self, schema: Schema | None) -> str:
        if schema is None:
            return "null"
        if schema.default is not None and self._defaults_for_null:
            return self._write(schema, schema.default)
        if schema.optional:
            return "null"
        raise DataError("Conversion error: null value for field that is required and has no default value")

    def _write_struct(self, schema: Schema | None, value: Struct) -> str:
        if schema is None or (value.schema is not schema and value.schema != schema):
            raise DataError("Mismatching schema.")
        members = (
            f"{json_string(field.name)}:{self._write(field.schema, value.get_without_default(field.name))}"
            for field in schema.fields
        )
        return "{" + ",".join(members) + "}"

    def _write_map(self, schema: Schema | None, value: Mapping[Any, Any]) -> str:
        keys, values = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        if keys.type is Type.STRING if keys is not None else all(isinstance(key, str) for key in value):
            return "{" + ",".join(f"{self._write(keys, k)}:{self._write(values, v)}" for k, v in value.items()) + "}"
        return "[" + ",".join(f"[{self._write(keys, k)},{self._write(values, v)}]" for k, v in value.items()) + "]"

    def _write_logical(self, schema: Schema, value: Any) -> str:
        if schema.name != logical.DECIMAL:
            return str(logical.to_number(schema, value))
        if self._numeric_decimals and isinstance(value, Decimal):
            return str(value)
        return f'"{base64.b64encode(logical.decimal_to_bytes(schema, value)).decode()}"'

    # from bytes

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        node = parse_json(data, exact=self._with_schemas)  # only a schema can ask for exact decimals
        if not self._with_schemas:
            return SchemaAndValue(None, read_schemaless(node))
        if not isinstance(node, dict) or node.keys() != {"schema", "payload"}:
            raise DataError(
                'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain '
                "additional fields. If you are trying to deserialize plain JSON data, set schemas.enable=false in your "
                "converter configuration."
            )
        schema = self._schema(node["schema"])
        return SchemaAndValue(
            schema, read_schemaless(node["payload"]) if schema is None else self._read(schema, node["payload"])
        )

    def _schema(self, node: Any) -> Schema | None:
        key = str(node)
        if key not in self._read_schemas:
            self._read_schemas.put(key, read_schema(node, self._read))
        return self._read_schemas.get(key)

    def _read(self, schema: Schema, node: Any) -> Any:
        kind = schema.type
        if node is None:
            if schema.default is not None and self._defaults_for_null:
                return schema.default
            if schema.optional:
                return None
            raise DataError(f"Invalid null value for required {kind.name} field")
        if schema.name in logical.LOGICAL_NAMES:
            return read_logical(schema, node)
        if kind is Type.STRING:
            return node if isinstance(node, str) else None
        if kind in BITS:
            return wrap(int(node), BITS[kind]) if is_number(node) else 0
        if kind in (Type.FLOAT32, Type.FLOAT64):
            return float(node) if is_number(node) else 0.0
        if kind is Type.BOOLEAN:
            return node is True
        if kind is Type.BYTES:
            return read_base64(node) if isinstance(node, str) else None
        return self._read_container(schema, node)

    def _read_container(self, schema: Schema, node: Any) -> Any:
        if schema.type is Type.STRUCT:
            if not isinstance(node, dict):
                raise DataError(f"Structs should be encoded as JSON objects, but found {node_type(node)}")
            members = {field.name: self._read(field.schema, node.get(field.name)) for field in schema.fields}
            return Struct(schema, {name: value for name, value in members.items() if value is not None})
        values = schema.value_schema
        if schema.type is Type.ARRAY:
            return [self._item(values, item) for item in node] if isinstance(node, list) else []
        if schema.key_schema is not None and schema.key_schema.type is Type.STRING:
            if not isinstance(node, dict):
                raise DataError(
                    f"Maps with string fields should be encoded as JSON objects, but found {node_type(node)}"
                )
            return {key: self._item(values, value) for key, value in node.items()}
        if not isinstance(node, list):
            raise DataError(
                f"Maps with non-string fields should be encoded as JSON array of tuples, but found {node_type(node)}"
            )
        entries = {}
        for entry in node:
            if not isinstance(entry, list):
                raise DataError(f"Found invalid map entry instead of array tuple: {node_type(entry)}")
            if len(entry) != 2:
                raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
            entries[self._item(schema.key_schema, entry[0])] = self._item(values, entry[1])
        return entries

    def _item(self, schema: Schema | None, node: Any) -> Any:
        return read_schemaless(node) if schema is None else self._read(schema, node)

    # headers

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect_data(topic, data)
