"""Many values as Java prints them: what `java_text` does, for a field of all records in one go."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from seamark.connector.logical import LOGICAL_NAMES
from seamark.connector.records import ValueBatch
from seamark.connector.schema import Schema, Type
from seamark.engine.converters.java_text import java_double, to_java_string

_NONE = type(None)


def are_plain_doubles(column: Sequence[float]) -> bool:
    """Whether all numbers are of a size at which Python prints them as Java does: digits, a point, no exponent.

    Zeros are left out, since they may have a sign.
    """
    low, high = min(column), max(column)
    is_near = (low >= 1e-3 and high < 1e7) or (high <= -1e-3 and low > -1e7)
    return is_near and math.isfinite(sum(column))  # NaN compares as it likes


def java_doubles(column: Sequence[float]) -> list[str]:
    """`Double.toString` of each number."""
    return list(map(repr, column)) if are_plain_doubles(column) else [java_double(value) for value in column]


def java_strings(column: Sequence[Any], schema: Schema | None = None) -> Sequence[Any]:
    """`String.valueOf` of each value; whole numbers may stay numbers, since Python prints them alike.

    Raises:
        DataError: as `to_java_string` does.
    """
    kinds = set(map(type, column))
    if kinds <= {str, int} or not kinds:
        return column
    if kinds == {float} and (schema is None or (schema.type is Type.FLOAT64 and schema.name not in LOGICAL_NAMES)):
        return column if are_plain_doubles(column) else [java_double(value) for value in column]
    if kinds == {bool}:
        return ["true" if value else "false" for value in column]
    return [to_java_string(value, schema) for value in column]


def texts_of(batch: ValueBatch) -> list[str]:
    """The values of a batch as `String.valueOf` gives them.

    Raises:
        DataError: one is bytes, of which Java prints an address, not the content.
    """
    fields, schema = batch.fields, batch.schema
    if fields is None or not batch.count:
        return [to_java_string(value, schema) for value in batch.rows]
    if schema is None:
        return _formatted("{", ", ", {name: java_strings(column) for name, column in fields.items()})
    if any(_NONE in set(map(type, column)) for column in fields.values()):  # which are left out
        return [to_java_string(value, schema) for value in batch.rows]
    texts = {field.name: java_strings(fields[field.name], field.schema) for field in schema.fields}
    return _formatted("Struct{", ",", texts)


def _formatted(start: str, between: str, columns: dict[str, Sequence[Any]]) -> list[str]:
    names = between.join(name.replace("%", "%%") + "=%s" for name in columns)
    fill: Callable[[tuple[Any, ...]], str] = f"{start.replace('%', '%%')}{names}}}".__mod__
    return list(map(fill, zip(*columns.values(), strict=True)))
