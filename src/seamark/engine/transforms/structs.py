"""Values of structs, as transforms copy them into another struct."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from seamark.connector.records import ValueBatch
from seamark.connector.schema import Schema, Struct
from seamark.engine.transforms.maps import changed_column
from seamark.errors import DataError

Changes = Mapping[str, Callable[[Any], Any]]
UNCHANGED: Changes = MappingProxyType({})


def copied(struct: Struct, *, with_defaults: bool, changes: Changes = UNCHANGED) -> dict[str, Any]:
    """All values of a struct, in a dict of one's own.

    Args:
        struct: The struct.
        with_defaults: Whether a null field that has a default becomes the default.
        changes: What is to be made of values that are not null, by the names of fields, in the order of the schema.

    Raises:
        DataError: a required field is null.
    """
    values, schema = struct.stored, struct.schema
    # A struct never holds None for a required field, but the field may be missing.
    if not schema.field_defaults and (len(values) == len(schema.fields) or values.keys() >= schema.required_fields):
        result = values.copy()
        for name, change in changes.items():
            found = result.get(name)
            if found is not None:
                result[name] = change(found)
        return result
    result = {}
    for field in schema.fields:
        name, inner = field.name, field.schema
        value = values.get(name)
        if value is None and with_defaults:
            value = inner.default
        if value is not None and name in changes:
            value = changes[name](value)
        if value is None and not inner.optional:
            raise required(name, inner)
        result[name] = value
    return result


def copied_columns(batch: ValueBatch, changes: Changes = UNCHANGED) -> dict[str, Sequence[Any]] | None:
    """The fields of structs as `copied` copies each of them; None where it would have to look for defaults."""
    if batch.schema is None or batch.schema.field_defaults:
        return None
    fields = batch.fields or {}
    return {
        name: changed_column(column, changes[name]) if name in changes else column for name, column in fields.items()
    }


def required(name: str, schema: Schema) -> DataError:
    """The error for a required field that is null."""
    return DataError(f'Invalid value: null used for required field: "{name}", schema type: {schema.type.name}')


def value_of(struct: Struct, name: str, *, with_defaults: bool) -> Any:
    """One value of a struct, which must have the field; None if it is null and has no default, or none is wanted."""
    value = struct.stored.get(name)
    if value is not None or not with_defaults:
        return value
    field = struct.schema.field(name)
    return None if field is None else field.schema.default
