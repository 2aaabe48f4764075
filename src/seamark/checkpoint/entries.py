r"""The files of a checkpoint, as Spark writes them.

===============  =======================================================================================================
``metadata``     ``{"id": "..."}``, the query's id for ever
``offsets/N``    batch N as planned: ``v1``, a line of JSON (watermark, time, settings), then per source a line with
                 the offsets where the batch *ends*, ``-`` if it has none. From Spark 4.1 on also ``v2``, whose lines
                 are ``name:offsets``.
``commits/N``    batch N is done: ``v1`` to ``v3``, a line of JSON. Its first offset is where batch N - 1 ended.
``sources/S/0``  where source S began: for Kafka a zero byte, ``v1``, offsets. Counts until a batch is committed.
``state/``       what stateful operators remember, by batch
===============  =======================================================================================================

Offsets of a Kafka source are ``{"topic": {"0": 42}}``, the next record to read. Files end without a newline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from seamark.checkpoint.errors import DamagedCheckpointError
from seamark.config.position_plans import Partition

NO_OFFSETS: Final = "-"
_SEQUENCE, _NAMED = "v1", "v2"
_ZERO: Final = "\0"
_PARTITION: Final = re.compile("0|[1-9][0-9]{0,9}")
_LAST_PARTITION: Final = 2**31 - 1
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SourceOffsets:
    """What a batch says of a source."""

    name: str
    """Its number, or its name in ``v2``."""
    text: str

    @property
    def positions(self) -> dict[Partition, int] | None:
        """Next record of each partition; None if it is no Kafka source or has no offsets."""
        return parse_positions(self.text)


@dataclass(frozen=True, slots=True)
class OffsetEntry:
    """A file of ``offsets``."""

    version: str
    metadata: str
    sources: tuple[SourceOffsets, ...]

    @property
    def is_named(self) -> bool:
        """Whether sources have names, and so each one line."""
        return self.version == _NAMED

    def moved(self, name: str, positions: Mapping[Partition, int], otherwise: Mapping[Partition, int]) -> OffsetEntry:
        """With other positions of a source; partitions that are not named stay as they are.

        If the source has none in this batch, `otherwise` are those: Spark would take them from where it began, but no
        longer once the line is there.
        """

        def line(each: SourceOffsets) -> SourceOffsets:
            before = otherwise if each.positions is None else each.positions
            return replace(each, text=render_positions({**before, **positions}))

        return replace(self, sources=tuple(line(each) if each.name == name else each for each in self.sources))

    def next_batch(self, watermark_ms: int, now_ms: int) -> OffsetEntry:
        """A batch behind this one, without records."""
        metadata = _object(self.metadata)
        if metadata is None:
            return self
        metadata["batchWatermarkMs"] = max(watermark_ms, milliseconds(metadata.get("batchWatermarkMs")))
        metadata["batchTimestampMs"] = now_ms
        return replace(self, metadata=_compact(metadata))

    def render(self) -> str:
        """As Spark writes it."""
        lines = [each.text if self.version == _SEQUENCE else f"{each.name}:{each.text}" for each in self.sources]
        return "\n".join([self.version, self.metadata, *lines])


def parse_offsets(text: str, path: str) -> OffsetEntry:
    """A file of ``offsets``.

    Raises:
        DamagedCheckpointError: it is not as Spark writes it.
    """
    version, *rest = text.split("\n")
    if version.strip() not in (_SEQUENCE, _NAMED):
        raise DamagedCheckpointError(
            f"{path} begins with {version[:80]!r}; known are versions {_SEQUENCE} and {_NAMED} of Spark's offset log"
        )
    lines = [line for line in rest[1:] if line.strip()]
    if not lines:
        raise DamagedCheckpointError(f"{path} has no offsets: it is incomplete")
    if version.strip() == _SEQUENCE:
        sources = [SourceOffsets(str(number), line.strip()) for number, line in enumerate(lines)]
    else:
        pairs = [line.partition(":") for line in lines]
        if not all(colon for _, colon, _ in pairs):
            raise DamagedCheckpointError(f"{path} should have lines like name:offsets, as version {_NAMED} has")
        sources = [SourceOffsets(name, offsets.strip()) for name, _, offsets in pairs]
    return OffsetEntry(version.strip(), rest[0].strip(), tuple(sources))


def parse_initial(text: str) -> dict[Partition, int] | None:
    """Where a Kafka source began, of ``sources/S/0``; None if it is not one's."""
    version, newline, offsets = text.removeprefix(_ZERO).partition("\n")
    # Spark 2.1 wrote no version.
    return parse_positions(offsets if newline and version.startswith("v") else text.removeprefix(_ZERO))


def moved_initial(text: str, positions: Mapping[Partition, int]) -> str:
    """``sources/S/0`` with other positions."""
    return f"{_ZERO}v1\n{render_positions({**(parse_initial(text) or {}), **positions})}"


def parse_query_id(text: str, path: str) -> str:
    """The id in ``metadata``.

    Raises:
        DamagedCheckpointError: there is none.
    """
    found = (_object(text) or {}).get("id")
    if not isinstance(found, str) or not found:
        raise DamagedCheckpointError(f'{path} should be an object with the query\'s "id"')
    return found


def parse_commit(text: str) -> dict[str, Any]:
    """The JSON of a file of ``commits``; empty if it has none."""
    lines = text.split("\n")
    return (_object(lines[1]) if len(lines) > 1 else None) or {}


def milliseconds(value: Any) -> int:
    """A watermark; 0, which is none, for what is no number of 64 bits."""
    return value if type(value) is int and 0 <= value <= _LARGEST else 0


def parse_positions(text: str) -> dict[Partition, int] | None:
    """Offsets of a Kafka source; None for those of any other source."""
    found = _object(text)
    if not found:
        return None
    positions: dict[Partition, int] = {}
    for topic, partitions in found.items():
        if not isinstance(partitions, dict):
            return None
        for number, offset in partitions.items():
            if not _PARTITION.fullmatch(number) or int(number) > _LAST_PARTITION:
                return None
            if type(offset) is not int or abs(offset) > _LARGEST:
                return None
            positions[topic, int(number)] = offset
    return positions


def render_positions(positions: Mapping[Partition, int]) -> str:
    """As Spark writes them, in order."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(positions.items()):
        topics.setdefault(topic, {})[str(number)] = offset
    return _compact(topics)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, or too deep
        return None
    return found if isinstance(found, dict) else None


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
