"""InsertHeader: adds a header with a fixed value to each record.

The value is read as the header converter would read it: `12` is a number, `true` a boolean, `[1,2]` an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import Check, ConfigDef, Importance, Type
from seamark.config.validators import invalid
from seamark.connector.records import Header
from seamark.connector.transform import Record
from seamark.engine.converters.values import parse_value
from seamark.engine.transforms.base import BuiltInTransformation
from seamark.engine.transforms.copies import with_headers


def _non_null(name: str, value: Any) -> None:
    if value is None:
        raise invalid(name, None, "entry must be non null")


NON_NULL = Check(_non_null, "non-null string")


class InsertHeader(BuiltInTransformation):
    """`org.apache.kafka.connect.transforms.InsertHeader`."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define("header", Type.STRING, validator=NON_NULL, importance=Importance.HIGH, doc="The header's name.")
            .define(
                "value.literal", Type.STRING, validator=NON_NULL, importance=Importance.HIGH, doc="The header's value."
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        values = self.config_def().parse(config)
        parsed = parse_value(values["value.literal"])
        self._header = Header(values["header"], parsed.value, parsed.schema)

    def apply(self, record: Record) -> Record:
        return with_headers(record, (*record.headers, self._header))
