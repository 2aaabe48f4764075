"""What transforms of keys or values have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from seamark.config.configdef import ConfigDef, Importance, Type
from seamark.connector.records import SourceRecord, ValueBatch
from seamark.connector.schema import Schema
from seamark.connector.transform import Record, Transformation
from seamark.engine.converters.batches import Uneven, is_kept
from seamark.engine.transforms.copies import with_key, with_value

_NO_RECORD = SourceRecord("")
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
    its arguments. If it does not depend on the record either, it may run on many values at once.
    """

    ignores_record: bool = False
    """Whether `change` looks at nothing but the schema and the key or value."""

    @abstractmethod
    def change(self, record: Record, schema: Schema | None, part: Any) -> tuple[Schema | None, Any]:
        """The new schema and key, or value.

        Args:
            record: For what is neither: its key and value may be out of date.
            schema: Of the key or value.
            part: The key or value.
        """

    def change_fields(self, batch: ValueBatch) -> ValueBatch | None:
        """What `change` makes of many values that are given by field; None if that must be seen one by one."""
        return None

    def change_batch(self, batch: ValueBatch) -> ValueBatch:
        """What `change` makes of many values.

        Raises:
            Uneven: their schemas differ then.
            Exception: one of them cannot be changed.
        """
        if batch.fields is not None:
            found = self.change_fields(batch)
            if found is not None:
                return found
        given, change = batch.schema, self.change
        changed = [change(_NO_RECORD, given, part) for part in batch.rows]
        schema = changed[0][0] if changed else given
        if any(each[0] is not schema for each in changed):
            raise Uneven
        return ValueBatch(schema, [part for _, part in changed])

    @property
    def takes_batches(self) -> bool:
        """Whether many values at once are changed as each is by itself."""
        kind = type(self)  # of a subclass, anybody's, which may have changed some of it
        return (
            self.ignores_record
            and is_kept(kind, "change", "ignores_record")
            and self.is_change_all
            and all(
                getattr(kind, many) is getattr(PartChange, many) or is_kept(kind, "change", many)
                for many in ("change_batch", "change_fields")
            )
        )

    @property
    def is_change_all(self) -> bool:
        """Whether `apply` does what `change` says and no more."""
        return type(self).apply is PartChange.apply

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
