"""The few records that a view needs, read in bounded time: the newest of a log."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Final

from seamark.kafka.admin import Admin
from seamark.kafka.consumer import RecordConsumer, keys_of, offsets_of, values_of
from seamark.kafka.record_reads import TO_LOOK
from seamark.kafka.topic_partitions import TopicPartition

_POLL_S: Final = 0.05
_WINDOW: Final = 20_000
_GROWTH: Final = 4


def newest_records(
    topic: str,
    consumer_config: Mapping[str, str],
    admin_config: Mapping[str, str],
    *,
    wanted: Collection[bytes] | None,
    ask_s: float,
    read_s: float,
) -> tuple[dict[bytes, bytes | None], bool]:
    """The last value of each key in partition 0 of a topic, from its end backwards, as far as the time allows.

    A compacted topic still holds what was written since it was last compacted, which may be very much.

    Args:
        topic: the topic; one that does not exist has no records.
        consumer_config: Java-style settings.
        admin_config: Java-style settings.
        wanted: stop when all of these keys are found; None for all keys.
        ask_s: for the cluster to answer.
        read_s: for reading.

    Returns:
        The values, and whether all were found.

    Raises:
        KafkaError: the cluster refused, or did not answer.
    """
    where = TopicPartition(topic, 0)
    found: dict[bytes, bytes | None] = {}
    if wanted is not None and not wanted:
        return found, True
    with Admin(admin_config) as admin:
        if topic not in admin.describe_topics([topic], timeout_s=ask_s):
            return found, True
        start = admin.list_offsets({where: "earliest"}, timeout_s=ask_s)[where]
        end = admin.list_offsets({where: "latest"}, is_committed=_is_committed(consumer_config), timeout_s=ask_s)[where]
    if start >= end:
        return found, True
    deadline = time.monotonic() + read_s
    consumer = RecordConsumer({**consumer_config, **TO_LOOK})
    try:
        size, high, is_first = _WINDOW, end, True
        while high > start and (wanted is None or not all(key in found for key in wanted)):
            low = max(start, high - size)
            if is_first:
                consumer.assign({where: low})
            else:
                consumer.seek(where, low)
            window = _window(consumer, where, high, deadline)
            if window is None:
                return found, False
            for key, value in window.items():
                found.setdefault(key, value)
            size, high, is_first = size * _GROWTH, low, False
    finally:
        consumer.close()
    return found, True


def _window(
    consumer: RecordConsumer, where: TopicPartition, high: int, deadline: float
) -> dict[bytes, bytes | None] | None:
    """The last values from the consumer's position to `high`; None if that was not reached in time."""
    found: dict[bytes, bytes | None] = {}
    while time.monotonic() < deadline:
        messages = consumer.read(_WINDOW, _POLL_S)
        if messages:
            offsets = offsets_of(messages)
            keys = keys_of(messages) or []
            for offset, key, value in zip(offsets, keys, values_of(messages), strict=False):
                if offset < high and key is not None:
                    found[key] = value
            if offsets[-1] >= high - 1:
                return found
        elif consumer.positions().get(where, -1) >= high:
            return found
    return None


def _is_committed(consumer_config: Mapping[str, str]) -> bool:
    return consumer_config.get("isolation.level", "").lower() == "read_committed"
