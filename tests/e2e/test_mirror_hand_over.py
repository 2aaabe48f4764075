"""A flow that the real MirrorMaker 2 began is continued by Seamark and handed back: the same group id and topics."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.herders import Cluster, herder_properties
from fixtures.mirror_flows import WAIT_S, Flow, Kafka
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror import MirrorClient
from seamark.testing.java_connect import JavaConnect
from seamark.testing.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow]
PARTITIONS = 2


class _Workers:
    """Either kind of worker, one at a time, on the same topics."""

    def __init__(self, spark: SparkSession, broker: EmbeddedBroker, directory: Path, kind: str) -> None:
        self._spark, self._broker, self._directory = spark, broker, directory
        self.properties = herder_properties(broker, kind, directory)
        names = {key: value for key, value in self.properties.items() if key.endswith((".topic", "group.id"))}
        shared = {
            key: self.properties[key]
            for key in ("exactly.once.source.support", "offset.storage.partitions", "status.storage.partitions")
        }
        self._java = {**names, **shared, "offset.flush.interval.ms": "500"}

    @contextmanager
    def java(self) -> Iterator[JavaConnect]:
        group = self._java["group.id"]
        with JavaConnect(
            self._directory / f"java-{uuid.uuid4().hex[:6]}",
            self._broker.bootstrap_servers,
            group_id=group,
            config=self._java,
            heap="384m",
        ) as worker:
            yield worker

    @contextmanager
    def seamark(self) -> Iterator[Cluster]:
        cluster = Cluster(self.properties, self._spark)
        try:
            cluster.add()
            yield cluster
        finally:
            cluster.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["exactly-once", "distributed"])
def test_a_flow_goes_from_java_to_seamark_and_back(
    spark: SparkSession,
    second_broker: EmbeddedBroker,
    near: Kafka,
    far: Kafka,
    tmp_path: Path,
    topic_name: str,
    kind: str,
) -> None:
    workers = _Workers(spark, second_broker, tmp_path, kind)
    near.create(topic_name, PARTITIONS)
    sent: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    tag = uuid.uuid4().hex[:6]

    def produce(count: int) -> None:
        for partition in range(PARTITIONS):
            new = [f"{partition}-{len(sent[partition]) + each}".encode() for each in range(count)]
            near.send(topic_name, new, partition)
            sent[partition] += new

    def arrived(remote: str) -> bool:
        return all(set(sent[each]) <= set(far.values(remote, each)) for each in range(PARTITIONS))

    def translated(group: str, alias: str, remote: str, read: int = 300) -> int:
        """Where a group that has read so many records of partition 0 would go on."""
        near.commit(group, {TopicPartition(topic_name, 0): read})
        client = MirrorClient({"bootstrap.servers": far.servers})
        where = TopicPartition(remote, 0)
        try:
            return eventually(
                lambda: client.remote_consumer_offsets(group, alias, 30)[where], WAIT_S, f"{group} is not translated"
            ).offset
        finally:
            client.close()

    produce(100)
    translations = []
    with workers.java() as java:
        flow = _FlowOf(near, far, f"n{tag}", f"f{tag}")
        remote = flow.remote(topic_name)
        source, checkpoint = f"mirror-{tag}", f"checkpoints-{tag}"
        java.create(source, flow.config("Source", topics=topic_name, offset__lag__max="10"))
        java.create(checkpoint, flow.config("Checkpoint", topics=topic_name, groups=f"{tag}-.*"))
        eventually(lambda: arrived(remote), WAIT_S)
        # Of syncs from before its start MirrorMaker 2 keeps but the last: it has to look on while the rest is copied.
        translated(f"{tag}-early", flow.source_alias, remote, 100)
        produce(300)
        eventually(lambda: arrived(remote), WAIT_S)
        translations.append(translated(f"{tag}-first", flow.source_alias, remote))
    produce(300)
    with workers.seamark() as cluster:
        connect = cluster.connect()
        connect.await_state(source, "RUNNING")
        eventually(lambda: arrived(remote), WAIT_S)
        translations.append(translated(f"{tag}-second", flow.source_alias, remote))
        produce(100)
        eventually(lambda: arrived(remote), WAIT_S)
    produce(300)
    with workers.java() as java:
        java.wait_state(source, "RUNNING")
        eventually(lambda: arrived(remote), WAIT_S)
        translations.append(translated(f"{tag}-third", flow.source_alias, remote))

    for partition in range(PARTITIONS):
        found = far.values(remote, partition)
        if kind == "exactly-once":
            assert found == sent[partition]
        else:  # nothing lost, and in order where nothing is repeated
            assert list(dict.fromkeys(found)) == sent[partition]
    # A group is never sent beyond what it has read, by whomever.
    position = next(r.offset for r in far.records(remote) if r.partition == 0 and r.value == sent[0][300])
    assert all(0 < each <= position for each in translations), (translations, position)


class _FlowOf(Flow):
    """Only its settings: there is no worker of its own."""

    def __init__(self, source: Kafka, target: Kafka, source_alias: str, target_alias: str) -> None:
        self.source, self.target = source, target
        self.source_alias, self.target_alias = source_alias, target_alias
