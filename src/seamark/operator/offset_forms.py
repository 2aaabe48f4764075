"""Offsets of mirrors in the short forms of ConfigMaps, and in Kafka Connect's.

===========  ==================================================  ============================================
connector    Kafka Connect's                                     in a ConfigMap
===========  ==================================================  ============================================
source       {"partition": {"cluster", "topic", "partition"},    {"topic", "partition", "offset"}
             "offset": {"offset": n}}
checkpoint   {"partition": {"group", "topic", "partition"},      the same
             "offset": {"offset": n}}
heartbeat    {"partition": {"sourceClusterAlias",                {"offset": {"offset": n}}
             "targetClusterAlias"}, "offset": {"offset": n}}
===========  ==================================================  ============================================

Left out is only what is put back: `cluster` if it is the mirror's source, `topic` if it is the config topic of the
workers, the aliases if they are the mirror's. Every other row is listed as it is, so that altering by a list changes
nothing. Both forms are accepted, also mixed; other fields are ignored, and an offset of null resets a row.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from seamark.client import ConnectorOffset
from seamark.errors import BadRequestError

MAX_PARTITION: Final = 2**31 - 1
MAX_OFFSET: Final = 2**63 - 1
Row = dict[str, Any]


class MirrorType(Enum):
    """The three connectors of a mirror; values are the ends of their names and classes."""

    SOURCE = "MirrorSourceConnector"
    CHECKPOINT = "MirrorCheckpointConnector"
    HEARTBEAT = "MirrorHeartbeatConnector"


class OffsetsInvalidError(BadRequestError):
    """An entry of a ConfigMap is not what a connector's offsets look like."""


class TopicUnknownError(OffsetsInvalidError):
    """A row has no topic, and there is none that could be meant."""


@dataclass(frozen=True, slots=True)
class MirrorFields:
    """What the resource knows of a connector's offsets.

    Attributes:
        type: which of the three.
        source: the alias of the cluster that is copied from.
        target: the alias of the cluster that is copied to.
        config_topic: of the workers.
    """

    type: MirrorType
    source: str
    target: str
    config_topic: str


def shorten(fields: MirrorFields, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows as they are written to a ConfigMap."""
    if fields.type is MirrorType.SOURCE:
        return [_short_source(fields, row) for row in rows]
    if fields.type is MirrorType.HEARTBEAT:
        return [_short_heartbeat(fields, row) for row in rows]
    return [dict(row) for row in rows]


def needs_topics(fields: MirrorFields, rows: Sequence[Any]) -> bool:
    """Whether rows lack a topic, so that the connector's topics have to be known."""
    return fields.type is MirrorType.SOURCE and any(
        isinstance(row, dict) and row.get("topic") is None and _object(row.get("partition")).get("topic") is None
        for row in rows
    )


def topics_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The topics that a source connector has offsets for."""
    return sorted({str(topic) for row in rows if (topic := _object(row.get("partition")).get("topic")) is not None})


def parse(text: str, what: str) -> list[Any]:
    """The rows of an entry; `what` names it.

    Raises:
        OffsetsInvalidError: it is not JSON, or not an object with a list of offsets.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OffsetsInvalidError(f"{what} is not valid JSON: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("offsets"), list):
        raise OffsetsInvalidError(f'{what} should be an object with a list "offsets"')
    return list(content["offsets"])


def complete(fields: MirrorFields, rows: Sequence[Any], topics: Collection[str], what: str) -> list[ConnectorOffset]:
    """Rows as Kafka Connect wants them.

    Args:
        fields: what the resource knows.
        rows: as they are in the entry.
        topics: that the connector has offsets for.
        what: names the entry.

    Raises:
        OffsetsInvalidError: a row is not one; says which and why.
    """
    made: dict[str, ConnectorOffset] = {}
    for number, row in enumerate(rows):
        place = _Place(f"{what}: offsets[{number}]")
        if not isinstance(row, dict):
            raise place.wrong("", "an object", row)
        match fields.type:
            case MirrorType.SOURCE:
                partition = _source_partition(fields, row, topics, place)
            case MirrorType.CHECKPOINT:
                partition = _checkpoint_partition(row, place)
            case MirrorType.HEARTBEAT:
                partition = _heartbeat_partition(fields, row, place)
        offset = _offset(row, place, is_number_fine=fields.type is MirrorType.SOURCE)
        one = ConnectorOffset(partition, offset)
        if made.setdefault(json.dumps(partition, sort_keys=True), one) != one:
            raise OffsetsInvalidError(f"{place.name} has a partition that is there before with another offset")
    return list(made.values())


def plain(rows: Sequence[Any], what: str) -> list[Row]:
    """Rows of a connector that nothing is known of: theirs are Kafka Connect's, without what that would not understand.

    Raises:
        OffsetsInvalidError: a row is none.
    """
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise _Place(f"{what}: offsets[{number}]").wrong("", "an object", row)
    return [{key: row[key] for key in ("partition", "offset") if key in row} for row in rows]


# shorter


def _short_source(fields: MirrorFields, row: Mapping[str, Any]) -> Row:
    partition, offset = row.get("partition"), row.get("offset")
    is_usual = (
        _has_keys(row, {"partition", "offset"})
        and _has_keys(partition, {"cluster", "topic", "partition"})
        and _has_keys(offset, {"offset"})
        and partition["cluster"] == fields.source  # type: ignore[index]
        and _is_int(partition["partition"])  # type: ignore[index]
        and isinstance(partition["topic"], str)  # type: ignore[index]
        and _is_int(offset["offset"])  # type: ignore[index]
    )
    if not is_usual or not isinstance(partition, dict) or not isinstance(offset, dict):
        return dict(row)
    topic = {} if partition["topic"] == fields.config_topic else {"topic": partition["topic"]}
    return {**topic, "partition": partition["partition"], "offset": offset["offset"]}


def _short_heartbeat(fields: MirrorFields, row: Mapping[str, Any]) -> Row:
    aliases = {"sourceClusterAlias": fields.source, "targetClusterAlias": fields.target}
    if _has_keys(row, {"partition", "offset"}) and row["partition"] == aliases and row["offset"] is not None:
        return {"offset": row["offset"]}
    return dict(row)


def _has_keys(value: object, keys: set[str]) -> bool:
    return isinstance(value, Mapping) and set(value) == keys


# longer


@dataclass(frozen=True, slots=True)
class _Place:
    name: str

    def wrong(self, field: str, expected: str, value: object) -> OffsetsInvalidError:
        shown = json.dumps(value, default=str)
        shown = shown if len(shown) <= 100 else f"{shown[:97]}..."
        return OffsetsInvalidError(f"{self._at(field)} should be {expected}, but is {shown}")

    def missing(self, field: str) -> OffsetsInvalidError:
        return OffsetsInvalidError(f"{self._at(field)} is missing")

    def _at(self, field: str) -> str:
        return f"{self.name}.{field}" if field else self.name


def _source_partition(fields: MirrorFields, row: Row, topics: Collection[str], place: _Place) -> Row:
    if "partition" not in row:
        raise place.missing("partition")
    given = row["partition"]
    is_full = isinstance(given, dict)
    prefix, values = ("partition.", given) if is_full else ("", row)
    if "partition" not in values:
        raise place.missing(f"{prefix}partition")
    number = _partition_number(values["partition"], place, f"{prefix}partition")
    topic = row.get("topic") if values.get("topic") is None else values["topic"]
    if topic is None:
        topic = _config_topic(fields, topics, place)
    clusters = (values.get("cluster"), row.get("cluster"), fields.source)
    cluster = next(each for each in clusters if each is not None)
    return {
        "cluster": _text(cluster, place, f"{prefix}cluster"),
        "partition": number,
        "topic": _text(topic, place, f"{prefix}topic"),
    }


def _config_topic(fields: MirrorFields, topics: Collection[str], place: _Place) -> str:
    if fields.config_topic in topics:
        return fields.config_topic
    known = ", ".join(sorted(topics)) or "none"
    raise TopicUnknownError(
        f"{place.name}.topic is missing: without it {fields.config_topic!r} is meant, for which the connector has no "
        f"offset. It has offsets for the topics: {known}"
    )


def _checkpoint_partition(row: Row, place: _Place) -> Row:
    if "partition" not in row:
        raise place.missing("partition")
    given = row["partition"]
    if not isinstance(given, dict):
        raise place.wrong("partition", 'an object with "group", "topic" and "partition"', given)
    for field in ("partition", "topic", "group"):
        if field not in given:
            raise place.missing(f"partition.{field}")
    return {
        "group": _text(given["group"], place, "partition.group"),
        "partition": _partition_number(given["partition"], place, "partition.partition"),
        "topic": _text(given["topic"], place, "partition.topic"),
    }


def _heartbeat_partition(fields: MirrorFields, row: Row, place: _Place) -> Row:
    given = row.get("partition", {})
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise place.wrong("partition", 'an object with "sourceClusterAlias" and "targetClusterAlias"', given)
    aliases = {"sourceClusterAlias": fields.source, "targetClusterAlias": fields.target}
    return {name: _text(given.get(name, alias), place, f"partition.{name}") for name, alias in aliases.items()}


def _offset(row: Row, place: _Place, *, is_number_fine: bool) -> Row | None:
    if "offset" not in row:
        raise place.missing("offset")
    given = row["offset"]
    if given is None:
        return None
    if is_number_fine and _is_int(given):
        return {"offset": _offset_number(given, place, "offset")}
    if not isinstance(given, dict):
        expected = "a number, an object or null" if is_number_fine else 'an object with "offset", or null'
        raise place.wrong("offset", expected, given)
    if "offset" not in given:
        raise place.missing("offset.offset")
    return {"offset": _offset_number(given["offset"], place, "offset.offset")}


def _partition_number(value: object, place: _Place, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_PARTITION:
        raise place.wrong(field, "a number from 0", value)
    return value


def _offset_number(value: object, place: _Place, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_OFFSET:
        raise place.wrong(field, "a number from 0", value)
    return value


def _text(value: object, place: _Place, field: str) -> str:
    if not isinstance(value, str):
        raise place.wrong(field, "a text", value)
    return value


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
