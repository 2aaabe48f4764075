"""A shorter way to the bytes of `json_writer`: rebuild the data so that orjson writes them, or give up.

orjson and Jackson write the same bytes for whole numbers, booleans, nulls, texts without control characters and
without characters beyond U+FFFF, objects and arrays. Numbers with a fraction are written alike between 10^-3 and 10^7;
others are given to orjson as finished JSON. Everything this module is not sure about, errors above all, is left to
`json_writer`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any, Final

import orjson

from seamark.connector import logical
from seamark.connector.numbers import Float32, Int8, Int16, Int32
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.java_numbers import BITS
from seamark.engine.converters.json_writer import JsonWriter, json_float


class Unsure(Exception):
    """orjson might write something else than Jackson."""


class _Nothing:
    """A class without instances."""


Plain = Callable[[Any], Any]

OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_BEYOND_BMP = re.compile(rb"[\xf0-\xf4]")
_MAX = (1 << 63) - 1


def dumps(plain: Any) -> bytes:
    """The bytes of what `plain_value` or a compiled function returned.

    Raises:
        Unsure: Jackson might write something else.
    """
    try:
        data = orjson.dumps(plain, option=OPTIONS)
    except (TypeError, RecursionError) as error:
        raise Unsure from error
    if not is_as_jackson_writes(data):
        raise Unsure
    return data


def is_as_jackson_writes(data: bytes) -> bool:
    """Whether some JSON has nothing in it that Jackson escapes in another way."""
    return b"\\u00" not in data and (data.isascii() or _BEYOND_BMP.search(data) is None)


def plain_value(value: Any) -> Any:
    """A schemaless value in a form that orjson writes as Jackson does; the value itself, if it has that form.

    Raises:
        Unsure: there is no such form.
    """
    kind = type(value)
    if kind is dict:
        changed: dict[str, Any] | None = None
        for key, item in value.items():
            kind = type(item)
            if kind is str or item is None or kind is bool or (kind is int and -_MAX <= item <= _MAX):
                continue
            plain = plain_value(item)
            if plain is not item:
                changed = dict(value) if changed is None else changed
                changed[key] = plain
        return value if changed is None else changed
    if kind is str or value is None or kind is bool:
        return value
    if kind is list:
        return [plain_value(item) for item in value]
    if kind is float:
        return _double(value)
    if kind is int and -_MAX <= value <= _MAX:
        return value
    if kind is Float32:
        return orjson.Fragment(json_float(value, is_single=True))
    if kind in (Int8, Int16, Int32):
        return int(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    raise Unsure


def compile_plain(schema: Schema | None, writer: JsonWriter) -> Plain:
    """A function that does for values of a schema what `plain_value` does for others."""
    if schema is None:
        return plain_value
    plain = _compile_logical(schema, writer) if schema.name in logical.LOGICAL_NAMES else _compile(schema, writer)
    null: Any = None if schema.optional else Unsure
    if schema.default is not None and writer.defaults_for_null:
        try:
            null = plain(schema.default)
        except Unsure:
            null = Unsure

    def null_too(value: Any) -> Any:
        if value is not None:
            return plain(value)
        if null is Unsure:
            raise Unsure
        return null

    return plain if null is Unsure else null_too


def _compile(schema: Schema, writer: JsonWriter) -> Plain:
    kind = schema.type
    if kind is Type.STRUCT:
        return _struct(schema, writer)
    if kind is Type.ARRAY:
        return _array(schema, writer)
    if kind is Type.MAP:
        return _map(schema, writer)
    if kind in BITS:
        return _integer(BITS[kind])
    return {
        Type.STRING: lambda value: _of(str, value),
        Type.BOOLEAN: lambda value: _of(bool, value),
        Type.BYTES: lambda value: base64.b64encode(_of(bytes, value)).decode(),
        Type.FLOAT64: lambda value: _double(_of(float, value)),
        Type.FLOAT32: lambda value: orjson.Fragment(json_float(_of(float, value), is_single=True)),
    }[kind]


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise Unsure
    return value


def _as_it_is(schema: Schema | None) -> type | None:
    """The class of values that orjson writes as they are."""
    if schema is None or schema.name in logical.LOGICAL_NAMES:
        return None
    return {Type.STRING: str, Type.BOOLEAN: bool}.get(schema.type)


def _double(value: float) -> Any:
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3 or value == 0:
        return value
    return orjson.Fragment(json_float(value, is_single=False))


def _integer(bits: int) -> Plain:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def plain(value: Any) -> int:
        if type(value) is int and low <= value <= high:
            return value
        raise Unsure

    return plain


def _array(schema: Schema, writer: JsonWriter) -> Plain:
    kind, plain_item = _as_it_is(schema.value_schema), compile_plain(schema.value_schema, writer)
    return lambda value: [item if type(item) is kind else plain_item(item) for item in _of(list, value)]


def _struct(schema: Schema, writer: JsonWriter) -> Plain:
    plan = [(field.name, _as_it_is(field.schema), compile_plain(field.schema, writer)) for field in schema.fields]

    def plain(value: Any) -> dict[str, Any]:
        if type(value) is not Struct or (value.schema is not schema and value.schema != schema):
            raise Unsure
        get = value.stored.get
        members = {}
        for name, kind, plain_member in plan:
            member = get(name)
            members[name] = member if type(member) is kind else plain_member(member)
        return members

    return plain


def _map(schema: Schema, writer: JsonWriter) -> Plain:
    plain_key, plain_item = compile_plain(schema.key_schema, writer), compile_plain(schema.value_schema, writer)
    if schema.key_schema is None:
        return lambda value: _of(_Nothing, value)
    if schema.key_schema.type is Type.STRING:
        # orjson refuses keys that are no texts
        return lambda value: {key: plain_item(item) for key, item in _of(dict, value).items()}
    return lambda value: [[plain_key(key), plain_item(item)] for key, item in _of(dict, value).items()]


def _compile_logical(schema: Schema, writer: JsonWriter) -> Plain:
    if schema.name == logical.Decimal.LOGICAL_NAME:
        return lambda value: orjson.Fragment(writer.write(schema, value))

    def plain(value: Any) -> int:
        if value is None:
            raise Unsure
        number: int = logical.from_logical(schema, value)
        if -_MAX <= number <= _MAX:
            return number
        raise Unsure

    return plain
