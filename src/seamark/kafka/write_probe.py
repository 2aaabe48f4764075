"""Proof that a cluster takes records in transactions, and what its clock says: by writing one.

The topic is made for it and deleted afterwards, whatever happens. The transactional id stays known to the cluster until
it expires there.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from seamark.errors import KafkaError
from seamark.kafka.admin import Admin
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import BROKER_DEFAULT, TopicPartition, TopicSpec

_TOPIC: Final = "seamark-doctor-"


@dataclass(frozen=True, slots=True)
class WriteProbe:
    """A record that was written: when, by this machine's clock and by the broker's, in milliseconds."""

    topic: str
    sent_ms: int
    committed_ms: int
    broker_ms: int


def write_probe(
    admin_config: Mapping[str, str], producer_config: Mapping[str, str], transactional_id: str, timeout_s: float
) -> WriteProbe:
    """Create a topic, write a record to it in a transaction, read when the broker got it, delete the topic.

    Raises:
        KafkaError: something of this failed.
    """
    topic = f"{_TOPIC}{uuid.uuid4().hex[:12]}"
    where = TopicPartition(topic, 0)
    spec = TopicSpec(topic, 1, BROKER_DEFAULT, {"message.timestamp.type": "LogAppendTime"})
    with Admin(admin_config) as admin:
        try:
            admin.ensure_topic(spec, timeout_s=timeout_s)
            with RecordProducer(dict(producer_config), transactional_id) as producer:
                producer.init_transactions(timeout_s)
                producer.begin()
                sent_ms = _now_ms()
                producer.send(topic, b"seamark doctor", partition=0)
                producer.flush(timeout_s)
                committed_ms = _now_ms()
                producer.commit(timeout_s)
            stamped = admin.newest_times([where], timeout_s=timeout_s).get(where)
        finally:
            admin.delete_topics([topic], timeout_s=timeout_s)
    if stamped is None:
        raise KafkaError(f"The record that was written to {topic!r} cannot be found there.")
    return WriteProbe(topic, sent_ms, committed_ms, stamped)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
