"""The topics in which mirrors keep their own records: one partition, compacted."""

from __future__ import annotations

import logging
from typing import Final

from seamark.errors import ConnectError
from seamark.kafka.mirror_admin import MirrorAdmin
from seamark.kafka.topic_partitions import TopicSpec

log = logging.getLogger(__name__)

# Whoever may not create topics is content with one that exists, or that brokers create when it is first written to.
_LEFT_TO_OTHERS: Final = frozenset(
    {"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "UNSUPPORTED_VERSION", "_UNSUPPORTED_FEATURE"}
)


def create_compacted_topic(admin: MirrorAdmin, topic: str, replication_factor: int, timeout_s: float) -> None:
    """Create an internal topic unless it exists.

    Raises:
        ConnectError: it does not exist and cannot be created.
    """
    spec = TopicSpec(topic, 1, replication_factor, {"cleanup.policy": "compact"})
    error = admin.create_many([spec], timeout_s=timeout_s).get(topic)
    if error is None:
        log.debug("Topic '%s' exists", topic)
    elif error.code in _LEFT_TO_OTHERS:
        log.debug("Topic '%s' is expected to exist: %s", topic, error)
    else:
        raise ConnectError(f"Error while attempting to create/find topic '{topic}': {error}") from error
