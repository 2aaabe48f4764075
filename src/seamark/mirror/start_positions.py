"""Where a mirror begins to read, and what it does when the source no longer has what comes next.

A committed offset is the last one that was copied, so reading goes on behind it. Where nothing is committed, the
connector's `mirror.start` or its consumer's ``auto.offset.reset`` decides. A position that lies before the log's start
(retention, deleted records) or behind its end (truncated, or the topic was deleted and created again) means that
records were lost or replaced: `mirror.on.data.loss` says whether that fails the task.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from typing import Any, Final

from seamark.config.timestamps import parse_timestamp_ms
from seamark.errors import ConfigError, ConnectError
from seamark.kafka.admin import Admin
from seamark.kafka.offset_queries import OffsetQuery
from seamark.kafka.topic_partitions import TopicPartition

log = logging.getLogger(__name__)

LIST_S = 30.0
_PARTITION: Final = re.compile("[0-9]{1,10}")
_LAST_PARTITION: Final = 2**31 - 1
_LAST_OFFSET: Final = 2**63 - 1


def start_positions(
    admin: Admin,
    committed: Mapping[TopicPartition, Mapping[str, Any] | None],
    *,
    start: str,
    on_data_loss: str,
) -> dict[TopicPartition, int]:
    """The next offset to read of each partition.

    Args:
        admin: for the source cluster.
        committed: the source offset of each partition, None where there is none.
        start: for the latter: ``earliest``, ``latest``, ``none``, a time, or explicit offsets as JSON.
        on_data_loss: what to do where the committed position is not in the log.

    Raises:
        ConnectError: records were lost and that is to fail, or `start` gives no answer for a partition.
    """
    positions: dict[TopicPartition, int] = {}
    for where, offset in committed.items():
        last = None if offset is None else offset.get("offset")
        if isinstance(last, int) and last >= -1:
            positions[where] = last + 1
    starts = admin.list_offsets(dict.fromkeys(positions, "earliest"), timeout_s=LIST_S)
    ends = admin.list_offsets(dict.fromkeys(positions, "latest"), timeout_s=LIST_S)
    for where, position in positions.items():
        if not starts[where] <= position <= ends[where]:
            positions[where] = _judged(where, position, starts[where], ends[where], on_data_loss)
    fresh = [where for where in committed if where not in positions]
    return {**positions, **_fresh_positions(admin, fresh, start)}


def data_loss(admin: Admin, where: TopicPartition, position: int, on_data_loss: str) -> int:
    """Where to go on after a position turned out not to be in the log.

    Raises:
        ConnectError: that is to fail.
    """
    start = admin.list_offsets({where: "earliest"}, timeout_s=LIST_S)[where]
    end = admin.list_offsets({where: "latest"}, timeout_s=LIST_S)[where]
    return _judged(where, position, start, end, on_data_loss)


def recreated(admin: Admin, where: TopicPartition, position: int, on_data_loss: str) -> int:
    """Where to go on in a topic that was deleted and created again, after another one of its name was copied.

    Raises:
        ConnectError: that is to fail.
    """
    start = admin.list_offsets({where: "earliest"}, timeout_s=LIST_S)[where]
    end = admin.list_offsets({where: "latest"}, timeout_s=LIST_S)[where]
    what = (
        f"Topic {where.topic} was deleted and created again: position {position} of {where.topic}-{where.partition} is "
        "one of the former topic (offsets that are altered count for the new one)"
    )
    return _decided(what, start, end, on_data_loss)


def _judged(where: TopicPartition, position: int, start: int, end: int, on_data_loss: str) -> int:
    if position < start:
        what = (
            f"Records {position} to {start - 1} of {where.topic}-{where.partition} were deleted before they were copied"
        )
    else:
        what = (
            f"{where.topic}-{where.partition} ends at offset {end}, before position {position}: it was truncated, or "
            "deleted and created again"
        )
    return _decided(what, start, end, on_data_loss)


def _decided(what: str, start: int, end: int, on_data_loss: str) -> int:
    if on_data_loss == "fail":
        raise ConnectError(
            f"{what}. The source holds offsets {start} to {end - 1 if end > start else start}. Alter or reset the "
            "offset of this partition, or set 'mirror.on.data.loss' to 'reset' (go on at the log's start) or 'skip' "
            "(go on at its end)."
        )
    position = start if on_data_loss == "reset" else end
    log.warning("%s. By 'mirror.on.data.loss' copying goes on at offset %d.", what, position)
    return position


def _fresh_positions(admin: Admin, partitions: list[TopicPartition], start: str) -> dict[TopicPartition, int]:
    if not partitions:
        return {}
    if start == "none":
        raise ConnectError(
            f"{partitions[0]} has no committed offset, and 'auto.offset.reset' of the source consumer is 'none'."
        )
    queries: dict[TopicPartition, OffsetQuery] = {}
    explicit: dict[TopicPartition, int] = {}
    given = explicit_offsets(start) if start.lstrip().startswith("{") else None
    for where in partitions:
        if given is None:
            queries[where] = start if start in ("earliest", "latest") else parse_timestamp_ms(start)  # type: ignore[assignment]
        elif (offset := given.get(where)) is not None:
            explicit[where] = offset
        else:
            queries[where] = "earliest"
    return {**explicit, **admin.list_offsets(queries, timeout_s=LIST_S)}


def explicit_offsets(text: str) -> dict[TopicPartition, int]:
    """Offsets from JSON: ``{"topic": {"0": 17}}``, the next offset to read.

    Raises:
        ConfigError: it is not of that form.
    """
    problem = f'mirror.start must be like {{"topic": {{"0": 17}}}} to name offsets, but is {text}'
    try:
        topics = json.loads(text)
        return {
            TopicPartition(topic, _partition(partition, problem)): _offset(offset, problem)
            for topic, partitions in topics.items()
            for partition, offset in partitions.items()
        }
    except (ValueError, AttributeError, RecursionError) as error:
        raise ConfigError(problem, key="mirror.start", value=text) from error


def _partition(number: str, problem: str) -> int:
    if _PARTITION.fullmatch(number) is None or int(number) > _LAST_PARTITION:
        raise ConfigError(problem, key="mirror.start", value=number)
    return int(number)


def _offset(offset: object, problem: str) -> int:
    if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset <= _LAST_OFFSET:
        raise ConfigError(problem, key="mirror.start", value=offset)
    return offset
