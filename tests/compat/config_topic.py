"""Reading and writing a cluster's config topic as another worker of it would."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from compat.differences import differs
from compat.targets import Target
from seamark.testing.waiting import patience


class ConfigTopic:
    """The records of the config topic, committed ones only."""

    def __init__(self, target: Target) -> None:
        self._servers = {"bootstrap.servers": target.bootstrap_servers}
        self._target, self._topic = target, target.config_topic

    def write(self, key: str, value: dict[str, Any] | None) -> None:
        content = None if value is None else json.dumps(value).encode()
        producer = Producer(self._servers)
        producer.produce(self._topic, content, key=key.encode(), partition=0)
        assert producer.flush(30) == 0

    def write_connector(self, name: str, config: dict[str, str]) -> None:
        """What a worker that knows all plugins would have written."""
        self.write(f"connector-{name}", {"properties": {"name": name, **config}})

    def latest(self, key: str) -> dict[str, Any] | None:
        """The last record with this key."""
        found = [value for each, value in self.records() if each == key]
        return found[-1] if found else None

    def records(self) -> list[tuple[str, dict[str, Any] | None]]:
        """All records, in order, but for those that Kafka Connect does not know and skips."""
        partition = TopicPartition(self._topic, 0, OFFSET_BEGINNING)
        consumer = Consumer({**self._servers, "group.id": "compat-reader", "isolation.level": "read_committed"})
        found: list[tuple[str, dict[str, Any] | None]] = []
        try:
            _, end = consumer.get_watermark_offsets(partition, timeout=30)
            consumer.assign([partition])
            deadline = time.monotonic() + patience(30)
            while consumer.position([partition])[0].offset < end and time.monotonic() < deadline:
                for message in consumer.consume(10_000, 0.1):
                    assert message.error() is None
                    if differs(self._target, "config-topic/placement") and message.key().startswith(b"placement-"):
                        continue
                    value = message.value()
                    found.append((message.key().decode(), None if value is None else json.loads(value)))
        finally:
            consumer.close()
        return found

    def sign(self, body: bytes) -> dict[str, str]:
        """Headers of an internal request, signed with the session key of the cluster."""
        record = self.latest("session-key")
        assert record is not None
        key = base64.b64decode(record["key"])
        signature = base64.b64encode(hmac.new(key, body, hashlib.sha256).digest()).decode()
        return {
            "Content-Type": "application/json",
            "X-Connect-Authorization": signature,
            "X-Connect-Request-Signature-Algorithm": "HmacSHA256",
        }
