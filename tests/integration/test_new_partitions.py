"""A producer goes on when its topic has got more partitions since it last looked."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from seamark.errors import KafkaError
from seamark.kafka import producer as module
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition, TopicSpec

Send = Callable[[RecordProducer, str, int], None]


def one(producer: RecordProducer, topic: str, partition: int) -> None:
    producer.send(topic, b"v", partition=partition)


def many(producer: RecordProducer, topic: str, partition: int) -> None:
    producer.send_batch(topic, [b"v"], partition=partition)


def reported(producer: RecordProducer, topic: str, partition: int) -> None:
    producer.send_batch(topic, [b"v", b"w"], partition=partition, reports={1: lambda report: None})


@pytest.mark.parametrize("send", [one, many, reported])
def test_new_partitions_are_found_again_and_again(
    broker: EmbeddedBroker, topic_name: str, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = {"bootstrap.servers": broker.bootstrap_servers}
    with Admin(java) as admin, RecordProducer(java, reports_successes=True) as producer:
        admin.create_topics([TopicSpec(topic_name, 1, 1)])
        send(producer, topic_name, 0)
        assert producer.flush(30) == 0
        for partition in (1, 2):
            admin.create_partitions(topic_name, partition + 1)
            send(producer, topic_name, partition)
            assert producer.flush(30) == 0
            # Had the first wait not been forgotten, it would be taken for one that has lasted all this time.
            monkeypatch.setattr(module, "_NEW_PARTITION_S", 1.0)
            threading.Event().wait(1.1)
        ends = admin.list_offsets({TopicPartition(topic_name, number): "latest" for number in range(3)})
        assert min(ends.values()) >= 1
        with pytest.raises(KafkaError, match=f"send a record to topic '{topic_name}'") as error:
            send(producer, topic_name, 3)
        assert error.value.code == "_UNKNOWN_PARTITION"
