"""Schemas inside JSON envelopes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from seamark.connector.schema import Field, Schema, Type, validate_value
from seamark.engine.converters.java_numbers import wrap
from seamark.engine.converters.java_text import json_string
from seamark.errors import DataError

_TYPES = {member.value: member for member in Type}

WriteValue = Callable[[Schema, Any], str]
ReadValue = Callable[[Schema, Any], Any]


def write_schema(schema: Schema, write_value: WriteValue, field_name: str | None = None) -> str:
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


def _write_part(schema: Schema | None, write_value: WriteValue) -> str:
    return "null" if schema is None else write_schema(schema, write_value)


def read_schema(node: Any, read_value: ReadValue) -> Schema | None:
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
    schema = Schema(
        type=kind,
        optional=node.get("optional") is True,
        name=_text(node.get("name")),
        version=wrap(version, 32) if type(version) is int else None,
        doc=_text(node.get("doc")),
        parameters=_parameters(node.get("parameters")),
        fields=fields,
        key_schema=key_schema,
        value_schema=value_schema,
    )
    if "default" not in node:
        return schema
    default = read_value(schema, node["default"])
    try:
        if kind is Type.STRUCT and default is not None:
            raise DataError("Struct schemas do not match.")  # Java compares with the unfinished schema
        validate_value(schema, default)
    except DataError as error:
        raise DataError(f"Invalid default value: {error}") from error
    return replace(schema, default=default)


def _parts(
    kind: Type, node: Mapping[str, Any], read_value: ReadValue
) -> tuple[Schema | None, Schema | None, tuple[Field, ...]]:
    if kind is Type.ARRAY:
        if node.get("items") is None:
            raise DataError("Array schema did not specify the element type")
        return None, read_schema(node["items"], read_value), ()
    if kind is Type.MAP:
        for member, what in (("keys", "key"), ("values", "value")):
            if member not in node:
                raise DataError(f"Map schema did not specify the {what} type")
        parts = read_schema(node["keys"], read_value), read_schema(node["values"], read_value)
        for part, what in zip(parts, ("keySchema", "valueSchema"), strict=True):
            if part is None:
                raise DataError(f"{what} cannot be null.")
        return *parts, ()
    if kind is Type.STRUCT:
        if not isinstance(node.get("fields"), list):
            raise DataError('Struct schema\'s "fields" argument is not an array.')
        return None, None, _fields(node["fields"], read_value)
    return None, None, ()


def _fields(nodes: list[Any], read_value: ReadValue) -> tuple[Field, ...]:
    fields: dict[str, Field] = {}
    for index, node in enumerate(nodes):
        if not isinstance(node, Mapping) or not isinstance(node.get("field"), str):
            raise DataError("Struct schema's field name not specified properly")
        name = node["field"]
        schema = read_schema(node, read_value)
        if not name:
            raise DataError("fieldName cannot be null.")
        if name in fields:
            raise DataError(f"Cannot create field because of field name duplication {name}")
        if schema is not None:
            fields[name] = Field(name, index, schema)
    return tuple(fields.values())


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _parameters(node: Any) -> dict[str, str] | None:
    if not isinstance(node, Mapping) or not node:
        return None
    if not all(isinstance(value, str) for value in node.values()):
        raise DataError("Schema parameters must have string values.")
    return dict(node)
