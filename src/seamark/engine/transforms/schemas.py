"""Schemas that transforms make of other schemas."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from seamark.connector.schema import Field, Schema, Type, validate_value
from seamark.engine.transforms.errors import SchemaBuilderError
from seamark.errors import DataError

Made = TypeVar("Made")
EQUAL_SCHEMAS = 16  # as many as Connect's transforms remember
SAME_SCHEMAS = 256


def schema_cache(make: Callable[[Schema], Made]) -> Callable[[Schema], Made]:
    """A function that gives what was made of a schema, so that it is made once and not per record.

    Records of a topic nearly always share one schema object, so it is looked up by identity first; a converter that
    makes a new, equal schema per record is caught by the second look.
    """
    same: dict[int, tuple[Schema, Made]] = {}
    equal: OrderedDict[Schema, Made] = OrderedDict()

    def cached(schema: Schema) -> Made:
        # The entry keeps the schema alive, so its id cannot become another one's.
        known = same.get(id(schema))
        if known is not None:
            return known[1]
        if schema in equal:
            equal.move_to_end(schema)
        else:
            equal[schema] = make(schema)
            if len(equal) > EQUAL_SCHEMAS:
                equal.popitem(last=False)
        if len(same) >= SAME_SCHEMAS:
            same.clear()
        same[id(schema)] = (schema, equal[schema])
        return equal[schema]

    return cached


def changed(
    source: Schema,
    type: Type,
    *,
    fields: Iterable[tuple[str, Schema]] = (),
    optional: bool = False,
    default: Any = None,
    value_schema: Schema | None = None,
) -> Schema:
    """A schema of another type with the name, version, doc and parameters of the source, but not its optionality.

    Raises:
        SchemaBuilderError: two fields have one name, or the default does not fit.
    """
    parameters = dict(source.parameters) if source.parameters else None
    members = members_of(fields)
    bare = Schema(
        type, optional, None, source.name, source.version, source.doc, parameters, members, value_schema=value_schema
    )
    return with_default(bare, default)


def with_default(schema: Schema, default: Any) -> Schema:
    """The schema with a default, which must fit it; None is no default."""
    if default is None:
        return schema
    try:
        validate_value(schema, default)
    except DataError as error:
        raise SchemaBuilderError("Invalid default value") from error
    return Schema(
        schema.type,
        schema.optional,
        default,
        schema.name,
        schema.version,
        schema.doc,
        schema.parameters,
        schema.fields,
        schema.key_schema,
        schema.value_schema,
    )


def members_of(fields: Iterable[tuple[str, Schema]]) -> tuple[Field, ...]:
    """Numbered fields, whose names must differ."""
    members: dict[str, Field] = {}
    for name, schema in fields:
        if not name:
            raise SchemaBuilderError("fieldName cannot be null.")
        if name in members:
            raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
        members[name] = Field(name, len(members), schema)
    return tuple(members.values())


def fields_of(schema: Schema) -> tuple[Field, ...]:
    """The fields of a schema, which must be a STRUCT."""
    if schema.type is not Type.STRUCT:
        raise DataError("Cannot list fields on non-struct type")
    return schema.fields


def field_of(schema: Schema, name: str) -> Field | None:
    """A field of a schema, which must be a STRUCT."""
    if schema.type is not Type.STRUCT:
        raise DataError("Cannot look up fields on non-struct type")
    return schema.field(name)
