"""Source partitions and offsets of the mirror connectors, and what may be written over them from outside.

=============  =========================================================  =============================================
connector      source partition                                           source offset
=============  =========================================================  =============================================
source         ``{"cluster": "A", "partition": 0, "topic": "orders"}``    ``{"offset": n}``, the last one copied
checkpoint     ``{"partition": 0, "topic": "A.orders", "group": "g"}``    ``{"offset": 0}``, without a meaning
heartbeat      ``{"sourceClusterAlias": "A", "targetClusterAlias": "B"}``  ``{"offset": 0}``, without a meaning
=============  =========================================================  =============================================

Keys are in the order in which a Java worker writes them, so that either side finds what the other wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from seamark.config.validators import render
from seamark.connector.java_maps import render_map
from seamark.connector.offsets import SourcePartition
from seamark.errors import ConnectError

CLUSTER, TOPIC, PARTITION, GROUP, OFFSET = "cluster", "topic", "partition", "group", "offset"
SOURCE_ALIAS, TARGET_ALIAS = "sourceClusterAlias", "targetClusterAlias"
_INT_MAX: Final = 2**31 - 1

Altered = Mapping[SourcePartition, Mapping[str, Any] | None] | Mapping[Any, Mapping[str, Any] | None]


def source_partition(cluster: str, topic: str, partition: int) -> SourcePartition:
    """The source partition of a topic's partition on the source cluster."""
    return SourcePartition({CLUSTER: cluster, PARTITION: partition, TOPIC: topic})


def source_offset(offset: int) -> dict[str, int]:
    """The source offset after that record was copied."""
    return {OFFSET: offset}


def offset_of(source_offset: Mapping[str, Any] | None) -> int | None:
    """The offset of the last record that was copied; None if none was."""
    offset = (source_offset or {}).get(OFFSET)
    return offset if isinstance(offset, int) and offset >= 0 else None


def checkpoint_partition(group: str, topic: str, partition: int) -> SourcePartition:
    """The source partition of a checkpoint; the topic is the remote one."""
    return SourcePartition({PARTITION: partition, TOPIC: topic, GROUP: group})


def heartbeat_partition(source_alias: str, target_alias: str) -> SourcePartition:
    """The source partition of heartbeats."""
    return SourcePartition({SOURCE_ALIAS: source_alias, TARGET_ALIAS: target_alias})


def check_source_offsets(offsets: Altered) -> None:
    """Refuse offsets that MirrorSourceConnector could not go on from.

    Raises:
        ConnectError: in MirrorMaker 2's words.
    """
    _check(offsets, strings=(CLUSTER, TOPIC), has_partition=True, is_zero_only=False)


def check_checkpoint_offsets(offsets: Altered) -> None:
    """Refuse offsets that MirrorCheckpointConnector would not have written. Raises ConnectError."""
    _check(offsets, strings=(GROUP, TOPIC), has_partition=True, is_zero_only=True)


def check_heartbeat_offsets(offsets: Altered) -> None:
    """Refuse offsets that MirrorHeartbeatConnector would not have written. Raises ConnectError."""
    _check(offsets, strings=(SOURCE_ALIAS, TARGET_ALIAS), has_partition=False, is_zero_only=True)


def _check(offsets: Altered, *, strings: Sequence[str], has_partition: bool, is_zero_only: bool) -> None:
    for partition, offset in offsets.items():
        if offset is None:
            continue  # anything may be removed, also what should never have been there
        if partition is None:
            raise ConnectError("Source partitions may not be null")
        for key in strings:
            _check_string(partition, key)
        if has_partition:
            _check_partition(partition)
        _check_offset(partition, offset, is_zero_only)


def _check_string(partition: Mapping[str, Any], key: str) -> None:
    if key not in partition:
        raise ConnectError(f"Source partition {render_map(partition)} is missing the '{key}' key, which is required")
    if not isinstance(partition[key], str):
        raise ConnectError(_invalid_in(partition, key, "which must be a string"))


def _check_partition(partition: Mapping[str, Any]) -> None:
    if PARTITION not in partition:
        raise ConnectError(
            f"Source partition {render_map(partition)} is missing the '{PARTITION}' key, which is required"
        )
    number = partition[PARTITION]
    if not _is_integer(number) or number > _INT_MAX:
        raise ConnectError(_invalid_in(partition, PARTITION, "which must be an integer"))
    if number < 0:
        raise ConnectError(_invalid_in(partition, PARTITION, "which cannot be negative"))


def _check_offset(partition: Mapping[str, Any], offset: Mapping[str, Any], is_zero_only: bool) -> None:
    where = f"Source offset {render_map(offset)} for source partition {render_map(partition)}"
    if OFFSET not in offset:
        raise ConnectError(f"{where} is missing the '{OFFSET}' key, which is required")
    number = offset[OFFSET]
    problem = None
    if not _is_integer(number):
        problem = ", which must be an integer"
    elif is_zero_only and number != 0:
        problem = "; the only accepted value is 0"
    elif not is_zero_only and number < 0:
        problem = ", which cannot be negative"
    if problem is not None:
        raise ConnectError(f"{where} has an invalid value {render(number)} for the '{OFFSET}' key{problem}")


def _invalid_in(partition: Mapping[str, Any], key: str, problem: str) -> str:
    value = render(partition[key])
    return f"Source partition {render_map(partition)} has an invalid value {value} for the '{key}' key, {problem}"


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
