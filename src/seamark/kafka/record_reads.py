"""A few records of logs, read in bounded time by a consumer of their own: to look, not to move on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Final

from seamark.kafka.consumer import (
    ConsumedRecord,
    RecordConsumer,
    consumed,
    offsets_of,
    runs_of,
    timestamps_of,
)
from seamark.kafka.topic_partitions import TopicPartition

_LIMIT: Final = 200
_POLL_S: Final = 0.05
TO_LOOK: Final = {
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",  # what retention takes meanwhile is skipped
    "fetch.min.bytes": "1",
    "fetch.max.wait.ms": "100",
}
# One record of each partition is wanted: nothing is to be fetched in advance.
_ONE_EACH: Final = {"fetch.max.bytes": "8388608", "queued.min.messages": "1"}
# Of a partition whose next batch is longer a broker sends nothing, except of one partition at a time; of every other
# one it sends as much as is there. So the more partitions there are, the less is asked of each at first.
_LEAST_BYTES: Final = 128 * 2**10
_MOST_BYTES: Final = 2**20
_BYTES_IN_ALL: Final = 128 * 2**20
_SOME: Final = {
    "max.partition.fetch.bytes": "1048576",
    "fetch.max.bytes": "8388608",
    "queued.max.messages.kbytes": "4096",
}
# Compaction and markers of transactions leave gaps: more offsets than records are looked at, in front of a place.
_MORE: Final = 10
_WIDER: Final = 8
_WIDEST: Final = 20_000


def first_timestamps(
    consumer_config: Mapping[str, str], positions: Mapping[TopicPartition, int], budget_s: float
) -> dict[TopicPartition, int | None]:
    """The timestamp of the first record at or behind each position.

    Returns:
        -1 for a record without one; None where the end was reached without a record (markers of transactions are
        none). Partitions that did not answer in time are missing.

    Raises:
        KafkaError: the cluster refuses the client.
    """
    deadline = time.monotonic() + budget_s
    found: dict[TopicPartition, int | None] = {}
    size = min(_MOST_BYTES, max(_LEAST_BYTES, _BYTES_IN_ALL // max(1, len(positions))))
    for fetched in dict.fromkeys((size, _MOST_BYTES)):
        waiting = {where: position for where, position in positions.items() if where not in found}
        left = deadline - time.monotonic()
        if waiting and left > 0:
            is_last = fetched == _MOST_BYTES
            _first_of_each(consumer_config, waiting, fetched, deadline if is_last else deadline - left / 2, found)
    return found


def _first_of_each(
    consumer_config: Mapping[str, str],
    positions: Mapping[TopicPartition, int],
    fetched: int,
    deadline: float,
    found: dict[TopicPartition, int | None],
) -> None:
    """Adds to what was found, fetching so many bytes of a partition at a time."""
    waiting = set(positions)
    consumer = RecordConsumer({**consumer_config, **TO_LOOK, **_ONE_EACH, "max.partition.fetch.bytes": str(fetched)})
    try:
        consumer.assign(positions)
        while waiting and time.monotonic() < deadline:
            messages = consumer.read(_LIMIT, _POLL_S)
            seen = []
            for where, run in runs_of(messages):
                if where in waiting:
                    found[where] = timestamps_of(run[:1])[0]
                    waiting.discard(where)
                    seen.append(where)
            consumer.pause(seen)
            if waiting and not seen:
                # Nothing was read of those that wait: a position is the end that was seen.
                for where in waiting.intersection(consumer.positions()):
                    found[where] = None
                    waiting.discard(where)
    finally:
        consumer.close()


def records_around(
    consumer_config: Mapping[str, str],
    where: TopicPartition,
    *,
    start: int,
    offset: int,
    end: int,
    before: int,
    after: int,
    budget_s: float,
) -> tuple[list[ConsumedRecord], bool]:
    """The last `before` records in front of an offset, the first one at or behind it and the `after` next ones.

    Returns:
        The records in order, and whether these are all that there are; else the time was over before.

    Raises:
        KafkaError: the cluster refuses the client.
    """
    deadline = time.monotonic() + budget_s
    if start >= end:
        return [], True
    window = 2 * before + _MORE
    while True:
        low = max(start, offset - window) if before else min(offset, end - 1)
        consumer = RecordConsumer({**consumer_config, **TO_LOOK, **_SOME})
        try:
            consumer.assign({where: low})
            found, is_complete = _from(consumer, where, offset, end, before, after + 1, deadline)
        finally:
            consumer.close()
        is_enough = sum(record.offset < offset for record in found) >= before
        if is_enough or low == start or window >= _WIDEST or not is_complete:
            return found, is_complete
        window = min(_WIDEST, window * _WIDER)


def _from(
    consumer: RecordConsumer, where: TopicPartition, offset: int, end: int, before: int, count: int, deadline: float
) -> tuple[list[ConsumedRecord], bool]:
    """From the consumer's position on: the last ones in front of the offset, and `count` from there."""
    front: deque[ConsumedRecord] = deque(maxlen=before)
    rest: list[ConsumedRecord] = []
    while True:
        messages = consumer.read(_LIMIT, _POLL_S)
        for at, message in zip(offsets_of(messages), messages, strict=True):
            if at >= end:
                return [*front, *rest], True
            (front if at < offset else rest).append(consumed(message))
            if len(rest) >= count or at == end - 1:
                return [*front, *rest], True
        if not messages and consumer.positions().get(where, -1) >= end:
            return [*front, *rest], True
        if time.monotonic() >= deadline:
            return [*front, *rest], False
