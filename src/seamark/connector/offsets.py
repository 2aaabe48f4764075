"""Source partitions and source offsets: plain maps that say where a source is.

Kafka Connect uses a map as the key of a map. Here a `SourcePartition` is such a map, frozen and hashable; wherever
one is expected, a plain ``dict`` does too. An offset is a plain map, or None for "no offset" (a tombstone in the
offsets topic).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from seamark.errors import DataError

SourceOffset = Mapping[str, Any]


class SourcePartition(Mapping[str, Any]):
    """Where records come from: a file, a table, a topic-partition; immutable, equal to the same plain dict.

    Values are compared with their types, as Java does: ``{"n": 1}`` and ``{"n": True}`` are two partitions.
    """

    __slots__ = ("_items", "_key")

    def __init__(self, items: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        self._items = {**(items or {}), **more}
        self._key = frozenset((name, type(value).__name__, value) for name, value in self._items.items())

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SourcePartition):
            return self._key == other._key
        if isinstance(other, Mapping):
            return self == SourcePartition(other)
        return NotImplemented

    def __repr__(self) -> str:
        return f"SourcePartition({self._items!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return SourcePartition, (self._items,)


class Offsets(Mapping[SourcePartition, "SourceOffset | None"]):
    """Source partition -> source offset; look-ups take plain dicts too. Read-only."""

    __slots__ = ("_offsets",)

    def __init__(
        self,
        offsets: Mapping[Any, SourceOffset | None] | Iterable[tuple[Mapping[str, Any], SourceOffset | None]] = (),
    ) -> None:
        pairs = offsets.items() if isinstance(offsets, Mapping) else offsets
        self._offsets: dict[SourcePartition, SourceOffset | None] = {
            as_partition(partition): (None if offset is None else dict(offset)) for partition, offset in pairs
        }

    def __getitem__(self, partition: Mapping[str, Any]) -> SourceOffset | None:
        offset = self._offsets[as_partition(partition)]
        return None if offset is None else dict(offset)

    def get(self, partition: Mapping[str, Any], default: Any = None) -> Any:
        """The offset of a partition, which may be a plain dict, or the default."""
        return self[partition] if partition in self else default

    def __iter__(self) -> Iterator[SourcePartition]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, partition: object) -> bool:
        return isinstance(partition, Mapping) and as_partition(partition) in self._offsets

    def __repr__(self) -> str:
        return f"Offsets({self._offsets!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Offsets, (list(self._offsets.items()),)


def as_partition(partition: Mapping[str, Any]) -> SourcePartition:
    """The partition as a `SourcePartition`."""
    return partition if isinstance(partition, SourcePartition) else SourcePartition(partition)


def check_offset_map(data: object) -> None:
    """Refuse what Connect cannot store in the offsets topic, with Connect's words.

    Raises:
        DataError: not a map, a key that is no string, or a value that is no primitive.
    """
    if data is None:
        return
    if not isinstance(data, Mapping):
        raise DataError("Offsets must be specified as a Map")
    for name, value in data.items():
        if type(name) is str and type(value) is str:  # most are, and every partition comes by here
            continue
        if not isinstance(name, str):
            raise DataError("Offsets may only use String keys")
        if value is not None and not isinstance(value, (str, int, float, bool, bytes)):
            kind = "MAP" if isinstance(value, dict) else "ARRAY" if isinstance(value, list) else type(value).__name__
            raise DataError(f"Offsets may only contain primitive types as values, but field {name} contains {kind}")
        if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
            raise DataError(
                f"Offsets may only contain primitive types as values, but field {name} contains "
                "class java.math.BigInteger"
            )
