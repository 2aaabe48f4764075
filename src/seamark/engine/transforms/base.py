"""What transforms of keys or values have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from seamark.config.configdef import ConfigDef, Importance, Type
from seamark.connector.schema import Schema
from seamark.connector.transform import Record, Transformation
from seamark.engine.transforms.copies import with_key, with_value

VERSION = "4.2.0"  # of the transforms of Kafka Connect that ours behave as


class BuiltInTransformation(Transformation):
    """A transform that Connect has as well."""

    version: ClassVar[str] = VERSION


class PartTransformation(BuiltInTransformation):
    """A transform of the key or of the value; a subclass for each says which."""

    of_key: ClassVar[bool]


class PartChange(PartTransformation):
    """A transform that changes nothing but the key or the value.

    A chain runs several of them in a row without a record between each two, so `change` must depend on nothing but
    its arguments.
    """

    @abstractmethod
    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        """The new schema and key, or value.

        Args:
            record: For what is neither: its key and value may be out of date.
            schema: Of the key or value.
            part: The key or value.
        """

    def apply(self, record: Record) -> Record:
        if self.of_key:
            schema, part = self.change(record, record.key_schema, record.key)
            return record if part is record.key and schema is record.key_schema else with_key(record, schema, part)
        schema, part = self.change(record, record.value_schema, record.value)
        return record if part is record.value and schema is record.value_schema else with_value(record, schema, part)


def define_replace_null(definition: ConfigDef) -> ConfigDef:
    """Add the key that says what becomes of null fields that have a default."""
    return definition.define(
        "replace.null.with.default",
        Type.BOOLEAN,
        True,
        importance=Importance.MEDIUM,
        doc="Whether a field that is null and has a default gets the default; otherwise it stays null.",
    )
