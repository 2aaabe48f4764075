"""Maps as Java prints them, since clients compare messages of both workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seamark.config.validators import render


def hash_order(names: Sequence[str]) -> list[str]:
    """In the order in which Java's hash map has these keys."""
    size = 16
    while len(names) > size * 3 // 4:
        size *= 2
    return sorted(names, key=lambda name: _spread(name) % size)


def render_map(items: Mapping[str, Any]) -> str:
    """A hash map with keys that are strings: ``{cluster=a, partition=0, topic=t}``."""
    return "{" + ", ".join(f"{name}={render(items[name])}" for name in hash_order(list(items))) + "}"


def _spread(text: str) -> int:
    code = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code ^ code >> 16
