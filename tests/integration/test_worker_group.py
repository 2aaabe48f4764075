"""Membership in a group of workers, on real brokers: who owns what, and when."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.worker_groups import LEADER, SESSION_S, SLOTS, Cluster, Member, overlaps
from seamark.errors import ConfigError
from seamark.kafka.admin import Admin
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.kafka.worker_group import WorkerAssignment, WorkerGroup
from seamark.testing.waiting import eventually


def _is_complete(cluster: Cluster, process: Member) -> bool:
    owned = [set(process.owned)]
    for member in cluster.members.values():
        owned.append({*member.assignment.slots, *([LEADER] if member.assignment.is_leader else [])})
    return sorted(slot for each in owned for slot in each) == list(range(LEADER, SLOTS)) and all(owned)


@pytest.fixture
def cluster(broker: EmbeddedBroker, topic_name: str) -> Iterator[Cluster]:
    made = Cluster(broker.bootstrap_servers, topic_name)
    made.create_topics()
    yield made
    made.stop()


def test_the_only_member_owns_everything(cluster: Cluster) -> None:
    member, recorder = cluster.make("a")
    assert member.is_rebalancing, "before it has joined"
    assert member.assignment == WorkerAssignment(-1, False, frozenset())
    cluster.members["a"] = member
    member.start()
    cluster.settle()
    assert member.assignment == recorder.assignments[-1]
    assert member.assignment.generation >= 1
    assert member.leader_url() == member.owner_url(3) == "http://a:8083"
    assert member.owner_url(SLOTS) is None
    member.stop()
    assert recorder.revoked == [frozenset(range(SLOTS))]
    assert recorder.open == {}, "leadership is given up too"
    assert member.assignment == WorkerAssignment(-1, False, frozenset())


def test_a_joining_member_moves_few_slots(cluster: Cluster) -> None:
    first, before = cluster.join("a"), frozenset(range(SLOTS))
    cluster.settle()
    generation = first.assignments[-1].generation
    second = cluster.join("b")
    cluster.settle()
    assert cluster.slots("a") < before
    assert cluster.slots("a") | cluster.slots("b") == before
    assert frozenset().union(*first.revoked) == cluster.slots("b"), "what stays is not interrupted"
    both = {name: cluster.slots(name) for name in ("a", "b")}
    cluster.join("c")
    cluster.settle()
    for name in ("a", "b"):
        assert cluster.slots(name) < both[name], "nothing moves between those who were there"
    assert len(cluster.slots("c")) in (7, 8, 9)
    assert first.assignments[-1].generation > generation
    assert {each.assignments[-1].generation for each in cluster.recorders} == {second.assignments[-1].generation}
    assert overlaps([held for each in cluster.recorders for held in each.held]) == []


def test_every_member_knows_the_others(cluster: Cluster) -> None:
    for name in ("a", "b", "c"):
        cluster.join(name)
    cluster.settle()
    for member in cluster.members.values():
        shown = {each.url: each for each in eventually(member.members)}
        assert set(shown) == {"http://a:8083", "http://b:8083", "http://c:8083"}
        for name, other in cluster.members.items():
            each = shown[f"http://{name}:8083"]
            assert each.slots == other.assignment.slots
            assert each.is_leader == other.assignment.is_leader
            assert each.client_id == f"seamark@http://{name}:8083"
            assert each.host == "127.0.0.1"
        assert member.leader_url() == f"http://{cluster.leader()}:8083"
        for slot in range(SLOTS):
            owner = next(name for name in cluster.members if slot in cluster.slots(name))
            assert member.owner_url(slot) == f"http://{owner}:8083"


def test_a_slot_moves_only_after_its_owner_has_let_go(cluster: Cluster) -> None:
    first = cluster.join("a")
    cluster.settle()
    seen: list[bool] = []
    is_over = threading.Event()

    def take_time() -> None:
        # Far longer than all rebalances of an owner that lets go at once.
        seen.append(cluster.members["a"].is_rebalancing)
        seen.append(bool(cluster.members["a"].assignment.slots & frozenset(range(12))))
        is_over.wait(4.0)

    first.hand_over = take_time
    began = time.monotonic()
    second = cluster.join("b")
    cluster.settle()
    assert seen[0], "the member knows of the rebalance while it hands over"
    moved = list(second.held)
    assert {held.slot for held in moved} - {LEADER} == cluster.slots("b")
    released = {held.slot: held.until for held in first.held}
    for held in moved:
        assert held.since > released[held.slot] > began + 4.0
    assert not first.lost
    is_over.set()


@pytest.mark.alone
def test_a_clean_stop_hands_over_without_waiting_for_the_session(cluster: Cluster) -> None:
    for name in ("a", "b", "c"):
        cluster.join(name)
    cluster.settle()
    began = time.monotonic()
    cluster.leave(cluster.leader())
    cluster.settle()
    took = time.monotonic() - began
    assert took < SESSION_S / 2, f"it took {took:.2f} s; about a second, if the machine has nothing else to do"
    assert overlaps([held for each in cluster.recorders for held in each.held]) == []


@pytest.mark.alone
def test_a_static_member_stops_as_fast_and_comes_back_unnoticed(cluster: Cluster) -> None:
    cluster.settings["seamark.static.membership"] = "true"
    for name in ("a", "b"):
        cluster.join(name)
    cluster.settle()
    began = time.monotonic()
    cluster.leave("b")
    cluster.settle()
    assert time.monotonic() - began < SESSION_S / 2
    with Member(cluster, "b") as process:
        eventually(
            lambda: len(process.owned) + len(cluster.slots("a")) + cluster.members["a"].assignment.is_leader == 26
        )
        mine, theirs = cluster.slots("a"), process.owned
        generation = cluster.members["a"].assignment.generation
    assert process.killed_at is not None
    began = time.monotonic()
    with Member(cluster, "b") as process:
        eventually(lambda: process.owned == theirs, message="the restarted member gets what it had")
        assert time.monotonic() - began < SESSION_S, "without waiting for the session of the one that was killed"
        assert cluster.slots("a") == mine
        assert cluster.members["a"].assignment.generation == generation, "and nobody else notices"


def test_of_two_static_members_with_one_address_the_older_is_put_out(cluster: Cluster) -> None:
    cluster.settings["seamark.static.membership"] = "true"
    old = cluster.join("a")
    cluster.settle()
    older = cluster.members.pop("a")
    try:
        cluster.join("a")
        eventually(lambda: older.error is not None)
        assert older.error is not None
        assert older.error.code == "FENCED_INSTANCE_ID"
        assert "http://a:8083" in str(older.error)
        cluster.settle()
        eventually(lambda: old.lost == [frozenset(range(SLOTS))])
        assert not old.revoked
        assert older.assignment.slots == frozenset()
    finally:
        older.stop()
    cluster.settle()


@pytest.mark.alone
def test_a_killed_member_is_replaced_within_its_session_timeout(cluster: Cluster) -> None:
    cluster.join("a")
    cluster.settle()
    with Member(cluster, "b") as process:
        eventually(lambda: len(process.owned) >= 12)
        cluster.join("c")
        eventually(lambda: _is_complete(cluster, process))
    assert process.killed_at is not None
    cluster.settle()
    took = time.monotonic() - process.killed_at
    # The coordinator waits for the session; the others hear of it with their next heartbeat.
    assert took < SESSION_S + 2.0, f"it took {took:.2f} s"
    held = [held for each in cluster.recorders for held in each.held]
    assert {each.slot for each in process.held} <= {each.slot for each in held}
    assert overlaps([*held, *process.held]) == []


def test_a_member_that_was_suspended_learns_that_it_has_lost_everything(cluster: Cluster) -> None:
    cluster.join("a")
    cluster.settle()
    with Member(cluster, "b") as process:
        eventually(lambda: _is_complete(cluster, process))
        had = process.owned
        process.signal(signal.SIGSTOP)
        cluster.settle(message="the suspended member is replaced")
        assert cluster.slots("a") == frozenset(range(SLOTS))
        process.signal(signal.SIGCONT)
        eventually(lambda: {each.slot for each in process.held if each.until < float("inf")} >= had)
        eventually(lambda: _is_complete(cluster, process), message="it has joined again")


def test_nothing_is_ever_owned_twice_while_members_come_and_go(cluster: Cluster) -> None:
    cluster.join("a")
    cluster.join("b")
    cluster.settle()
    cluster.join("c")
    cluster.leave("a")
    cluster.join("d")
    cluster.settle()
    cluster.members["b"].rejoin()
    eventually(lambda: len([each for each in cluster.recorders if each.name == "b" and each.revoked]) == 1)
    cluster.settle()
    cluster.leave("c")
    cluster.join("e")
    cluster.settle()
    cluster.stop()
    held = [held for each in cluster.recorders for held in each.held]
    assert overlaps(held) == []
    assert all(each.until < float("inf") for each in held)
    assert not any(each.lost for each in cluster.recorders)


class Watched(WorkerGroup):
    """A member whose client's own count of received records can be seen."""

    received: int | None = None

    def _on_stats(self, stats: str) -> None:
        self.received = json.loads(stats)["rxmsgs"]
        super()._on_stats(stats)


def test_nothing_is_read_or_committed(cluster: Cluster, broker: EmbeddedBroker) -> None:
    with RecordProducer({"bootstrap.servers": broker.bootstrap_servers}) as producer:
        for slot in range(SLOTS):
            producer.send(cluster.offsets_topic, b"value", b"key", partition=slot)
        producer.send(cluster.config_topic, b"value", b"key")
        assert producer.flush(30.0) == 0
    cluster.kind = Watched
    cluster.join("a")
    cluster.settle()
    cluster.join("b")
    cluster.settle()
    for member in cluster.members.values():
        assert isinstance(member, Watched)
        assert eventually(lambda member=member: member.received is not None)
        assert member.received == 0
    with Admin({"bootstrap.servers": broker.bootstrap_servers}) as admin:
        assert admin.group_offsets(cluster.name) == {}


def test_a_heartbeat_must_be_shorter_than_the_session(cluster: Cluster) -> None:
    cluster.settings["heartbeat.interval.ms"] = "6000"
    with pytest.raises(ConfigError) as refused:
        cluster.make("a")
    assert refused.value.key == "heartbeat.interval.ms"


@pytest.mark.slow
def test_an_interrupted_broker_changes_nothing(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "broker", heap="256m") as broker:
        cluster = Cluster(broker.bootstrap_servers, "restart", {"session.timeout.ms": "120000"})
        cluster.create_topics()
        try:
            cluster.join("a")
            cluster.join("b")
            cluster.settle()
            before = {name: cluster.slots(name) for name in cluster.members}
            broker.kill()
            other = next(name for name in cluster.members if name != cluster.leader())
            began = time.monotonic()
            assert cluster.members[other].leader_url() in (None, f"http://{cluster.leader()}:8083")
            assert time.monotonic() - began < 10.0
            broker.start()
            cluster.join("c")
            cluster.settle(60)
            for name, slots in before.items():
                assert cluster.slots(name) < slots
            assert not any(each.lost for each in cluster.recorders)
            assert overlaps([held for each in cluster.recorders for held in each.held]) == []
        finally:
            cluster.stop()


@pytest.mark.slow
def test_a_broker_that_stays_away_costs_the_membership_until_it_is_back(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "broker", heap="256m") as broker:
        cluster = Cluster(broker.bootstrap_servers, "outage")
        cluster.create_topics()
        try:
            cluster.join("a")
            cluster.join("b")
            cluster.settle()
            before = {each.name: frozenset(each.open) - {LEADER} for each in cluster.recorders}
            broker.stop()
            eventually(lambda: all(each.lost for each in cluster.recorders), 3 * SESSION_S)
            for each in cluster.recorders:
                assert frozenset().union(*each.lost) == before[each.name]
                assert each.open == {}
            assert all(member.is_rebalancing for member in cluster.members.values())
            assert all(member.assignment.slots == frozenset() for member in cluster.members.values())
            broker.start()
            cluster.settle(60)
            assert overlaps([held for each in cluster.recorders for held in each.held]) == []
            broker.stop()
            began = time.monotonic()
            cluster.leave("a")
            assert time.monotonic() - began < 15.0, "a worker can stop although no broker answers"
        finally:
            cluster.stop()
