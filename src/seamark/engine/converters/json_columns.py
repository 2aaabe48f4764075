"""JSON of many records at once, field by field: what `json_readers` and `json_fast` do, for records that are alike.

The records of a topic mostly have the same members, and a member mostly has the same type in all of them. So a look at
the types of a member in some thousand records, which costs next to nothing for each, tells that there is nothing to do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from seamark.connector.logical import LOGICAL_NAMES
from seamark.connector.records import ValueBatch
from seamark.connector.schema import Schema, Type
from seamark.engine.converters.batches import columns_of, names_of_all
from seamark.engine.converters.java_columns import are_plain_doubles
from seamark.engine.converters.java_maps import hash_map
from seamark.engine.converters.java_numbers import BITS
from seamark.engine.converters.json_fast import (
    OPTIONS,
    Plain,
    Unsure,
    compile_plain,
    is_as_jackson_writes,
    plain_value,
)
from seamark.engine.converters.json_readers import read_schemaless
from seamark.engine.converters.json_writer import JsonWriter

_MAX: Final = (1 << 63) - 1
_LARGE: Final = 2.0**63
_SAME: Final = frozenset({str, bool, type(None)})
_dumps = functools.partial(orjson.dumps, option=OPTIONS)
Columns = Callable[[Sequence[Any]], Sequence[Any]]


def read_maps(nodes: Sequence[Any]) -> ValueBatch | None:
    """Parsed JSON objects without a schema; None if they do not all have the same members.

    Raises:
        Inexact: a number may be a whole one that was rounded.
    """
    names = names_of_all(nodes)
    if not names:
        return None
    fields = {name: _read_column(column) for name, column in zip(names, columns_of(nodes), strict=True)}
    return ValueBatch.by_field(None, hash_map(fields))


def _read_column(column: Sequence[Any]) -> Sequence[Any]:
    kinds = set(map(type, column))
    if kinds <= _SAME or (kinds == {int} and -_MAX <= min(column) and max(column) <= _MAX):
        return column
    if kinds == {float} and -_LARGE < min(column) and max(column) < _LARGE and 0.0 not in column:
        return column
    return [read_schemaless(item) for item in column]


def write_fields(batch: ValueBatch, plain: Sequence[tuple[str, Columns]] | None) -> list[bytes]:
    """The JSON of maps without a schema, or of structs, that are given field by field.

    Args:
        batch: The values.
        plain: What `struct_columns` made of the schema; None without one.

    Raises:
        Unsure: one by one they may be written differently.
    """
    fields = batch.fields or {}
    if plain is None:
        columns = {name: plain_column(column) for name, column in fields.items()}
    else:
        columns = {name: make(fields[name]) for name, make in plain}
    names = tuple(columns)
    try:
        rows = zip(*columns.values(), strict=True)
        written = [_dumps(dict(zip(names, row, strict=True))) for row in rows]
    except (TypeError, RecursionError) as error:
        raise Unsure from error
    if not is_as_jackson_writes(b"".join(written)):
        raise Unsure
    return written


def plain_column(column: Sequence[Any]) -> Sequence[Any]:
    """Values without a schema in a form that orjson writes as Jackson does.

    Raises:
        Unsure: there is no such form.
    """
    kinds = set(map(type, column))
    if kinds <= _SAME or _are_plain_numbers(kinds, column, _MAX):
        return column
    return [plain_value(value) for value in column]


def struct_columns(schema: Schema, writer: JsonWriter) -> list[tuple[str, Columns]]:
    """For each field of a STRUCT schema what `plain_column` is for values without one."""
    return [(field.name, _compiled(field.schema, compile_plain(field.schema, writer))) for field in schema.fields]


def _compiled(schema: Schema, plain: Plain) -> Columns:
    is_logical = schema.name in LOGICAL_NAMES
    same = None if is_logical else {Type.STRING: str, Type.BOOLEAN: bool}.get(schema.type)
    number = None if is_logical else float if schema.type is Type.FLOAT64 else int if schema.type in BITS else None
    largest = (1 << (BITS[schema.type] - 1)) - 1 if number is int else 0

    def column_of(column: Sequence[Any]) -> Sequence[Any]:
        kinds = set(map(type, column))
        if kinds == {same} or (kinds == {number} and _are_plain_numbers(kinds, column, largest)):
            return column
        return [plain(value) for value in column]

    return column_of


def _are_plain_numbers(kinds: set[type], column: Sequence[Any], largest: int) -> bool:
    if kinds == {int}:
        return -largest <= min(column) and max(column) <= largest
    return kinds == {float} and are_plain_doubles(column)
