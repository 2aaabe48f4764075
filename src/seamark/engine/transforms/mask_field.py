"""MaskField: fields become the zero of their type (0, false, an empty text, list or map), or a given replacement."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, NonEmptyString
from seamark.config.configdef import Type as ConfigType
from seamark.connector import logical
from seamark.connector.java_names import java_class
from seamark.connector.numbers import Float32, Int8, Int16, Int32
from seamark.connector.schema import Schema, Struct
from seamark.connector.transform import Record
from seamark.engine.converters.java_maps import hash_map_copy, sized_hash_map
from seamark.engine.transforms import java_numbers
from seamark.engine.transforms.base import PartChange, define_replace_null
from seamark.engine.transforms.lists import DistinctList
from seamark.engine.transforms.requirements import require_map, require_struct
from seamark.engine.transforms.schemas import SchemaCache, fields_of
from seamark.engine.transforms.structs import Changes, copied
from seamark.errors import DataError

PURPOSE = "mask fields"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_ZEROS: dict[str, Any] = {
    logical.Date.LOGICAL_NAME: _EPOCH.date(),
    logical.Time.LOGICAL_NAME: _EPOCH.time(),
    logical.Timestamp.LOGICAL_NAME: _EPOCH,
}
_BITS = {"java.lang.Byte": 8, "java.lang.Short": 16, "java.lang.Integer": 32, "java.lang.Long": 64}


class MaskField(PartChange):
    """`org.apache.kafka.connect.transforms.MaskField`."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_replace_null(
            ConfigDef()
            .define(
                "fields",
                ConfigType.LIST,
                validator=DistinctList(may_be_empty=False),
                importance=Importance.HIGH,
                doc="The fields to mask.",
            )
            .define(
                "replacement",
                ConfigType.STRING,
                None,
                validator=NonEmptyString(),
                importance=Importance.LOW,
                doc="What takes the place of the values, as a number in numeric fields; for numbers and texts only.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        fields: list[str] = values["fields"]
        # In the order in which Connect goes through them, which is the one in which missing fields are added.
        self._fields = list(sized_hash_map(dict.fromkeys(fields), max(int(len(fields) / 0.75) + 1, 16)))
        self._replacement: str | None = values["replacement"]
        self._with_defaults: bool = values["replace.null.with.default"]
        self._changes = SchemaCache(self._make_changes)

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            source = require_map(part, PURPOSE)
            get = source.get
            result = {name: get(name) for name in self._order(source)}
            for name in self._fields:
                found = result[name]
                if found is not None:
                    result[name] = self._masked(found)
            return None, result
        struct = require_struct(part, PURPOSE, schema)
        values = copied(struct, with_defaults=self._with_defaults, changes=self._changes(struct.schema))
        return schema, Struct.trusted(struct.schema, values)

    def _make_changes(self, schema: Schema) -> Changes:
        fields = set(self._fields)
        return {field.name: self._masker(field.schema) for field in fields_of(schema) if field.name in fields}

    def _masker(self, schema: Schema) -> Callable[[Any], Any]:
        """What masks a field of this schema: the result depends on nothing else."""
        if schema.type in (Type.ARRAY, Type.MAP) and self._replacement is None:
            return list if False else (lambda value: [] if schema.type is Type.ARRAY else {})
        kind = java_class(_EXAMPLES.get(schema.name or "") or _EXAMPLES[schema.type.name], schema.type.name)
        try:
            masked = _zero(schema, kind) if self._replacement is None else _replaced(kind, self._replacement)
        except DataError as error:
            return _failing(error)
        return lambda value: masked

def _zero(value: Any, kind: str) -> Any:
    if isinstance(value, (bool, int, float)):
        return type(value)(0)
    if isinstance(value, str):
        return ""
    if isinstance(value, Decimal):
        return Decimal(0)
    if isinstance(value, datetime.datetime):
        return _EPOCH
    if isinstance(value, datetime.date):
        return _EPOCH.date()
    if isinstance(value, datetime.time):
        return _EPOCH.time()
    if isinstance(value, (list, tuple)):
        return []
    if isinstance(value, Mapping) and not isinstance(value, Struct):
        return {}
    raise DataError(f"Cannot mask value of type: class {kind}")


def _replaced(kind: str, text: str, is_schemaless: bool) -> Any:
    if kind == "java.lang.String":
        return text
    if kind in _BITS:
        number = java_numbers.narrowed(java_numbers.decimal_whole(_number(text, "a number")), _BITS[kind])
        return _NARROW.get(kind, int)(number) if is_schemaless else number
    if kind in ("java.lang.Float", "java.lang.Double"):
        double = float(_number(text, "a number"))
        if kind == "java.lang.Double":
            return double
        single = java_numbers.float32(double)
        return Float32(single) if is_schemaless else single
    if kind == "java.math.BigDecimal":
        return _number(text, "number")
    raise DataError(f"Cannot mask value of type class {kind} with custom replacement.")


_NARROW: dict[str, type[int]] = {"java.lang.Byte": Int8, "java.lang.Short": Int16, "java.lang.Integer": Int32}


def _number(text: str, what: str) -> Decimal:
    number = java_numbers.parse_decimal(text)
    if number is None:
        raise DataError(f"Unable to convert {text} (class java.lang.String) to {what}")
    return number


class MaskFieldKey(MaskField):
    """`MaskField$Key`."""

    of_key = True


class MaskFieldValue(MaskField):
    """`MaskField$Value`."""

    of_key = False
