"""HttpSink on the real engine: order, retries and dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from fixtures.event_receiver import Receiver
from fixtures.worker import MakeWorker, Topics
from seamark.connector import TopicPartition
from seamark.testing.waiting import eventually

STRING = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def test_events_arrive_in_order_and_what_is_refused_becomes_a_dead_letter(
    make_worker: MakeWorker, topics: Topics, topic_name: str, receiver: Receiver
) -> None:
    topic, dead = topics.create(topic_name, 3), f"{topic_name}-dead"
    for partition in range(3):
        topics.send(topic, [f"{partition}:{number}" for number in range(20)], partition)
    tries: Counter[bytes] = Counter()

    def answers(body: bytes) -> int:
        tries[body] += 1
        if body == b"1:7":
            return 400
        return 503 if body.endswith(b"5") and tries[body] < 3 else 200

    receiver.answers = answers
    worker = make_worker()
    config = {
        "connector.class": "HttpSink",
        "tasks.max": "2",
        "topics": topic,
        "http.url": receiver.url,
        "http.retry.backoff.ms": "20",
        "key.converter": STRING,
        "value.converter": STRING,
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    worker.start_connector(topic_name, config)
    eventually(lambda: len(receiver.taken) >= 59, 90, "not all events arrived")
    for partition in range(3):
        mine = [body for body in receiver.bodies if body.startswith(f"{partition}:")]
        wanted = [f"{partition}:{number}" for number in range(20) if (partition, number) != (1, 7)]
        assert list(dict.fromkeys(mine)) == wanted
    assert tries[b"0:15"] == 3
    assert tries[b"1:7"] == 1
    eventually(lambda: topics.values(dead) == ["1:7"], 30)
    committed = {TopicPartition(topic, partition): 20 for partition in range(3)}
    eventually(lambda: topics.group_offsets(f"connect-{topic_name}") == committed, 30)
