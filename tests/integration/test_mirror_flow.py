"""Kafka's own scenarios for MirrorMaker 2, on two real clusters and real Spark."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from fixtures.mirror_flows import WAIT_S, Kafka, MakeFlow
from seamark.kafka.topic_partitions import TopicPartition
from seamark.testing.waiting import eventually


def _now_ms() -> int:
    return int(time.time() * 1000)


def _numbered(start: int, count: int) -> list[bytes]:
    return [f"r{number}".encode() for number in range(start, start + count)]


@pytest.mark.parametrize("exactly_once", [True, False])
def test_records_arrive_byte_for_byte(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str, exactly_once: bool
) -> None:
    near.create(topic_name, 3)
    near.send(topic_name, [b"\x00\xff", b"", None], 0, key=b"\x01", timestamp_ms=_now_ms() - 60_000)
    near.send(topic_name, [b"plain"], 1, headers=[("h", b"\xfe"), ("h", None), ("e", b"")])
    near.send(topic_name, _numbered(0, 500), 2)
    flow = make_flow(exactly_once=exactly_once)
    name = flow.start("Source", topics=topic_name, tasks__max="2")
    remote = flow.remote(topic_name)
    eventually(lambda: len(far.records(remote)) == 504, WAIT_S)
    near_records, far_records = near.records(topic_name), far.records(remote)
    assert [(r.partition, r.key, r.value, r.headers, r.timestamp) for r in far_records] == [
        (r.partition, r.key, r.value, r.headers, r.timestamp) for r in near_records
    ]
    rows = [
        ({"cluster": flow.source_alias, "partition": partition, "topic": topic_name}, {"offset": last})
        for partition, last in ((0, 2), (1, 0), (2, 499))
    ]
    eventually(lambda: flow.connect.offsets(name) == rows, WAIT_S)


def test_both_ways_without_loops(make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str) -> None:
    near.create(topic_name)
    far.create(topic_name)
    near.send(topic_name, [b"near"])
    far.send(topic_name, [b"far"])
    there = make_flow()
    back = make_flow(back=True, aliases=(there.target_alias, there.source_alias))
    for flow in (there, back):
        flow.start("Source", topics=f".*{topic_name}", offset__lag__max="0")
    eventually(lambda: far.values(there.remote(topic_name)) == [b"near"], WAIT_S)
    eventually(lambda: near.values(back.remote(topic_name)) == [b"far"], WAIT_S)
    # Another round trip: had a loop begun, its copies would be there before these records are.
    near.send(topic_name, [b"near 2"])
    far.send(topic_name, [b"far 2"])
    eventually(lambda: far.values(there.remote(topic_name)) == [b"near", b"near 2"], WAIT_S)
    eventually(lambda: near.values(back.remote(topic_name)) == [b"far", b"far 2"], WAIT_S)
    looped = [topic for topic in near.admin.list_topics() | far.admin.list_topics() if topic.count(".") > 1]
    assert not [topic for topic in looped if topic.endswith(topic_name)]


def test_identity_policy_keeps_names(make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str) -> None:
    near.create(topic_name, 2)
    near.send(topic_name, _numbered(0, 10), 1)
    flow = make_flow()
    flow.start(
        "Source",
        topics=topic_name,
        replication__policy__class="org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    )
    eventually(lambda: far.values(topic_name, 1) == _numbered(0, 10), WAIT_S)
    assert flow.remote(topic_name) not in far.admin.list_topics()


def test_topics_partitions_and_configs_follow(make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str) -> None:
    near.create(topic_name, 1, retention__ms="86400000", segment__bytes="2000000")
    flow = make_flow()
    flow.start("Source", topics=f"{topic_name}.*", tasks__max="2", config__properties__exclude="segment\\.bytes")
    remote = flow.remote(topic_name)
    near.send(topic_name, [b"first"])
    eventually(lambda: far.values(remote) == [b"first"], WAIT_S)
    configs = far.admin.topic_configs(remote)
    assert configs["retention.ms"] == "86400000"
    assert configs["segment.bytes"] != "2000000"

    near.admin.create_partitions(topic_name, 3)
    near.create(f"{topic_name}-new")
    near.send(topic_name, [b"in a new partition"], 2)
    near.send(f"{topic_name}-new", [b"in a new topic"])
    eventually(lambda: far.values(remote, 2) == [b"in a new partition"], WAIT_S)
    eventually(lambda: far.values(flow.remote(f"{topic_name}-new")) == [b"in a new topic"], WAIT_S)
    assert far.values(remote, 0) == [b"first"]


def test_aborted_records_stay_behind_and_groups_are_translated(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str
) -> None:
    near.create(topic_name)
    near.send_transaction(topic_name, _numbered(0, 20))
    near.send_transaction(topic_name, [b"never"] * 5, commits=False)
    near.send_transaction(topic_name, _numbered(20, 20))
    flow = make_flow()
    flow.start("Source", topics=topic_name, offset__lag__max="0")
    remote, group = flow.remote(topic_name), f"{topic_name}-group"
    eventually(lambda: far.values(remote) == _numbered(0, 40), WAIT_S)
    where, there = TopicPartition(topic_name, 0), TopicPartition(remote, 0)
    end = near.ends(topic_name)[0]
    near.commit(group, {where: end})
    flow.start("Checkpoint", groups=group, topics=topic_name, sync__group__offsets__enabled="true")
    eventually(lambda: there in far.committed(group), WAIT_S)
    # At the end of the source means behind the last record of the copy, however many markers there are.
    last = far.records(remote)[-1].offset
    assert far.committed(group)[there] == last + 1

    # Records that come later are read by whoever moves over, and none that was read before is read again.
    near.send(topic_name, _numbered(40, 10))
    eventually(lambda: far.values(remote) == _numbered(0, 50), WAIT_S)
    position = far.committed(group)[there]
    unread = [record.value for record in far.records(remote) if record.offset >= position]
    assert unread == _numbered(40, 10)


def test_group_offsets_never_go_back(make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str) -> None:
    near.create(topic_name)
    near.send(topic_name, _numbered(0, 30))
    flow = make_flow()
    flow.start("Source", topics=topic_name, offset__lag__max="0")
    remote, group = flow.remote(topic_name), f"{topic_name}-group"
    where, there = TopicPartition(topic_name, 0), TopicPartition(remote, 0)
    eventually(lambda: far.values(remote) == _numbered(0, 30), WAIT_S)
    near.commit(group, {where: 30})
    flow.start("Checkpoint", groups=group, topics=topic_name, sync__group__offsets__enabled="true")
    eventually(lambda: there in far.committed(group), WAIT_S)
    reached = far.committed(group)[there]
    near.commit(group, {where: 1})  # the group at the source is set back

    syncs_until = time.monotonic() + 4  # some more turns of checkpoints and of the group sync
    eventually(lambda: time.monotonic() > syncs_until, 10)
    assert far.committed(group)[there] == reached


def test_restart_goes_on_where_it_was(make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str) -> None:
    near.create(topic_name, 2)
    flow = make_flow()
    name = flow.start("Source", topics=topic_name)
    remote = flow.remote(topic_name)
    for turn in range(3):
        near.send(topic_name, _numbered(turn * 10, 10), turn % 2)
        eventually(lambda expected=(turn + 1) * 10: len(far.records(remote)) == expected, WAIT_S)  # type: ignore[misc]
        flow.connect.stop(name)
        near.send(topic_name, [], 0)
        flow.connect.resume(name)
    assert far.values(remote, 0) == _numbered(0, 10) + _numbered(20, 10)
    assert far.values(remote, 1) == _numbered(10, 10)


def test_offsets_of_the_source_connector_can_be_altered_and_reset(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str
) -> None:
    near.create(topic_name)
    near.send(topic_name, _numbered(0, 10))
    flow = make_flow()
    name = flow.start("Source", topics=topic_name)
    remote = flow.remote(topic_name)
    eventually(lambda: far.values(remote) == _numbered(0, 10), WAIT_S)
    flow.connect.stop(name)
    partition = {"cluster": flow.source_alias, "partition": 0, "topic": topic_name}
    done = "The offsets for this connector have been {} successfully"
    assert flow.connect.alter(name, (partition, {"offset": 6})) == (200, done.format("altered"))
    flow.connect.resume(name)
    eventually(lambda: far.values(remote) == _numbered(0, 10) + _numbered(7, 3), WAIT_S)
    flow.connect.stop(name)
    assert flow.connect.reset(name) == (200, done.format("reset"))
    assert flow.connect.offsets(name) == []
    flow.connect.resume(name)
    eventually(lambda: far.values(remote) == _numbered(0, 10) + _numbered(7, 3) + _numbered(0, 10), WAIT_S)
    flow.connect.stop(name)
    bad = {"cluster": flow.source_alias, "partition": -1, "topic": topic_name}
    status, message = flow.connect.alter(name, (bad, {"offset": 6}))
    assert status == 500
    assert "has an invalid value -1 for the 'partition' key, which cannot be negative" in message


def test_offsets_of_checkpoints_and_heartbeats_can_be_altered_and_reset(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str
) -> None:
    near.create(topic_name)
    near.send(topic_name, _numbered(0, 3))
    flow = make_flow()
    flow.start("Source", topics=topic_name, offset__lag__max="0")
    remote, group = flow.remote(topic_name), f"{topic_name}-group"
    eventually(lambda: far.values(remote) == _numbered(0, 3), WAIT_S)
    near.commit(group, {TopicPartition(topic_name, 0): 3})
    checkpoint = flow.start("Checkpoint", groups=group, topics=topic_name)
    heartbeat = flow.start("Heartbeat")
    expected = {
        checkpoint: [({"partition": 0, "topic": remote, "group": group}, {"offset": 0})],
        heartbeat: [
            ({"sourceClusterAlias": flow.source_alias, "targetClusterAlias": flow.target_alias}, {"offset": 0})
        ],
    }
    for name, rows in expected.items():
        eventually(lambda name=name, rows=rows: flow.connect.offsets(name) == rows, WAIT_S)  # type: ignore[misc]
        flow.connect.stop(name)
        status, message = flow.connect.alter(name, (rows[0][0], {"offset": 5}))
        assert status == 500
        assert message.endswith("has an invalid value 5 for the 'offset' key; the only accepted value is 0")
        assert flow.connect.alter(name, rows[0])[0] == 200
        assert flow.connect.reset(name)[0] == 200
        assert flow.connect.offsets(name) == []
        flow.connect.resume(name)
        if name == checkpoint:  # what was told is in the checkpoints topic, and is not told again
            near.send(topic_name, _numbered(3, 3))
            near.commit(group, {TopicPartition(topic_name, 0): 6})
        eventually(lambda name=name, rows=rows: flow.connect.offsets(name) == rows, WAIT_S)  # type: ignore[misc]


def test_heartbeats_are_replicated(make_flow: MakeFlow, near: Kafka, far: Kafka) -> None:
    back = make_flow(back=True)
    back.start("Heartbeat", emit__heartbeats__interval__seconds="1")
    eventually(lambda: len(near.values("heartbeats")) > 0, WAIT_S)
    flow = make_flow()
    flow.start("Source", topics="nothing-else", heartbeats__replication__enabled="true")
    eventually(lambda: len(far.values(flow.remote("heartbeats"))) > 0, WAIT_S)


@pytest.mark.parametrize(("choice", "expected"), [("fail", []), ("reset", _numbered(5, 5)), ("skip", [])])
def test_deleted_records_are_noticed(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str, choice: str, expected: list[bytes]
) -> None:
    near.create(topic_name)
    near.send(topic_name, _numbered(0, 2))
    flow = make_flow()
    name = flow.start("Source", topics=topic_name, mirror__on__data__loss=choice)
    remote = flow.remote(topic_name)
    eventually(lambda: far.values(remote) == _numbered(0, 2), WAIT_S)
    flow.connect.stop(name)
    near.send(topic_name, _numbered(2, 8))
    near.delete_before(TopicPartition(topic_name, 0), 5)
    flow.connect.ask("PUT", f"/connectors/{name}/resume", status=202)
    if choice == "fail":
        status = flow.connect.await_state(name, "RUNNING", ["FAILED"])
        trace = status["tasks"][0]["trace"]
        assert f"Records 2 to 4 of {topic_name}-0 were deleted before they were copied" in trace
        assert "mirror.on.data.loss" in trace
        return
    if choice == "skip":
        flow.connect.await_state(name, "RUNNING")
        eventually(lambda: flow.is_reading(name), WAIT_S)
    near.send(topic_name, [b"later"])
    eventually(lambda: far.values(remote) == [*_numbered(0, 2), *expected, b"later"], WAIT_S)


def _create_again(kafka: Kafka, topic: str, values: list[bytes], partitions: int = 1) -> None:
    kafka.admin.delete_topics([topic])
    eventually(lambda: topic not in kafka.admin.list_topics(), WAIT_S)
    kafka.create(topic, partitions)
    for partition in range(partitions):
        kafka.send(topic, values, partition)


@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.parametrize("remedy", ["reset", "alter"])
def test_a_topic_that_was_created_again_is_noticed(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str, count: int, remedy: str
) -> None:
    near.create(topic_name)
    near.send(topic_name, _numbered(0, 10))
    flow = make_flow()
    name = flow.start("Source", topics=topic_name)
    remote = flow.remote(topic_name)
    eventually(lambda: far.values(remote) == _numbered(0, 10), WAIT_S)
    flow.connect.stop(name)
    new = [b"new-%d" % number for number in range(count)]
    _create_again(near, topic_name, new)
    flow.connect.ask("PUT", f"/connectors/{name}/resume", status=202)
    status = flow.connect.await_state(name, "RUNNING", ["FAILED"])
    trace = status["tasks"][0]["trace"]
    assert f"Topic {topic_name} was deleted and created again: position 10 of {topic_name}-0" in trace
    assert f"The source holds offsets 0 to {count - 1}" in trace
    assert "mirror.on.data.loss" in trace

    # Offsets that are changed by request are meant for the topic that is there now.
    flow.connect.stop(name)
    if remedy == "reset":
        flow.connect.ask("DELETE", f"/connectors/{name}/offsets")
        expected = new
    else:
        partition = {"cluster": flow.source_alias, "partition": 0, "topic": topic_name}
        body = {"offsets": [{"partition": partition, "offset": {"offset": 0}}]}
        flow.connect.ask("PATCH", f"/connectors/{name}/offsets", body)
        expected = new[1:]
    flow.connect.ask("PUT", f"/connectors/{name}/resume", status=202)
    near.send(topic_name, [b"later"])
    eventually(lambda: far.values(remote) == [*_numbered(0, 10), *expected, b"later"], WAIT_S)


def test_each_position_in_a_topic_that_was_created_again_has_to_be_altered(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str
) -> None:
    near.create(topic_name, 2)
    for partition in range(2):
        near.send(topic_name, _numbered(0, 3), partition)
    flow = make_flow()
    name = flow.start("Source", topics=topic_name)
    remote = flow.remote(topic_name)
    eventually(lambda: [far.values(remote, number) for number in range(2)] == [_numbered(0, 3)] * 2, WAIT_S)
    flow.connect.stop(name)
    new = [b"new-%d" % number for number in range(9)]
    _create_again(near, topic_name, new, partitions=2)
    for number in range(2):
        partition = {"cluster": flow.source_alias, "partition": number, "topic": topic_name}
        flow.connect.ask(
            "PATCH",
            f"/connectors/{name}/offsets",
            {"offsets": [{"partition": partition, "offset": {"offset": 5}}]},
        )
        flow.connect.ask("PUT", f"/connectors/{name}/resume", status=202)
        if number == 0:
            status = flow.connect.await_state(name, "RUNNING", ["FAILED"])
            assert f"position 3 of {topic_name}-1 is one of the former topic" in status["tasks"][0]["trace"]
            flow.connect.stop(name)
    expected = [*_numbered(0, 3), *new[6:]]
    eventually(lambda: [far.values(remote, number) for number in range(2)] == [expected] * 2, WAIT_S)


@pytest.mark.parametrize("is_stopped", [True, False])
@pytest.mark.parametrize("choice", ["reset", "skip"])
def test_a_topic_that_was_created_again_is_copied_from_its_start_or_end(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str, choice: str, is_stopped: bool
) -> None:
    near.create(topic_name)
    near.send(topic_name, _numbered(0, 3))
    flow = make_flow()
    settings = {"topics": topic_name, "mirror__on__data__loss": choice, "refresh__topics__interval__seconds": "1"}
    name = flow.start("Source", **settings)
    remote = flow.remote(topic_name)
    eventually(lambda: far.values(remote) == _numbered(0, 3), WAIT_S)
    before = near.topic_id(topic_name)
    if is_stopped:
        flow.connect.stop(name)
        # Where a new partition begins does not count for one that goes on.
        changed = flow.config("Source", **settings, mirror__start="latest")
        flow.connect.ask("PUT", f"/connectors/{name}/config", changed)
    new = [b"new-%d" % number for number in range(20)]
    _create_again(near, topic_name, new)
    assert near.topic_id(topic_name) != before
    if is_stopped:
        flow.connect.ask("PUT", f"/connectors/{name}/resume", status=202)
        flow.connect.await_state(name, "RUNNING")
    if choice == "skip":
        # Whatever came before is left out; some may have been copied before the new topic was noticed.
        sent = 0

        def is_copied() -> bool:
            nonlocal sent
            sent += 1
            near.send(topic_name, [b"later-%d" % sent])
            return any(value.startswith(b"later") for value in far.values(remote) if value)

        eventually(is_copied, WAIT_S)
        assert far.values(remote)[:3] == _numbered(0, 3)
        if is_stopped:
            assert not any(value.startswith(b"new") for value in far.values(remote) if value)
        return
    near.send(topic_name, [b"later"])
    # While it runs, it may read on in the new topic before it learns that it is a new one: then it begins again.
    eventually(lambda: far.values(remote)[-21:] == [*new, b"later"], WAIT_S)
    if is_stopped:
        assert far.values(remote) == [*_numbered(0, 3), *new, b"later"]


@pytest.mark.parametrize("start", ["latest", "time", "offsets"])
def test_a_mirror_may_begin_elsewhere(
    make_flow: MakeFlow, near: Kafka, far: Kafka, topic_name: str, start: str
) -> None:
    near.create(topic_name)
    now = _now_ms()  # what is too old is deleted by the broker's retention
    near.send(topic_name, _numbered(0, 5), timestamp_ms=now - 600_000)
    near.send(topic_name, _numbered(5, 5), timestamp_ms=now - 200_000)
    between = datetime.fromtimestamp(now / 1000 - 400, UTC).isoformat(timespec="seconds")
    given = {
        "latest": "latest",
        "time": between,
        "offsets": f'{{"{topic_name}": {{"0": 3}}}}',
    }[start]
    flow = make_flow()
    name = flow.start("Source", topics=topic_name, mirror__start=given)
    flow.connect.await_state(name, "RUNNING")
    eventually(lambda: flow.is_reading(name), WAIT_S)
    near.send(topic_name, [b"later"])
    first = {"latest": 10, "time": 5, "offsets": 3}[start]
    expected = [*_numbered(first, 10 - first), b"later"]
    eventually(lambda: far.values(flow.remote(topic_name)) == expected, WAIT_S)
