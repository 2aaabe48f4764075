"""Values of many records at once: which converters can do that, and what comes of values that they convert one by one.

A converter may have `read_batch` and `write_batch` beside `to_connect_data` and `from_connect_data`. They give the same
results or raise; whoever calls them then goes through the records one by one, which shows the record that is to blame.
They must therefore depend on nothing but their arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from seamark.connector.converter import Converter
from seamark.connector.records import SchemaAndValue, ValueBatch
from seamark.connector.schema import Schema, Struct, Type

ReadBatch = Callable[[Sequence[bytes | None]], ValueBatch]
WriteBatch = Callable[[str, ValueBatch], Sequence[Any]]


class Uneven(Exception):
    """The values of a batch have different schemas."""


def batch_reader(converter: Converter) -> ReadBatch | None:
    """What reads many values at once, if the converter can."""
    found: ReadBatch | None = _beside(converter, "to_connect_data", "read_batch")
    return found


def batch_writer(converter: Converter) -> WriteBatch | None:
    """What writes many values at once, if the converter can."""
    found: WriteBatch | None = _beside(converter, "from_connect_data", "write_batch")
    return found


def _beside(converter: Converter, single: str, many: str) -> Any:
    return getattr(converter, many) if is_kept(type(converter), single, many) else None


def is_kept(kind: type, single: str, many: str) -> bool:
    """Whether what is there for many values still agrees with the method for a single one.

    It does not if a subclass, anybody's, has only changed the latter.
    """
    for each in kind.__mro__:
        if many in vars(each):
            return True
        if single in vars(each):
            return False
    return False


def of_one_schema(found: Sequence[SchemaAndValue]) -> ValueBatch:
    """Values that were read one by one.

    Raises:
        Uneven: their schemas are not the same object.
    """
    schema = found[0].schema if found else None
    if any(each.schema is not schema for each in found):
        raise Uneven
    return ValueBatch(schema, [each.value for each in found])


def by_field(batch: ValueBatch) -> ValueBatch:
    """The batch by field, if it can be; else as it is."""
    if batch.fields is not None or not batch.count:
        return batch
    schema, rows = batch.schema, batch.rows
    if schema is None:
        return _maps_by_field(None, rows) or batch
    if schema.type is not Type.STRUCT or set(map(type, rows)) != {Struct}:
        return batch
    if any(row.schema is not schema for row in rows):
        return batch
    found = _maps_by_field(schema, [row.stored for row in rows])
    return found if found is not None and tuple(found.fields or ()) == field_names(schema) else batch


def field_names(schema: Schema) -> tuple[str, ...]:
    """The names of the fields of a STRUCT schema."""
    return tuple(field.name for field in schema.fields)


def _maps_by_field(schema: Schema | None, rows: Sequence[Any]) -> ValueBatch | None:
    names = names_of_all(rows)
    if not names or set(map(type, names)) != {str}:
        return None
    return ValueBatch.by_field(schema, dict(zip(names, columns_of(rows), strict=True)))


def names_of_all(rows: Sequence[Any]) -> tuple[Any, ...] | None:
    """The keys of maps, in order; None if they are not the same in all of them, or one is no map."""
    if set(map(type, rows)) != {dict}:
        return None
    names = set(map(tuple, rows))
    return names.pop() if len(names) == 1 else None


def columns_of(rows: Sequence[dict[Any, Any]]) -> list[tuple[Any, ...]]:
    """The values of maps that have the same keys, key by key."""
    return list(zip(*map(dict.values, rows), strict=True))
