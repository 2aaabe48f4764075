"""Offsets as tables, and changes of them as a preview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from seamark.cli.shown import compact, count

if TYPE_CHECKING:
    from seamark.client import ConnectClient, ConnectorOffset

TOPIC: Final = "kafka_topic"
PARTITION: Final = "kafka_partition"
OFFSET: Final = "kafka_offset"


def topic_partition(partition: Mapping[str, Any] | None) -> tuple[str, int] | None:
    """Topic and number, if it is a sink's partition."""
    if not partition or set(partition) != {TOPIC, PARTITION}:
        return None
    try:
        return str(partition[TOPIC]), int(partition[PARTITION])
    except (TypeError, ValueError):
        return None


def sink_offset(offset: Mapping[str, Any] | None) -> int | None:
    """The number, if it is a sink's offset."""
    try:
        return int((offset or {})[OFFSET])
    except (KeyError, TypeError, ValueError):
        return None


def order(each: ConnectorOffset) -> tuple[Any, ...]:
    """By topic and number, else by text."""
    where = topic_partition(each.partition)
    return (0, *where) if where else (1, compact(each.partition))


def key_of(partition: Mapping[str, Any] | None) -> str:
    """The same for the same partition, however its keys are ordered."""
    import json

    return json.dumps(partition, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Behind:
    """The end of a partition's log, and how far it is away."""

    end: int | None
    lag: int | None


def behind(client: ConnectClient, name: str) -> dict[str, Behind]:
    """How far each partition is behind, whether the connector runs or not; nothing where the worker cannot tell."""
    from seamark.client import ClientError

    if not client.capabilities().has("GET", "/connectors/{connector}/offsets/table"):
        return {}
    try:
        rows = client.offset_table(name, with_times=False).partitions
    except ClientError:  # it moves to another worker, or is gone: the offsets are known all the same
        return {}
    return {key_of(row.partition): Behind(row.end, row.lag) for row in rows if row.end is not None}


def offset_table(offsets: Sequence[ConnectorOffset], known: Mapping[str, Behind]) -> tuple[list[str], list[list[str]]]:
    """Headers and rows; with end and lag where they are known."""
    has_lag = any(key_of(each.partition) in known for each in offsets)
    is_sink = bool(offsets) and all(topic_partition(each.partition) for each in offsets)
    headers = ["TOPIC", "PARTITION>", "OFFSET>"] if is_sink else ["PARTITION", "OFFSET"]
    rows = []
    for each in sorted(offsets, key=order):
        where = topic_partition(each.partition)
        if is_sink and where:
            number = sink_offset(each.offset)
            row = [where[0], str(where[1]), "-" if number is None else str(number)]
        else:
            row = [compact(each.partition), compact(each.offset)]
        if has_lag:
            its = known.get(key_of(each.partition), Behind(None, None))
            row += [_number(its.end), count(its.lag)]
        rows.append(row)
    return [*headers, *(["END>", "LAG>"] if has_lag else [])], rows


def change_table(
    before: Sequence[ConnectorOffset], changed: Sequence[ConnectorOffset]
) -> tuple[list[str], list[list[str]]]:
    """Old and new of every partition that is named; what does not change is said to be so."""
    old = {key_of(each.partition): each.offset for each in before}
    is_sink = bool(changed) and all(topic_partition(each.partition) for each in changed)
    headers = ["TOPIC", "PARTITION>", "OLD>", "NEW>", "BY>"] if is_sink else ["PARTITION", "OLD", "NEW"]
    rows = []
    for each in sorted(changed, key=order):
        was, where = old.get(key_of(each.partition)), topic_partition(each.partition)
        if is_sink and where:
            first, second = sink_offset(was), sink_offset(each.offset)
            by = f"{second - first:+,d}" if first is not None and second is not None else "-"
            row = [where[0], str(where[1]), _number(first), "reset" if second is None else str(second), by]
        else:
            row = [compact(each.partition), compact(was), "reset" if each.offset is None else compact(each.offset)]
        rows.append(row)
    return headers, rows


def _number(number: int | None) -> str:
    return "-" if number is None else str(number)
