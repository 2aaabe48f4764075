"""Values of a Connect schema to Avro's binary form.

A pair of schemas, Connect's and Avro's, is compiled into a function once. The Avro schema need not be the one that
`from_connect` makes: a newer one from the registry will do as long as the value's fields are found in it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from seamark.connector import logical
from seamark.connector.java_names import java_class
from seamark.connector.numbers import Float32, Int8, Int16, Int32
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.avro.settings import (
    FIXED_SIZE,
    KEY,
    VALUE,
    AvroSettings,
    is_enum,
    is_fixed,
    is_union,
)
from seamark.engine.converters.avro.to_connect import ToConnect, default_value, union_field_name
from seamark.engine.converters.avro.types import AvroField, AvroType
from seamark.engine.converters.java_maps import hash_map
from seamark.engine.converters.java_numbers import BITS, pack_float
from seamark.errors import DataError

Encode = Callable[[bytearray, Any], None]
"""Appends a value to some bytes."""

_DOUBLE = struct.Struct("<d")
_KINDS = {
    Type.INT8: ("int", "long"),
    Type.INT16: ("int", "long"),
    Type.INT32: ("int", "long"),
    Type.INT64: ("long",),
    Type.FLOAT32: ("float", "double"),
    Type.FLOAT64: ("double",),
    Type.BOOLEAN: ("boolean",),
    Type.STRING: ("string", "enum"),
    Type.BYTES: ("bytes", "fixed"),
    Type.ARRAY: ("array",),
    Type.MAP: ("map", "array"),
    Type.STRUCT: ("record",),
}


def _zigzag(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    if number < 128:
        return bytes((number,))
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)


_SMALL = {number: _zigzag(number) for number in range(-64, 64)}


def write_long(out: bytearray, number: int) -> None:
    """Append a whole number."""
    out += _SMALL[number] if -64 <= number < 64 else _zigzag(number)


def write_bytes(out: bytearray, data: bytes) -> None:
    """Append bytes with their length."""
    write_long(out, len(data))
    out += data


class Encoders:
    """Compiles pairs of schemas with one group of settings."""

    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings

    def compile(self, schema: Schema | None, avro: AvroType) -> Encode:
        """The function that writes values.

        Raises:
            DataError: values of the one schema cannot be written with the other; or, from the function, a value does
            not fit.
        """
        if schema is None:
            return encode_anything
        if avro.kind == "union":
            return self._union(schema, avro)
        return self._plain(schema, avro)

    def _union(self, schema: Schema, avro: AvroType) -> Encode:
        kinds = [branch.kind for branch in avro.branches]
        null = kinds.index("null") if "null" in kinds else None
        if is_union(schema):
            return self._sum(schema, avro, null)
        index = self._branch_of(schema, avro)
        encode, prefix = self._plain(schema, avro.branches[index]), _zigzag(index)

        def encode_optional(out: bytearray, value: Any) -> None:
            if value is not None:
                out += prefix
                encode(out, value)
            elif null is None or not schema.optional:
                raise DataError("Found null value for non-optional schema")
            else:
                write_long(out, null)

        return encode_optional

    def _branch_of(self, schema: Schema, avro: AvroType) -> int:
        """The branch for values of a schema: the one of its name, else the first of its kind."""
        candidates = [
            index
            for index, branch in enumerate(avro.branches)
            if branch.kind in _KINDS[schema.type] and (branch.kind != "fixed" or is_fixed(schema))
        ]
        name = None if schema.name is None else self._settings.full_name(schema.name)
        named = [index for index in candidates if name is not None and avro.branches[index].full_name == name]
        if not candidates:
            raise DataError(f"Avro union {avro} has no branch for values of type {schema.type.name}")
        return (named or candidates)[0]

    def _sum(self, schema: Schema, avro: AvroType, null: int | None) -> Encode:
        """A union that is a struct: the first of its fields that is set is the value."""
        names = [union_field_name(branch, self._settings) for branch in avro.branches]
        branches = []
        for field in schema.fields:
            if field.name not in names:
                raise DataError(f"Avro union {avro} has no branch for field {field.name}")
            index = names.index(field.name)
            branches.append((field.name, _zigzag(index), self._plain(field.schema, avro.branches[index])))

        def encode(out: bytearray, value: Any) -> None:
            if value is not None:
                struct_value = _struct_of(schema, value)
                for name, prefix, encode_branch in branches:
                    member = struct_value[name]
                    if member is not None:
                        out += prefix
                        encode_branch(out, member)
                        return
            if null is None:
                raise DataError("Found null value for non-optional schema")
            write_long(out, null)

        return encode

    def _plain(self, schema: Schema, avro: AvroType) -> Encode:
        if avro.kind not in _KINDS[schema.type]:
            raise DataError(f"Values of type {schema.type.name} cannot be written with Avro schema {avro}")
        if avro.kind == "fixed" or (avro.kind == "enum" and not is_enum(schema)):
            return _fixed(schema, avro) if avro.kind == "fixed" else _enum(avro)
        if logical.is_logical(schema):
            return _logical(schema)
        if avro.kind == "enum":
            return _enum(avro)
        if schema.type is Type.STRUCT:
            return self._record(schema, avro)
        if schema.type is Type.ARRAY:
            return _array(self.compile(schema.value_schema, avro.element))
        if schema.type is Type.MAP:
            return self._map(schema, avro)
        return _primitive(schema.type, avro.kind)

    def _map(self, schema: Schema, avro: AvroType) -> Encode:
        if avro.kind == "map":
            return _string_map(self.compile(schema.value_schema, avro.element))
        key, value = avro.element.field(KEY), avro.element.field(VALUE)
        if key is None or value is None:
            raise DataError(f"Maps cannot be written with Avro schema {avro}")
        return _entries(self.compile(schema.key_schema, key.type), self.compile(schema.value_schema, value.type))

    def _record(self, schema: Schema, avro: AvroType) -> Encode:
        by_avro_name = {self._settings.name(field.name): field for field in schema.fields}
        unknown = set(by_avro_name) - {member.name for member in avro.fields}
        if unknown:
            raise DataError(f"Avro record {avro.full_name} has no field {', '.join(sorted(unknown))}")
        plan: list[tuple[str | None, Any, Encode]] = []
        for member in avro.fields:
            if member.name in by_avro_name:
                field = by_avro_name[member.name]
                default = None if self._settings.ignore_default_for_nullables else field.schema.default
                plan.append((field.name, default, self.compile(field.schema, member.type)))
            else:
                plan.append((None, *self._default_of(member, avro)))

        def encode(out: bytearray, value: Any) -> None:
            get = _struct_of(schema, value).stored.get
            for name, default, encode_member in plan:
                item = default if name is None else get(name)
                encode_member(out, default if item is None else item)

        return encode

    def _default_of(self, member: AvroField, record: AvroType) -> tuple[Any, Encode]:
        if not member.has_default:
            raise DataError(f"Field {member.name} of Avro record {record.full_name} is missing and has no default")
        schema = ToConnect(self._settings).convert(member.type)
        return default_value(schema, member.type, member.default, self._settings), self.compile(schema, member.type)


def _struct_of(schema: Schema, value: Any) -> Struct:
    if not isinstance(value, Struct):
        raise _wrong_type(schema.type, value)
    if value.schema is not schema and value.schema != schema:
        raise DataError("Mismatching struct schema")
    return value


def _wrong_type(kind: Type, value: Any) -> DataError:
    if value is None:
        return DataError("Found null value for non-optional schema")
    return DataError(f"Invalid type for {kind.name}: class {java_class(value)}")


def _primitive(kind: Type, avro_kind: str) -> Encode:
    if kind in BITS:
        return _integer(kind)
    return {
        Type.FLOAT32: _double if avro_kind == "double" else _float,
        Type.FLOAT64: _double,
        Type.BOOLEAN: _boolean,
        Type.STRING: _string,
        Type.BYTES: _bytes,
    }[kind]


def _integer(kind: Type) -> Encode:
    low, high = -(1 << (BITS[kind] - 1)), (1 << (BITS[kind] - 1)) - 1

    def encode(out: bytearray, value: Any) -> None:
        if type(value) is not int and (not isinstance(value, int) or isinstance(value, bool)):
            raise _wrong_type(kind, value)
        if not low <= value <= high:
            raise DataError(f"{value} is out of range for {kind.name}")
        out += _SMALL[value] if -64 <= value < 64 else _zigzag(value)

    return encode


def _float(out: bytearray, value: Any) -> None:
    if not isinstance(value, (float, int)) or isinstance(value, bool):
        raise _wrong_type(Type.FLOAT32, value)
    out += pack_float(value)[::-1]


def _double(out: bytearray, value: Any) -> None:
    if not isinstance(value, (float, int)) or isinstance(value, bool):
        raise _wrong_type(Type.FLOAT64, value)
    out += _DOUBLE.pack(value)


def _boolean(out: bytearray, value: Any) -> None:
    if not isinstance(value, bool):
        raise _wrong_type(Type.BOOLEAN, value)
    out.append(value)


def _string(out: bytearray, value: Any) -> None:
    if not isinstance(value, str):
        raise _wrong_type(Type.STRING, value)
    data = value.encode("utf-8", "replace")
    size = len(data)
    out += _SMALL[size] if size < 64 else _zigzag(size)
    out += data


def _bytes(out: bytearray, value: Any) -> None:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise _wrong_type(Type.BYTES, value)
    write_bytes(out, bytes(value))


def _enum(avro: AvroType) -> Encode:
    prefixes = {symbol: _zigzag(index) for index, symbol in enumerate(avro.symbols)}

    def encode(out: bytearray, value: Any) -> None:
        if value not in prefixes:
            if not isinstance(value, str):
                raise _wrong_type(Type.STRING, value)
            raise DataError(f"{value!r} is not a symbol of Avro enum {avro.full_name}: {', '.join(avro.symbols)}")
        out += prefixes[value]

    return encode


def _fixed(schema: Schema, avro: AvroType) -> Encode:
    size = int((schema.parameters or {}).get(FIXED_SIZE, avro.size))
    is_decimal = schema.name == logical.Decimal.LOGICAL_NAME

    def encode(out: bytearray, value: Any) -> None:
        if value is None:
            raise _wrong_type(Type.BYTES, value)
        if is_decimal:
            number = int.from_bytes(logical.Decimal.from_logical(schema, value), "big", signed=True)
            try:
                out += number.to_bytes(size, "big", signed=True)
            except OverflowError as error:
                raise DataError(f"{value} does not fit the {size} bytes of Avro fixed {avro.full_name}") from error
        elif not isinstance(value, (bytes, bytearray, memoryview)):
            raise _wrong_type(Type.BYTES, value)
        elif len(value) != size:
            raise DataError(f"Avro fixed {avro.full_name} has {size} bytes, but the value has {len(value)}")
        else:
            out += value

    return encode


def _logical(schema: Schema) -> Encode:
    is_decimal = schema.name == logical.Decimal.LOGICAL_NAME

    def encode(out: bytearray, value: Any) -> None:
        if value is None:
            raise _wrong_type(schema.type, value)
        encoded = logical.from_logical(schema, value)
        if is_decimal:
            write_bytes(out, encoded)
        else:
            write_long(out, encoded)

    return encode


def _array(encode_item: Encode) -> Encode:
    def encode(out: bytearray, value: Any) -> None:
        if not isinstance(value, (list, tuple)):
            raise _wrong_type(Type.ARRAY, value)
        if value:
            write_long(out, len(value))
            for item in value:
                encode_item(out, item)
        out.append(0)

    return encode


def _string_map(encode_item: Encode) -> Encode:
    def encode(out: bytearray, value: Any) -> None:
        if not isinstance(value, Mapping) or isinstance(value, Struct):
            raise _wrong_type(Type.MAP, value)
        if value:
            write_long(out, len(value))
            for key, item in hash_map(dict(value)).items():
                _string(out, key)
                encode_item(out, item)
        out.append(0)

    return encode


def _entries(encode_key: Encode, encode_item: Encode) -> Encode:
    def encode(out: bytearray, value: Any) -> None:
        if not isinstance(value, Mapping) or isinstance(value, Struct):
            raise _wrong_type(Type.MAP, value)
        if value:
            write_long(out, len(value))
            for key, item in value.items():
                encode_key(out, key)
                encode_item(out, item)
        out.append(0)

    return encode


_ANYTHING = ("boolean", "bytes", "double", "float", "int", "long", "string", "array", "map")
_ANYTHING_KINDS: tuple[tuple[type | tuple[type, ...], str, Encode], ...] = (
    (bool, "boolean", _boolean),
    ((Int8, Int16, Int32), "int", write_long),
    (int, "long", _integer(Type.INT64)),
    (Float32, "float", _float),
    (float, "double", _double),
    (str, "string", _string),
)


def encode_anything(out: bytearray, value: Any) -> None:
    """Append a value that has no schema: a record with a field for each kind, all null but one. Raises DataError."""
    if value is None:
        out += bytes(len(_ANYTHING))
        return
    for kinds, name, encode in _ANYTHING_KINDS:
        if isinstance(value, kinds):
            _set_anything(out, name, encode, value)
            return
    if isinstance(value, (list, tuple)):
        _set_anything(out, "array", _array(encode_anything), value)
    elif isinstance(value, Mapping) and not isinstance(value, Struct):
        _set_anything(out, "map", _entries(encode_anything, encode_anything), value)
    else:
        raise DataError(f"Unknown Java type for schemaless data: class {java_class(value)}")


def _set_anything(out: bytearray, name: str, encode: Encode, value: Any) -> None:
    position = _ANYTHING.index(name)
    out += bytes(position)
    write_long(out, 1)
    encode(out, value)
    out += bytes(len(_ANYTHING) - position - 1)
