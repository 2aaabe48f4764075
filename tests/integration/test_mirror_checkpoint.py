"""Checkpoints and offsets of groups, from a source to a target, on real brokers.

Offset syncs are written by hand, as a source task writes them; tasks run as a worker runs them, without Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
import pytest

from fixtures.mirror_connectors import Flow
from seamark.connector.offsets import Offsets
from seamark.connector.records import SourceRecord
from seamark.errors import KafkaError
from seamark.kafka import TopicPartition
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.mirror_admin import GroupOffset
from seamark.mirror import translate_offsets
from seamark.mirror.checkpoint import MirrorCheckpointConnector
from seamark.mirror.checkpoint_task import MirrorCheckpointTask
from seamark.mirror.wire import Checkpoint
from seamark.testing.waiting import eventually


@pytest.fixture
def flow(broker: EmbeddedBroker) -> Iterator[Flow]:
    with Flow(broker.bootstrap_servers, emit__checkpoints__interval__seconds="1") as made:
        yield made


@pytest.fixture
def topic(flow: Flow, topic_name: str) -> str:
    """A source topic with two partitions and its copy, and the internal topics of the flow."""
    flow.create(flow.syncs_topic, configs={"cleanup.policy": "compact"})
    flow.create(flow.checkpoints_topic, configs={"cleanup.policy": "compact"})
    flow.create(flow.remote(topic_name), 2)
    return flow.create(topic_name, 2)


@contextmanager
def running(flow: Flow, *groups: str, **settings: str) -> Iterator[MirrorCheckpointTask]:
    task = MirrorCheckpointTask()
    task.start({**flow.config(**settings), "task.assigned.groups": ",".join(groups), "task.index": "0"}, Offsets())
    try:
        yield task
    finally:
        task.stop()


def polled(task: MirrorCheckpointTask, is_wanted: Callable[[Checkpoint], bool] = lambda _: True) -> list[SourceRecord]:
    """What the next poll with something wanted returns."""

    def poll() -> list[SourceRecord]:
        return [each for each in task.poll() or () if is_wanted(Checkpoint.from_record(each.key, each.value))]

    return eventually(poll, 60)


def checkpoints(records: list[SourceRecord]) -> list[Checkpoint]:
    return [Checkpoint.from_record(record.key, record.value) for record in records]


def nothing_more(task: MirrorCheckpointTask, flow: Flow, topic: str, probe: str) -> list[Checkpoint]:
    """All checkpoints until that of a later commit of the group `probe`: what did not come before it never does."""
    flow.commit(probe, topic, {0: 0})
    found: list[Checkpoint] = []

    def probed() -> bool:
        found.extend(checkpoints(task.poll() or []))
        return any(each.group == probe for each in found)

    eventually(probed, 60)
    return [each for each in found if each.group != probe]


def test_offsets_are_translated_by_the_syncs_and_written_as_mirror_maker_does(flow: Flow, topic: str) -> None:
    flow.sync(topic, 0, *((each, each) for each in range(10)), (15, 15))
    flow.sync(topic, 1, (100, 40))
    flow.commit("g", topic, {0: 5, 1: 99}, "a note")
    flow.commit("h", topic, {0: 20, 1: 100})
    before_ms = time.time_ns() // 1_000_000
    with running(flow, "g", "h") as task:
        records = polled(task)
    remote = flow.remote(topic)
    assert sorted(checkpoints(records), key=lambda each: each.key()) == [
        Checkpoint("g", remote, 0, 5, 1, "a note"),  # 99 lies before all syncs of partition 1
        Checkpoint("h", remote, 0, 20, 16),
        Checkpoint("h", remote, 1, 100, 40),
    ]
    for record, checkpoint in zip(records, checkpoints(records), strict=True):
        assert (record.topic, record.kafka_partition) == (flow.checkpoints_topic, 0)
        assert record.source_partition == {
            "partition": checkpoint.partition,
            "topic": remote,
            "group": checkpoint.group,
        }
        assert record.source_offset == {"offset": 0}
        assert record.timestamp is not None
        assert before_ms <= record.timestamp <= time.time_ns() // 1_000_000


def test_new_commits_and_new_syncs_lead_to_new_checkpoints(flow: Flow, topic: str) -> None:
    flow.sync(topic, 0, (0, 0))
    flow.commit("g", topic, {0: 5})
    with running(flow, "g") as task:
        assert [each.downstream for each in checkpoints(polled(task))] == [1]
        flow.sync(topic, 0, (5, 5))
        assert [each.downstream for each in checkpoints(polled(task))] == [5]
        flow.commit("g", topic, {0: 6})
        assert [(each.upstream, each.downstream) for each in checkpoints(polled(task))] == [(6, 6)]


def test_a_task_goes_on_where_the_last_one_was_and_follows_rewinds(flow: Flow, topic: str) -> None:
    flow.sync(topic, 0, (0, 0), (10, 10))
    flow.commit("g", topic, {0: 10})
    with running(flow, "g", "probe") as task:
        flow.produce(polled(task))
    assert translate_offsets(flow.servers, flow.source, "g", 30) == {
        TopicPartition(flow.remote(topic), 0): GroupOffset(10)
    }
    with running(flow, "g", "probe") as task:
        assert nothing_more(task, flow, topic, "probe") == []  # the same checkpoint is not written twice
        flow.commit("g", topic, {0: 3})
        assert [(each.upstream, each.downstream) for each in checkpoints(polled(task))] == [(3, 1)]


def test_without_its_former_checkpoints_a_task_uses_no_old_syncs(
    flow: Flow, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    flow.sync(topic, 0, (0, 0), (10, 10), (20, 20))
    flow.commit("g", topic, {0: 12})
    flow.commit("late", topic, {0: 25})
    flow.admin.delete_topics([flow.checkpoints_topic])
    eventually(lambda: flow.checkpoints_topic not in flow.admin.partition_counts())
    with running(flow, "g", "late", admin__timeout__ms="5000") as task:
        found = checkpoints(polled(task))
    assert [(each.group, each.downstream) for each in found] == [("late", 21)]
    assert "this may degrade offset translation" in caplog.text


def test_syncs_that_do_not_exist_yet_are_waited_for(flow: Flow, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    flow.admin.delete_topics([flow.syncs_topic])
    eventually(lambda: flow.syncs_topic not in flow.admin.partition_counts())
    flow.commit("g", topic, {0: 5})
    with running(flow, "g") as task:
        eventually(lambda: "Offset syncs cannot be read yet" in caplog.text)
        assert task.poll() is None
        flow.create(flow.syncs_topic)
        flow.sync(topic, 0, (4, 4))
        assert [each.downstream for each in checkpoints(polled(task))] == [5]


def test_records_that_are_no_syncs_or_checkpoints_are_skipped(flow: Flow, topic: str) -> None:
    garbage = SourceRecord(flow.checkpoints_topic, b"?", b"??")
    flow.produce([garbage, garbage.with_(topic=flow.syncs_topic)])
    flow.sync(topic, 0, (4, 4))
    flow.commit("g", topic, {0: 4})
    with running(flow, "g") as task:
        assert [each.downstream for each in checkpoints(polled(task))] == [4]


def test_topics_that_came_from_the_target_and_topics_that_are_filtered(flow: Flow, topic: str) -> None:
    back = flow.create(f"{flow.target}.{topic}")
    unwanted = flow.create(f"{topic}-unwanted")
    for each in (back, unwanted):
        flow.sync(each, 0, (0, 0))
        flow.commit("g", each, {0: 0})
    with running(flow, "g", topics__exclude=".*-unwanted") as task:
        assert [each.topic for each in checkpoints(polled(task))] == [topic]


def test_syncs_may_be_on_the_target(flow: Flow, topic: str) -> None:
    located = f"mm2-offset-syncs.{flow.source}.internal"
    flow.create(located)
    flow.sync(topic, 0, (0, 0))  # on the source, where they are not looked for
    flow.commit("g", topic, {0: 7})
    with running(flow, "g", **{"offset-syncs__topic__location": "target"}) as task:
        sync = SourceRecord(located, (7).to_bytes(8) * 2, len(topic).to_bytes(2) + topic.encode() + bytes(4))
        flow.produce([sync])
        assert [each.downstream for each in checkpoints(polled(task))] == [7]


def test_offsets_of_groups_on_the_target_are_brought_forward_only(flow: Flow, topic: str) -> None:
    remote = flow.remote(topic)
    first, second = (TopicPartition(remote, number) for number in range(2))
    flow.sync(topic, 0, (10, 10))
    flow.sync(topic, 1, (10, 10))
    flow.commit("new", topic, {0: 10, 1: 10}, "a note")
    flow.commit("ahead", topic, {0: 10, 1: 10})
    flow.commit("ahead", remote, {0: 50, 1: 3})
    settings = {"sync__group__offsets__enabled": "true", "sync__group__offsets__interval__seconds": "1"}
    with running(flow, "new", "ahead", **settings) as task:
        eventually(lambda: (task.poll(), flow.committed("ahead").get(second))[1] == GroupOffset(10), 60)
        eventually(lambda: flow.committed("new").get(second) == GroupOffset(10, "a note"), 60)
        assert flow.committed("ahead")[first] == GroupOffset(50)
        assert flow.committed("new")[first] == GroupOffset(10, "a note")
        flow.commit("new", topic, {0: 11, 1: 10})
        eventually(lambda: flow.committed("new")[first] == GroupOffset(11), 60)


def test_groups_with_members_on_the_target_are_left_alone(
    flow: Flow, topic: str, topic_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    remote, group = flow.remote(topic), f"{topic_name}-g"
    flow.sync(topic, 0, (10, 10))
    flow.commit(group, topic, {0: 10})
    member = confluent_kafka.Consumer({**flow.servers, "group.id": group, "enable.auto.commit": False})
    member.subscribe([remote])
    settings = {"sync__group__offsets__enabled": "true", "sync__group__offsets__interval__seconds": "1"}
    where = TopicPartition(remote, 0)
    try:
        eventually(lambda: (member.poll(0.1), member.assignment())[1], 60)
        with running(flow, group, **settings):
            message = f"Unable to sync offsets for consumer group {group}."
            eventually(lambda: (member.poll(0.1), message in caplog.text)[1], 60)
            assert where not in flow.committed(group)
            member.close()
            eventually(lambda: flow.committed(group).get(where) == GroupOffset(10), 60)
    finally:
        member.close()


def test_groups_are_found_filtered_dealt_and_found_again(flow: Flow, topic: str, topic_name: str) -> None:
    read, other = f"{topic_name}-read", flow.create(f"{topic_name}-else")
    flow.commit(read, topic, {0: 1})
    flow.commit(f"{topic_name}-no-topic", other, {0: 1})
    flow.commit(f"{topic_name}-excluded", topic, {0: 1})
    connector = MirrorCheckpointConnector()
    flow.with_context(connector)
    connector.start(
        flow.config(
            topics=topic,
            groups=f"{topic_name}-.*",
            groups__exclude=".*-excluded",
            refresh__groups__interval__seconds="1",
        )
    )
    try:
        (only,) = connector.task_configs(5)
        assert (only["task.assigned.groups"], only["task.index"]) == (read, "0")
        assert flow.requests == []
        second = f"{topic_name}-second"
        flow.commit(second, topic, {1: 0})
        eventually(lambda: flow.requests, 60)
        assert [each["task.assigned.groups"] for each in connector.task_configs(5)] == [read, second]
        assert [each["task.assigned.groups"] for each in connector.task_configs(1)] == [f"{read},{second}"]
    finally:
        connector.stop()


def test_a_group_without_checkpoints_has_no_offsets_and_a_flow_without_them_is_an_error(flow: Flow, topic: str) -> None:
    assert translate_offsets(flow.servers, flow.source, topic, 30) == {}
    with pytest.raises(KafkaError, match="does not exist"):
        translate_offsets(flow.servers, f"{flow.source}none", "g", 5)


@pytest.mark.slow
def test_a_task_lives_through_the_loss_of_a_broker(tmp_path: Path) -> None:
    with (
        EmbeddedBroker(tmp_path, heap="256m") as broker,
        Flow(broker.bootstrap_servers, emit__checkpoints__interval__seconds="1") as flow,
    ):
        flow.create(flow.syncs_topic)
        flow.create(flow.checkpoints_topic)
        topic = flow.create("orders")
        flow.create(flow.remote(topic))
        flow.sync(topic, 0, (0, 0), (5, 5))
        flow.commit("g", topic, {0: 5})
        settings = {"sync__group__offsets__enabled": "true", "sync__group__offsets__interval__seconds": "1"}
        with running(flow, "g", **settings) as task:
            assert [each.downstream for each in checkpoints(polled(task))] == [5]
            broker.kill()
            for _ in range(20):  # about as many looks for new checkpoints as seconds pass
                began = time.monotonic()
                assert task.poll() is None
                assert time.monotonic() - began < 5  # of the minute that a client may wait for a broker
            broker.start()
            flow.sync(topic, 0, (9, 9))
            flow.commit("g", topic, {0: 9})
            # By an older sync first, if the new one comes after the group.
            assert checkpoints(polled(task, lambda each: each.downstream == 9))
            where = TopicPartition(flow.remote(topic), 0)
            eventually(lambda: flow.committed("g").get(where) == GroupOffset(9), 60)
