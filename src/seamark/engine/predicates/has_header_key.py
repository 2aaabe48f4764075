"""HasHeaderKey: true for records with at least one header of a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from seamark.config.configdef import ConfigDef, Importance, NonEmptyString, Type
from seamark.connector.transform import Predicate, Record
from seamark.engine.transforms.base import VERSION


class HasHeaderKey(Predicate):
    """`org.apache.kafka.connect.transforms.predicates.HasHeaderKey`."""

    version: ClassVar[str] = VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "name", Type.STRING, validator=NonEmptyString(), importance=Importance.MEDIUM, doc="The header's name."
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._name: str = self.config_def().parse(config)["name"]

    def test(self, record: Record) -> bool:
        name = self._name
        return any(header.key == name for header in record.headers)
