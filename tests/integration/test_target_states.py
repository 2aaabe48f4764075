"""What stopping, pausing, resuming and creating in a state (KIP-875, KIP-980) mean for the code of a connector.

The connectors are made to be observed, on herders in this process. What any client can see of FileStream connectors is
in tests/compat.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.herders import KINDS, Case, Cluster, MakeCase, Rows, path_of
from fixtures.worker import Topics, active_jobs
from seamark.config.states import TargetState
from seamark.kafka.consumer import RecordConsumer
from seamark.testing.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOODY, MOODY_SINK = "offset_plugins:MoodySource", "offset_plugins:MoodySink"
MODES = ("standalone", "distributed")


def running(make_case: MakeCase, topics: Topics, cluster: str | Cluster, **settings: Any) -> Case:
    """A source that runs and has not much to do."""
    case = make_case(cluster, MOODY, **{"throughput": 20, **settings})
    topics.create(case.topic)
    case.create()
    tasks = int(case.config["tasks.max"])
    case.connect.await_state(case.name, "RUNNING", ["RUNNING"] * tasks)
    eventually(lambda: {call.task for call in case.observed.calls("poll")} == set(range(tasks)), 60)
    return case


def task_views(case: Case) -> list[Any]:
    """What REST shows of tasks, everywhere."""
    path = path_of(case.name)
    return [
        case.connect.ask("GET", path)["tasks"],
        case.connect.ask("GET", f"{path}/tasks"),
        case.connect.status(case.name)["tasks"],
        case.connect.ask("GET", "/connectors?expand=status&expand=info")[case.name]["status"]["tasks"],
        case.connect.ask("GET", "/connectors?expand=status&expand=info")[case.name]["info"]["tasks"],
    ]


def open_tasks(case: Case) -> set[str]:
    """Task objects that were started and not stopped."""
    calls = [call for call in case.observed.calls() if call.task is not None]
    started = {call.instance for call in calls if call.method == "start"}
    return started - {call.instance for call in calls if call.method == "stop"}


# --- stop and pause ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("K875-27")
@pytest.mark.requirement("K875-28")
@pytest.mark.requirement("K875-30")
@pytest.mark.requirement("K875-35")
@pytest.mark.parametrize("cluster", KINDS)
def test_stop_releases_what_pause_keeps_listed(
    make_case: MakeCase, topics: Topics, spark: SparkSession, cluster: str
) -> None:
    case = running(make_case, topics, cluster, tasks__max=2)
    case.connect.pause(case.name, ["PAUSED"] * 2)
    assert [len(view) for view in task_views(case)] == [2] * 5
    assert not open_tasks(case), "a paused task may hold nothing on Spark"
    case.connect.resume(case.name, ["RUNNING"] * 2)
    eventually(lambda: len(open_tasks(case)) == 2, 60)

    case.connect.stop(case.name)
    assert not open_tasks(case), "a task was not stopped"
    starts, stops = case.methods().count("start"), case.methods().count("stop")
    assert starts == stops >= 2, "the connector was not stopped as often as it was started"
    eventually(lambda: task_views(case) == [[]] * 5, 60)
    assert case.connect.ask("GET", f"{path_of(case.name)}/config") == {**case.config, "name": case.name}
    runner = case.cluster.owner(case.name).herder.local.runner(case.name)
    assert runner is not None
    assert (runner._connector, runner._stage, runner.progress()) == (None, None, [])
    calls = len(case.observed.calls())
    written = topics.committed_end(case.topic)

    case.connect.resume(case.name, ["RUNNING"] * 2)
    assert len(task_views(case)[1]) == 2, "the tasks were not made anew"
    assert case.methods().count("task_configs") == starts + 1
    first = case.observed.calls()[calls]
    assert (first.method, first.task) == ("start", None), "something ran while it was stopped"
    eventually(lambda: topics.committed_end(case.topic) > written, 60)


@pytest.mark.requirement("K875-28")
def test_nothing_of_a_stopped_connector_is_left_on_spark(
    make_case: MakeCase, topics: Topics, clusters: Callable[[str], Cluster], spark: SparkSession
) -> None:
    before = set(active_jobs(spark))
    case = running(make_case, topics, "distributed")
    sink = make_case("distributed", MOODY_SINK, topics=case.topic).create()
    eventually(lambda: sink.observed.calls("put"), 60)
    eventually(lambda: len(set(active_jobs(spark)) - before) >= 2, 60)
    case.connect.stop(case.name)
    case.connect.stop(sink.name)
    eventually(lambda: not set(active_jobs(spark)) - before, 60, "a Spark job of a stopped connector runs")
    group = topics.admin.describe_group(f"connect-{sink.name}")
    assert (group.state, group.members) == ("EMPTY", ())


@pytest.mark.requirement("K875-52")
@pytest.mark.parametrize("cluster", MODES)
def test_stop_of_a_stopped_connector_does_nothing(make_case: MakeCase, cluster: str) -> None:
    case = make_case(cluster, MOODY).create("stopped")
    case.connect.stop(case.name)
    assert case.observed.calls() == []


@pytest.mark.requirement("K875-31")
@pytest.mark.requirement("K875-53")
@pytest.mark.parametrize("method", ["start", "task_configs"])
@pytest.mark.parametrize("cluster", MODES)
def test_failed_connector_can_be_stopped_and_resumed(
    make_case: MakeCase, topics: Topics, cluster: str, method: str
) -> None:
    case = make_case(cluster, MOODY, throughput=20)
    topics.create(case.topic)
    case.say("fails.in", method)
    case.create()
    failed = case.connect.await_state(case.name, "FAILED", [])
    assert f"failing in {method} as told" in failed["connector"]["trace"]
    case.connect.stop(case.name)
    assert "trace" not in case.connect.status(case.name)["connector"]
    assert case.connect.reset(case.name)[0] == 200
    case.say("fails.in", "")
    case.connect.resume(case.name)
    eventually(lambda: topics.committed_end(case.topic) > 0, 60)


@pytest.mark.requirement("K875-31")
@pytest.mark.requirement("K875-53")
@pytest.mark.parametrize("cluster", MODES)
def test_connector_and_task_that_fail_in_their_stop_are_stopped(
    make_case: MakeCase, topics: Topics, cluster: str
) -> None:
    case = running(make_case, topics, cluster, **{"fail__in": "stop", "fail__at": 1, "fail__once": False})
    case.say("fails.in", "stop")
    case.connect.stop(case.name)
    wheres = [call["where"] for call in case.observed.calls("failure")]
    assert sorted(wheres) == ["stop", "stop"], "both had to fail"
    eventually(lambda: task_views(case) == [[]] * 5, 60)
    assert case.connect.status(case.name)["connector"]["state"] == "STOPPED"
    case.say("fails.in", "")
    written = topics.committed_end(case.topic)
    case.connect.resume(case.name)
    eventually(lambda: topics.committed_end(case.topic) > written, 60)


@pytest.mark.requirement("K875-31")
@pytest.mark.requirement("K875-53")
@pytest.mark.parametrize("cluster", MODES)
def test_connector_with_a_failed_task_can_be_stopped_and_resumed(
    make_case: MakeCase, topics: Topics, cluster: str
) -> None:
    case = make_case(cluster, MOODY, fail__at=3, max__messages=5)
    topics.create(case.topic)
    case.create()
    case.connect.await_state(case.name, "RUNNING", ["FAILED"])
    case.connect.stop(case.name)
    case.connect.resume(case.name)
    eventually(lambda: "0-5" in topics.values(case.topic), 60)


@pytest.mark.requirement("K875-33")
@pytest.mark.parametrize("cluster", MODES)
def test_nothing_but_a_resume_starts_a_stopped_connector(make_case: MakeCase, topics: Topics, cluster: str) -> None:
    case = running(make_case, topics, cluster)
    runner = case.cluster.owner(case.name).herder.local.runner(case.name)
    assert runner is not None
    connector = runner._connector
    assert connector is not None
    case.connect.stop(case.name)
    calls = len(case.observed.calls())
    path = f"{path_of(case.name)}/restart"
    case.connect.call("POST", path)
    case.connect.ask("POST", f"{path}?includeTasks=true&onlyFailed=false", status=202)
    connector.context.request_task_reconfiguration()
    case.connect.ask("PUT", f"{path_of(case.name)}/config", {**case.config, "throughput": "30"}, 200)
    case.connect.await_state(case.name, "STOPPED")
    assert runner.wait_settled(timeout_s=60)
    assert len(case.observed.calls()) == calls, case.observed.calls()[calls:]
    assert task_views(case) == [[]] * 5


@pytest.mark.requirement("K875-34")
@pytest.mark.requirement("K875-52")
@pytest.mark.parametrize("cluster", MODES)
def test_pause_of_a_stopped_connector_starts_nothing(make_case: MakeCase, topics: Topics, cluster: str) -> None:
    case = running(make_case, topics, cluster)
    case.connect.stop(case.name)
    calls = len(case.observed.calls())
    case.connect.pause(case.name, [])
    assert task_views(case) == [[]] * 5
    assert len(case.observed.calls()) == calls
    status, _ = case.connect.alter(case.name, ({"source": "0"}, {"seq": 1}))
    assert status == 400
    case.connect.resume(case.name)
    assert case.observed.calls()[calls].method == "start"


# --- created in a state -----------------------------------------------------------------------------------------------


def statuses(case: Case) -> list[str]:
    """Every state that was ever written of the connector, in order."""
    topic = case.cluster.properties["status.storage.topic"]
    servers = {"bootstrap.servers": case.cluster.properties["bootstrap.servers"]}
    reader = Topics(servers["bootstrap.servers"])
    partitions = reader.admin.partitions_of([topic])
    ends = reader.admin.list_offsets(dict.fromkeys(partitions, "latest"))
    consumer = RecordConsumer(servers)
    found: list[str] = []
    try:
        consumer.assign(dict.fromkeys(partitions, 0))

        def read() -> bool:
            for message in consumer.read(10_000, 0.1):
                key, value = message.key().decode(), message.value()
                what = {f"status-connector-{case.name}": "", f"status-task-{case.name}-0": "task "}.get(key)
                if what is not None and value is not None:
                    found.append(f"{what}{json.loads(value)['state']}")
            return all(consumer.positions().get(partition, 0) >= end for partition, end in ends.items())

        eventually(read, 60)
    finally:
        consumer.close()
        reader.close()
    return found


@pytest.mark.requirement("K980-05")
@pytest.mark.requirement("K980-18")
@pytest.mark.requirement("K980-20")
@pytest.mark.requirement("K980-23")
@pytest.mark.requirement("K980-24")
@pytest.mark.requirement("K980-25")
@pytest.mark.requirement("K980-26")
@pytest.mark.requirement("K980-28")
@pytest.mark.parametrize("connector_class", [MOODY, MOODY_SINK], ids=["source", "sink"])
@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
@pytest.mark.parametrize("cluster", MODES)
def test_no_code_runs_before_the_first_resume(
    make_case: MakeCase, topics: Topics, cluster: str, state: str, connector_class: str
) -> None:
    case = make_case(cluster, connector_class)
    # Its system does not exist yet: a start would fail.
    case.say("fails.in", "start")
    case.create(state)
    assert case.connect.status(case.name)["connector"]["worker_id"] == case.cluster.nodes[0].id
    assert task_views(case) == [[]] * 5
    assert case.observed.calls() == []
    if case.cluster.is_distributed:
        assert statuses(case) == [state]
    topics.create(case.topic)
    case.say("fails.in", "")
    case.connect.resume(case.name)
    assert case.methods()[:2] == ["start", "task_configs"]
    if case.cluster.is_distributed:
        assert statuses(case)[:3] == [state, "RUNNING", "task RUNNING"]
    case.delete()
    eventually(lambda: case.connect.call("GET", path_of(case.name)).status_code == 404, 60)


@pytest.mark.requirement("K980-27")
@pytest.mark.parametrize("cluster", MODES)
def test_without_a_state_it_runs(make_case: MakeCase, topics: Topics, cluster: str) -> None:
    case = running(make_case, topics, cluster)
    if case.cluster.is_distributed:
        assert statuses(case)[0] == "RUNNING"


@pytest.mark.requirement("K980-19")
@pytest.mark.requirement("K980-29")
@pytest.mark.parametrize("cluster", KINDS)
def test_only_stopped_ones_can_have_their_offsets_changed(make_case: MakeCase, cluster: str) -> None:
    paused, stopped = make_case(cluster, MOODY).create("paused"), make_case(cluster, MOODY).create("stopped")
    for change, status in ((paused, 400), (stopped, 200)):
        assert change.connect.alter(change.name, ({"source": "0"}, {"seq": 7}))[0] == status
        assert change.connect.offsets(change.name) == ([] if status == 400 else [({"source": "0"}, {"seq": 7})])
        assert change.connect.reset(change.name)[0] == status
        assert bool(change.observed.calls("alter_offsets")) is (status == 200)


@pytest.mark.requirement("K980-20")
def test_state_is_set_before_the_connector_in_standalone_mode(
    make_case: MakeCase, clusters: Callable[[str], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = make_case("standalone", MOODY)
    herder = clusters("standalone").nodes[0].herder
    events: list[str] = []
    write, reconcile = herder._configs._write_any, herder.local.reconcile

    def noted(batch: Any, *more: Any) -> None:
        events.extend(key.rpartition(f"-{case.name}")[0] for key, _ in batch)
        write(batch, *more)

    def reconciled(name: str) -> None:
        events.append(f"reconcile as {herder._configs.snapshot().target_state(name)}")
        reconcile(name)

    monkeypatch.setattr(herder._configs, "_write_any", noted)
    monkeypatch.setattr(herder.local, "reconcile", reconciled)
    case.create("stopped")
    assert events[:3] == ["target-state", "connector", f"reconcile as {TargetState.STOPPED}"]


@pytest.mark.requirement("K980-22")
@pytest.mark.parametrize("kind", ["distributed", "exactly-once"])
def test_connector_moves_to_another_cluster_without_loss_or_repetition(
    make_case: MakeCase,
    make_cluster: Callable[..., Cluster],
    clusters: Callable[[str], Cluster],
    topics: Topics,
    kind: str,
) -> None:
    old = clusters(kind)
    new = clusters("exactly-once" if kind == "distributed" else "distributed")
    case = make_case(old, MOODY, tasks__max=2, partitions=2, throughput=200)
    topics.create(case.topic)
    case.create()
    eventually(lambda: topics.committed_end(case.topic) >= 100, 60)
    eventually(lambda: len(case.connect.offsets(case.name)) == 4, 60)  # both tasks have committed
    case.connect.stop(case.name)
    rows: Rows = case.connect.offsets(case.name)

    there = new.connect()
    there.create(case.name, case.config, "STOPPED")
    there.await_state(case.name, "STOPPED")
    assert there.alter(case.name, *rows) == (200, "The offsets for this connector have been altered successfully")
    assert there.offsets(case.name) == rows
    there.resume(case.name, ["RUNNING"] * 2)
    before = len(topics.values(case.topic))
    eventually(lambda: len(topics.values(case.topic)) >= before + 100, 60)
    there.stop(case.name)
    there.ask("DELETE", path_of(case.name), status=204)
    case.delete()
    by_source: dict[str, list[int]] = {}
    for value in topics.values(case.topic):
        source, _, number = value.rpartition("-")
        by_source.setdefault(source, []).append(int(number))
    assert set(by_source) == {"0.0", "0.1", "1.0", "1.1"}
    for numbers in by_source.values():
        assert numbers == list(range(1, len(numbers) + 1))
