"""Views of flows against a real broker; no worker runs: offsets are handed in as its store would give them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from fixtures.mirror_connectors import Flow
from seamark.kafka import TopicPartition
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.mirror_admin import GroupOffset
from seamark.kafka.producer import RecordProducer
from seamark.mirror.group_moves import commit_moves, find_moves
from seamark.mirror.views import FlowView, look
from seamark.mirror.wire import Checkpoint
from seamark.testing.waiting import eventually

HOUR_MS = 3_600_000


@pytest.fixture
def flow(broker: EmbeddedBroker) -> Iterator[Flow]:
    with Flow(broker.bootstrap_servers) as running:
        yield running


def view(flow: Flow, topic: str, positions: Mapping[int, int] | None = None, **settings: str) -> FlowView:
    """`positions`: the last offsets that were copied."""
    offsets = [
        ({"cluster": flow.source, "partition": number, "topic": topic}, {"offset": last})
        for number, last in (positions or {}).items()
    ]
    config = flow.config(topics=settings.pop("topics", topic), heartbeats__replication__enabled="false", **settings)
    return look(config, offsets, connector="m", state="RUNNING", tasks={"RUNNING": 1}, is_detailed=True)


def fill(flow: Flow, topic: str, counts: Mapping[int, int], timestamp_ms: int | None = None) -> None:
    with RecordProducer(flow.servers) as producer:
        for partition, count in counts.items():
            for number in range(count):
                producer.send(topic, b"%d" % number, None, partition, timestamp_ms)
        assert producer.flush(30) == 0


def test_lag_age_and_last_sync_of_each_partition(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name, 3)
    flow.create(flow.syncs_topic)
    now = time.time_ns() // 1_000_000
    fill(flow, topic_name, {0: 5}, now)
    fill(flow, topic_name, {1: 4}, now - HOUR_MS)
    flow.sync(topic_name, 0, (0, 10), (4, 14))
    flow.sync(topic_name, 1, (0, 3))
    found = view(flow, topic_name, {0: 4, 1: 0})
    assert found.error is None
    first, second, third = found.partitions
    assert (first.position, first.start, first.end, first.lag, first.lag_ms) == (5, 0, 5, 0, 0)
    assert first.sync is not None and (first.sync.upstream, first.sync.downstream) == (4, 14)
    assert first.remote_topic == flow.remote(topic_name)
    assert (second.position, second.lag) == (1, 3)
    assert second.lag_ms is not None and HOUR_MS <= second.lag_ms < HOUR_MS + 60_000
    assert (first.is_synced, second.is_synced) == (True, True)
    assert (third.position, third.lag, third.sync) == (0, 0, None)
    assert (found.lag, found.lag_ms) == (3, second.lag_ms)


def test_markers_of_transactions_are_no_lag(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name)
    with RecordProducer(flow.servers, f"tx-{topic_name}") as producer:
        producer.init_transactions(30)
        producer.begin()
        producer.send(topic_name, b"x", None, 0)
        producer.commit(30)
    where = TopicPartition(topic_name, 0)
    # Brokers write the marker after they have answered.
    eventually(lambda: flow.admin.list_offsets({where: "latest"}, is_committed=True)[where] == 2, 30)
    (partition,) = view(flow, topic_name, {0: 0}, consumer__isolation__level="read_committed").partitions
    assert partition.end == 2
    assert (partition.position, partition.lag, partition.lag_ms) == (1, 0, 0)


def test_an_open_transaction_holds_back_the_end(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name)
    with RecordProducer(flow.servers, f"tx-{topic_name}") as producer:
        producer.init_transactions(30)
        producer.begin()
        producer.send(topic_name, b"x", None, 0)
        assert producer.flush(30) == 0
        (committed,) = view(flow, topic_name, consumer__isolation__level="read_committed").partitions
        (any_record,) = view(flow, topic_name).partitions
        (moved,) = view(flow, topic_name, {0: 0}, consumer__isolation__level="read_committed").partitions
        producer.abort(30)
    assert (committed.end, committed.lag) == (0, 0)
    assert (any_record.end, any_record.lag) == (1, 1)
    assert (moved.position, moved.lag, moved.problem) == (1, 0, None)


def test_where_nothing_was_copied_the_start_decides(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name)
    fill(flow, topic_name, {0: 3})

    def lags(**settings: str) -> list[int | None]:
        return [each.lag for each in view(flow, topic_name, **settings).partitions]

    assert lags() == [3]
    assert lags(mirror__start="latest") == [0]
    assert lags(mirror__start=json.dumps({topic_name: {"0": 2}})) == [1]


def test_checkpoints_say_where_groups_go_on(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name)
    flow.create(flow.checkpoints_topic)
    remote = flow.remote(topic_name)
    written = [Checkpoint("g1", remote, 0, 3, 2), Checkpoint("g2", remote, 0, 1, 1), Checkpoint("g1", remote, 0, 9, 7)]
    flow._send(flow.checkpoints_topic, [(each.key(), each.value()) for each in written])
    detail = view(flow, topic_name).detail()
    assert detail["groups"] == [
        {"group": "g1", "partitions": [{"remote_topic": remote, "partition": 0, "upstream": 9, "downstream": 7}]},
        {"group": "g2", "partitions": [{"remote_topic": remote, "partition": 0, "upstream": 1, "downstream": 1}]},
    ]


def test_a_cluster_that_is_away_is_the_error_of_its_part(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name)
    flow.create(flow.checkpoints_topic)
    written = Checkpoint("g", flow.remote(topic_name), 0, 3, 2)
    flow._send(flow.checkpoints_topic, [(written.key(), written.value())])
    began = time.monotonic()
    found = view(flow, topic_name, {0: 0}, source__cluster__bootstrap__servers="127.0.0.1:1")
    assert time.monotonic() - began < 15
    assert found.error is not None and f"Source cluster {flow.source}: " in found.error
    assert found.partitions == [] and found.summary()["lag"] is None
    assert [each.group for each in found.checkpoints] == ["g"]


@pytest.mark.alone
def test_a_thousand_partitions_take_less_than_two_seconds(flow: Flow, topic_name: str) -> None:
    topics = [f"{topic_name}-{number}" for number in range(20)]
    for topic in topics:
        flow.create(topic, 50)
    with RecordProducer(flow.servers) as producer:
        for topic in topics:
            for partition in range(50):
                for _ in range(20):
                    producer.send(topic, b"x" * 1000, None, partition)
        assert producer.flush(60) == 0

    def best() -> tuple[float, FlowView]:
        took = []
        for _ in range(3):
            began = time.monotonic()
            found = view(flow, topic_name, topics=f"{topic_name}-.*")
            took.append(time.monotonic() - began)
        return min(took), found

    took, found = best()
    assert found.error is None
    assert (len(found.partitions), found.lag) == (1000, 20_000)
    assert all(each.lag_ms is not None for each in found.partitions)
    print(f"1,000 lagging partitions: {took:.2f} s")
    assert took < 2.0


def moves(flow: Flow, **settings: str) -> dict[str, Any]:
    return {move.group: move for move in find_moves(flow.config(**settings)).groups}


def test_groups_are_moved_where_their_offsets_translate_to(flow: Flow, topic_name: str) -> None:
    flow.create(topic_name)
    remote = flow.create(flow.remote(topic_name))
    flow.create(flow.syncs_topic)
    fill(flow, topic_name, {0: 10})
    group = f"group-{topic_name}"
    flow.commit(group, topic_name, {0: 9}, "noted")
    flow.sync(topic_name, 0, (0, 100), (9, 109))
    config = flow.config(topics=topic_name, groups=group)
    found = find_moves(config)
    assert found.error is None
    (move,) = found.groups
    assert (move.source_state, move.target_state) == ("EMPTY", "EMPTY")  # one broker: it is the same group
    where = TopicPartition(remote, 0)
    assert move.to_commit() == {where: GroupOffset(109, "noted")}
    assert commit_moves(config, found) == {group: {where: GroupOffset(109, "noted")}}
    assert flow.committed(group)[where] == GroupOffset(109, "noted")
    (again,) = find_moves(config).groups
    assert again.to_commit() == {}


def test_with_the_source_away_groups_go_by_their_checkpoints(flow: Flow, topic_name: str) -> None:
    remote = flow.create(flow.remote(topic_name))
    flow.create(flow.checkpoints_topic)
    group = f"group-{topic_name}"
    written = Checkpoint(group, remote, 0, 5, 4, "m")
    flow._send(flow.checkpoints_topic, [(written.key(), written.value())])
    config = flow.config(topics=topic_name, source__cluster__bootstrap__servers="127.0.0.1:1")
    found = find_moves(config)
    assert found.error is not None and f"Source cluster {flow.source}" in found.error
    (move,) = found.groups
    assert (move.source_state, move.target_state) == (None, "DEAD")
    assert commit_moves(config, found) == {group: {TopicPartition(remote, 0): GroupOffset(4, "m")}}
