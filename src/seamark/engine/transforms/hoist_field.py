"""HoistField: wraps the whole key or value into a struct, or a map without a schema, with one field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance
from seamark.config.configdef import Type as ConfigType
from seamark.connector.schema import Schema, Struct, Type, validate_value
from seamark.connector.transform import Record
from seamark.engine.transforms.base import PartTransformation
from seamark.engine.transforms.copies import with_part
from seamark.engine.transforms.schemas import SchemaCache, members_of


class HoistField(PartTransformation):
    """`org.apache.kafka.connect.transforms.HoistField`."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "field", ConfigType.STRING, importance=Importance.MEDIUM, doc="The name of the one field."
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._name: str = self.config_def().parse(config)["field"]
        self._updated = SchemaCache(lambda schema: Schema(Type.STRUCT, fields=members_of([(self._name, schema)])))

    def apply(self, record: Record) -> Record:
        of_key = self.of_key
        schema, value = (record.key_schema, record.key) if of_key else (record.value_schema, record.value)
        if schema is None:
            return with_part(record, of_key, None, {self._name: value})
        updated = self._updated(schema)
        if type(value) is not str or schema.type is not Type.STRING:  # lines of text are what is hoisted most
            validate_value(schema, value, self._name)
        return with_part(record, of_key, updated, Struct.trusted(updated, {self._name: value}))


class HoistFieldKey(HoistField):
    """`HoistField$Key`."""

    of_key = True


class HoistFieldValue(HoistField):
    """`HoistField$Value`."""

    of_key = False
