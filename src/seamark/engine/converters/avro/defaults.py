"""Whether JSON is a default of an Avro schema."""

from __future__ import annotations

from typing import Any

from seamark.engine.converters.avro.types import AvroType


def is_valid_default(schema: AvroType, value: Any) -> bool:
    """Whether Avro accepts a default; a union's may fit any branch."""
    kind = schema.kind
    if kind == "union":
        return any(is_valid_default(branch, value) for branch in schema.branches)
    if kind == "null":
        return value is None
    if kind in ("string", "bytes", "fixed", "enum"):
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in ("int", "long"):
        return isinstance(value, int) and not isinstance(value, bool)
    if kind in ("float", "double"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "array":
        return isinstance(value, list) and all(is_valid_default(schema.element, item) for item in value)
    if kind == "map":
        return isinstance(value, dict) and all(is_valid_default(schema.element, item) for item in value.values())
    return isinstance(value, dict) and all(
        is_valid_default(member.type, value.get(member.name, member.default)) for member in schema.fields
    )
