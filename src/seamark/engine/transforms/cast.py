"""Cast: fields, or the whole key or value, to another primitive type.

Numbers are cut off as Java does: 300 as `int8` is 44, 1.9 as `int32` is 1. Bytes can only become a text (base64).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import Check, ConfigDef, Importance
from seamark.config.configdef import Type as ConfigType
from seamark.config.validators import invalid
from seamark.connector.records import ValueBatch
from seamark.connector.schema import Schema, Struct, Type
from seamark.connector.transform import Record
from seamark.engine.converters.java_maps import hash_map
from seamark.engine.transforms.base import PartChange, define_replace_null
from seamark.engine.transforms.cast_values import OUTPUT_TYPES, cast_column, caster, check_input, type_names
from seamark.engine.transforms.lists import split_pair
from seamark.engine.transforms.maps import copied_fields, map_copier
from seamark.engine.transforms.requirements import require_map, require_struct
from seamark.engine.transforms.schemas import changed, fields_of, schema_cache, with_default
from seamark.engine.transforms.structs import Changes, copied, copied_columns
from seamark.errors import ConfigError

PURPOSE = "cast types"


class Cast(PartChange):
    """`org.apache.kafka.connect.transforms.Cast`."""

    ignores_record = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_replace_null(
            ConfigDef().define(
                "spec",
                ConfigType.LIST,
                validator=Check(_check_spec, "list of colon-delimited pairs, e.g. `foo:bar,abc:xyz`"),
                importance=Importance.HIGH,
                doc="Fields and the types they get, as `field1:type,field2:type`, or one type for the whole key or "
                "value. Types are int8, int16, int32, int64, float32, float64, boolean and string.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        casts = _parse_spec(values["spec"])
        self._whole = casts.pop(None, None)
        # In the order in which Connect goes through them, which is the one in which missing fields are added.
        self._casts: dict[str, Type] = hash_map({name: type for name, type in casts.items() if name is not None})
        self._with_defaults: bool = values["replace.null.with.default"]
        self._schemaless = {name: caster(None, type) for name, type in self._casts.items()}
        self._whole_schemaless = None if self._whole is None else caster(None, self._whole)
        self._plan = schema_cache(self._make_plan)
        self._copy = map_copier(self._casts)

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if part is None:
            return schema, None
        if schema is None:
            return None, self._apply_schemaless(part)
        updated, changes = self._plan(schema)
        if self._whole is not None:
            return updated, changes[""](part)
        struct = require_struct(part, PURPOSE, schema)
        values = copied(struct, with_defaults=self._with_defaults, changes=changes)
        return updated, Struct.trusted(updated, values)

    def change_fields(self, batch: ValueBatch) -> ValueBatch | None:
        if self._whole is not None:
            return None
        if batch.schema is None:
            fields = copied_fields(batch, self._casts)
            for name, cast in self._schemaless.items():
                fields[name] = cast_column(cast, self._casts[name], fields[name])
            return ValueBatch.by_field(None, fields)
        updated, changes = self._plan(batch.schema)
        columns = copied_columns(batch, changes)
        return None if columns is None else ValueBatch.by_field(updated, columns)

    def _apply_schemaless(self, value: Any) -> Any:
        if self._whole_schemaless is not None:
            return self._whole_schemaless(value)
        source = require_map(value, PURPOSE)
        result = self._copy(source)
        for name, cast in self._schemaless.items():
            found = result[name]
            if found is not None:
                result[name] = cast(found)
        return result

    def _make_plan(self, schema: Schema) -> tuple[Schema, Changes]:
        """The schema after the casts, and what to do to each field; to the whole under the empty name."""
        if self._whole is not None:
            cast = caster(schema, self._whole)
            default = None if schema.default is None else cast(schema.default)
            return changed(schema, self._whole, optional=schema.optional, default=default), {"": cast}
        changes = {
            field.name: caster(field.schema, self._casts[field.name])
            for field in fields_of(schema)
            if field.name in self._casts
        }
        members = []
        for field in schema.fields:
            inner = field.schema
            if field.name in changes:
                default = None if inner.default is None else changes[field.name](inner.default)
                inner = with_default(Schema(self._casts[field.name], inner.optional), default)
            members.append((field.name, inner))
        updated = changed(schema, Type.STRUCT, fields=members, optional=schema.optional)
        if schema.default is not None:
            check_input(schema.type)  # always refused: Connect tries to cast the default of a struct as a whole
        return updated, changes


def _parse_spec(mappings: list[str]) -> dict[str | None, Type]:
    """Types by field; under None that of the whole."""
    casts: dict[str | None, Type] = {}
    for mapping in mappings:
        parts = split_pair(mapping)
        if len(parts) > 2:
            raise invalid("renames", mappings, f"Invalid rename mapping: {mapping}")
        casts[None if len(parts) == 1 else parts[0].strip()] = _parse_type(parts[-1].strip())
    if None in casts and len(mappings) > 1:
        raise ConfigError(
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec"
        )
    return casts


def _parse_type(text: str) -> Type:
    found = Type.__members__.get(text.upper())
    if found is None:
        # Connect's message takes the cause for the value and the sentence for the name of the key.
        raise ConfigError(
            "Invalid value java.lang.IllegalArgumentException: No enum constant "
            f"org.apache.kafka.connect.data.Schema.Type.{text.upper()} for configuration "
            f"Invalid type found in casting spec: {text}"
        )
    if found not in OUTPUT_TYPES:
        raise ConfigError(
            f"Cast transformation does not support casting to {found.name}; "
            f"supported types are {type_names(OUTPUT_TYPES)}"
        )
    return found


def _check_spec(name: str, value: list[str] | None) -> None:
    if not value:
        raise ConfigError("Must specify at least one field to cast.")
    _parse_spec(value)


class CastKey(Cast):
    """`Cast$Key`."""

    of_key = True


class CastValue(Cast):
    """`Cast$Value`."""

    of_key = False
