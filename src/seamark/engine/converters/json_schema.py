"""Schemas inside JSON envelopes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seamark.connector.schema import Field, Schema, Type
from seamark.engine.converters.java_text import json_string
from seamark.errors import DataError

_TYPES = {member.value: member for member in Type}


def write_schema(schema: Schema, write_value: Callable[[Schema, Any], str], field_name: str | None = None) -> str:
    """The JSON of a schema, its members in the order in which Java writes them.

    Args:
        schema: The schema.
        write_value: Gives the JSON of a default value.
        field_name: Set if the schema is that of a struct's field.
    """
    members = [f'"type":"{schema.type.value}"']
    if schema.type is Type.ARRAY:
        members.append(f'"items":{_write_part(schema.value_schema, write_value)}')
    elif schema.type is Type.MAP:
        members.append(f'"keys":{_write_part(schema.key_schema, write_value)}')
        members.append(f'"values":{_write_part(schema.value_schema, write_value)}')
    elif schema.type is Type.STRUCT:
        fields = ",".join(write_schema(field.schema, write_value, field.name) for field in schema.fields)
        members.append(f'"fields":[{fields}]')
    members.append(f'"optional":{"true" if schema.optional else "false"}')
    for key, text in (("name", schema.name), ("version", schema.version), ("doc", schema.doc)):
        if text is not None:
            members.append(f'"{key}":{text if isinstance(text, int) else json_string(text)}')
    if schema.parameters is not None:
        entries = ",".join(f"{json_string(key)}:{json_string(value)}" for key, value in schema.parameters.items())
        members.append(f'"parameters":{{{entries}}}')
    if schema.default is not None:
        members.append(f'"default":{write_value(schema, schema.default)}')
    if field_name is not None:
        members.append(f'"field":{json_string(field_name)}')
    return "{" + ",".join(members) + "}"


def _write_part(schema: Schema | None, write_value: Callable[[Schema, Any], str]) -> str:
    return "null" if schema is None else write_schema(schema, write_value)


def read_schema(node: Any, read_value: Callable[[Schema, Any], Any]) -> Schema | None:
    """The schema of an envelope, from parsed JSON.

    Args:
        node: What the JSON parser made of it.
        read_value: Turns a default value into a value of the schema.

    Raises:
        DataError: it is not a schema.
    """
    if node is None:
        return None
    if not isinstance(node, Mapping) or not isinstance(node.get("type"), str):
        raise DataError("Schema must contain 'type' field")
    kind = _TYPES.get(node["type"])
    if kind is None:
        raise DataError(f"Unknown schema type: {node['type']}")
    key_schema, value_schema, fields = _parts(kind, node, read_value)
    version = node.get("version")
    bare = Schema(
        type=kind,
        optional=node.get("optional") is True,
        name=_text(node.get("name")),
        version=version if isinstance(version, int) and not isinstance(version, bool) else None,
        doc=_text(node.get("doc")),
        parameters=_parameters(node.get("parameters")),
        fields=fields,
        key_schema=key_schema,
        value_schema=value_schema,
    )
    if node.get("default") is None:
        return bare
    default = read_value(bare, node["default"])
    return Schema(
        bare.type,
        bare.optional,
        default,
        bare.name,
        bare.version,
        bare.doc,
        bare.parameters,
        bare.fields,
        bare.key_schema,
        bare.value_schema,
    )


def _parts(
    kind: Type, node: Mapping[str, Any], read_value: Callable[[Schema, Any], Any]
) -> tuple[Schema | None, Schema | None, tuple[Field, ...]]:
    if kind is Type.ARRAY:
        if node.get("items") is None:
            raise DataError("Array schema did not specify the element type")
        return None, read_schema(node["items"], read_value), ()
    if kind is Type.MAP:
        for member, what in (("keys", "key"), ("values", "value")):
            if member not in node:
                raise DataError(f"Map schema did not specify the {what} type")
        return read_schema(node["keys"], read_value), read_schema(node["values"], read_value), ()
    if kind is Type.STRUCT:
        if not isinstance(node.get("fields"), list):
            raise DataError('Struct schema\'s "fields" argument is not an array.')
        return None, None, tuple(_field(index, member, read_value) for index, member in enumerate(node["fields"]))
    return None, None, ()


def _field(index: int, node: Any, read_value: Callable[[Schema, Any], Any]) -> Field:
    if not isinstance(node, Mapping) or not isinstance(node.get("field"), str):
        raise DataError("Struct schema's field name not specified properly")
    schema = read_schema(node, read_value)
    if schema is None:
        raise DataError("Schema must contain 'type' field")
    return Field(node["field"], index, schema)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _parameters(node: Any) -> dict[str, str] | None:
    if not isinstance(node, Mapping) or not node:
        return None
    if not all(isinstance(value, str) for value in node.values()):
        raise DataError("Schema parameters must have string values.")
    return dict(node)
