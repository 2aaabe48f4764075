"""One connector with a thousand partitions; new ones reach it without a restart."""

from __future__ import annotations

import pytest

from fixtures.mirror_flows import WAIT_S, Kafka, MakeFlow
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition, TopicSpec
from seamark.testing.waiting import eventually

TOPICS, PARTITIONS, TASKS = 200, 5, 4


@pytest.mark.slow
def test_a_thousand_partitions_and_then_more(make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str) -> None:
    topics = [f"{topic_name}-{number}" for number in range(TOPICS)]
    later = f"{topic_name}-later"
    near.admin.create_topics(TopicSpec(topic, PARTITIONS, 1) for topic in topics)
    where = [TopicPartition(topic, partition) for topic in topics for partition in range(PARTITIONS)]
    with RecordProducer({"bootstrap.servers": near.servers}) as producer:
        for each in where:
            for number in range(3):
                producer.send(each.topic, f"{each} {number}".encode(), partition=each.partition)
        assert producer.flush(60) == 0
    flow = make_flow()
    copies = [TopicPartition(flow.remote(each.topic), each.partition) for each in where]
    try:
        name = flow.start("Source", topics=f"{topic_name}-.*", tasks__max=str(TASKS))

        def copied() -> int:
            return len(flow.connect.offsets(name))

        eventually(lambda: copied() == len(where), WAIT_S)
        tasks = flow.connect.ask("GET", f"/connectors/{name}/tasks")
        shares = [len(task["config"]["task.assigned.partitions"].split(",")) for task in tasks]
        assert shares == [len(where) // TASKS] * TASKS
        ends = far.admin.list_offsets(dict.fromkeys(copies, "latest"))
        assert min(ends.values()) >= 3

        worker = flow.cluster.nodes[0].worker
        stage = worker.runner(name)._stage
        near.create(later, 2)
        near.send(later, [b"new"], 1)
        eventually(lambda: far.values(flow.remote(later), 1) == [b"new"], WAIT_S)
        assert worker.runner(name)._stage is stage, "the connector was started anew"
        tasks = flow.connect.ask("GET", f"/connectors/{name}/tasks")
        assigned = [task["config"]["task.assigned.partitions"].split(",") for task in tasks]
        assert sorted(map(len, assigned)) == [250, 250, 251, 251]
    finally:
        flow.close()
        near.admin.delete_topics([*topics, later])
        far.admin.delete_topics([flow.remote(topic) for topic in [*topics, later]])
