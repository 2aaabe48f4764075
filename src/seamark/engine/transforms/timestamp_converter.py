"""TimestampConverter: a timestamp, in a field or as the whole key or value, from one form to another.

Forms are texts by a pattern of Java's `SimpleDateFormat`, numbers since 1970, and Connect's Date, Time and Timestamp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, ValidString
from seamark.config.configdef import Type as ConfigType
from seamark.connector.schema import Schema, Struct, Type
from seamark.connector.transform import Record
from seamark.engine.transforms import timestamps
from seamark.engine.transforms.base import PartChange, define_replace_null
from seamark.engine.transforms.date_parsing import SimpleDateFormat
from seamark.engine.transforms.errors import IllegalArgumentError
from seamark.engine.transforms.maps import map_copier
from seamark.engine.transforms.requirements import require_map, require_struct_or_none
from seamark.engine.transforms.schemas import changed, fields_of, schema_cache, with_default
from seamark.engine.transforms.structs import Changes, copied
from seamark.errors import ConfigError, ConnectError

PURPOSE = "converting timestamp formats"


class TimestampConverter(PartChange):
    """`org.apache.kafka.connect.transforms.TimestampConverter`."""

    ignores_record = True

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_replace_null(
            ConfigDef()
            .define(
                "field",
                ConfigType.STRING,
                "",
                importance=Importance.HIGH,
                doc="The field with the timestamp; empty if the whole key or value is one.",
            )
            .define(
                "target.type",
                ConfigType.STRING,
                validator=ValidString.of(*timestamps.TYPES),
                importance=Importance.HIGH,
                doc="The form that timestamps get.",
            )
            .define(
                "format",
                ConfigType.STRING,
                "",
                importance=Importance.MEDIUM,
                doc="The pattern of texts, as Java's `SimpleDateFormat` has them; in UTC unless the text says "
                "otherwise.",
            )
            .define(
                "unix.precision",
                ConfigType.STRING,
                "milliseconds",
                validator=ValidString.of(*timestamps.PRECISIONS),
                importance=Importance.LOW,
                doc="The unit of numbers. What is below a millisecond is lost.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        self._field: str = values["field"]
        self._target: str = values["target.type"]
        self._precision: str = values["unix.precision"]
        self._with_defaults: bool = values["replace.null.with.default"]
        pattern: str = values["format"]
        if self._target == timestamps.STRING and not pattern.strip():
            raise ConfigError("TimestampConverter requires format option to be specified when using string timestamps")
        self._format = None
        if pattern.strip():
            try:
                self._format = SimpleDateFormat(pattern)
            except IllegalArgumentError as error:
                # Connect's message takes the cause for the value and the sentence for the name of the key.
                raise ConfigError(
                    f"Invalid value java.lang.IllegalArgumentException: {error} for configuration TimestampConverter "
                    f"requires a SimpleDateFormat-compatible pattern for string timestamps: {pattern}"
                ) from error
        self._converters = {type: self._converter(type, None) for type in timestamps.TYPES}
        self._whole = schema_cache(self._make_whole)
        self._plan = schema_cache(self._make_plan)
        self._copy = map_copier([self._field])

    def _converter(self, source: str, type_name: str | None) -> Callable[[Any], Any]:
        read = timestamps.reader(source, self._format, self._precision, type_name)
        write = timestamps.writer(self._target, self._format, self._precision)
        return lambda value: write(read(value))

    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, self._apply_schemaless(part)
        if not self._field:
            updated, convert = self._whole(schema)
            return updated, None if part is None else convert(part)
        struct = require_struct_or_none(part, PURPOSE, schema)
        updated, changes, problem = self._plan(schema)
        if struct is None:
            return updated, None
        if problem is not None:
            raise problem
        values = copied(struct, with_defaults=self._with_defaults, changes=changes)
        return updated, Struct.trusted(updated, values)

    def _apply_schemaless(self, value: Any) -> Any:
        if value is None:
            return None
        if not self._field:
            return self._convert(value)
        source = require_map(value, PURPOSE)
        result = self._copy(source)
        found = result[self._field]
        if found is not None:
            result[self._field] = self._convert(found)
        return result

    def _convert(self, value: Any) -> Any:
        return self._converters[timestamps.type_of_value(value)](value)

    def _make_whole(self, schema: Schema) -> tuple[Schema, Callable[[Any], Any]]:
        return timestamps.schema_of(self._target, optional=schema.optional), self._converter_of(schema)

    def _converter_of(self, schema: Schema) -> Callable[[Any], Any]:
        return self._converter(timestamps.type_of_schema(schema), schema.type.name)

    def _make_plan(self, schema: Schema) -> tuple[Schema, Changes, ConnectError | None]:
        """The schema after the conversion, what to do to the field, and why that cannot be done if so.

        A field of a type that cannot be converted fails each record that has the struct, but not those without one.
        """
        members = []
        changes = {}
        problem = None
        for field in fields_of(schema):
            inner = field.schema
            if field.name == self._field:
                try:
                    changes[field.name] = self._converter_of(inner)
                except ConnectError as error:
                    problem = error
                inner = timestamps.schema_of(self._target, optional=inner.optional)
            members.append((field.name, inner))
        updated = changed(schema, Type.STRUCT, fields=members, optional=schema.optional)
        if schema.default is not None:
            if problem is not None:
                raise problem
            values = copied(schema.default, with_defaults=self._with_defaults, changes=changes)
            updated = with_default(updated, Struct.trusted(updated, values))
        return updated, changes, problem


class TimestampConverterKey(TimestampConverter):
    """`TimestampConverter$Key`."""

    of_key = True


class TimestampConverterValue(TimestampConverter):
    """`TimestampConverter$Value`."""

    of_key = False
