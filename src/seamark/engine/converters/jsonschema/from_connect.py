"""Connect's schemas to JSON Schema, in the words of Confluent's mapping.

What JSON Schema cannot express travels in members of its own: ``connect.type``, ``connect.index`` (the place of a
field, since JSON objects have no order), ``connect.version`` and ``connect.parameters``. An optional schema is a
``oneOf`` with null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from seamark.connector import logical
from seamark.connector.schema import Schema, Type
from seamark.engine.converters.java_maps import hash_map
from seamark.engine.converters.json_writer import JsonWriter
from seamark.errors import DataError

NAMESPACE: Final = "io.confluent.connect.json"
ONE_OF: Final = f"{NAMESPACE}.OneOf"
ENUM: Final = f"{NAMESPACE}.Enum"
NULL_MARKER: Final = "<NULL>"

_NUMBERS = {
    Type.INT8: "int8",
    Type.INT16: "int16",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float32",
    Type.FLOAT64: "float64",
}


@dataclass(frozen=True, slots=True)
class JsonSchemaSettings:
    """Each field is the setting of the same name, with dots."""

    object_additional_properties: bool = True
    use_optional_for_nonrequired: bool = False
    ignore_default_for_nullables: bool = False
    flatten_singleton_unions: bool = True
    numeric_decimals: bool = False


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for a ``oneOf``: a field for each alternative, of which one is set."""
    return schema.name == ONE_OF


def is_json_map(schema: Schema) -> bool:
    """Whether a map can be a JSON object; others are arrays of entries."""
    keys = schema.key_schema
    return keys is not None and keys.type is Type.STRING and not keys.optional


class FromConnect:
    """Converts schemas; defaults are written by the same writer as values."""

    def __init__(self, settings: JsonSchemaSettings, writer: JsonWriter) -> None:
        self._settings, self._writer = settings, writer

    def convert(self, schema: Schema | None) -> dict[str, Any]:
        """The JSON Schema of a Connect schema. Raises DataError."""
        if schema is None:
            raise DataError("JSON Schema needs a schema, and the data has none; use JsonConverter for data without one")
        return self._convert(schema)

    def _convert(self, schema: Schema, index: int | None = None, *, ignore_optional: bool = False) -> dict[str, Any]:
        if schema.type is Type.STRUCT and (is_union(schema) or schema.optional):
            return _with_index({"oneOf": self._alternatives(schema)}, index)
        kind, own = self._base(schema)
        made: dict[str, Any] = {"type": kind["type"]} if "type" in kind else {}
        if schema.name is not None:
            made["title"] = schema.name
        if schema.doc is not None:
            made["description"] = schema.doc
        if schema.default is not None:
            made["default"] = json.loads(self._writer.write(schema, schema.default))
        made.update(kind)
        if schema.version is not None:
            own["connect.version"] = schema.version
        parameters = {key: text for key, text in (schema.parameters or {}).items() if not key.startswith(NAMESPACE)}
        if parameters:
            own["connect.parameters"] = hash_map(parameters)
        if schema.optional and not ignore_optional:
            made.update(hash_map(own))
            return _with_index({"oneOf": [{"type": "null"}, made]}, index)
        if index is not None:
            own["connect.index"] = index
        made.update(hash_map(own))
        return made

    def _alternatives(self, schema: Schema) -> list[dict[str, Any]]:
        null = [{"type": "null"}] if schema.optional else []
        if not is_union(schema):
            return [*null, self._convert(replace(schema, optional=False))]
        return null + [
            self._convert(replace(field.schema, optional=False), field.index, ignore_optional=True)
            for field in schema.fields
        ]

    def _base(self, schema: Schema) -> tuple[dict[str, Any], dict[str, Any]]:
        """JSON Schema's own members, and those of Connect."""
        kind = schema.type
        if kind in _NUMBERS:
            is_whole = kind not in (Type.FLOAT32, Type.FLOAT64)
            return {"type": "integer" if is_whole else "number"}, {"connect.type": _NUMBERS[kind]}
        if kind is Type.BOOLEAN:
            return {"type": "boolean"}, {}
        if kind is Type.STRING:
            return self._string(schema), {}
        if kind is Type.BYTES:
            is_number = schema.name == logical.Decimal.LOGICAL_NAME and self._settings.numeric_decimals
            return {"type": "number" if is_number else "string"}, {"connect.type": "bytes"}
        if kind is Type.ARRAY:
            return {"type": "array", "items": self._part(schema.value_schema)}, {}
        if kind is Type.MAP:
            return self._map(schema), {"connect.type": "map"}
        return self._struct(schema), {}

    def _part(self, schema: Schema | None, index: int | None = None) -> dict[str, Any]:
        if schema is None:
            raise DataError("JSON Schema needs a schema for the members of an array or a map")
        return self._convert(schema, index)

    @staticmethod
    def _string(schema: Schema) -> dict[str, Any]:
        parameters: Mapping[str, str] = schema.parameters or {}
        if ENUM not in parameters:
            return {"type": "string"}
        symbols = [key.removeprefix(f"{ENUM}.") for key in parameters if key.startswith(f"{ENUM}.")]
        return {"enum": [None if symbol == NULL_MARKER else symbol for symbol in symbols]}

    def _map(self, schema: Schema) -> dict[str, Any]:
        if is_json_map(schema):
            return {"type": "object", "additionalProperties": self._part(schema.value_schema)}
        properties = {"key": self._part(schema.key_schema, 0), "value": self._part(schema.value_schema, 1)}
        return {"type": "array", "items": {"type": "object", "properties": properties}}

    def _struct(self, schema: Schema) -> dict[str, Any]:
        made: dict[str, Any] = {"type": "object"}
        if schema.fields:
            made["properties"] = {field.name: self._convert(field.schema, field.index) for field in schema.fields}
        if not self._settings.object_additional_properties:
            made["additionalProperties"] = False
        return made


def _with_index(made: dict[str, Any], index: int | None) -> dict[str, Any]:
    if index is not None:
        made["connect.index"] = index
    return made
