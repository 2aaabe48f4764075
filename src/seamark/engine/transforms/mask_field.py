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
from seamark.connector.records import ValueBatch
from seamark.connector.schema import Schema, Struct, Type
from seamark.connector.transform import Record
from seamark.engine.converters.java_maps import sized_hash_map
from seamark.engine.transforms import java_numbers
from seamark.engine.transforms.base import PartChange, define_replace_null
from seamark.engine.transforms.lists import DistinctList
from seamark.engine.transforms.maps import changed_column, copied_fields, map_copier
from seamark.engine.transforms.requirements import require_map, require_struct
from seamark.engine.transforms.schemas import fields_of, schema_cache
from seamark.engine.transforms.structs import Changes, copied, copied_columns
from seamark.errors import DataError

PURPOSE = "mask fields"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# A value that is masked stands for its class; those here have the form in which Python has values of a schema.
_ZEROS: Mapping[str, Any] = {
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64"), 0),
    **dict.fromkeys(("FLOAT32", "FLOAT64"), 0.0),
    "BOOLEAN": False,
    "STRING": "",
    "BYTES": b"",
    "ARRAY": [],
    "MAP": {},
    "STRUCT": Struct(Schema(Type.STRUCT)),
    logical.Decimal.LOGICAL_NAME: Decimal(0),
    logical.Date.LOGICAL_NAME: _EPOCH.date(),
    logical.Time.LOGICAL_NAME: _EPOCH.time(),
    logical.Timestamp.LOGICAL_NAME: _EPOCH,
}
_BITS = {"java.lang.Byte": 8, "java.lang.Short": 16, "java.lang.Integer": 32, "java.lang.Long": 64}
_UNMASKABLE = ("[B", "org.apache.kafka.connect.data.Struct")


class MaskField(PartChange):
    """`org.apache.kafka.connect.transforms.MaskField`."""

    ignores_record = True

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
        self._changes = schema_cache(self._make_changes)
        self._copy = map_copier(self._fields)
        self._by_type: dict[type, Callable[[Any], Any]] = {}

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if schema is not None:
            struct = require_struct(part, PURPOSE, schema)
            values = copied(struct, with_defaults=self._with_defaults, changes=self._changes(struct.schema))
            return schema, Struct.trusted(struct.schema, values)
        source = require_map(part, PURPOSE)
        result = self._copy(source)
        for name in self._fields:
            found = result[name]
            if found is not None:
                result[name] = self._masked(found)
        return None, result

    def change_fields(self, batch: ValueBatch) -> ValueBatch | None:
        if batch.schema is None:
            fields = copied_fields(batch, self._fields)
            for name in self._fields:
                fields[name] = changed_column(fields[name], self._masked)
            return ValueBatch.by_field(None, fields)
        columns = copied_columns(batch, self._changes(batch.schema))
        return None if columns is None else ValueBatch.by_field(batch.schema, columns)

    def _masked(self, value: Any) -> Any:
        """A value without a schema, masked."""
        return (self._by_type.get(type(value)) or self._learn(value))(value)

    def _make_changes(self, schema: Schema) -> Changes:
        fields = set(self._fields)
        return {field.name: self._masker(field.schema) for field in fields_of(schema) if field.name in fields}

    def _masker(self, schema: Schema) -> Callable[[Any], Any]:
        zero = _ZEROS.get(schema.name or "", _ZEROS[schema.type.name])
        return self._mask(zero, java_class(zero, schema.type.name))

    def _learn(self, value: Any) -> Callable[[Any], Any]:
        """What masks values of the type of this one, which has no schema."""
        kind = type(value)
        java = java_class(value)
        zero: Any = value
        if isinstance(value, datetime.datetime):
            zero = _EPOCH
        elif isinstance(value, datetime.date):
            zero = _EPOCH.date()
        elif isinstance(value, datetime.time):
            zero = _EPOCH.time()
        elif java not in _UNMASKABLE:
            zero = kind(0) if isinstance(value, (int, float, Decimal)) else kind()
        mask = self._mask(zero, java)
        if self._replacement is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
            inner = mask
            mask = lambda found: kind(inner(found))  # noqa: E731 - as narrow as it was
        self._by_type[kind] = mask
        return mask

    def _mask(self, zero: Any, java: str) -> Callable[[Any], Any]:
        if self._replacement is not None:
            try:
                masked = _replaced(java, self._replacement)
            except DataError as error:
                return _failing(error)
            return lambda value: masked
        if java in _UNMASKABLE:
            return _failing(DataError(f"Cannot mask value of type: class {java}"))
        if isinstance(zero, (list, dict)):
            make = type(zero)
            return lambda value: make()
        return lambda value: zero


def _failing(error: DataError) -> Callable[[Any], Any]:
    def mask(value: Any) -> Any:
        raise error

    return mask


def _replaced(java: str, text: str) -> Any:
    if java == "java.lang.String":
        return text
    if java in _BITS:
        return java_numbers.narrowed(java_numbers.decimal_whole(_number(text, "a number")), _BITS[java])
    if java == "java.lang.Double":
        return float(_number(text, "a number"))
    if java == "java.lang.Float":
        return java_numbers.float32(float(_number(text, "a number")))
    if java == "java.math.BigDecimal":
        return _number(text, "number")
    raise DataError(f"Cannot mask value of type class {java} with custom replacement.")


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
