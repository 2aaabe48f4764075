"""Connect's data model: schemas and structs.

A value may travel without a schema (plain Python objects); with one, its Python form is fixed by the schema's type:

=========================== =========================================
INT8 INT16 INT32 INT64      ``int`` within the range of the type
FLOAT32 FLOAT64             ``float``
BOOLEAN, STRING, BYTES      ``bool``, ``str``, ``bytes``
ARRAY, MAP                  ``list``, ``dict``
STRUCT                      `Struct`
=========================== =========================================

Logical types (Decimal, Date, Time, Timestamp) are base types with a name, as in Connect.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from seamark.connector.java_names import java_class, register
from seamark.errors import DataError


class Type(Enum):
    """The types of Connect's data model; `value` is the name in JSON schemas."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class Field:
    """A named member of a STRUCT schema."""

    name: str
    index: int
    schema: Schema


@dataclass(frozen=True, slots=True)
class Schema:
    """A type with its annotations; immutable, compared by content."""

    type: Type
    optional: bool = False
    default: Any = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] | None = field(default=None, hash=False)
    fields: tuple[Field, ...] = ()
    key_schema: Schema | None = None
    value_schema: Schema | None = None
    _by_name: Mapping[str, Field] = field(init=False, repr=False, compare=False)
    required_fields: frozenset[str] = field(init=False, repr=False, compare=False)
    """Names of the fields of a STRUCT that may not be null."""
    field_defaults: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    """Defaults of those fields of a STRUCT that have one."""

    def __post_init__(self) -> None:
        members = {member.name: member for member in self.fields}
        required = frozenset(name for name, member in members.items() if not member.schema.optional)
        defaults = {
            name: member.schema.default for name, member in members.items() if member.schema.default is not None
        }
        for name, value in (("_by_name", members), ("required_fields", required), ("field_defaults", defaults)):
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        return hash((self.type, self.optional, self.name, self.version, len(self.fields)))

    def __str__(self) -> str:
        return f"Schema{{{self.name}:{self.type.name}}}" if self.name is not None else f"Schema{{{self.type.name}}}"

    def field(self, name: str) -> Field | None:
        """The field of that name of a STRUCT, or None."""
        return self._by_name.get(name)

    @staticmethod
    def struct(
        fields: Mapping[str, Schema],
        *,
        optional: bool = False,
        default: Any = None,
        name: str | None = None,
        version: int | None = None,
        doc: str | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Schema:
        """A STRUCT schema with these fields, in order."""
        members = tuple(Field(field_name, index, schema) for index, (field_name, schema) in enumerate(fields.items()))
        return Schema(Type.STRUCT, optional, default, name, version, doc, parameters, members)

    @staticmethod
    def array(value_schema: Schema, *, optional: bool = False) -> Schema:
        """An ARRAY schema."""
        return Schema(Type.ARRAY, optional, value_schema=value_schema)

    @staticmethod
    def map(key_schema: Schema, value_schema: Schema, *, optional: bool = False) -> Schema:
        """A MAP schema."""
        return Schema(Type.MAP, optional, key_schema=key_schema, value_schema=value_schema)


class Struct(Mapping[str, Any]):
    """A value of a STRUCT schema: its fields by name, in the schema's order."""

    __slots__ = ("_values", "schema")

    def __init__(self, schema: Schema, values: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        if schema.type is not Type.STRUCT:
            raise DataError(f"Not a struct schema: {schema}")
        self.schema = schema
        self._values: dict[str, Any] = {}
        for name, value in {**(values or {}), **more}.items():
            self.put(name, value)

    @classmethod
    def trusted(cls, schema: Schema, values: dict[str, Any]) -> Struct:
        """A struct that takes over values which are known to fit the schema: nothing is checked or copied."""
        made = cls.__new__(cls)
        made.schema, made._values = schema, values  # noqa: SLF001 - its own
        return made

    def put(self, name: str, value: Any) -> Struct:
        """Set a field; returns the struct, so that calls can be chained.

        Raises:
            DataError: there is no such field, or the value does not fit its schema.
        """
        member = self.schema.field(name)
        if member is None:
            raise DataError(f"{name} is not a valid field name")
        validate_value(member.schema, value, name)
        self._values[name] = value
        return self

    @property
    def stored(self) -> dict[str, Any]:
        """The values as they were put, without defaults; fields that were never put are missing. Not to be changed."""
        return self._values

    def __getitem__(self, name: str) -> Any:
        member = self.schema.field(name)
        if member is None:
            raise KeyError(name)
        value = self._values.get(name)
        return member.schema.default if value is None and member.schema.default is not None else value

    def get_without_default(self, name: str) -> Any:
        """The value as it was put, None where it was not."""
        return self._values.get(name)

    def validate(self) -> None:
        """Check that all fields have values that fit, or need none.

        Raises:
            DataError: it names the first field that does not.
        """
        for member in self.schema.fields:
            value = self._values.get(member.name)
            if value is not None or not (member.schema.optional or member.schema.default is not None):
                validate_value(member.schema, value, member.name)

    def __iter__(self) -> Iterator[str]:
        return (member.name for member in self.schema.fields)

    def __len__(self) -> int:
        return len(self.schema.fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or (other.schema is not self.schema and other.schema != self.schema):
            return False
        if self._values == other._values:
            return True
        # A field that was never put equals one that was put as None.
        return all(self.get_without_default(name) == other.get_without_default(name) for name in self)

    def __hash__(self) -> int:
        return hash(self.schema)

    def __repr__(self) -> str:
        return f"Struct({self._values!r})"


register(Struct, "org.apache.kafka.connect.data.Struct")

_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_PYTHON_TYPES: Mapping[Type, tuple[type, ...]] = {
    **{kind: (int,) for kind in _BITS},
    # A whole number is a float's value too: Python does not tell 1 from 1.0 where it matters.
    Type.FLOAT32: (float, int),
    Type.FLOAT64: (float, int),
    Type.BOOLEAN: (bool,),
    Type.STRING: (str,),
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: (list, tuple),
    Type.MAP: (Mapping,),
    Type.STRUCT: (Struct,),
}
# The encoded form of a logical value is accepted as well (see `seamark.connector.logical`).
_TEMPORAL = (datetime.date, datetime.time, int)
_LOGICAL_TYPES: Mapping[str | None, tuple[type, ...]] = {
    "org.apache.kafka.connect.data.Decimal": (decimal.Decimal, bytes),
    "org.apache.kafka.connect.data.Date": _TEMPORAL,
    "org.apache.kafka.connect.data.Time": _TEMPORAL,
    "org.apache.kafka.connect.data.Timestamp": _TEMPORAL,
}


def validate_value(schema: Schema, value: Any, field_name: str | None = None) -> None:
    """Check that a value can be used with a schema: its type, and whether it may be None.

    Raises:
        DataError: it cannot; in Connect's words.
    """
    _validate(schema, value, "value" if field_name is None else f'field: "{field_name}"')


def _validate(schema: Schema, value: Any, location: str) -> None:
    if value is None:
        if not schema.optional:
            raise DataError(f"Invalid value: null used for required {location}, schema type: {schema.type.name}")
        return
    if not _is_expected(schema, value):
        name = "" if schema.name is None else f' "{schema.name}"'
        kind = java_class(value, schema.type.name if schema.name in _LOGICAL_TYPES else None)
        raise DataError(
            f"Invalid Java object for schema{name} with type {schema.type.name}: class {kind} for {location}"
        )
    if schema.type is Type.STRUCT:
        if value.schema is not schema and value.schema != schema:
            raise DataError("Struct schemas do not match.")
        value.validate()
    elif schema.type is Type.ARRAY:
        item_location = f"element of array {location}"
        items = _part(schema.value_schema, item_location)
        for item in value:
            _validate(items, item, item_location)
    elif schema.type is Type.MAP:
        key_location, value_location = f"key of map {location}", f"value of map {location}"
        keys, values = _part(schema.key_schema, key_location), _part(schema.value_schema, value_location)
        for key, member in value.items():
            _validate(keys, key, key_location)
            _validate(values, member, value_location)


def _is_expected(schema: Schema, value: Any) -> bool:
    expected = _LOGICAL_TYPES.get(schema.name) or _PYTHON_TYPES[schema.type]
    if isinstance(value, bool):
        return bool in expected
    if isinstance(value, int) and schema.type in _BITS:
        limit = 1 << (_BITS[schema.type] - 1)
        return int in expected and -limit <= value < limit
    return isinstance(value, expected)


def _part(schema: Schema | None, location: str) -> Schema:
    if schema is None:
        raise DataError(f"No schema defined for {location}")
    return schema


BOOLEAN_SCHEMA = Schema(Type.BOOLEAN)
BYTES_SCHEMA = Schema(Type.BYTES)
FLOAT32_SCHEMA = Schema(Type.FLOAT32)
FLOAT64_SCHEMA = Schema(Type.FLOAT64)
INT8_SCHEMA = Schema(Type.INT8)
INT16_SCHEMA = Schema(Type.INT16)
INT32_SCHEMA = Schema(Type.INT32)
INT64_SCHEMA = Schema(Type.INT64)
STRING_SCHEMA = Schema(Type.STRING)
OPTIONAL_BOOLEAN_SCHEMA = Schema(Type.BOOLEAN, optional=True)
OPTIONAL_BYTES_SCHEMA = Schema(Type.BYTES, optional=True)
OPTIONAL_FLOAT32_SCHEMA = Schema(Type.FLOAT32, optional=True)
OPTIONAL_FLOAT64_SCHEMA = Schema(Type.FLOAT64, optional=True)
OPTIONAL_INT8_SCHEMA = Schema(Type.INT8, optional=True)
OPTIONAL_INT16_SCHEMA = Schema(Type.INT16, optional=True)
OPTIONAL_INT32_SCHEMA = Schema(Type.INT32, optional=True)
OPTIONAL_INT64_SCHEMA = Schema(Type.INT64, optional=True)
OPTIONAL_STRING_SCHEMA = Schema(Type.STRING, optional=True)
