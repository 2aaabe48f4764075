"""ExtractField: a field takes the place of the struct or map that it is in. Null stays null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, Type
from seamark.connector.records import ValueBatch
from seamark.connector.schema import Schema
from seamark.connector.transform import Record
from seamark.engine.transforms.base import PartChange, define_replace_null
from seamark.engine.transforms.errors import IllegalArgumentError
from seamark.engine.transforms.fields import SYNTAX_VERSION, FieldPath, define_syntax_version
from seamark.engine.transforms.requirements import require_map, require_struct_or_none
from seamark.engine.transforms.schemas import schema_cache

PURPOSE = "field extraction"


class ExtractField(PartChange):
    """`org.apache.kafka.connect.transforms.ExtractField`."""

    ignores_record = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = ConfigDef().define("field", Type.STRING, importance=Importance.MEDIUM, doc="The field to extract.")
        return define_syntax_version(define_replace_null(definition))

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        self._text: str = values["field"]
        self._path = FieldPath(self._text, values[SYNTAX_VERSION])
        self._with_defaults: bool = values["replace.null.with.default"]
        self._schema = schema_cache(self._schema_of_field)

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            found = None if part is None else self._path.value_from_map(require_map(part, PURPOSE))
            return None, found
        struct = require_struct_or_none(part, PURPOSE, schema)
        updated = self._schema(schema)
        found = None if struct is None else self._path.value_from_struct(struct, with_defaults=self._with_defaults)
        return updated, found

    def change_fields(self, batch: ValueBatch) -> ValueBatch | None:
        if len(self._path.steps) != 1:
            return None
        fields, name = batch.fields or {}, self._path.steps[0]
        if batch.schema is None:
            return ValueBatch(None, fields.get(name) or [None] * batch.count)
        updated = self._schema(batch.schema)
        return ValueBatch(updated, fields[name]) if updated.default is None else None

    def _schema_of_field(self, schema: Schema) -> Schema:
        field = self._path.field_from(schema)
        if field is None:
            raise IllegalArgumentError(f"Unknown field: {self._text}")
        return field.schema


class ExtractFieldKey(ExtractField):
    """`ExtractField$Key`."""

    of_key = True


class ExtractFieldValue(ExtractField):
    """`ExtractField$Value`."""

    of_key = False
