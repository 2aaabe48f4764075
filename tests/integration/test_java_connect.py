"""The real Kafka Connect runs here, so what is compared with it is compared with the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.java_connect import JavaConnect, JavaConnectError, Mode
from seamark.testing.waiting import eventually

pytestmark = pytest.mark.java


def values_of(bootstrap: str, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[str] = []

    def read() -> bool:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append(message.value().decode())
        return len(values) >= count

    try:
        eventually(read, 60, f"{count} records in {topic}")
        return values
    finally:
        consumer.close()


def file_source(path: Path, topic: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(path), "topic": topic}


def test_file_is_copied_to_a_topic_and_back(
    broker: EmbeddedBroker, java_connect: JavaConnect, topic_name: str, tmp_path: Path
) -> None:
    lines, copy = tmp_path / "lines.txt", tmp_path / "copy.txt"
    lines.write_text("one\ntwo\n")
    source, sink = f"{topic_name}-source", f"{topic_name}-sink"
    java_connect.create(source, file_source(lines, topic_name))
    java_connect.wait_state(source, "RUNNING", tasks=1)
    assert values_of(broker.bootstrap_servers, topic_name, 2) == ["one", "two"]

    java_connect.create(sink, {"connector.class": "FileStreamSink", "file": str(copy), "topics": topic_name})
    eventually(lambda: copy.read_text() == "one\ntwo\n", 60, "the sink did not write the file")

    java_connect.stop_connector(source)
    assert java_connect.offsets(source) == [{"partition": {"filename": str(lines)}, "offset": {"position": 8}}]
    java_connect.alter_offsets(source, [{"partition": {"filename": str(lines)}, "offset": {"position": 4}}])
    java_connect.resume(source)
    assert values_of(broker.bootstrap_servers, topic_name, 3) == ["one", "two", "two"]
    for name in (source, sink):
        java_connect.delete(name)
        eventually(lambda name=name: java_connect.request("GET", f"/connectors/{name}")[0] == 404)


def test_errors_of_the_worker_are_raised(java_connect: JavaConnect, topic_name: str, tmp_path: Path) -> None:
    with pytest.raises(JavaConnectError, match="400"):
        java_connect.create(topic_name, {"connector.class": "NoSuchConnector"})
    java_connect.create(topic_name, file_source(tmp_path / "x", topic_name), initial_state="STOPPED")
    java_connect.wait_state(topic_name, "STOPPED")
    with pytest.raises(JavaConnectError, match="already exists"):
        java_connect.create(topic_name, file_source(tmp_path / "x", topic_name))
    with pytest.raises(JavaConnectError, match="not RUNNING"):
        java_connect.wait_state(topic_name, "RUNNING", within_s=0)
    java_connect.delete(topic_name)


def test_standalone_keeps_its_offsets_in_a_file(broker: EmbeddedBroker, topic_name: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("one\n")
    worker = JavaConnect(tmp_path / "worker", broker.bootstrap_servers, mode=Mode.STANDALONE, heap="256m")
    with worker:
        worker.create(topic_name, file_source(lines, topic_name))
        assert values_of(broker.bootstrap_servers, topic_name, 1) == ["one"]
    assert not worker.is_running
    assert (tmp_path / "worker" / "offsets").stat().st_size > 0
    with lines.open("a") as more:
        more.write("two\n")
    with worker:
        worker.create(topic_name, file_source(lines, topic_name))
        assert values_of(broker.bootstrap_servers, topic_name, 2) == ["one", "two"]


def test_worker_that_cannot_start_quotes_its_log(broker: EmbeddedBroker, tmp_path: Path) -> None:
    broken = JavaConnect(tmp_path, broker.bootstrap_servers, config={"key.converter": "no.such.Converter"})
    with pytest.raises(JavaConnectError, match=r"no\.such\.Converter"):
        broken.start()
    assert not broken.is_running
