"""Paths to fields (KIP-821).

With `field.syntax.version=V1` a path is the name of a field at the top. With ``V2`` dots lead into nested structs and
maps; a name with dots is put between backticks, in which a backtick before a dot is escaped with a backslash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamark.config.configdef import ConfigDef, Importance, Type, ValidString
from seamark.connector.schema import Field, Schema, Struct
from seamark.engine.transforms.requirements import require_map, require_struct
from seamark.engine.transforms.schemas import field_of
from seamark.errors import ConfigError

SYNTAX_VERSION = "field.syntax.version"
_NESTED = "nested field access"


def define_syntax_version(definition: ConfigDef) -> ConfigDef:
    """Add the key that chooses the syntax of paths."""
    return definition.define(
        SYNTAX_VERSION,
        Type.STRING,
        "V1",
        validator=ValidString.of_ignoring_case("V1", "V2"),
        importance=Importance.HIGH,
        doc="How fields are named. `V1`: only fields at the top. `V2`: dots lead into nested structs and maps; a name "
        "that has dots itself is put between backticks, as in `` `foo.bar`.baz ``.",
    )


class FieldPath:
    """The steps from the top of a value to one of its fields."""

    def __init__(self, text: str, version: str) -> None:
        """`version` is ``V1`` or ``V2``, in any case. Raises ConfigError."""
        self.steps = [text] if version.upper() == "V1" else split_path(text)
        self._parents, self._last = self.steps[:-1], self.steps[-1] if self.steps else ""

    def field_from(self, schema: Schema) -> Field | None:
        """The field of a STRUCT schema that the path leads to; None if there is none.

        Raises:
            DataError: a step leads into a schema that has no fields.
        """
        current = schema
        for step in self._parents:
            field = field_of(current, step)
            if field is None:
                return None
            current = field.schema
        return field_of(current, self._last)

    def value_from_struct(self, struct: Struct, *, with_defaults: bool) -> Any:
        """The value that the path leads to in a struct; None if it leads nowhere.

        Raises:
            DataError: a step leads into something that is no struct.
        """
        current = struct
        for step in self._parents:
            field = current.schema.field(step)
            if field is None:
                return None
            inner = current[step]
            if inner is None:
                return None
            current = require_struct(inner, _NESTED, field.schema)
        if current.schema.field(self._last) is None:
            return None
        return current[self._last] if with_defaults else current.get_without_default(self._last)

    def value_from_map(self, value: Mapping[Any, Any]) -> Any:
        """The value that the path leads to in a map; None if it leads nowhere.

        Raises:
            DataError: a step leads into something that is no map.
        """
        current = value
        for step in self._parents:
            inner = current.get(step)
            if inner is None:
                return None
            current = require_map(inner, _NESTED)
        return current.get(self._last)


def split_path(path: str) -> list[str]:
    """The steps of a path in the second syntax.

    Raises:
        ConfigError: a backtick has no partner.
    """
    steps = []
    at = 0
    while 0 <= at < len(path):
        if path[at] == "`":
            step, at = _quoted_step(path, at)
            steps.append(step)
        else:
            dot = path.find(".", at)
            steps.append(path[at:] if dot < 0 else path[at:dot])
            at = dot + 1 if dot >= 0 else -1
    if path.endswith("."):
        steps.append("")
    return steps


def _quoted_step(path: str, begin: int) -> tuple[str, int]:
    """A step between backticks, and where the next one begins."""
    name = ""
    start = at = begin + 1
    while True:
        at = path.find("`", at)
        if at < 0:
            raise _incomplete(path, begin)
        is_escaped = path[at - 1] == "\\"
        if at >= len(path) - 1:
            if is_escaped:
                raise _incomplete(path, begin)
            return name + path[start:at], at + 1
        if path[at + 1] != ".":
            at += 1  # part of the name: only a backtick before a dot, or at the end, closes it
        elif is_escaped:
            name += path[start : at - 1] + "`"
            at += 1
            start = at
        else:
            return name + path[start:at], at + 2


def _incomplete(path: str, at: int) -> ConfigError:
    return ConfigError(
        f"Incomplete backtick pair in path: [{path}], consider adding a backslash before backtick at position {at} "
        "to escape it"
    )
