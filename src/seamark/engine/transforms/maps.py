"""Maps without a schema, copied as Connect's transforms copy them: in the order of Java's `HashMap`.

The records of a topic have few sets of keys, so what becomes of a set of keys is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from seamark.connector.records import ValueBatch
from seamark.engine.converters.java_maps import hash_map_copy

Made = TypeVar("Made")
_REMEMBERED = 1024


def key_plan(make: Callable[[tuple[Any, ...]], Made]) -> Callable[[Mapping[Any, Any]], Made]:
    """A function that gives what was made of the keys of a map, and makes it if it is not known yet."""
    known: dict[tuple[Any, ...], Made] = {}

    def plan(source: Mapping[Any, Any]) -> Made:
        keys = tuple(source)
        found = known.get(keys)
        if found is not None:
            return found
        made = make(keys)
        # 1 and True are equal keys, but not the same ones: only texts can be told by comparison.
        if all(type(key) is str for key in keys):
            if len(known) >= _REMEMBERED:
                known.clear()
            known[keys] = made
        return made

    return plan


def map_copier(extra: Iterable[str]) -> Callable[[Mapping[Any, Any]], dict[Any, Any]]:
    """A function that copies a map and adds some keys if they are missing, with None."""
    added = tuple(extra)

    def order(keys: tuple[Any, ...]) -> tuple[Any, ...]:
        """The keys of the copy; nothing if they stay as they are."""
        ordered = tuple(hash_map_copy(dict.fromkeys((*keys, *added)), len(keys)))
        return () if ordered == keys else ordered

    plan = key_plan(order)

    def copy(source: Mapping[Any, Any]) -> dict[Any, Any]:
        keys = plan(source)
        if not keys:
            return dict(source)
        get = source.get
        return {key: get(key) for key in keys}

    return copy


def copied_fields(batch: ValueBatch, extra: Iterable[str]) -> dict[str, Sequence[Any]]:
    """The fields of maps as the function of `map_copier` copies each of them."""
    fields = batch.fields or {}
    ordered = hash_map_copy(dict.fromkeys((*fields, *extra)), len(fields))
    nulls = [None] * batch.count
    return {name: fields.get(name, nulls) for name in ordered}


def changed_column(column: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    """What becomes of the values of a field, of which only those that are not None are changed."""
    return [None if value is None else change(value) for value in column]
