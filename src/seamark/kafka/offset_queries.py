"""Questions about offsets and times of many partitions, sent to librdkafka's admin client all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import confluent_kafka
from confluent_kafka.admin import OffsetSpec

from seamark.config.position_plans import TimedOffset
from seamark.kafka.topic_partitions import TopicPartition

OffsetQuery = Literal["earliest", "latest", "newest"] | int
"""Where in a partition: its beginning, its end, its record with the latest time, or the first record at or after a
timestamp in milliseconds.
"""


def ask_offsets(
    client: Any, questions: Sequence[Mapping[TopicPartition, OffsetQuery]], is_committed: bool, timeout_s: float
) -> list[dict[TopicPartition, TimedOffset]]:
    """The answers, in order; an offset below zero stands for no such record.

    Args:
        client: a `confluent_kafka.admin.AdminClient`.
        questions: each asks at most one thing of a partition; they are under way at the same time.
        is_committed: look only before the last stable offset, as read_committed readers do.
        timeout_s: for all answers.

    Raises:
        confluent_kafka.KafkaException: a question failed.
    """
    level = (
        confluent_kafka.IsolationLevel.READ_COMMITTED
        if is_committed
        else confluent_kafka.IsolationLevel.READ_UNCOMMITTED
    )
    asked = [
        client.list_offsets(
            {confluent_kafka.TopicPartition(*_place(where)): _spec(query) for where, query in each.items()},
            isolation_level=level,
            request_timeout=timeout_s,
        )
        for each in questions
    ]
    answers = []
    for futures in asked:
        found = {TopicPartition(where.topic, where.partition): each.result() for where, each in futures.items()}
        answers.append({where: TimedOffset(each.offset, each.timestamp) for where, each in found.items()})
    return answers


def _place(where: TopicPartition) -> tuple[str, int]:
    return where.topic, where.partition


def _spec(query: OffsetQuery) -> Any:
    if query == "earliest":
        return OffsetSpec.earliest()
    if query == "latest":
        return OffsetSpec.latest()
    if query == "newest":
        return OffsetSpec.max_timestamp()
    return OffsetSpec.for_timestamp(int(query))
