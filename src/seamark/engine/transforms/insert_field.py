"""InsertField: adds fields with the topic, partition, offset or timestamp of the record, or with a fixed value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from seamark.config.configdef import ConfigDef, Importance
from seamark.config.configdef import Type as ConfigType
from seamark.config.validators import invalid
from seamark.connector.logical import Timestamp
from seamark.connector.numbers import Int32
from seamark.connector.records import ValueBatch
from seamark.connector.schema import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Struct,
    Type,
)
from seamark.connector.transform import Record
from seamark.engine.converters.java_maps import hash_map_copy
from seamark.engine.transforms.base import PartChange, define_replace_null
from seamark.engine.transforms.maps import copied_fields, map_copier
from seamark.engine.transforms.requirements import require_map, require_sink_record, require_struct
from seamark.engine.transforms.schemas import changed, fields_of, schema_cache
from seamark.engine.transforms.structs import copied, copied_columns, required
from seamark.errors import ConfigError

PURPOSE = "field insertion"
_OPTIONALITY = "A `!` at the end makes the field required, a `?` optional, which it is without either."
_OPTIONAL_TIMESTAMP_SCHEMA = Timestamp.schema(optional=True)


@dataclass(frozen=True, slots=True)
class _Insertion:
    """A field to add."""

    name: str
    schema: Schema
    plain: Callable[[Record], Any]
    """Its value in a map."""
    typed: Callable[[Record], Any]
    """Its value in a struct."""
    is_skipped_if_null: bool


class InsertField(PartChange):
    """`org.apache.kafka.connect.transforms.InsertField`."""

    ignores_record = False  # unless nothing but a fixed value is inserted

    @classmethod
    def config_def(cls) -> ConfigDef:
        definition = ConfigDef()
        for key, doc in (
            ("topic.field", "The field for the topic."),
            ("partition.field", "The field for the partition in Kafka."),
            ("offset.field", "The field for the offset in Kafka; for sink connectors only."),
            ("timestamp.field", "The field for the record's timestamp."),
            ("static.field", "The field for a fixed value."),
        ):
            definition.define(key, ConfigType.STRING, None, importance=Importance.MEDIUM, doc=f"{doc} {_OPTIONALITY}")
        definition.define("static.value", ConfigType.STRING, None, importance=Importance.MEDIUM, doc="The fixed value.")
        return define_replace_null(definition)

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        self._static: str | None = values["static.value"] if values["static.field"] is not None else None
        self._insertions = [
            insertion
            for insertion in (
                _insertion(values["topic.field"], STRING_SCHEMA, OPTIONAL_STRING_SCHEMA, _topic, _topic, False),
                _insertion(
                    values["partition.field"], INT32_SCHEMA, OPTIONAL_INT32_SCHEMA, _plain_partition, _partition, True
                ),
                _insertion(values["offset.field"], INT64_SCHEMA, OPTIONAL_INT64_SCHEMA, _offset, _offset, False),
                _insertion(
                    values["timestamp.field"],
                    Timestamp.SCHEMA,
                    _OPTIONAL_TIMESTAMP_SCHEMA,
                    _plain_timestamp,
                    _timestamp,
                    True,
                ),
                _insertion(
                    values["static.field"],
                    STRING_SCHEMA,
                    OPTIONAL_STRING_SCHEMA,
                    lambda record: self._static,
                    lambda record: self._static,
                    True,
                ),
            )
            if insertion is not None
        ]
        if not self._insertions:
            raise ConfigError("No field insertion configured")
        if values["static.field"] is not None and self._static is None:
            raise invalid("static.value", None, f"No value specified for static field: {values['static.field']}")
        self._with_defaults: bool = values["replace.null.with.default"]
        # The fixed value, which is always the last, needs no call per record.
        self._varying = self._insertions[: -1 if self._static is not None else None]
        self.ignores_record = not self._varying
        self._plain = [(insertion.name, insertion.plain) for insertion in self._varying]
        self._static_name = self._insertions[-1].name
        self._updated = schema_cache(self._update)
        self._copy = map_copier(insertion.name for insertion in self._insertions)

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if part is None:
            return schema, None
        if schema is None:
            return None, self._apply_schemaless(record, part)
        struct = require_struct(part, PURPOSE, schema)
        updated = self._updated(struct.schema)
        values = copied(struct, with_defaults=self._with_defaults)
        for insertion in self._varying:
            found = insertion.typed(record)
            if found is not None:
                values[insertion.name] = found
            elif not insertion.is_skipped_if_null and not insertion.schema.optional:
                raise required(insertion.name, insertion.schema)
        if self._static is not None:
            values[self._static_name] = self._static
        return updated, Struct.trusted(updated, values)

    def change_fields(self, batch: ValueBatch) -> ValueBatch | None:
        static = [self._static] * batch.count
        if batch.schema is None:
            fields = copied_fields(batch, (self._static_name,))
            fields[self._static_name] = static
            return ValueBatch.by_field(None, fields)
        columns = copied_columns(batch)
        if columns is None:
            return None
        columns[self._static_name] = static
        return ValueBatch.by_field(self._updated(batch.schema), columns)

    def _apply_schemaless(self, record: Record, value: Any) -> dict[Any, Any]:
        source = require_map(value, PURPOSE)
        result = self._copy(source)
        for name, plain in self._plain:
            found = plain(record)
            if found is None:
                return self._with_gaps(record, source)
            result[name] = found
        if self._static is not None:
            result[self._static_name] = self._static
        return result

    def _with_gaps(self, record: Record, source: Mapping[Any, Any]) -> dict[Any, Any]:
        """The result where some of what is to be inserted is not there."""
        result = dict(source)
        for insertion in self._insertions:
            found = insertion.plain(record)
            if found is not None or not insertion.is_skipped_if_null:
                result[insertion.name] = found
        return hash_map_copy(result, len(source))

    def _update(self, schema: Schema) -> Schema:
        members = [(field.name, field.schema) for field in fields_of(schema)]
        members += [(insertion.name, insertion.schema) for insertion in self._insertions]
        return changed(schema, Type.STRUCT, fields=members)


def _insertion(
    spec: str | None,
    schema: Schema,
    optional_schema: Schema,
    plain: Callable[[Record], Any],
    typed: Callable[[Record], Any],
    is_skipped_if_null: bool,
) -> _Insertion | None:
    if spec is None:
        return None
    name = spec[:-1] if spec.endswith(("?", "!")) else spec
    chosen = schema if spec.endswith("!") else optional_schema
    return _Insertion(name, chosen, plain, typed, is_skipped_if_null)


_topic, _partition, _plain_timestamp = map(attrgetter, ("topic", "kafka_partition", "timestamp"))


def _plain_partition(record: Record) -> Int32 | None:
    return None if record.kafka_partition is None else Int32(record.kafka_partition)


def _offset(record: Record) -> int:
    return require_sink_record(record, PURPOSE).kafka_offset


def _timestamp(record: Record) -> Any:
    return None if record.timestamp is None else Timestamp.to_logical(Timestamp.SCHEMA, record.timestamp)


class InsertFieldKey(InsertField):
    """`InsertField$Key`."""

    of_key = True


class InsertFieldValue(InsertField):
    """`InsertField$Value`."""

    of_key = False
