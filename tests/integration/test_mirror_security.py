"""Mirrors log in at a cluster that insists on it, with settings of that cluster alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.mirror_flows import WAIT_S, Kafka, MakeFlow
from fixtures.secured import settings
from seamark.kafka.admin import Admin
from seamark.kafka.group_offsets import GroupOffsets
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition, TopicSpec
from seamark.testing.waiting import eventually


@pytest.mark.slow
def test_records_and_groups_of_a_secured_source(
    secured: str, certificate: tuple[Path, Path], make_flow: MakeFlow, far: Kafka, topic_name: str
) -> None:
    source, where = settings(secured, certificate), TopicPartition(topic_name, 0)
    with Admin(source) as admin:
        admin.create_topics([TopicSpec(topic_name, 1, 1)])
    with RecordProducer(source) as producer:
        producer.send_batch(topic_name, [b"1", b"2", b"3"])
        assert producer.flush(30) == 0
    group = f"{topic_name}-group"
    offsets = GroupOffsets(source, group)
    offsets.commit({where: 3})
    offsets.close()
    flow = make_flow()
    cluster = {f"source.cluster.{key}": value for key, value in source.items()}
    flow.start("Source", topics=topic_name, offset__lag__max="0", **cluster)
    eventually(lambda: far.values(flow.remote(topic_name)) == [b"1", b"2", b"3"], WAIT_S)
    flow.start("Checkpoint", topics=topic_name, groups=group, sync__group__offsets__enabled="true", **cluster)
    there = TopicPartition(flow.remote(topic_name), 0)
    eventually(lambda: there in far.committed(group), WAIT_S)
    assert far.committed(group)[there] == far.records(there.topic)[-1].offset + 1
