"""Values in JSON, as Confluent's `JsonSchemaConverter` writes and reads them.

They differ from those of `JsonConverter` in a few places: a required field that is null is left out and may be
missing, maps whose keys are not texts are arrays of ``{"key": ..., "value": ...}``, a union is its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from seamark.connector import logical
from seamark.connector.schema import Schema, Struct, Type, validate_value
from seamark.engine.converters.java_maps import hash_map
from seamark.engine.converters.java_text import java_decimal, json_string
from seamark.engine.converters.json_readers import JsonReaders, Reader, node_type, read_base64, read_schemaless
from seamark.engine.converters.json_writer import JsonWriter
from seamark.engine.converters.jsonschema.from_connect import ONE_OF, is_json_map, is_union
from seamark.errors import DataError

_MISSING = object()


class JsonSchemaWriter(JsonWriter):
    """Writes values."""

    def write(self, schema: Schema | None, value: Any) -> str:
        text = self.write_or_leave_out(schema, value)
        return "null" if text is None else text

    def write_or_leave_out(self, schema: Schema | None, value: Any) -> str | None:
        """The JSON of a value; None for a null that must not be written. Raises DataError."""
        if value is not None:
            if isinstance(value, Decimal) and schema is not None and not logical.is_logical(schema):
                return java_decimal(value) if schema.type is Type.BYTES else super().write(schema, value)
            return super().write(schema, value)
        if schema is not None and schema.default is not None and self.defaults_for_null:
            return self.write(schema, schema.default)
        return "null" if schema is not None and schema.optional else None

    def _struct(self, schema: Schema | None, value: Struct) -> str:
        if schema is None or (value.schema is not schema and value.schema != schema):
            raise DataError("Mismatching schema.")
        if is_union(schema):
            for field in schema.fields:
                member = value.stored.get(field.name) if not self.defaults_for_null else value[field.name]
                if member is not None:
                    return self.write(field.schema, member)
            return "null"
        members = []
        for field in schema.fields:
            text = self.write_or_leave_out(field.schema, value.stored.get(field.name))
            if text is not None:
                members.append(f"{json_string(field.name)}:{text}")
        return "{" + ",".join(members) + "}"

    def _map(self, schema: Schema | None, value: Mapping[Any, Any]) -> str:
        if schema is None or is_json_map(schema):
            return super()._map(schema, value)
        keys, values = schema.key_schema, schema.value_schema
        entries = (
            f'{{"key":{self.write(keys, key)},"value":{self.write(values, item)}}}' for key, item in value.items()
        )
        return "[" + ",".join(entries) + "]"


def is_like_json_converter(schema: Schema | None) -> bool:
    """Whether `JsonConverter` writes values of a schema alike, as long as no required field is null."""
    if schema is None:
        return False
    if schema.type is Type.STRUCT:
        return not is_union(schema) and all(is_like_json_converter(field.schema) for field in schema.fields)
    if schema.type is Type.MAP:
        return is_json_map(schema) and is_like_json_converter(schema.value_schema)
    return schema.type is not Type.ARRAY or is_like_json_converter(schema.value_schema)


class JsonSchemaReaders(JsonReaders):
    """Compiles schemas into readers."""

    def __init__(self) -> None:
        super().__init__(defaults_for_null=True)

    def _bytes(self, node: Any) -> Any:
        if type(node) is str:
            return read_base64(node)
        return Decimal(str(node)) if type(node) in (int, float, Decimal) else Decimal(0)

    def _struct(self, schema: Schema) -> Reader:
        if is_union(schema):
            return self._union(schema)
        plan = [
            (field.name, self.compile(field.schema), field.schema, _contains_struct(field.schema))
            for field in schema.fields
        ]

        def read(node: Any) -> Struct:
            if type(node) is not dict:
                raise DataError(f"Structs should be encoded as JSON objects, but found {node_type(node)}")
            values: dict[str, Any] = {}
            for name, read_member, member_schema, is_nested in plan:
                member = node.get(name, _MISSING)
                if member is _MISSING:
                    value = member_schema.default
                else:
                    unexpected = self._unexpected
                    value = read_member(member)
                    if value is not None and (is_nested or self._unexpected != unexpected):
                        # Fields may be missing, but only from the outermost struct.
                        validate_value(member_schema, value, name)
                if value is not None:
                    values[name] = value
            return Struct.trusted(schema, values)

        return read

    def _union(self, schema: Schema) -> Reader:
        readers = [(field, self.compile(field.schema)) for field in schema.fields]

        def read(node: Any) -> Struct:
            best, most = None, 0
            for field, read_member in readers:
                if _is_simple_match(field.schema, node):
                    return Struct(schema, {f"{ONE_OF}.field.{field.index}": read_member(node)})
                matching = _matching_fields(field.schema, node)
                if matching > most:
                    best, most = (field, read_member), matching
            if best is None:
                raise DataError("Did not find matching oneof field for data")
            return Struct(schema, {f"{ONE_OF}.field.{best[0].index}": best[1](node)})

        return read

    def _map(self, schema: Schema) -> Reader:
        if is_json_map(schema):
            return super()._map(schema)
        keys, values = schema.key_schema, schema.value_schema
        read_key = read_schemaless if keys is None else self.compile(keys)
        read_value = read_schemaless if values is None else self.compile(values)

        def read(node: Any) -> dict[Any, Any]:
            if type(node) is not list:
                raise DataError(
                    "Maps with non-string fields should be encoded as JSON array of objects, but found "
                    f"{node_type(node)}"
                )
            entries = {}
            for entry in node:
                if type(entry) is not dict:
                    raise DataError(f"Found invalid map entry instead of object: {node_type(entry)}")
                if len(entry) != 2:
                    raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
                key = read_key(entry.get("key"))
                entries[tuple(key) if isinstance(key, list) else key] = read_value(entry.get("value"))
            return hash_map(entries, None if keys is None else keys.type)

        return read


def _contains_struct(schema: Schema | None) -> bool:
    if schema is None:
        return False
    parts = (schema.key_schema, schema.value_schema)
    return schema.type is Type.STRUCT or any(_contains_struct(part) for part in parts)


def _is_simple_match(schema: Schema, node: Any) -> bool:
    kind = type(node)
    if schema.type in (Type.INT8, Type.INT16, Type.INT32, Type.INT64):
        return kind is int
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return kind in (int, float, Decimal)
    return {
        Type.BOOLEAN: kind is bool,
        Type.STRING: kind is str,
        Type.BYTES: kind in (float, Decimal),
        Type.ARRAY: kind is list,
        Type.MAP: kind in (dict, list),
    }.get(schema.type, False)


def _matching_fields(schema: Schema, node: Any) -> int:
    """How many members of an object are fields of a struct, counting those within."""
    if schema.type is not Type.STRUCT or type(node) is not dict:
        return 0
    common = [field for field in schema.fields if field.name in node]
    return len(common) + sum(_matching_fields(field.schema, node[field.name]) for field in common)
