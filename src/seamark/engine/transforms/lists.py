"""Configuration values that are lists: checks, and members that are pairs."""

from __future__ import annotations

from typing import Any

from seamark.config.validators import invalid
from seamark.errors import ConfigError


class NonEmptyList:
    """At least one member."""

    def __call__(self, name: str, value: Any) -> None:
        if not value:
            raise invalid(name, value, "Empty list")

    def __str__(self) -> str:
        return "non-empty list"


class DistinctList:
    """No member twice, none of them empty."""

    def __init__(self, *, may_be_empty: bool) -> None:
        self._may_be_empty = may_be_empty

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            raise ConfigError(f"Configuration '{name}' values must not be null.", key=name)
        if not value and not self._may_be_empty:
            raise ConfigError(
                f"Configuration '{name}' must not be empty. Valid values include: any non-empty value", key=name
            )
        if len(set(value)) != len(value):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.", key=name, value=value)
        if "" in value:
            raise ConfigError(f"Configuration '{name}' values must not be empty.", key=name, value=value)

    def __str__(self) -> str:
        return "distinct values" if self._may_be_empty else "non-empty list of distinct values"


def split_pair(text: str) -> list[str]:
    """The parts of ``a:b``; as in Java, empty ones at the end are dropped."""
    parts = text.split(":")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts
