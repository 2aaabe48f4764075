"""The order in which Java's `HashMap` hands out its entries.

Converters and transforms of Kafka Connect build maps as `HashMap`s, whose order depends on the hashes of the keys, and
that order shows wherever such a map is written: as JSON on a topic, or as text in a file. Here a map is a `dict` whose
entries were put in that order, so that the bytes agree. Orders are remembered by the keys, since the records of a
topic have few sets of them.
"""

from __future__ import annotations

import struct
from collections import Counter
from functools import lru_cache
from typing import Any

from seamark.connector.schema import Type

_DEFAULT_CAPACITY = 16
_REMEMBERED = 4096
_TREEIFY_THRESHOLD, _MIN_TREEIFY_CAPACITY = 8, 64
_MASK = 0xFFFFFFFF

_Orders = dict[tuple[Any, ...], tuple[Any, ...] | None]
_orders: _Orders = {}
_sized_orders: dict[int, _Orders] = {}


def hash_map(entries: dict[Any, Any], key_type: Type | None = None) -> dict[Any, Any]:
    """The entries in the order of a `HashMap` into which they were put one by one."""
    keys = tuple(entries)
    try:
        order = _orders[keys]
    except KeyError:
        order = _order(_orders, keys, _DEFAULT_CAPACITY, key_type)
    return entries if order is None else {key: entries[key] for key in order}


def hash_map_copy(entries: dict[Any, Any], copied: int | None = None, key_type: Type | None = None) -> dict[Any, Any]:
    """The entries in the order of a copy, `new HashMap<>(others)`, whose table is sized for the others at once.

    Args:
        entries: What is in the copy in the end, in the order in which it was put there.
        copied: How many were copied, if more were put afterwards, or some removed.
        key_type: What keys that are numbers are.
    """
    count = len(entries) if copied is None else copied
    # A copy of nothing has no table yet, and gets the usual one.
    return sized_hash_map(entries, int(count / 0.75 + 1.0) if count else _DEFAULT_CAPACITY, key_type)


def sized_hash_map(entries: dict[Any, Any], capacity: int, key_type: Type | None = None) -> dict[Any, Any]:
    """The entries in the order of `new HashMap<>(capacity)` into which they were put one by one."""
    orders = _sized_orders.get(capacity)
    if orders is None:
        orders = _sized_orders[capacity] = {}
    keys = tuple(entries)
    try:
        order = orders[keys]
    except KeyError:
        order = _order(orders, keys, 1 << max(capacity - 1, 0).bit_length(), key_type)
    return entries if order is None else {key: entries[key] for key in order}


def _order(orders: _Orders, keys: tuple[Any, ...], capacity: int, key_type: Type | None) -> tuple[Any, ...] | None:
    """The keys by bucket, within a bucket as they came; None if they stay as they are."""
    spreads = []
    for key in keys:
        code = java_hash(key, key_type)
        if code is None:
            return None
        spreads.append(code ^ (code >> 16))
    capacity = _final_capacity(spreads, capacity)
    places = sorted(range(len(keys)), key=lambda index: spreads[index] & (capacity - 1))
    order = None if places == list(range(len(keys))) else tuple(keys[index] for index in places)
    # 1, 1.0 and True are one key in Python but hash differently in Java: only texts can be remembered.
    if all(type(key) is str for key in keys):
        if len(orders) >= _REMEMBERED:
            orders.clear()
        orders[keys] = order
    return order


def _final_capacity(spreads: list[int], capacity: int) -> int:
    """How large the table is in the end: it doubles when three quarters full, and when small and a bucket is long."""
    buckets: Counter[int] = Counter()
    for count, spread in enumerate(spreads, start=1):
        bucket = spread & (capacity - 1)
        buckets[bucket] += 1
        is_crowded = buckets[bucket] > _TREEIFY_THRESHOLD and capacity < _MIN_TREEIFY_CAPACITY
        for _ in range(is_crowded + (count > capacity * 0.75)):
            capacity *= 2
            buckets = Counter(other & (capacity - 1) for other in spreads[:count])
    return capacity


def java_hash(value: Any, kind: Type | None = None) -> int | None:
    """Java's `hashCode` as an unsigned 32-bit number; None where it depends on more than the value.

    Args:
        value: The value.
        kind: Tells an `Integer` from a `Long` and a `Float` from a `Double`; without it, they are the longer ones.
    """
    if type(value) is str:
        return _string_hash(value)
    if value is None:
        return 0
    if type(value) is bool:
        return 1231 if value else 1237
    if type(value) is int:
        is_long = kind is None or kind is Type.INT64
        return (value ^ (value >> 32) if is_long else value) & _MASK
    if type(value) is float:
        if kind is Type.FLOAT32:
            return int(struct.unpack(">I", struct.pack(">f", value))[0])
        bits: int = struct.unpack(">Q", struct.pack(">d", value))[0]
        return (bits ^ (bits >> 32)) & _MASK
    return None


@lru_cache(maxsize=_REMEMBERED)
def _string_hash(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    code = 0
    for unit in struct.unpack(f"<{len(units) // 2}H", units):
        code = (code * 31 + unit) & _MASK
    return code
