"""Single values to another primitive type, as Java casts them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from seamark.connector import logical
from seamark.connector.java_names import java_class
from seamark.connector.numbers import Float32, Int8, Int16, Int32
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.java_columns import java_doubles
from seamark.engine.converters.java_text import java_double, java_float
from seamark.engine.transforms import java_numbers
from seamark.engine.transforms.date_parsing import SimpleDateFormat
from seamark.engine.transforms.java_calendar import DAY_MS
from seamark.errors import DataError

BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
OUTPUT_TYPES = (*BITS, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING)
INPUT_TYPES = (*OUTPUT_TYPES, Type.BYTES)
_NARROW: dict[Type, type[Any]] = {Type.INT8: Int8, Type.INT16: Int16, Type.INT32: Int32, Type.FLOAT32: Float32}
_PRIMITIVE = frozenset({str, int, float, bool})
_TEMPORAL = frozenset(kind.LOGICAL_NAME for kind in (logical.Date, logical.Time, logical.Timestamp))
_TIME, _DATE, _TIMESTAMP = map(SimpleDateFormat, ("HH:mm:ss.SSS'Z'", "yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"))


def caster(schema: Schema | None, target: Type) -> Callable[[Any], Any]:
    """A function that casts values of a schema, or values without one, that are not None.

    It raises DataError for a value that cannot be cast.
    """
    convert = _CONVERTERS[target]
    if schema is None:
        narrow = _NARROW.get(target)

        def cast_schemaless(value: Any) -> Any:
            if type(value) not in _PRIMITIVE:
                check_input(_type_of(value))
            result = convert(value, None)
            return result if narrow is None else narrow(result)

        return cast_schemaless
    given = schema

    def cast(value: Any) -> Any:
        check_input(given.type)
        if given.name in _TEMPORAL:
            if target is Type.STRING:
                return _temporal_text(given, value)
            value = logical.from_logical(given, value)
        return convert(value, given)

    return cast


def cast_column(cast: Callable[[Any], Any], target: Type, column: Sequence[Any]) -> list[Any]:
    """What a function of `caster` for values without a schema makes of many; None stays None."""
    if target is Type.STRING:
        kinds = set(map(type, column))
        if kinds == {float}:
            return java_doubles(column)
        if kinds == {int}:
            return list(map(repr, column))
    return [None if value is None else cast(value) for value in column]


def check_input(type: Type) -> None:
    """Refuse values that cannot be cast at all."""
    if type not in INPUT_TYPES:
        raise DataError(
            f"Cast transformation does not support casting from {type.name}; "
            f"supported types are {type_names(INPUT_TYPES)}"
        )


def type_names(types: tuple[Type, ...]) -> str:
    """Types as Java prints a set of them."""
    return f"[{', '.join(type.name for type in types)}]"


def _type_of(value: Any) -> Type:
    """The type of a value that has no schema."""
    if isinstance(value, bool):
        return Type.BOOLEAN
    for kinds, found in _PYTHON_TYPES:
        if isinstance(value, kinds):
            return found
    raise DataError(
        f"Cast transformation was passed a value of type class {java_class(value)} "
        "which is not supported by Connect's data API"
    )


_PYTHON_TYPES: tuple[tuple[type | tuple[type, ...], Type], ...] = (
    (str, Type.STRING),
    (int, Type.INT64),
    (float, Type.FLOAT64),
    ((bytes, bytearray, memoryview), Type.BYTES),
    ((list, tuple), Type.ARRAY),
    (Struct, Type.STRUCT),
    (dict, Type.MAP),
)


def _unexpected(value: Any) -> DataError:
    return DataError(f"Unexpected type in Cast transformation: class {java_class(value)}")


def _out_of_range(text: str) -> DataError:
    return DataError(f"Value ({text}) was out of range for requested data type")


def _integer(bits: int) -> Callable[[Any, Schema | None], int]:
    def convert(value: Any, schema: Schema | None) -> int:
        if isinstance(value, int):  # a boolean too
            return java_numbers.narrowed(int(value), bits)
        if isinstance(value, float):
            # Java makes a short of a float by way of an int.
            return java_numbers.narrowed(java_numbers.whole(value, max(bits, 32)), bits)
        if isinstance(value, Decimal):
            return java_numbers.narrowed(java_numbers.decimal_whole(value), bits)
        if isinstance(value, str):
            number = java_numbers.parse_whole(value, bits)
            if number is None:
                raise _out_of_range(value)
            return number
        raise _unexpected(value)

    return convert


def _floating(*, single: bool) -> Callable[[Any, Schema | None], float]:
    def convert(value: Any, schema: Schema | None) -> float:
        if isinstance(value, (int, float, Decimal)):
            return java_numbers.float32(value) if single else _double(value)
        if isinstance(value, str):
            number = java_numbers.parse_float(value, single=single)
            if number is None:
                raise _out_of_range(value)
            return number
        raise _unexpected(value)

    return convert


def _double(value: int | float | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _boolean(value: Any, schema: Schema | None) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value != 0
    if isinstance(value, float):
        return java_numbers.whole(value, 64) != 0
    if isinstance(value, Decimal):
        return java_numbers.decimal_whole(value) != 0
    if isinstance(value, str):
        return value.lower() == "true"
    raise _unexpected(value)


def _string(value: Any, schema: Schema | None) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Decimal)):
        return str(int(value)) if isinstance(value, int) else str(value)
    if isinstance(value, float):
        is_single = schema.type is Type.FLOAT32 if schema is not None else isinstance(value, Float32)
        return java_float(value) if is_single else java_double(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    raise _unexpected(value)


def _temporal_text(schema: Schema, value: Any) -> str:
    """A date, time or timestamp: which of them Java writes depends on the value, not on the schema."""
    millis = logical.to_millis(value)
    if millis is None:  # in the encoded form
        millis = value * DAY_MS if schema.name == logical.Date.LOGICAL_NAME else value
    if millis < DAY_MS:
        return _TIME.format(millis)
    return (_TIMESTAMP if millis % DAY_MS else _DATE).format(millis)


_CONVERTERS: dict[Type, Callable[[Any, Schema | None], Any]] = {
    **{type: _integer(bits) for type, bits in BITS.items()},
    Type.FLOAT32: _floating(single=True),
    Type.FLOAT64: _floating(single=False),
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
}
