"""SetSchemaMetadata: another name or version for the schema of the key or value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, Type
from seamark.connector.schema import Schema, Struct
from seamark.connector.transform import Record
from seamark.engine.transforms.base import PartChange, define_replace_null
from seamark.engine.transforms.schemas import fields_of, schema_cache
from seamark.engine.transforms.structs import copied
from seamark.errors import ConfigError, DataError


class SetSchemaMetadata(PartChange):
    """`org.apache.kafka.connect.transforms.SetSchemaMetadata`."""

    ignores_record = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_replace_null(
            ConfigDef()
            .define("schema.name", Type.STRING, None, importance=Importance.HIGH, doc="The schema's new name.")
            .define("schema.version", Type.INT, None, importance=Importance.HIGH, doc="The schema's new version.")
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        self._name, self._version = values["schema.name"], values["schema.version"]
        self._with_defaults: bool = values["replace.null.with.default"]
        if self._name is None and self._version is None:
            raise ConfigError("Neither schema name nor version configured")
        self._updated = schema_cache(self._update)

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            if part is None:
                return None, None
            raise DataError("Schema required for [updating schema metadata]")
        updated = self._updated(schema)
        if isinstance(part, Struct):
            part = Struct.trusted(updated, copied(part, with_defaults=self._with_defaults))
        return updated, part

    def _update(self, schema: Schema) -> Schema:
        fields_of(schema)  # Connect's builder asks any schema for its fields, and only structs have some
        return replace(
            schema,
            name=schema.name if self._name is None else self._name,
            version=schema.version if self._version is None else self._version,
        )


class SetSchemaMetadataKey(SetSchemaMetadata):
    """`SetSchemaMetadata$Key`."""

    of_key = True


class SetSchemaMetadataValue(SetSchemaMetadata):
    """`SetSchemaMetadata$Value`."""

    of_key = False
