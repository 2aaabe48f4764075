"""Avro's schemas to Connect's, in the words of Confluent's mapping."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any

from seamark.connector import logical
from seamark.connector.schema import STRING_SCHEMA, Field, Schema, Struct, Type, validate_value
from seamark.engine.converters.avro.settings import (
    DECIMAL_PRECISION,
    DEFAULT_NAME,
    DEFAULT_PRECISION,
    ENUM,
    ENUM_DEFAULT_PREFIX,
    ENUM_DOC_PREFIX,
    FIELD_DEFAULT_FLAG,
    FIELD_DOC_PREFIX,
    FIXED_SIZE,
    INTERNAL_TYPE,
    KEY,
    MAP_ENTRY,
    NAMESPACE,
    RECORD_DOC,
    UNION,
    VALUE,
    AvroSettings,
)
from seamark.engine.converters.avro.types import NAMED, AvroType
from seamark.engine.converters.java_maps import sized_hash_map
from seamark.engine.converters.java_numbers import to_float32, wrap
from seamark.errors import DataError

log = logging.getLogger(__name__)

_NOT_GIVEN = object()
_SIMPLE = {
    "boolean": Type.BOOLEAN,
    "bytes": Type.BYTES,
    "fixed": Type.BYTES,
    "double": Type.FLOAT64,
    "float": Type.FLOAT32,
    "int": Type.INT32,
    "long": Type.INT64,
    "string": Type.STRING,
    "enum": Type.STRING,
}
_LOGICAL = {
    ("int", "date"): logical.Date.SCHEMA,
    ("int", "time-millis"): logical.Time.SCHEMA,
    ("long", "timestamp-millis"): logical.Timestamp.SCHEMA,
}


@dataclass
class _Builder:
    """A Connect schema in the making."""

    type: Type
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    optional: bool = False
    default: Any = None
    parameters: dict[str, str] = field(default_factory=dict)
    fields: dict[str, Schema] = field(default_factory=dict)
    key_schema: Schema | None = None
    value_schema: Schema | None = None

    def build(self) -> Schema:
        return Schema(
            self.type,
            self.optional,
            self.default,
            self.name,
            self.version,
            self.doc,
            self.parameters or None,
            tuple(Field(name, index, schema) for index, (name, schema) in enumerate(self.fields.items())),
            self.key_schema,
            self.value_schema,
        )


def union_field_name(branch: AvroType, settings: AvroSettings) -> str:
    """The field that stands for a branch of a union."""
    if branch.kind in NAMED:
        return branch.full_name if settings.enhanced_avro_schema_support else settings.split_name(str(branch.name))[1]
    return branch.kind


def is_map_entry(schema: AvroType) -> bool:
    """Whether an array of these records stands for a map."""
    return schema.kind == "record" and (
        schema.full_name == f"{NAMESPACE}.{MAP_ENTRY}" or schema.props.get(INTERNAL_TYPE) == MAP_ENTRY
    )


def optional_branch(schema: AvroType) -> AvroType | None:
    """The other branch of a union of two, one of which is null."""
    kinds = [branch.kind for branch in schema.branches]
    return schema.branches[1 - kinds.index("null")] if len(kinds) == 2 and "null" in kinds else None


class ToConnect:
    """Converts schemas with one group of settings."""

    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        self._open: list[AvroType] = []

    def convert(self, schema: AvroType, version: int | None = None) -> Schema:
        """The Connect schema of an Avro schema.

        Args:
            schema: The Avro schema.
            version: The version that it has unless it says so itself.

        Raises:
            DataError: there is no such schema.
        """
        self._open = []
        return self._convert(schema, version=version)

    def _convert(
        self, schema: AvroType, *, optional: bool = False, default: Any = _NOT_GIVEN, version: int | None = None
    ) -> Schema:
        if schema.kind == "union":
            if len(schema.branches) == 1 and self._settings.flatten_singleton_unions:
                return self._convert(schema.branches[0])
            branch = optional_branch(schema)
            if branch is not None:
                return self._convert(branch, optional=True)
        if schema in self._open:
            raise DataError(f"Avro schema {schema.full_name} contains itself; such schemas cannot be read")
        self._open.append(schema)
        try:
            builder = self._base(schema)
        finally:
            self._open.pop()
        self._add_meta_data(builder, schema, version)
        self._add_default(builder, schema, default)
        _set_name(builder, schema)
        builder.optional = builder.optional or optional
        return builder.build()

    def _base(self, schema: AvroType) -> _Builder:
        if schema.kind == "record":
            return self._record(schema)
        if schema.kind == "union":
            return self._union(schema)
        if schema.kind == "map":
            return _Builder(Type.MAP, key_schema=STRING_SCHEMA, value_schema=self._convert(schema.element))
        if schema.kind == "array":
            return self._array(schema)
        if schema.kind == "null":
            raise DataError("Standalone null schemas are not supported by this converter")
        return self._simple(schema)

    def _simple(self, schema: AvroType) -> _Builder:
        logical_type = str(schema.props.get("logicalType", "")).lower()
        builder = _Builder(_SIMPLE[schema.kind])
        if schema.kind in ("bytes", "fixed"):
            if logical_type == "decimal":
                builder = _decimal(schema)
            if schema.kind == "fixed":
                builder.parameters[FIXED_SIZE] = str(schema.size)
        elif (schema.kind, logical_type) in _LOGICAL:
            found = _LOGICAL[schema.kind, logical_type]
            builder = _Builder(found.type, found.name, found.version)
        elif schema.kind == "int" and "connect.type" in schema.props and not logical_type:
            kinds = {"int8": Type.INT8, "int16": Type.INT16}
            if schema.props["connect.type"] not in kinds:
                raise DataError("Connect type annotation for Avro int field is null")
            builder = _Builder(kinds[schema.props["connect.type"]])
        elif schema.kind == "enum":
            self._enum(builder, schema)
        return builder

    def _enum(self, builder: _Builder, schema: AvroType) -> None:
        if self._settings.connect_meta_data:
            if schema.doc is not None:
                builder.parameters[f"{ENUM_DOC_PREFIX}{schema.name}"] = schema.doc
            if schema.enum_default is not None:
                builder.parameters[f"{ENUM_DEFAULT_PREFIX}{schema.name}"] = schema.enum_default
        builder.parameters[ENUM] = schema.full_name
        builder.parameters.update({f"{ENUM}.{symbol}": symbol for symbol in schema.symbols})

    def _array(self, schema: AvroType) -> _Builder:
        if not is_map_entry(schema.element):
            return _Builder(Type.ARRAY, value_schema=self._convert(schema.element))
        parts = [schema.element.field(name) for name in (KEY, VALUE)]
        if len(schema.element.fields) != 2 or None in parts:
            raise DataError(
                "Found map encoded as array of key-value pairs, but array elements do not match the expected format."
            )
        keys, values = (self._convert(part.type) for part in parts if part is not None)
        return _Builder(Type.MAP, key_schema=keys, value_schema=values)

    def _record(self, schema: AvroType) -> _Builder:
        builder = _Builder(Type.STRUCT)
        has_meta_data = self._settings.connect_meta_data
        if has_meta_data and schema.doc is not None:
            builder.parameters[RECORD_DOC] = schema.doc
        for member in schema.fields:
            if has_meta_data and member.doc is not None:
                builder.parameters[FIELD_DOC_PREFIX + member.name] = member.doc
            made = self._convert(member.type, default=member.default if member.has_default else _NOT_GIVEN)
            parameters = member.props.get("connect.parameters")
            if has_meta_data and isinstance(parameters, dict):
                merged = {**(made.parameters or {}), **{key: str(text) for key, text in parameters.items()}}
                made = made if merged == (made.parameters or {}) else replace(made, parameters=merged)
            builder.fields[member.name] = made
        return builder

    def _union(self, schema: AvroType) -> _Builder:
        builder = _Builder(Type.STRUCT, name=UNION)
        for branch in schema.branches:
            if branch.kind == "null":
                builder.optional = True
                continue
            name = union_field_name(branch, self._settings)
            if name in builder.fields:
                raise DataError("Multiple union schemas map to the Connect union field name")
            builder.fields[name] = self._convert(branch, optional=True)
        return builder

    def _add_meta_data(self, builder: _Builder, schema: AvroType, version: int | None) -> None:
        doc = schema.props.get("connect.doc")
        if self._settings.connect_meta_data and isinstance(doc, str):
            builder.doc = doc
        _set_version(builder, schema.props.get("connect.version", version))
        parameters = schema.props.get("connect.parameters")
        if self._settings.connect_meta_data and parameters is not None:
            if not isinstance(parameters, dict):
                raise DataError(f"Expected JSON object for schema parameters but found: {parameters}")
            for key, text in parameters.items():
                if not isinstance(text, str):
                    raise DataError(f"Expected schema parameter values to be strings but found: {text}")
                builder.parameters[key] = text
        builder.parameters.update({key: str(text) for key, text in schema.props.items() if key.startswith("avro")})

    def _add_default(self, builder: _Builder, schema: AvroType, default: Any) -> None:
        connect_default = schema.props.get("connect.default")
        is_property = default is _NOT_GIVEN
        if is_property:
            default = connect_default
        elif self._settings.connect_meta_data and connect_default is None:
            builder.parameters[FIELD_DEFAULT_FLAG] = "true"
        if default is None:
            return
        try:
            made = builder.build()
            value = default_value(made, schema, default, self._settings, is_property=is_property)
            if builder.type is Type.STRUCT:
                raise DataError("Struct schemas do not match.")
            validate_value(made, value)
            builder.default = value
        except (DataError, TypeError, ValueError) as error:
            log.warning("Ignoring invalid default for schema %s: %s", schema.full_name, error)


def _decimal(schema: AvroType) -> _Builder:
    scale, precision = schema.props.get("scale"), schema.props.get("precision")
    builder = _Builder(Type.BYTES, logical.Decimal.LOGICAL_NAME, 1)
    builder.parameters[logical.Decimal.SCALE_FIELD] = str(int(scale) if isinstance(scale, (int, float)) else 0)
    if precision is not None:
        if not isinstance(precision, (int, float)):
            raise DataError(
                "precision property must be a JSON Integer. https://avro.apache.org/docs/1.9.1/spec.html#Decimal"
            )
        if int(precision) != DEFAULT_PRECISION:
            builder.parameters[DECIMAL_PRECISION] = str(int(precision))
    return builder


def _set_version(builder: _Builder, version: Any) -> None:
    if version is None:
        return
    if not isinstance(version, (int, float)):
        raise DataError(f"Invalid Connect version found: {version}")
    number = int(version)
    if number < 0:
        return
    if builder.version is not None and builder.version != number:
        raise DataError(
            f"Mismatched versions: version already added to SchemaBuilder ({builder.version}) differs from version in "
            f"source schema ({number})"
        )
    builder.version = number


def _set_name(builder: _Builder, schema: AvroType) -> None:
    name = schema.props.get("connect.name")
    if name is not None and not isinstance(name, str):
        raise DataError(f"Invalid schema name: {name}")
    is_named_decimal = schema.kind == "fixed" and builder.name == logical.Decimal.LOGICAL_NAME
    if name is None and schema.kind in NAMED and not is_named_decimal:
        name = schema.full_name
    if name is None or name.startswith(f"{NAMESPACE}.{DEFAULT_NAME}"):
        return
    if builder.name is not None and builder.name != name:
        raise DataError(
            f"Mismatched names: name already added to SchemaBuilder ({builder.name}) differs from name in source "
            f"schema ({name})"
        )
    builder.name = name


def default_value(
    schema: Schema, avro: AvroType, node: Any, settings: AvroSettings, *, is_property: bool = False
) -> Any:
    """A default, given as JSON, as a value of a Connect schema.

    Args:
        schema: The Connect schema.
        avro: The Avro schema.
        node: The JSON.
        settings: Names the branches of unions.
        is_property: Whether it comes from ``connect.default``, of which Java understands less than of Avro's own.

    Raises:
        DataError: it is none.
    """

    def convert(schema: Schema, avro: AvroType, node: Any) -> Any:
        value = plain(schema, avro, node)
        return value if value is None or not logical.is_logical(schema) else logical.to_logical(schema, value)

    def plain(schema: Schema, avro: AvroType, node: Any) -> Any:
        if node is None or avro.kind == "null":
            return None
        if avro.kind == "union":
            return union(schema, avro, node)
        if avro.kind == "array" and schema.type is Type.ARRAY and schema.value_schema is not None:
            if not isinstance(node, list):
                raise DataError("Invalid JSON for array default value")
            return [convert(schema.value_schema, avro.element, item) for item in node]
        if avro.kind == "array" and schema.type is Type.MAP and not node and not is_property:
            return {}  # entries cannot be given in JSON that is a valid default
        if avro.kind == "map" and schema.value_schema is not None:
            if not isinstance(node, dict):
                raise DataError("Invalid JSON for map default value")
            values = schema.value_schema
            entries = {key: convert(values, avro.element, item) for key, item in node.items()}
            return sized_hash_map(entries, len(entries))
        return record(schema, avro, node) if avro.kind == "record" else _scalar_default(schema, avro, node, is_property)

    def union(schema: Schema, avro: AvroType, node: Any) -> Any:
        first = avro.branches[0]  # which a default must fit; Java reads all others as null
        if first.kind == "null":
            return None
        if optional_branch(avro) is not None and not is_property:
            return plain(schema, first, node)
        member = schema.field(union_field_name(first, settings)) if schema.type is Type.STRUCT else None
        if member is None:
            raise DataError("Cannot look up fields on non-struct type")
        return convert(member.schema, first, node)

    def record(schema: Schema, avro: AvroType, node: Any) -> Struct:
        if not isinstance(node, dict):
            raise DataError("Invalid JSON for record default value")
        made = Struct(schema)
        for member in avro.fields:
            field = schema.field(member.name)
            if field is not None:
                found = node.get(member.name, member.default if member.has_default else None)
                made.put(member.name, convert(field.schema, member.type, found))
        return made

    return convert(schema, avro, node)


def _scalar_default(schema: Schema, avro: AvroType, node: Any, is_property: bool) -> Any:
    if is_property and avro.kind in ("float", "double") and isinstance(node, str):
        node = 0  # NaN and Infinity are texts in JSON, and are read as zero here
    if avro.kind in ("int", "long"):
        return wrap(int(node), {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32}.get(schema.type, 64))
    if avro.kind == "float":
        return to_float32(float(node))
    if avro.kind == "double":
        return float(node)
    return str(node).encode("iso-8859-1") if avro.kind in ("bytes", "fixed") else node
