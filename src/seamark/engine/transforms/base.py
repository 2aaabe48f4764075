"""What transforms of keys or values have in common."""

from __future__ import annotations

from typing import ClassVar

from seamark.config.configdef import ConfigDef, Importance, Type
from seamark.connector.transform import Transformation

VERSION = "4.2.0"  # of the transforms of Kafka Connect that ours behave as


class BuiltInTransformation(Transformation):
    """A transform that Connect has as well."""

    version: ClassVar[str] = VERSION


class PartTransformation(BuiltInTransformation):
    """A transform of the key or of the value; a subclass for each says which."""

    of_key: ClassVar[bool]


def define_replace_null(definition: ConfigDef) -> ConfigDef:
    """Add the key that says what becomes of null fields that have a default."""
    return definition.define(
        "replace.null.with.default",
        Type.BOOLEAN,
        True,
        importance=Importance.MEDIUM,
        doc="Whether a field that is null and has a default gets the default; otherwise it stays null.",
    )
