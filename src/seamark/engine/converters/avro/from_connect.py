"""Connect's schemas to Avro's, in the words of Confluent's mapping.

What Avro cannot express travels in properties: ``connect.name``, ``connect.version``, ``connect.doc``,
``connect.parameters``, ``connect.default`` and ``connect.type`` (for 8 and 16-bit numbers). An optional schema is a
union with null; null comes first unless there is a default, since a default must fit the first branch. A map whose
keys are not texts is an array of records named ``MapEntry``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seamark.connector import logical
from seamark.connector.numbers import Float32
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.avro.defaults import is_valid_default
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
    VALUE,
    AvroSettings,
    is_enum,
    is_fixed,
    is_union,
)
from seamark.engine.converters.avro.types import NAMED, AvroField, AvroType
from seamark.errors import DataError

_PRIMITIVES = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL_TYPES = {
    logical.Time.LOGICAL_NAME: "time-millis",
    logical.Timestamp.LOGICAL_NAME: "timestamp-millis",
    logical.Date.LOGICAL_NAME: "date",
}


def to_avro_schema(schema: Schema | None, settings: AvroSettings) -> AvroType:
    """The Avro schema of values of a Connect schema. Raises DataError."""
    return anything() if schema is None else _Conversion(settings).convert(schema)


def anything() -> AvroType:
    """The schema of values that have none: a record with a field for each kind of value, of which one is set."""
    null = AvroType("null")

    def optional(name: str, kind: AvroType) -> AvroField:
        return AvroField(name, AvroType("union", branches=[null, kind]), default=None)

    made = AvroType("record", "Anything", NAMESPACE)
    made.fields = [
        optional(kind, AvroType(kind)) for kind in ("boolean", "bytes", "double", "float", "int", "long", "string")
    ]
    made.fields.append(optional("array", AvroType("array", items=made)))
    entry = AvroType("record", MAP_ENTRY, NAMESPACE, fields=[AvroField(KEY, made), AvroField(VALUE, made)])
    made.fields.append(optional("map", AvroType("array", items=entry)))
    return made


class _Conversion:
    """One schema with everything in it: equal parts become the same Avro type, since Avro may not define one twice."""

    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings
        self._known: dict[Schema, AvroType] = {}
        self._seen_names: set[str] = set()
        self._unnamed = 0

    def convert(self, schema: Schema, *, ignore_optional: bool = False) -> AvroType:
        if not is_union(schema) and not schema.optional and schema in self._known:
            return self._known[schema]
        made = self._base(schema)
        if made.kind != "union":
            if self._settings.connect_meta_data:
                self._add_meta_data(made, schema)
            _add_logical_type(made, schema)
            for key, text in (schema.parameters or {}).items():
                if key.startswith("avro"):
                    made.props.setdefault(key, text)
            if not ignore_optional and schema.optional:
                made = _optional(made, has_default=schema.default is not None)
        if not schema.optional:
            self._known[schema] = made
        return made

    def _base(self, schema: Schema) -> AvroType:
        kind = schema.type
        if kind is Type.STRUCT:
            return self._struct(schema)
        if kind is Type.ARRAY:
            return AvroType("array", items=self._part(schema.value_schema))
        if kind is Type.MAP:
            return self._map(schema)
        if self._settings.enhanced_avro_schema_support and is_enum(schema):
            return self._enum(schema)
        if is_fixed(schema):
            namespace, name = self._name(schema.name)
            made = AvroType("fixed", name, namespace, size=int((schema.parameters or {})[FIXED_SIZE]))
        else:
            made = AvroType(_PRIMITIVES[kind])
        if schema.name == logical.Decimal.LOGICAL_NAME:
            precision = (schema.parameters or {}).get(DECIMAL_PRECISION, DEFAULT_PRECISION)
            made.props.update(scale=logical.Decimal.scale(schema), precision=int(precision))
        return made

    def _part(self, schema: Schema | None) -> AvroType:
        return anything() if schema is None else self.convert(schema)

    def _enum(self, schema: Schema) -> AvroType:
        parameters = schema.parameters or {}
        _, name = self._name(schema.name)
        namespace, enum_name = self._settings.split_name(parameters[ENUM])
        return AvroType(
            "enum",
            enum_name,
            namespace,
            parameters.get(ENUM_DOC_PREFIX + name),
            symbols=[key.removeprefix(f"{ENUM}.") for key in parameters if key.startswith(f"{ENUM}.")],
            enum_default=parameters.get(ENUM_DEFAULT_PREFIX + name),
        )

    def _map(self, schema: Schema) -> AvroType:
        if self._settings.is_avro_map(schema):
            return AvroType("map", items=self._part(schema.value_schema))
        if schema.name is None:
            entry = AvroType("record", MAP_ENTRY, NAMESPACE)
        else:
            namespace, name = self._name(schema.name)
            entry = AvroType("record", name, namespace, props={INTERNAL_TYPE: MAP_ENTRY})
        for field_name, part in ((KEY, schema.key_schema), (VALUE, schema.value_schema)):
            if part is None:
                raise DataError("A map with keys that are no texts must have schemas for its keys and values")
            entry.fields.append(self._field(field_name, part, None))
        return AvroType("array", items=entry)

    def _struct(self, schema: Schema) -> AvroType:
        if is_union(schema):
            branches = [self.convert(_required(field.schema), ignore_optional=True) for field in schema.fields]
            return AvroType("union", branches=[AvroType("null"), *branches] if schema.optional else branches)
        if schema.optional:
            return AvroType("union", branches=[AvroType("null"), self.convert(_required(schema))])
        namespace, name = self._name(schema.name)
        parameters = schema.parameters or {}
        made = AvroType("record", name, namespace, parameters.get(RECORD_DOC))
        for field in schema.fields:
            doc = parameters.get(FIELD_DOC_PREFIX + field.name)
            made.fields.append(self._field(self._settings.name(field.name), field.schema, doc))
        return made

    def _field(self, name: str, schema: Schema, doc: str | None) -> AvroField:
        full_name = None if schema.name is None else self._settings.full_name(schema.name)
        is_repeated = full_name is not None and full_name in self._seen_names
        if full_name is not None:
            self._seen_names.add(full_name)
        member = AvroField(name, self.convert(schema), doc)
        if schema.default is not None:
            default = self._default(schema, schema.default)
            if is_valid_default(member.type, default):
                member.default = default
        elif schema.optional:
            member.default = None
        if self._settings.connect_meta_data and is_repeated and _is_named(member.type):
            # The definition carries the parameters of its first use; those of a reference belong to the field.
            parameters = _parameters(schema)
            if parameters:
                member.props["connect.parameters"] = parameters
        return member

    def _name(self, full_name: str | None) -> tuple[str | None, str]:
        if full_name is not None:
            return self._settings.split_name(full_name)
        self._unnamed += 1
        return NAMESPACE, f"{DEFAULT_NAME}{self._unnamed if self._unnamed > 1 else ''}"

    def _add_meta_data(self, made: AvroType, schema: Schema) -> None:
        if schema.doc is not None:
            made.props["connect.doc"] = schema.doc
        if schema.version is not None:
            made.props["connect.version"] = schema.version
        if parameters := _parameters(schema):
            made.props["connect.parameters"] = parameters
        if schema.default is not None and FIELD_DEFAULT_FLAG not in (schema.parameters or {}):
            made.props["connect.default"] = self._default(schema, schema.default)
        if schema.name is not None:
            made.props["connect.name"] = schema.name
        if schema.type in (Type.INT8, Type.INT16):
            made.props["connect.type"] = schema.type.value

    def _default(self, schema: Schema, value: Any) -> Any:
        """A default value as JSON."""
        if value is None:
            return None
        if logical.is_logical(schema):
            value = logical.from_logical(schema, value)
        kind = schema.type
        if kind is Type.BYTES:
            return bytes(value).decode("iso-8859-1")
        if kind is Type.FLOAT32:
            return Float32(value)
        if kind is Type.FLOAT64:
            return float(value)
        if kind is Type.ARRAY and schema.value_schema is not None:
            return [self._default(schema.value_schema, item) for item in value]
        if kind is Type.MAP and schema.key_schema is not None and schema.value_schema is not None:
            if self._settings.is_avro_map(schema):
                return {key: self._default(schema.value_schema, item) for key, item in value.items()}
            keys, values = schema.key_schema, schema.value_schema
            return [[self._default(keys, key), self._default(values, item)] for key, item in value.items()]
        if kind is Type.STRUCT and isinstance(value, Struct):
            return {
                self._settings.name(field.name): self._default(field.schema, value[field.name])
                for field in schema.fields
            }
        return value


def _required(schema: Schema) -> Schema:
    return replace(schema, optional=False)


def _parameters(schema: Schema) -> dict[str, str]:
    return {key: text for key, text in (schema.parameters or {}).items() if key != FIELD_DEFAULT_FLAG}


def _is_named(schema: AvroType) -> bool:
    return schema.kind in NAMED or any(branch.kind in NAMED for branch in schema.branches)


def _optional(made: AvroType, *, has_default: bool) -> AvroType:
    null = AvroType("null")
    return AvroType("union", branches=[made, null] if has_default else [null, made])


def _add_logical_type(made: AvroType, schema: Schema) -> None:
    if schema.name == logical.Decimal.LOGICAL_NAME:
        made.props.setdefault("logicalType", "decimal")
    elif schema.name in _LOGICAL_TYPES:
        made.props.setdefault("logicalType", _LOGICAL_TYPES[schema.name])
