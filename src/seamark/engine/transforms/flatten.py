"""Flatten: nested structs or maps become one level; names are joined with a delimiter. Arrays stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seamark.config.configdef import ConfigDef, Importance
from seamark.config.configdef import Type as ConfigType
from seamark.connector.java_names import java_class
from seamark.connector.schema import Schema, Struct, Type
from seamark.connector.transform import Record
from seamark.engine.transforms.base import PartChange
from seamark.engine.transforms.requirements import require_map, require_struct
from seamark.engine.transforms.schemas import changed, fields_of, schema_cache
from seamark.engine.transforms.structs import required
from seamark.errors import DataError

PURPOSE = "flattening"
_LEAVES = (bool, int, float, str, bytes, bytearray, memoryview, list, tuple)


@dataclass(slots=True)
class _Leaf:
    """A field that keeps its value under a longer name."""

    name: str
    flat_name: str
    default: Any
    schema: Schema


@dataclass(slots=True)
class _Branch:
    """A field whose own fields move up."""

    name: str
    members: list[_Leaf | _Branch]


class Flatten(PartChange):
    """`org.apache.kafka.connect.transforms.Flatten`."""

    ignores_record = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "delimiter", ConfigType.STRING, ".", importance=Importance.MEDIUM, doc="What stands between joined names."
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._delimiter: str = self.config_def().parse(config)["delimiter"]
        self._plan = schema_cache(self._make_plan)

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if part is None:
            return schema, None
        flat: dict[str, Any] = {}
        if schema is None:
            self._flatten_map(require_map(part, PURPOSE), "", flat)
            return None, flat
        struct = require_struct(part, PURPOSE, schema)
        updated, members = self._plan(schema)
        _flatten_struct(struct, members, flat)
        return updated, Struct.trusted(updated, flat)

    def _joined(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name

    def _flatten_map(self, value: Mapping[Any, Any], prefix: str, flat: dict[str, Any]) -> None:
        for key, member in value.items():
            name = self._joined(prefix, key)
            if member is None or isinstance(member, _LEAVES):
                flat[name] = member
            elif isinstance(member, Struct):
                raise DataError(
                    f"Flatten transformation does not support class {java_class(member)} for record without schemas "
                    f"(for field {name})."
                )
            elif isinstance(member, Mapping):
                self._flatten_map(member, name, flat)
            else:
                raise DataError(
                    f"Flatten transformation was passed a value of type class {java_class(member)} which is not "
                    "supported by Connect's data API"
                )

    # with schemas

    def _make_plan(self, schema: Schema) -> tuple[Schema, list[_Leaf | _Branch]]:
        leaves: list[tuple[str, Schema]] = []
        members = self._members(schema, "", leaves, schema.optional, schema.default)
        return changed(schema, Type.STRUCT, fields=leaves), members

    def _members(
        self,
        schema: Schema,
        prefix: str,
        leaves: list[tuple[str, Schema]],
        optional: bool,
        parent_default: Struct | None,
    ) -> list[_Leaf | _Branch]:
        """The plan for a struct; adds the flat fields to `leaves`.

        Args:
            schema: Of the struct.
            prefix: The joined names of what is above.
            leaves: Receives the fields of the flat schema.
            optional: Whether something above may be null, so that what is below may too.
            parent_default: Default of something above, for fields that have none of their own.
        """
        members: list[_Leaf | _Branch] = []
        for field in fields_of(schema):
            name, inner = self._joined(prefix, field.name), field.schema
            is_optional = optional or inner.optional
            default = inner.default
            if default is None and parent_default is not None:
                default = parent_default[field.name]
            if inner.type is Type.STRUCT:
                members.append(_Branch(field.name, self._members(inner, name, leaves, is_optional, default)))
            elif inner.type is Type.MAP:
                raise DataError(
                    f"Flatten transformation does not support {inner.type.name} for record with schemas "
                    f"(for field {name})."
                )
            else:
                flat = changed(
                    inner, inner.type, optional=is_optional, default=default, value_schema=inner.value_schema
                )
                leaves.append((name, flat))
                members.append(_Leaf(field.name, name, inner.default, flat))
        return members


def _flatten_struct(struct: Struct, members: list[_Leaf | _Branch], flat: dict[str, Any]) -> None:
    values = struct.stored
    for member in members:
        value = values.get(member.name)
        if isinstance(member, _Leaf):
            if value is None:
                value = member.default
                if value is None and not member.schema.optional:
                    raise required(member.flat_name, member.schema)
            flat[member.flat_name] = value
        elif value is not None:
            _flatten_struct(value, member.members, flat)


class FlattenKey(Flatten):
    """`Flatten$Key`."""

    of_key = True


class FlattenValue(Flatten):
    """`Flatten$Value`."""

    of_key = False
