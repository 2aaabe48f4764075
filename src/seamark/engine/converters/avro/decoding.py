"""Avro's binary form to values of a Connect schema; the schemas are compiled into a function once."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from seamark.connector import logical
from seamark.connector.numbers import Float32, Int32
from seamark.connector.schema import Schema, Struct, Type
from seamark.engine.converters.avro.settings import KEY, VALUE, AvroSettings
from seamark.engine.converters.avro.to_connect import optional_branch, union_field_name
from seamark.engine.converters.avro.types import AvroType
from seamark.engine.converters.java_maps import sized_hash_map
from seamark.engine.converters.java_numbers import wrap
from seamark.errors import DataError

_MOST_EMPTY_ITEMS = 1_000_000  # of a message: nulls take no bytes, so a few bytes could ask for all memory there is
_LAST_SHIFT = 56  # nine bytes of seven bits, and one bit more in the tenth
_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")


class Input:
    """Bytes that are read from the front."""

    __slots__ = ("data", "items", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data, self.position, self.items = data, position, 0

    def long(self) -> int:
        """The next whole number."""
        data, position = self.data, self.position
        byte = data[position]
        if byte < 128:  # most are
            self.position = position + 1
            return (byte >> 1) ^ -(byte & 1)
        number, shift = 0, 0
        while byte > 127:
            if shift > _LAST_SHIFT:
                raise DataError(f"Avro data has a number of more than 64 bits at {self.position}")
            number |= (byte & 127) << shift
            shift += 7
            position += 1
            byte = data[position]
        number |= byte << shift
        self.position = position + 1
        return wrap((number >> 1) ^ -(number & 1), 64)

    def expect_items(self, count: int) -> None:
        """So many items of an array or a map follow."""
        self.items += count
        if self.items > max(len(self.data), _MOST_EMPTY_ITEMS):
            raise DataError(f"Avro data has {self.items} items of arrays and maps in {len(self.data)} bytes")

    def take(self, count: int) -> bytes:
        """The next bytes."""
        start = self.position
        end = start + count
        if count < 0 or end > len(self.data):
            raise DataError(f"Avro data is cut off: {count} bytes are missing from {start} on")
        self.position = end
        return self.data[start:end]

    def string(self) -> str:
        """The next text."""
        size = self.long()
        start = self.position
        end = start + size
        if size < 0 or end > len(self.data):
            raise DataError(f"Avro data is cut off: {size} bytes are missing from {start} on")
        self.position = end
        return self.data[start:end].decode("utf-8", "replace")


Decode = Callable[[Input], Any]


class Decoders:
    """Compiles pairs of schemas with one group of settings."""

    def __init__(self, settings: AvroSettings) -> None:
        self._settings = settings

    def compile(self, schema: Schema | None, avro: AvroType) -> Decode:
        """The function that reads values of an Avro schema as those of its Connect schema. It raises DataError."""
        if schema is None:
            return decode_anything
        if avro.kind == "union":
            return self._union(schema, avro)
        decode = self._plain(schema, avro)
        if not logical.is_logical(schema):
            return decode
        return lambda source: logical.to_logical(schema, decode(source))

    def _union(self, schema: Schema, avro: AvroType) -> Decode:
        branch = optional_branch(avro)
        if branch is not None:
            null_index = 1 - avro.branches.index(branch)
            decode = self.compile(schema, branch)

            def decode_optional(source: Input) -> Any:
                index = source.long()
                if index == null_index:
                    return None
                _check_index(index, 2)
                return decode(source)

            return decode_optional
        if len(avro.branches) == 1 and self._settings.flatten_singleton_unions:
            return self._only(self.compile(schema, avro.branches[0]))
        return self._sum(schema, avro)

    @staticmethod
    def _only(decode_branch: Decode) -> Decode:
        def decode(source: Input) -> Any:
            _check_index(source.long(), 1)
            return decode_branch(source)

        return decode

    def _sum(self, schema: Schema, avro: AvroType) -> Decode:
        branches: list[tuple[str, Decode] | None] = []
        for branch in avro.branches:
            name = union_field_name(branch, self._settings)
            field = schema.field(name)
            branches.append(None if field is None else (name, self.compile(field.schema, branch)))

        def decode(source: Input) -> Any:
            index = source.long()
            _check_index(index, len(branches))
            branch = branches[index]
            return None if branch is None else Struct.trusted(schema, {branch[0]: branch[1](source)})

        return decode

    def _plain(self, schema: Schema, avro: AvroType) -> Decode:
        kind = avro.kind
        if kind in ("int", "long"):
            return _integer(schema.type)
        if kind == "record":
            return self._record(schema, avro)
        if kind == "map":
            return _map(self.compile(schema.value_schema, avro.element))
        if kind == "array":
            if schema.type is Type.MAP:
                return self._entries(schema, avro)
            return _array(self.compile(schema.value_schema, avro.element))
        if kind == "enum":
            return _enum(avro)
        if kind == "fixed":
            return lambda source: source.take(avro.size)
        return {
            "boolean": lambda source: source.take(1) != b"\x00",
            "float": lambda source: _FLOAT.unpack(source.take(4))[0],
            "double": lambda source: _DOUBLE.unpack(source.take(8))[0],
            "bytes": lambda source: source.take(source.long()),
            "string": Input.string,
        }[kind]

    def _record(self, schema: Schema, avro: AvroType) -> Decode:
        plan = []
        for member, field in zip(avro.fields, schema.fields, strict=True):
            plan.append((field.name, self.compile(field.schema, member.type)))

        def decode(source: Input) -> Struct:
            values: dict[str, Any] = {}
            for name, decode_member in plan:
                value = decode_member(source)
                if value is not None:
                    values[name] = value
            return Struct.trusted(schema, values)

        return decode

    def _entries(self, schema: Schema, avro: AvroType) -> Decode:
        parts = {KEY: schema.key_schema, VALUE: schema.value_schema}
        members = [
            (member.name == KEY, self.compile(parts[member.name], member.type)) for member in avro.element.fields
        ]
        key_type = None if schema.key_schema is None else schema.key_schema.type
        decode_entries = _array(lambda source: _entry(source, members))

        def decode(source: Input) -> dict[Any, Any]:
            entries = dict(decode_entries(source))
            return sized_hash_map(entries, len(entries), key_type)

        return decode


def _entry(source: Input, members: list[tuple[bool, Decode]]) -> tuple[Any, Any]:
    found = [(is_key, decode(source)) for is_key, decode in members]
    values = [value for _, value in found]
    key, value = values if found[0][0] else reversed(values)
    return tuple(key) if isinstance(key, list) else key, value


def _check_index(index: int, branches: int) -> None:
    if not 0 <= index < branches:
        raise DataError(f"Avro data has branch {index} of a union that has {branches}")


def _integer(kind: Type) -> Decode:
    bits = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32}.get(kind, 64)
    if bits == 64:
        return Input.long
    return lambda source: wrap(source.long(), bits)


def _array(decode_item: Decode) -> Decode:
    def decode(source: Input) -> list[Any]:
        items: list[Any] = []
        while count := source.long():
            if count < 0:  # the size of the block in bytes follows, for those who want to skip it
                count = -count
                source.long()
            source.expect_items(count)
            for _ in range(count):
                items.append(decode_item(source))
        return items

    return decode


def _map(decode_item: Decode) -> Decode:
    decode_entries = _array(lambda source: (source.string(), decode_item(source)))

    def decode(source: Input) -> dict[str, Any]:
        entries = dict(decode_entries(source))
        return sized_hash_map(entries, len(entries))

    return decode


def _enum(avro: AvroType) -> Decode:
    def decode(source: Input) -> str:
        index = source.long()
        if not 0 <= index < len(avro.symbols):
            raise DataError(f"Avro enum {avro.full_name} has no symbol number {index}")
        return avro.symbols[index]

    return decode


def _anything_array(source: Input) -> list[Any]:
    return list(_array(decode_anything)(source))


def _anything_map(source: Input) -> dict[Any, Any]:
    entries = dict(_array(lambda item: _entry(item, [(True, decode_anything), (False, decode_anything)]))(source))
    return sized_hash_map(entries, len(entries))


_ANYTHING: tuple[Decode, ...] = (
    lambda source: source.take(1) != b"\x00",
    lambda source: source.take(source.long()),
    lambda source: _DOUBLE.unpack(source.take(8))[0],
    lambda source: Float32(_FLOAT.unpack(source.take(4))[0]),
    lambda source: Int32(source.long()),
    Input.long,
    Input.string,
    _anything_array,
    _anything_map,
)


def decode_anything(source: Input) -> Any:
    """The value of data without a schema: the first field that is set. Raises DataError."""
    found = [None if source.long() == 0 else decode(source) for decode in _ANYTHING]
    return next((value for value in found if value is not None), None)
