"""Maps without a schema, copied as Connect's transforms copy them: in the order of Java's `HashMap`.

The records of a topic have few sets of keys, so what becomes of a set of keys is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from seamark.engine.converters.java_maps import hash_map_copy

Made = TypeVar("Made")
_REMEMBERED = 1024


class KeyPlan(Generic[Made]):
    """What was made of the keys of a map."""

    def __init__(self, make: Callable[[tuple[Any, ...]], Made]) -> None:
        self._make = make
        self._known: dict[tuple[Any, ...], Made] = {}

    def __call__(self, source: Mapping[Any, Any]) -> Made:
        """What belongs to the keys of this map."""
        keys = tuple(source)
        known = self._known.get(keys)
        return known if known is not None else self._remember(keys)

    def _remember(self, keys: tuple[Any, ...]) -> Made:
        made = self._make(keys)
        # 1 and True are equal keys, but not the same ones: only texts can be told by comparison.
        if all(type(key) is str for key in keys):
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[keys] = made
        return made


def copy_plan(extra: Iterable[str]) -> KeyPlan[tuple[Any, ...]]:
    """The keys of a copy to which some more are added if they are missing, in order."""
    added = tuple(extra)
    return KeyPlan(lambda keys: tuple(hash_map_copy(dict.fromkeys((*keys, *added)), len(keys))))
