"""ValueToKey: a new key from fields of the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance
from seamark.config.configdef import Type as ConfigType
from seamark.connector.schema import Schema, Struct, Type
from seamark.connector.transform import Record
from seamark.engine.converters.java_maps import sized_hash_map
from seamark.engine.transforms.base import BuiltInTransformation, define_replace_null
from seamark.engine.transforms.copies import with_key
from seamark.engine.transforms.lists import DistinctList
from seamark.engine.transforms.requirements import require_map, require_struct
from seamark.engine.transforms.schemas import field_of, members_of, schema_cache
from seamark.engine.transforms.structs import required
from seamark.errors import DataError

PURPOSE = "copying fields from value to key"


class ValueToKey(BuiltInTransformation):
    """`org.apache.kafka.connect.transforms.ValueToKey`."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_replace_null(
            ConfigDef().define(
                "fields",
                ConfigType.LIST,
                validator=DistinctList(may_be_empty=False),
                importance=Importance.HIGH,
                doc="The fields of the value that make up the key.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        self._fields: list[str] = values["fields"]
        self._with_defaults: bool = values["replace.null.with.default"]
        self._key_schema = schema_cache(self._make_key_schema)

    def apply(self, record: Record) -> Record:
        if record.value_schema is None:
            value = require_map(record.value, PURPOSE)
            key = {name: value.get(name) for name in self._fields}
            return with_key(record, None, sized_hash_map(key, len(key)))
        struct = require_struct(record.value, PURPOSE, record.value_schema)
        schema = self._key_schema(struct.schema)
        values = struct.stored
        key = {}
        for field in schema.fields:
            member = values.get(field.name)
            if member is None:
                member = field.schema.default if self._with_defaults else None
                if member is None and not field.schema.optional:
                    raise required(field.name, field.schema)
            key[field.name] = member
        return with_key(record, schema, Struct.trusted(schema, key))

    def _make_key_schema(self, schema: Schema) -> Schema:
        members = []
        for name in self._fields:
            field = field_of(schema, name)
            if field is None:
                raise DataError(f"Field does not exist: {name}")
            members.append((name, field.schema))
        return Schema(Type.STRUCT, fields=members_of(members))
