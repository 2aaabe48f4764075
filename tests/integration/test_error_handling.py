"""Poison records and transforms on the real engine: what is dropped, reported and kept, as Kafka Connect does it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import confluent_kafka
import pytest
from pyspark.sql import SparkSession

from seamark.config.worker import WorkerConfig
from seamark.kafka import TopicSpec
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.runtime.states import State
from seamark.runtime.worker import Worker
from seamark.testing.waiting import eventually

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}
POISON = b"\x00not json"


class Lab:
    def __init__(self, spark: SparkSession, broker: EmbeddedBroker, directory: Path, name: str) -> None:
        self.name, self.directory, self.servers = name, directory, broker.bootstrap_servers
        settings = {"group.id": name, "offset.flush.interval.ms": "200", "seamark.idle.ms": "60000"}
        self.worker = Worker(WorkerConfig(settings).with_embedded_broker(self.servers), spark=spark)
        self.worker.start()

    def topic(self, suffix: str) -> str:
        topic = f"{self.name}-{suffix}"
        with Admin({"bootstrap.servers": self.servers}) as admin:
            admin.create_topics([TopicSpec(topic, 1, 1)])
        return topic

    def produce(self, topic: str, values: list[bytes | None]) -> None:
        with RecordProducer({"bootstrap.servers": self.servers}) as producer:
            producer.send_batch(topic, values)
            assert producer.flush(30) == 0

    def read(self, topic: str, count: int) -> list[confluent_kafka.Message]:
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": self.servers, "group.id": "reader", "auto.offset.reset": "earliest"}
        )
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found: list[confluent_kafka.Message] = []
        try:
            eventually(lambda: found.extend(consumer.consume(100, 0.2)) or len(found) >= count, within_s=60)
        finally:
            consumer.close()
        return found


@pytest.fixture
def lab(spark: SparkSession, broker: EmbeddedBroker, tmp_path: Path, topic_name: str):
    lab = Lab(spark, broker, tmp_path, topic_name)
    yield lab
    lab.worker.stop()


def sink(topic: str, out: Path, **errors: str) -> dict[str, str]:
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(out), "key.converter": STRING, **JSON}
    return {**config, **{name.replace("_", "."): value for name, value in errors.items()}}


def lines_of(out: Path) -> list[str]:
    return out.read_text().splitlines() if out.exists() else []


def test_with_tolerance_all_the_rest_arrives_in_order_and_dead_letters_say_why(lab: Lab) -> None:
    choose = random.Random(7)
    poisoned = sorted(choose.sample(range(200), 11))
    values = [POISON if n in poisoned else json.dumps({"n": n}).encode() for n in range(200)]
    topic, dead = lab.topic("in"), f"{lab.name}-dead"
    lab.produce(topic, values)
    out = lab.directory / "out.txt"
    config = sink(
        topic,
        out,
        errors_tolerance="all",
        errors_deadletterqueue_topic_name=dead,
        errors_deadletterqueue_topic_replication_factor="1",
        errors_deadletterqueue_context_headers_enable="true",
    )
    lab.worker.start_connector("copy", config)
    eventually(lambda: len(lines_of(out)) == 200 - len(poisoned), within_s=60)
    assert lines_of(out) == [f"{{n={n}}}" for n in range(200) if n not in poisoned]

    letters = lab.read(dead, len(poisoned))
    assert [letter.value() for letter in letters] == [POISON] * len(poisoned)
    headers = [dict(letter.headers() or []) for letter in letters]
    assert [int(each["__connect.errors.offset"]) for each in headers] == poisoned
    first = {name.removeprefix("__connect.errors."): value.decode() for name, value in headers[0].items()}
    assert first["topic"] == topic
    assert first["partition"] == "0"
    assert first["connector.name"] == "copy"
    assert first["task.id"] == "0"
    assert first["stage"] == "VALUE_CONVERTER"
    assert first["class.name"] == "org.apache.kafka.connect.json.JsonConverter"
    assert first["exception.class.name"] == "org.apache.kafka.connect.errors.DataException"
    assert first["exception.message"]
    assert "DataError" in first["exception.stacktrace"]
    eventually(lambda: lab.worker.progress("copy")[0].errors["total_records_skipped"] == len(poisoned), within_s=20)
    assert lab.worker.progress("copy")[0].errors["deadletterqueue_produce_requests"] == len(poisoned)


def test_with_tolerance_none_the_task_fails_at_that_record_and_goes_on_after_a_fix(lab: Lab) -> None:
    topic = lab.topic("in")
    lab.produce(topic, [b'{"n": 0}', b'{"n": 1}', POISON, b'{"n": 3}'])
    out = lab.directory / "out.txt"
    lab.worker.start_connector("copy", sink(topic, out))
    eventually(lambda: lab.worker.status("copy").tasks[0].state is State.FAILED, within_s=60)
    trace = lab.worker.status("copy").tasks[0].trace or ""
    assert "Tolerance exceeded in error handler" in trace
    assert f"the record at offset 2 of {topic}-0" in trace
    lab.worker.stop_connector("copy")

    lab.worker.start_connector("copy", sink(topic, out, errors_tolerance="all"))
    eventually(lambda: len(lines_of(out)) >= 3, within_s=60)
    assert sorted({line[-2] for line in lines_of(out)}) == ["0", "1", "3"]


def test_a_chain_of_transforms_shapes_what_a_source_produces(lab: Lab) -> None:
    file = lab.directory / "lines.txt"
    file.write_text("one\ntwo\ndrop me\nthree\n")
    topic = f"{lab.name}-lines"
    config = {
        "connector.class": "FileStreamSource",
        "file": str(file),
        "topic": "lines",
        "key.converter": STRING,
        **JSON,
        "transforms": "hoist,stamp,route",
        "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.stamp.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.stamp.static.field": "from",
        "transforms.stamp.static.value": "seamark",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "lines",
        "transforms.route.replacement": topic,
    }
    lab.worker.start_connector("lines", config)
    found = [json.loads(message.value()) for message in lab.read(topic, 4)]
    assert found == [{"line": text, "from": "seamark"} for text in ("one", "two", "drop me", "three")]


def test_a_wrong_transform_is_refused_before_anything_runs(lab: Lab) -> None:
    from seamark.errors import ConnectError

    config = {
        "connector.class": "FileStreamSource",
        "file": "lines.txt",
        "topic": "lines",
        "transforms": "x",
        "transforms.x.type": "NoSuchTransform",
    }
    with pytest.raises(ConnectError, match="NoSuchTransform"):
        lab.worker.start_connector("lines", config)
    assert lab.worker.connectors() == []
