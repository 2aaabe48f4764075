"""`/` and `/health`."""

from __future__ import annotations

import re

from confluent_kafka.admin import AdminClient

from compat.client import Connect, expect
from seamark.kafka.broker import EmbeddedBroker


def test_root(connect: Connect, broker: EmbeddedBroker) -> None:
    root = expect(connect.get("/"), 200)
    assert list(root) == ["version", "commit", "kafka_cluster_id"]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", root["version"])
    assert re.fullmatch("[0-9a-f]{16}", root["commit"])
    cluster = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=30)
    assert root["kafka_cluster_id"] == cluster.cluster_id


def test_every_worker_is_healthy(connect: Connect) -> None:
    message = "Worker has completed startup and is ready to handle requests."
    for number in range(len(connect.target.urls)):
        worker = Connect(connect.target, number)
        assert expect(worker.get("/health"), 200) == {"status": "healthy", "message": message}
        worker.close()
