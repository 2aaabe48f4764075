"""HeaderFrom: fields of the key or value are copied or moved to headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, ValidString
from seamark.config.configdef import Type as ConfigType
from seamark.connector.records import Header
from seamark.connector.schema import Schema, Struct, Type
from seamark.connector.transform import Record
from seamark.engine.converters.java_maps import hash_map_copy
from seamark.engine.transforms.base import PartTransformation, define_replace_null
from seamark.engine.transforms.copies import with_part
from seamark.engine.transforms.errors import NullPointerError
from seamark.engine.transforms.lists import NonEmptyList
from seamark.engine.transforms.requirements import require_map, require_struct
from seamark.engine.transforms.schemas import changed, field_of, fields_of, schema_cache
from seamark.engine.transforms.structs import required, value_of
from seamark.errors import ConfigError, DataError


class HeaderFrom(PartTransformation):
    """`org.apache.kafka.connect.transforms.HeaderFrom`."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_replace_null(
            ConfigDef()
            .define(
                "fields",
                ConfigType.LIST,
                validator=NonEmptyList(),
                importance=Importance.HIGH,
                doc="The fields that go to headers.",
            )
            .define(
                "headers",
                ConfigType.LIST,
                validator=NonEmptyList(),
                importance=Importance.HIGH,
                doc="The names of the headers, one for each field, in the same order.",
            )
            .define(
                "operation",
                ConfigType.STRING,
                validator=ValidString.of("move", "copy"),
                importance=Importance.HIGH,
                doc="`move` removes the fields from the key or value, `copy` leaves them there.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        fields, headers = values["fields"], values["headers"]
        if len(fields) != len(headers):
            raise ConfigError("'fields' config must have the same number of elements as 'headers' config.")
        self._pairs: list[tuple[str, str]] = list(zip(fields, headers, strict=True))
        self._is_move: bool = values["operation"] == "move"
        self._purpose = f"header {values['operation']}"
        self._with_defaults: bool = values["replace.null.with.default"]
        self._moved = frozenset(fields)
        self._rest = schema_cache(self._without_moved)
        self._schemas = schema_cache(self._header_schemas)

    def apply(self, record: Record) -> Record:
        of_key = self.of_key
        schema, value = (record.key_schema, record.key) if of_key else (record.value_schema, record.value)
        if schema is None:
            return self._apply_schemaless(record, value)
        struct = require_struct(value, self._purpose, schema)
        rest = self._take(struct, self._rest(schema)) if self._is_move else struct
        updated = rest.schema if self._is_move else schema
        headers = tuple(
            _header(name, value_of(struct, field, with_defaults=self._with_defaults), inner)
            for (field, name), inner in zip(self._pairs, self._schemas(schema), strict=True)
        )
        return with_part(record, of_key, updated, rest, record.headers + headers)

    def _apply_schemaless(self, record: Record, value: Any) -> Record:
        source = require_map(value, self._purpose)
        headers = tuple(Header(name, source.get(field)) for field, name in self._pairs)
        rest = dict(source)
        if self._is_move:
            for field in self._moved:
                rest.pop(field, None)
        rest = hash_map_copy(rest, len(source))
        return with_part(record, self.of_key, None, rest, record.headers + headers)

    def _take(self, struct: Struct, rest: Schema) -> Struct:
        values = {}
        for field in rest.fields:
            value = value_of(struct, field.name, with_defaults=self._with_defaults)
            if value is None and not field.schema.optional:
                raise required(field.name, field.schema)
            values[field.name] = value
        return Struct.trusted(rest, values)

    def _without_moved(self, schema: Schema) -> Schema:
        members = [(field.name, field.schema) for field in fields_of(schema) if field.name not in self._moved]
        return changed(schema, Type.STRUCT, fields=members)

    def _header_schemas(self, schema: Schema) -> list[Schema]:
        schemas = []
        for name, _ in self._pairs:
            field = field_of(schema, name)
            if field is None:
                raise NullPointerError(
                    'Cannot invoke "org.apache.kafka.connect.data.Field.schema()" because the return value of '
                    '"org.apache.kafka.connect.data.Schema.field(String)" is null'
                )
            schemas.append(field.schema)
        return schemas


def _header(name: str, value: Any, schema: Schema) -> Header:
    if value is None and not schema.optional:
        raise DataError(f"A null value requires an optional schema but was {schema}")
    return Header(name, value, schema)


class HeaderFromKey(HeaderFrom):
    """`HeaderFrom$Key`."""

    of_key = True


class HeaderFromValue(HeaderFrom):
    """`HeaderFrom$Value`."""

    of_key = False
