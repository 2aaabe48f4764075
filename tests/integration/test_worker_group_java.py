"""Groups of workers, and requests between workers, beside the real Kafka Connect."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from fixtures.worker_groups import Cluster
from seamark.errors import KafkaError
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.log import LogRecord, TopicLog
from seamark.runtime.forwarding import RestClient
from seamark.runtime.herder import InternalRequest, RestError
from seamark.runtime.internal_requests import SIGNATURE_ALGORITHM_HEADER, SIGNATURE_HEADER, InternalRequests
from seamark.storage.config_records import SessionKey
from seamark.testing.java_connect import JavaConnect
from seamark.testing.waiting import eventually


@pytest.mark.java
@pytest.mark.slow
def test_java_workers_and_ours_take_a_group_over_from_each_other(
    broker: EmbeddedBroker, topic_name: str, tmp_path: Path
) -> None:
    cluster = Cluster(broker.bootstrap_servers, topic_name)
    java = JavaConnect(tmp_path / "java", broker.bootstrap_servers, group_id=topic_name, heap="256m")
    java.start()
    try:
        ours = cluster.join("a")
        member = cluster.members["a"]
        error = eventually(lambda: member.error)
        assert error is not None
        assert error.code == "INCONSISTENT_GROUP_PROTOCOL"
        assert "Kafka Connect" in str(error)
        assert topic_name in str(error)
        assert member.is_rebalancing
        with pytest.raises(KafkaError) as foreign:
            member.members()
        assert foreign.value.code == "INCONSISTENT_GROUP_PROTOCOL"
        assert member.leader_url() is None
        assert not ours.assignments
        java.stop()
        cluster.settle(slots=5)
        assert member.error is None
        cluster.stop()
        java.start()
        assert java.request("GET", "/connectors") == (200, [])
    finally:
        cluster.stop()
        java.stop()


@pytest.mark.java
def test_a_java_worker_accepts_our_signature(
    java_connect: JavaConnect, broker: EmbeddedBroker, topic_name: str, tmp_path: Path
) -> None:
    lines = tmp_path / "lines"
    lines.write_text("one\n")
    java_connect.create(topic_name, {"connector.class": "FileStreamSource", "file": str(lines), "topic": topic_name})
    java_connect.wait_state(topic_name, "RUNNING")
    try:
        key = _session_key(java_connect)
        tasks = [each["config"] for each in java_connect.request("GET", f"/connectors/{topic_name}/tasks")[1]]
        assert tasks
        url, signing, client = f"{java_connect.url}/connectors/{topic_name}/tasks", InternalRequests(), RestClient()
        assert client.internal("POST", url, tasks, signing, key) is None
        with pytest.raises(RestError) as refused:
            client.internal("POST", url, tasks, signing, signing.new_key(0))
        assert (refused.value.status, refused.value.message) == (403, "Internal request contained invalid signature.")
        with pytest.raises(RestError) as unsupported:
            sha1 = InternalRequests(signature_algorithm="HmacSHA1", verification_algorithms=["HmacSHA1"])
            client.internal("POST", url, tasks, sha1, key)
        ours = InternalRequests()
        with pytest.raises(RestError) as same:
            ours.verify(_signed(sha1, b"[]", key), key)
        assert (unsupported.value.status, unsupported.value.message) == (same.value.status, same.value.message)
        client.close()
        assert not InternalRequests().must_replace(key, key.creation_timestamp), "we would go on with Java's key"
    finally:
        java_connect.delete(topic_name)


def _session_key(java: JavaConnect) -> SessionKey:
    found: list[Any] = []

    def keep(record: LogRecord) -> None:
        if record.key == b"session-key" and record.value is not None:
            found.append(json.loads(record.value))

    log = TopicLog(
        java.config["config.storage.topic"],
        consumer_config={"bootstrap.servers": java.config["bootstrap.servers"]},
        on_record=keep,
    )
    log.start()
    log.stop()
    key = found[-1]
    return SessionKey(base64.b64decode(key["key"]), key["algorithm"], key["creation-timestamp"])


def _signed(signing: InternalRequests, body: bytes, key: SessionKey) -> InternalRequest:
    headers = signing.sign(body, key)
    return InternalRequest(body, headers[SIGNATURE_HEADER], headers[SIGNATURE_ALGORITHM_HEADER])
