"""HoistField: wraps the whole key or value into a struct, or a map without a schema, with one field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance
from seamark.config.configdef import Type as ConfigType
from seamark.connector.records import ValueBatch
from seamark.connector.schema import Schema, Struct, Type, validate_value
from seamark.connector.transform import Record
from seamark.engine.transforms.base import PartChange
from seamark.engine.transforms.schemas import members_of, schema_cache


class HoistField(PartChange):
    """`org.apache.kafka.connect.transforms.HoistField`."""

    ignores_record = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "field", ConfigType.STRING, importance=Importance.MEDIUM, doc="The name of the one field."
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._name: str = self.config_def().parse(config)["field"]
        self._updated = schema_cache(lambda schema: Schema(Type.STRUCT, fields=members_of([(self._name, schema)])))

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, {self._name: part}
        updated = self._updated(schema)
        if type(part) is not str or schema.type is not Type.STRING:  # lines of text are what is hoisted most
            validate_value(schema, part, self._name)
        return updated, Struct.trusted(updated, {self._name: part})

    def change_batch(self, batch: ValueBatch) -> ValueBatch:
        schema, rows = batch.schema, batch.rows
        if not batch.count:
            return super().change_batch(batch)
        if schema is None:
            return ValueBatch.by_field(None, {self._name: rows})
        updated = self._updated(schema)
        if schema.type is not Type.STRING or set(map(type, rows)) != {str}:
            for part in rows:
                validate_value(schema, part, self._name)
        return ValueBatch.by_field(updated, {self._name: rows})


class HoistFieldKey(HoistField):
    """`HoistField$Key`."""

    of_key = True


class HoistFieldValue(HoistField):
    """`HoistField$Value`."""

    of_key = False
