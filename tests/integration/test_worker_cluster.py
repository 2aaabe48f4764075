"""Several distributed herders of one group: who answers, who runs what, and what a rebalance does."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fixtures.herders import Case, Cluster, MakeCase, MakeCluster, Node, path_of
from fixtures.worker import Topics
from seamark.kafka.consumer import RecordConsumer
from seamark.runtime.distributed import DistributedHerder
from seamark.runtime.herder import STALE_CONFIG
from seamark.testing.observed import Call
from seamark.testing.waiting import eventually

MOODY = "offset_plugins:MoodySource"


@pytest.fixture(scope="module")
def cluster(make_module_cluster: MakeCluster) -> Iterator[Cluster]:
    """Two workers; a test that adds or removes one leaves two behind."""
    made = make_module_cluster(
        workers=2, offset__storage__partitions="12"
    )  # so many that each gives some to a third one
    yield made
    while made.nodes:
        made.remove(made.nodes[-1])


def known_everywhere(cluster: Cluster, name: str, state: str) -> None:
    for node in cluster.nodes:
        cluster.connect(node).await_state(name, state, [])


def config_records(cluster: Cluster, name: str) -> list[tuple[str, Any]]:
    """All records of the config topic about a connector, in order."""
    topic, servers = cluster.properties["config.storage.topic"], cluster.properties["bootstrap.servers"]
    reader = Topics(servers)
    partitions = reader.admin.partitions_of([topic])
    ends = reader.admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=True)
    consumer = RecordConsumer({"bootstrap.servers": servers, "isolation.level": "read_committed"})
    found: list[tuple[str, Any]] = []
    try:
        consumer.assign(dict.fromkeys(partitions, 0))

        def read() -> bool:
            for message in consumer.read(10_000, 0.1):
                if name in message.key().decode():
                    value = message.value()
                    found.append((message.key().decode(), None if value is None else json.loads(value)))
            return all(consumer.positions().get(partition, 0) >= end for partition, end in ends.items())

        eventually(read, 60)
    finally:
        consumer.close()
        reader.close()
    return found


class Held:
    """A worker that does not let go of what is taken from it until it is told."""

    def __init__(self, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
        assert isinstance(node.herder, DistributedHerder)
        self.is_asked, self._may_go = threading.Event(), threading.Event()
        revoke = node.herder.on_revoked

        def held(slots: frozenset[int], leader: bool) -> None:
            self.is_asked.set()
            assert self._may_go.wait(50)
            revoke(slots, leader)

        monkeypatch.setattr(node.herder, "on_revoked", held)

    def let_go(self) -> None:
        self._may_go.set()


@pytest.mark.requirement("K875-14")
@pytest.mark.parametrize("who", ["leader", "other"])
def test_offsets_are_not_changed_during_a_rebalance(
    cluster: Cluster, make_case: MakeCase, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    case = make_case(cluster, MOODY).create("stopped")
    known_everywhere(cluster, case.name, "STOPPED")
    offset = ({"source": "0"}, {"seq": 1})
    assert case.connect.alter(case.name, offset)[0] == 200
    asked = len(case.observed.calls("alter_offsets"))
    node = cluster.leader if who == "leader" else cluster.other()
    held, change = Held(node, monkeypatch), ({"source": "0"}, {"seq": 2})
    with ThreadPoolExecutor(1) as pool:
        joining = pool.submit(cluster.add)
        try:
            assert held.is_asked.wait(60)
            connect = cluster.connect(node)
            assert connect.alter(case.name, change, settle=False) == (409, STALE_CONFIG)
            assert connect.reset(case.name, settle=False) == (409, STALE_CONFIG)
            assert connect.offsets(case.name) == [offset], "offsets can be read meanwhile"
        finally:
            held.let_go()
            joined = joining.result(120)
            monkeypatch.undo()
            cluster.remove(joined)
    assert len(case.observed.calls("alter_offsets")) == asked
    assert case.connect.alter(case.name, change)[0] == 200


@pytest.mark.requirement("K875-15")
@pytest.mark.requirement("K875-29")
@pytest.mark.requirement("K980-13")
def test_the_leader_does_what_another_worker_is_asked(cluster: Cluster, make_case: MakeCase, topics: Topics) -> None:
    case = make_case(cluster, MOODY, throughput=20)
    topics.create(case.topic)
    connect = case.connect = cluster.connect(cluster.other())
    case.create("stopped")
    records = config_records(cluster, case.name)
    keys = [key for key, _ in records]
    assert keys.index(f"target-state-{case.name}") < keys.index(f"connector-{case.name}")
    assert connect.alter(case.name, ({"source": "0"}, {"seq": 3})) == (
        200,
        "The offsets for this connector have been altered successfully",
    )
    assert connect.offsets(case.name) == [({"source": "0"}, {"seq": 3})]
    case.say("hook.says", "refuse")
    assert connect.reset(case.name) == (500, "these offsets are not to be had"), "the leader's own answer"
    connect.resume(case.name)
    assert connect.alter(case.name, ({"source": "0"}, {"seq": 3}))[0] == 400
    connect.stop(case.name)
    after = [row for row in config_records(cluster, case.name)[len(records) :] if not row[0].startswith("placement")]
    names = [key for key, _ in after]
    assert names == [
        f"target-state-{case.name}",
        f"task-{case.name}-0",
        f"commit-{case.name}",
        f"commit-{case.name}",
        f"target-state-{case.name}",
    ]
    assert after[2][1] == {"tasks": 1}
    assert after[3][1] == {"tasks": 0}
    assert (after[4][1]["state"], after[4][1]["state.v2"]) == ("PAUSED", "STOPPED")
    for node in cluster.nodes:
        cluster.connect(node).await_state(case.name, "STOPPED", [])
        eventually(lambda node=node: cluster.connect(node).ask("GET", f"{path_of(case.name)}/tasks") == [], 60)  # type: ignore[misc]


@pytest.mark.requirement("K875-32")
@pytest.mark.requirement("K875-33")
@pytest.mark.requirement("K980-18")
def test_stopped_connector_belongs_to_a_live_worker(cluster: Cluster, make_case: MakeCase) -> None:
    cases = [make_case(cluster, MOODY).create("stopped") for _ in range(4)]
    for case in cases:
        known_everywhere(cluster, case.name, "STOPPED")
    owners = {case.name: cluster.owner(case.name) for case in cases}
    for case in cases:
        shown = case.connect.status(case.name)["connector"]["worker_id"]
        assert shown == owners[case.name].id, "nobody owns a connector that was created stopped"
    leaving = cluster.nodes[-1]
    assert leaving in owners.values(), "all are on one worker"
    joined = cluster.add()
    cluster.remove(leaving)
    live, connect = {node.id for node in cluster.nodes}, cluster.connect(joined)
    for case in cases:

        def is_shown(case: Case = case) -> bool:
            status = connect.status(case.name)
            assert status["connector"]["worker_id"] in live, status
            return bool(status["connector"]["state"] == "STOPPED" and status["tasks"] == [])

        eventually(is_shown, 60)
        assert case.observed.calls() == [], "a stopped connector was started by a rebalance"
        assert connect.alter(case.name, ({"source": "0"}, {"seq": 1}))[0] == 200


@pytest.mark.requirement("K875-33")
def test_stopped_connector_stays_so_when_all_workers_are_restarted(
    make_cluster: Callable[..., Cluster], make_case: MakeCase, topics: Topics
) -> None:
    cluster = make_cluster()
    case = make_case(cluster, MOODY, throughput=20)
    topics.create(case.topic)
    case.create()
    case.connect.await_state(case.name, "RUNNING")
    case.connect.stop(case.name)
    calls = case.observed.calls()
    cluster.remove(cluster.nodes[0])
    node = cluster.add()
    case.connect = cluster.connect(node)
    status = case.connect.await_state(case.name, "STOPPED")
    assert status["connector"]["worker_id"] == node.id
    assert case.connect.ask("GET", path_of(case.name))["config"] == {**case.config, "name": case.name}
    assert case.observed.calls() == calls
    case.connect.resume(case.name)
    eventually(lambda: len(case.observed.calls()) > len(calls), 60)
    case.delete()
    cluster.remove(node)


def test_connectors_are_spread_evenly(cluster: Cluster, make_case: MakeCase) -> None:
    cases = [make_case(cluster, MOODY).create("stopped") for _ in range(8)]
    for case in cases:
        known_everywhere(cluster, case.name, "STOPPED")
    loads = Counter(cluster.owner(case.name).id for case in cases)
    assert sorted(loads.values()) == [4, 4]


def test_a_worker_that_joins_gets_its_share_and_no_more(
    make_cluster: Callable[..., Cluster], make_case: MakeCase, topics: Topics
) -> None:
    cluster = make_cluster(offset__storage__partitions="25")
    # Of 25 slots the first ones are used; nothing says that a worker that joins gets any of those.
    cases = [make_case(cluster, MOODY, throughput=5, poll__block__ms=100) for _ in range(2)]
    for case in cases:
        topics.create(case.topic)
        case.create()
        case.connect.await_state(case.name, "RUNNING")
    cases += [make_case(cluster, MOODY).create("stopped") for _ in range(4)]
    first, second = cluster.nodes[0], cluster.add()

    def is_even() -> bool:
        at = Counter(cluster.connect(first).status(case.name)["connector"]["worker_id"] for case in cases)
        return at == {first.id: 3, second.id: 3}

    eventually(is_even, 60, "connectors are not spread evenly")
    assert all(case.observed.calls() == [] for case in cases[2:]), "a stopped connector was started by a move"
    for case in cases[:2]:
        cluster.connect(second).await_state(case.name, "RUNNING")
        assert case.methods().count("start") <= 2, "a connector was moved more than once"
        for task in (None, 0):
            assert_one_after_the_other([call for call in case.observed.calls() if call.task == task])
        assert case.connect.status(case.name)["connector"]["worker_id"] == cluster.owner(case.name).id
    for case in cases:
        case.delete()
    cluster.remove(second)
    cluster.remove(first)


def test_no_connector_runs_twice_while_workers_come_and_go(
    make_cluster: Callable[..., Cluster], make_case: MakeCase, topics: Topics
) -> None:
    cluster = make_cluster(offset__storage__partitions="4")  # as many as connectors: a worker that joins gets some
    cases = [make_case(cluster, MOODY, throughput=10, poll__block__ms=100) for _ in range(4)]
    for case in cases:
        topics.create(case.topic)
        case.create()
    for case in cases:
        case.connect.await_state(case.name, "RUNNING")
    first = cluster.nodes[0]
    second = cluster.add()
    for case in cases:
        cluster.connect(second).await_state(case.name, "RUNNING")
    at = {case.name: cluster.owner(case.name).id for case in cases}
    assert set(at.values()) == {first.id, second.id}, "the new worker got nothing"
    moved = [case for case in cases if at[case.name] == second.id]
    stayed = [case for case in cases if case not in moved]
    for case in stayed:
        assert case.methods().count("start") == 1, "a connector that stays was interrupted"
    cluster.remove(first)  # the leader goes
    for case in cases:
        case.connect = cluster.connect(second)
        status = case.connect.await_state(case.name, "RUNNING")
        assert status["connector"]["worker_id"] == status["tasks"][0]["worker_id"] == second.id
        before = topics.committed_end(case.topic)
        eventually(lambda case=case, before=before: topics.committed_end(case.topic) > before, 60)  # type: ignore[misc]
    for case in cases:
        for task in (None, 0):
            assert_one_after_the_other([call for call in case.observed.calls() if call.task == task])
        numbers = sorted({int(value.rpartition("-")[2]) for value in topics.values(case.topic)})
        assert numbers == list(range(1, len(numbers) + 1)), "records were lost"
        case.delete()
    cluster.remove(second)


def assert_one_after_the_other(calls: list[Call]) -> None:
    """Fail unless each object was stopped before the next one was started."""
    running: str | None = None
    for call in calls:
        if call.method == "start":
            assert running is None, f"{call.instance} of {call.connector} was started while {running} ran"
            running = call.instance
        elif call.method == "stop":
            assert call.instance == running
            running = None
