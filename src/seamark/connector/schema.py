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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {member.name: member for member in self.fields})

    def __hash__(self) -> int:
        return hash((self.type, self.optional, self.name, self.version, len(self.fields)))

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
            raise DataError(f"Not a struct schema: {schema.type.value}")
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
        """Set a field; returns the struct, so that calls can be chained."""
        if self.schema.field(name) is None:
            raise DataError(f"{name} is not a valid field name")
        self._values[name] = value
        return self

    def __getitem__(self, name: str) -> Any:
        member = self.schema.field(name)
        if member is None:
            raise KeyError(name)
        value = self._values.get(name)
        return member.schema.default if value is None and member.schema.default is not None else value

    def get_without_default(self, name: str) -> Any:
        """The value as it was put, None where it was not."""
        return self._values.get(name)

    def without_defaults(self) -> Mapping[str, Any]:
        """The values as they were put, by field; a field that was not put is missing."""
        return self._values

    def __iter__(self) -> Iterator[str]:
        return (member.name for member in self.schema.fields)

    def __len__(self) -> int:
        return len(self.schema.fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and other.schema == self.schema and other._values == self._values

    def __hash__(self) -> int:
        return hash((self.schema, len(self._values)))

    def __repr__(self) -> str:
        return f"Struct({self._values!r})"


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
