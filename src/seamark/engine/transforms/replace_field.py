"""ReplaceField: removes fields, keeps only some, or renames them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from seamark.config.configdef import Check, ConfigDef, Importance
from seamark.config.configdef import Type as ConfigType
from seamark.config.validators import invalid
from seamark.connector.records import ValueBatch
from seamark.connector.schema import Field, Schema, Struct, Type, validate_value
from seamark.connector.transform import Record
from seamark.engine.converters.java_maps import sized_hash_map
from seamark.engine.transforms.base import PartChange, define_replace_null
from seamark.engine.transforms.lists import DistinctList, split_pair
from seamark.engine.transforms.maps import key_plan
from seamark.engine.transforms.requirements import require_map, require_struct
from seamark.engine.transforms.schemas import changed, fields_of, schema_cache
from seamark.errors import DataError

PURPOSE = "field replacement"


class _Plan(NamedTuple):
    """What becomes of structs of a schema."""

    updated: Schema
    names: list[tuple[str, str]]
    """New and old ones."""
    sources: list[tuple[Field, Field | None, bool]]
    """New fields, the ones that their values come from, and whether both are alike."""
    needed: frozenset[str] | None
    """If these have a value, nothing else needs a look; None if something does."""


class ReplaceField(PartChange):
    """`org.apache.kafka.connect.transforms.ReplaceField`."""

    ignores_record = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_replace_null(
            ConfigDef()
            .define(
                "exclude",
                ConfigType.LIST,
                [],
                validator=DistinctList(may_be_empty=True),
                importance=Importance.MEDIUM,
                doc="Fields to remove, even if `include` names them.",
            )
            .define(
                "include",
                ConfigType.LIST,
                [],
                validator=DistinctList(may_be_empty=True),
                importance=Importance.MEDIUM,
                doc="Fields to keep; all, if empty.",
            )
            .define(
                "renames",
                ConfigType.LIST,
                [],
                validator=Check(_check_renames, "list of colon-delimited pairs, e.g. `foo:bar,abc:xyz`"),
                importance=Importance.MEDIUM,
                doc="Fields that get another name, as `old:new`.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        self._exclude, self._include = frozenset(values["exclude"]), frozenset(values["include"])
        self._renames = _parse_renames(values["renames"])
        self._originals = {new: old for old, new in self._renames.items()}
        self._with_defaults: bool = values["replace.null.with.default"]
        self._plan = schema_cache(self._make_plan)
        self._names = key_plan(self._map_names)

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if part is None:
            return schema, None
        if schema is None:
            source = require_map(part, PURPOSE)
            return None, {name: source[original] for name, original in self._names(source)}
        struct = require_struct(part, PURPOSE, schema)
        updated, names, sources, needed = self._plan(struct.schema)
        values = struct.stored
        if needed is not None and values.keys() >= needed:
            get = values.get
            return updated, Struct.trusted(updated, {name: get(original) for name, original in names})
        return updated, Struct.trusted(updated, self._careful(values, sources))

    def change_fields(self, batch: ValueBatch) -> ValueBatch | None:
        fields = batch.fields or {}
        if batch.schema is None:
            updated, kept = None, {name: fields[original] for name, original in self._names(fields)}
        else:
            updated, names, _, needed = self._plan(batch.schema)
            if needed is None or any(None in fields[name] for name in needed):
                return None
            kept = {name: fields[original] for name, original in names}
        return ValueBatch.by_field(updated, kept) if kept else None

    def _careful(self, values: Mapping[str, Any], sources: list[tuple[Field, Field | None, bool]]) -> dict[str, Any]:
        """The values where some may be missing, be null and have a default, or not fit."""
        replaced = {}
        for field, original, is_same in sources:
            if original is None:
                raise DataError(f"{self._originals[field.name]} is not a valid field name")
            member = values.get(original.name)
            if member is None:
                member = original.schema.default if self._with_defaults else None
            if member is None or not is_same:
                validate_value(field.schema, member, field.name)
            replaced[field.name] = member
        return replaced

    def _map_names(self, keys: tuple[Any, ...]) -> tuple[tuple[Any, Any], ...]:
        """New names and those of the fields they had, for a map with these keys."""
        names = {self._renames.get(key, key): key for key in keys if self._keeps(key)}
        return tuple(sized_hash_map(names, len(keys)).items())

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _make_plan(self, schema: Schema) -> _Plan:
        """The new schema, and for each of its fields the one that its value comes from.

        A field is looked up by the name that the renames say it had, even if it is another field that always had the
        new name: then there may be none.
        """
        members = [
            (self._renames.get(field.name, field.name), field.schema)
            for field in fields_of(schema)
            if self._keeps(field.name)
        ]
        updated = changed(schema, Type.STRUCT, fields=members)
        sources: list[tuple[Field, Field | None, bool]] = []
        for field in updated.fields:
            source = schema.field(self._originals.get(field.name, field.name))
            sources.append((field, source, source is not None and source.schema is field.schema))
        names = [(field.name, self._originals.get(field.name, field.name)) for field in updated.fields]
        is_plain = all(is_same for _, _, is_same in sources) and not updated.field_defaults
        needed = frozenset(old for new, old in names if new in updated.required_fields) if is_plain else None
        return _Plan(updated, names, sources, needed)


def _parse_renames(mappings: list[str]) -> dict[str, str]:
    renames = {}
    for mapping in mappings:
        parts = split_pair(mapping)
        if len(parts) != 2:
            raise invalid("renames", mappings, f"Invalid rename mapping: {mapping}")
        renames[parts[0]] = parts[1]
    return renames


def _check_renames(name: str, value: list[str]) -> None:
    _parse_renames(value)


class ReplaceFieldKey(ReplaceField):
    """`ReplaceField$Key`."""

    of_key = True


class ReplaceFieldValue(ReplaceField):
    """`ReplaceField$Value`."""

    of_key = False
