"""Deleting a consumer group's offsets: the one request that librdkafka's Python binding lacks and kafka-python has."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from seamark.errors import KafkaError
from seamark.kafka.security import kafka_python_config
from seamark.kafka.topic_partitions import TopicPartition


def delete_group_offsets(
    java_config: Mapping[str, str], group: str, partitions: Sequence[TopicPartition], timeout_s: float
) -> None:
    """Delete the group's committed offsets of these partitions; a group that does not exist has none.

    Raises:
        KafkaError: the broker refused, or did not answer.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it reads its own resources in a way Python gives up
        import kafka
        import kafka.errors

    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # what went wrong is in the error that is raised
    action = f"delete offsets of consumer group {group!r}"
    brokers = java_config.get("bootstrap.servers", "")
    wanted = [kafka.TopicPartition(where.topic, where.partition) for where in partitions]
    try:
        client = kafka.KafkaAdminClient(
            request_timeout_ms=int(timeout_s * 1000),
            bootstrap_timeout_ms=int(timeout_s * 1000),
            **kafka_python_config(java_config),
        )
        try:
            answer = client.delete_group_offsets(group, wanted)
        finally:
            client.close()
    except kafka.errors.GroupIdNotFoundError:
        return
    except kafka.errors.KafkaError as error:
        raise _ours(error, action, brokers) from error
    for where, kind in answer.items():
        if kind is not kafka.errors.NoError:
            raise _ours(kind(f"{where.topic}-{where.partition}"), action, brokers)


def _ours(error: Any, action: str, brokers: str) -> KafkaError:
    code = str(getattr(error, "message", "") or type(error).__name__)
    return KafkaError(
        f"Could not {action} at {brokers}: {getattr(error, 'description', '') or error} ({code})",
        retriable=bool(getattr(error, "retriable", False)),
        code=code,
    )
