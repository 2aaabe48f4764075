"""DropHeaders: removes headers by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, Type
from seamark.connector.transform import Record
from seamark.engine.transforms.base import BuiltInTransformation
from seamark.engine.transforms.copies import with_headers
from seamark.engine.transforms.lists import DistinctList


class DropHeaders(BuiltInTransformation):
    """`org.apache.kafka.connect.transforms.DropHeaders`."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "headers",
            Type.LIST,
            validator=DistinctList(may_be_empty=False),
            importance=Importance.HIGH,
            doc="Names of the headers to remove; all headers of a name are.",
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._names = frozenset(self.config_def().parse(config)["headers"])

    def apply(self, record: Record) -> Record:
        if not record.headers:
            return record
        return with_headers(record, tuple(header for header in record.headers if header.key not in self._names))
