"""The direct stage on a real broker and a real Spark: commands, failures, idling, sharing, leases, fences."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from fixtures.worker import (
    GrowingFile,
    MakeWorker,
    Topics,
    active_jobs,
    assert_each_once_in_order,
    file_sink,
    file_source,
    worker_properties,
)
from seamark.connector import SourcePartition, TopicPartition
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.runtime.states import ConnectorStatus, State, TargetState
from seamark.runtime.worker import Worker
from seamark.testing import Observed, sequences
from seamark.testing.driver import DriverProcess
from seamark.testing.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(900)

PROMPTLY_S = 2.0
SOURCE = "seamark.testing.observable.ObservableSourceConnector"
SINK = "seamark.testing.observable_sink.ObservableSinkConnector"
ENABLED = {"exactly__once__source__support": "enabled"}


@pytest.fixture
def lines(tmp_path: Path) -> GrowingFile:
    return GrowingFile(tmp_path / "lines.txt")


def observable(topic: str, observe: Path, **settings: str) -> dict[str, str]:
    """Config of the observable source; ``__`` stands for a dot."""
    config = {"connector.class": SOURCE, "tasks.max": "1", "topic": topic, "observe.dir": str(observe)}
    return {**config, "observe.polls": "records", **{key.replace("__", "."): value for key, value in settings.items()}}


def observable_sink(topic: str, observe: Path, **settings: str) -> dict[str, str]:
    config = {"connector.class": SINK, "tasks.max": "1", "topics": topic, "observe.dir": str(observe)}
    return {**config, "observe.polls": "records", **{key.replace("__", "."): value for key, value in settings.items()}}


def taken(observed: Observed) -> list[str]:
    """The values of all records that the observable sink took, in order."""
    return [row[4] for call in observed.calls("put") for row in call["records"]]


def lines_have_come(topics: Topics, topic: str, lines: GrowingFile) -> None:
    eventually(lambda: len(topics.values(topic)) >= lines.written, 60, "not all lines have come")
    assert_each_once_in_order(topics.records(topic), [lines])


# --- commands


@pytest.mark.alone
@pytest.mark.parametrize("target", [TargetState.STOPPED, TargetState.PAUSED])
@pytest.mark.parametrize("exactly_once", [True, False])
def test_stop_and_pause_take_effect_promptly_and_commit(
    shared_workers: dict[bool, Worker],
    topics: Topics,
    topic_name: str,
    lines: GrowingFile,
    target: TargetState,
    exactly_once: bool,
) -> None:
    worker = shared_workers[exactly_once]
    topics.create(topic_name, 2)
    lines.start()
    worker.start_connector(topic_name, file_source(lines.path, topic_name))
    try:
        eventually(lambda: topics.committed_end(topic_name) > 100, 60)
        asked = time.monotonic()
        worker.set_target(topic_name, target)
        assert worker.wait_for(topic_name, State(target.value), 30)
        assert time.monotonic() - asked < PROMPTLY_S
        lines.stop()
        # What was committed is exactly what is there: neither records without their offset nor the other way round.
        there = topics.values(topic_name)
        (offset,) = worker.connector_offsets(topic_name).read(topic_name).values()
        assert offset is not None
        assert lines.path.read_text()[: offset["position"]].splitlines() == sorted(there, key=number_of)
        worker.set_target(topic_name, TargetState.STARTED)
        lines_have_come(topics, topic_name, lines)
    finally:
        lines.stop()
        worker.stop_connector(topic_name)


def number_of(line: str) -> int:
    return int(line.rpartition("-")[2])


@pytest.mark.alone
def test_a_sink_stops_promptly_and_goes_on_where_it_was(
    worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    observed = Observed(tmp_path)
    topics.send(topics.create(topic_name), ["one", "two"])
    worker.start_connector(topic_name, observable_sink(topic_name, tmp_path))
    eventually(lambda: taken(observed) == ["one", "two"], 60)
    asked = time.monotonic()
    worker.set_target(topic_name, TargetState.STOPPED)
    assert worker.wait_for(topic_name, State.STOPPED, 30)
    assert time.monotonic() - asked < PROMPTLY_S
    assert topics.group_offsets(f"connect-{topic_name}") == {TopicPartition(topic_name, 0): 2}
    assert [call.method for call in observed.calls(task=0)][-3:] == ["pre_commit", "close", "stop"]
    topics.send(topic_name, ["three"])
    worker.set_target(topic_name, TargetState.STARTED)
    eventually(lambda: taken(observed) == ["one", "two", "three"], 60)


# --- failures


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_failing_task_leaves_the_others_running(
    shared_workers: dict[bool, Worker], topics: Topics, topic_name: str, tmp_path: Path, exactly_once: bool
) -> None:
    worker = shared_workers[exactly_once]
    topics.create(topic_name)
    (tmp_path / f"once-{topic_name}-1-fail-poll").touch()  # task 1 has had its failure already
    worker.start_connector(
        topic_name, observable(topic_name, tmp_path, tasks__max="2", throughput="100", fail__at="30")
    )
    try:
        eventually(lambda: worker.status(topic_name).tasks[0].state is State.FAILED, 60)
        trace = worker.status(topic_name).tasks[0].trace or ""
        assert "failing in poll at 30 as configured" in trace
        assert "Traceback" in trace
        there = len(sequences(topics.values(topic_name)).get("1", []))
        eventually(lambda: len(sequences(topics.values(topic_name)).get("1", [])) > there + 50, 30)
        status = worker.status(topic_name)
        assert (status.state, status.tasks[1].state) == (State.RUNNING, State.RUNNING)
        # What the task had polled before it failed is there, and committed.
        eventually(lambda: sequences(topics.values(topic_name))["0"] == list(range(1, 30)))
        offsets = worker.connector_offsets(topic_name).read(topic_name)
        assert offsets[SourcePartition(source="0")] == {"seq": 29}
        worker.restart_connector(topic_name)
        eventually(lambda: len(sequences(topics.values(topic_name))["0"]) > 60, 60)
        for numbers in sequences(topics.values(topic_name)).values():
            assert numbers == list(range(1, len(numbers) + 1))
    finally:
        worker.stop_connector(topic_name)


def test_a_connector_that_fails_when_woken_stays_failed(
    make_worker: MakeWorker, spark: SparkSession, topics: Topics, topic_name: str, lines: GrowingFile
) -> None:
    worker, statuses = make_worker(seamark__idle__ms="200"), list[ConnectorStatus]()
    topics.create(topic_name)
    lines.append(10)
    worker.start_connector(topic_name, file_source(lines.path, topic_name), on_status=statuses.append)
    lines_have_come(topics, topic_name, lines)
    eventually(lambda: not active_jobs(spark), 30)
    lines.path.write_text("")
    eventually(lambda: worker.status(topic_name).tasks[0].state is State.FAILED, 60)
    worker.set_target(topic_name, TargetState.STOPPED)
    assert worker.wait_for(topic_name, State.STOPPED, 30)
    seen = [(status.state, *(task.state for task in status.tasks)) for status in statuses]
    assert seen == [(State.RUNNING, State.RUNNING), (State.RUNNING, State.FAILED), (State.STOPPED,)]


# --- idling


@pytest.mark.parametrize("exactly_once", [True, False])
def test_an_idle_source_holds_no_slot_and_wakes_for_a_line(
    make_worker: MakeWorker,
    spark: SparkSession,
    topics: Topics,
    topic_name: str,
    lines: GrowingFile,
    exactly_once: bool,
) -> None:
    worker = make_worker(seamark__idle__ms="200", **(ENABLED if exactly_once else {}))
    topics.create(topic_name)
    worker.start_connector(topic_name, file_source(lines.path, topic_name))
    for _ in range(3):
        lines.append(10)
        lines_have_come(topics, topic_name, lines)
        eventually(lambda: not active_jobs(spark), 30, "the idle source still has a Spark job")
        assert worker.status(topic_name).tasks[0].state is State.RUNNING
    with lines.path.open("a") as file:
        file.write("half a line")  # nothing that a task could read: it is not woken
    assert worker.progress(topic_name)[0].positions == [
        {
            "partition": {"filename": str(lines.path)},
            "offset": {"position": len("lines-1\n") * 9 + len("lines-10\n") * 21},
        }
    ]
    assert not active_jobs(spark)


def test_an_idle_sink_holds_no_slot_and_wakes_for_a_record(
    make_worker: MakeWorker, spark: SparkSession, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    worker, copy = make_worker(seamark__idle__ms="200"), tmp_path / "copy.txt"
    topics.create(topic_name, 2)
    worker.start_connector(topic_name, file_sink(copy, topic_name, tasks=2))
    wanted: list[str] = []
    for number in range(3):
        eventually(lambda: not active_jobs(spark), 30, "the idle sink still has a Spark job")
        topics.send(topic_name, [str(number)], partition=number % 2)
        wanted.append(str(number))
        eventually(lambda: copy.read_text().splitlines() == wanted, 30)
    eventually(lambda: not active_jobs(spark), 30)
    offsets = {TopicPartition(topic_name, 0): 2, TopicPartition(topic_name, 1): 1}
    assert topics.group_offsets(f"connect-{topic_name}") == offsets


def test_a_sink_waits_for_its_topic(worker: Worker, topics: Topics, topic_name: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.txt"
    worker.start_connector(topic_name, file_sink(copy, topic_name))
    assert worker.wait_for(topic_name, State.RUNNING, 30)
    topics.send(topics.create(topic_name), ["one"])
    eventually(lambda: copy.read_text() == "one\n", 30)


# --- sinks


def test_one_put_has_no_more_records_than_max_poll_records(
    worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    observed = Observed(tmp_path)
    values = [str(number) for number in range(50)]
    topics.send(topics.create(topic_name), values)
    config = observable_sink(topic_name, tmp_path, consumer__override__max__poll__records="7")
    worker.start_connector(topic_name, config)
    eventually(lambda: taken(observed) == values, 60)
    assert max(len(call["records"]) for call in observed.calls("put")) == 7


def test_a_retriable_put_gets_the_same_records_again(
    worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    observed = Observed(tmp_path)
    topics.send(topics.create(topic_name), ["one", "two", "three"])
    config = observable_sink(topic_name, tmp_path, retriable__at="1", retriable__times="3", retry__after__ms="50")
    worker.start_connector(topic_name, config)
    eventually(lambda: taken(observed) == ["one", "two", "three"], 60)
    assert [call["records"] for call in observed.calls("retriable")] == [3, 3, 3]
    eventually(lambda: topics.group_offsets(f"connect-{topic_name}") == {TopicPartition(topic_name, 0): 3})


@pytest.mark.alone
def test_records_that_a_task_does_not_take_are_not_committed_by_a_stop(
    worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    observed = Observed(tmp_path)
    topics.send(topics.create(topic_name), ["one"])
    config = observable_sink(topic_name, tmp_path, retriable__at="1", retriable__times="1000", retry__after__ms="60000")
    worker.start_connector(topic_name, config)
    observed.wait_for("retriable")
    asked = time.monotonic()
    worker.set_target(topic_name, TargetState.STOPPED)
    assert worker.wait_for(topic_name, State.STOPPED, 30)
    assert time.monotonic() - asked < PROMPTLY_S
    assert topics.group_offsets(f"connect-{topic_name}") == {}


def test_only_what_pre_commit_returns_is_committed(
    worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    observed, group = Observed(tmp_path), f"connect-{topic_name}"
    topics.send(topics.create(topic_name), [str(number) for number in range(10)])
    worker.start_connector(topic_name, observable_sink(topic_name, tmp_path, pre_commit__lag="3"))
    eventually(lambda: topics.group_offsets(group) == {TopicPartition(topic_name, 0): 7}, 60)
    worker.restart_connector(topic_name)
    eventually(lambda: taken(observed)[10:] == ["7", "8", "9"], 60, "what was not committed does not come again")


def test_a_failing_pre_commit_goes_back_to_the_last_commit(
    worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    observed, group = Observed(tmp_path), f"connect-{topic_name}"
    topics.send(topics.create(topic_name), ["one", "two"])
    config = observable_sink(topic_name, tmp_path, fail__in="pre_commit", fail__at="1")
    worker.start_connector(topic_name, config)
    eventually(lambda: taken(observed) == ["one", "two", "one", "two"], 60)
    eventually(lambda: topics.group_offsets(group) == {TopicPartition(topic_name, 0): 2})
    assert worker.status(topic_name).tasks[0].state is State.RUNNING


def test_a_task_can_rewind(worker: Worker, topics: Topics, topic_name: str, tmp_path: Path) -> None:
    observed = Observed(tmp_path)
    topics.send(topics.create(topic_name), ["one", "two", "three"])
    where = f'{{"put": 1, "topic": "{topic_name}", "partition": 0, "offset": 1}}'
    worker.start_connector(topic_name, observable_sink(topic_name, tmp_path, rewind__at=where))
    eventually(lambda: taken(observed) == ["one", "two", "three", "two", "three"], 60)
    eventually(lambda: topics.group_offsets(f"connect-{topic_name}") == {TopicPartition(topic_name, 0): 3})


def test_a_failing_put_keeps_what_was_taken_before(
    worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    observed = Observed(tmp_path)
    topics.send(topics.create(topic_name), ["one"])
    config = observable_sink(topic_name, tmp_path, fail__at="2", offset__flush__interval__ms="600000")
    worker.start_connector(topic_name, config)
    eventually(lambda: taken(observed) == ["one"], 60)
    topics.send(topic_name, ["two"])
    eventually(lambda: worker.status(topic_name).tasks[0].state is State.FAILED, 60)
    assert topics.group_offsets(f"connect-{topic_name}") == {TopicPartition(topic_name, 0): 1}
    worker.restart_connector(topic_name)
    eventually(lambda: taken(observed) == ["one", "two"], 60)


# --- settings


def test_client_overrides_are_respected(
    make_worker: MakeWorker, spark: SparkSession, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    worker = make_worker(seamark__idle__ms="200")
    topics.send(topics.create(topic_name), ["old"])
    copy, group = tmp_path / "copy.txt", f"{topic_name}-group"
    config = file_sink(copy, topic_name)
    config |= {"consumer.override.auto.offset.reset": "latest", "consumer.override.group.id": group}
    worker.start_connector(f"{topic_name}-sink", config)
    eventually(lambda: worker.progress(f"{topic_name}-sink")[0].updated_ms > 0, 60)
    eventually(lambda: not active_jobs(spark), 30)
    topics.send(topic_name, ["new"])  # it came while the sink was idle and nothing was committed yet
    eventually(lambda: copy.read_text() == "new\n", 30)
    eventually(lambda: topics.group_offsets(group) == {TopicPartition(topic_name, 0): 2})

    long_line = tmp_path / "lines.txt"
    long_line.write_text("x" * 5000 + "\n")
    config = file_source(long_line, topic_name, producer__override__max__request__size="2000")
    worker.start_connector(f"{topic_name}-source", config)
    eventually(lambda: worker.status(f"{topic_name}-source").tasks[0].state is State.FAILED, 60)
    assert "MSG_SIZE_TOO_LARGE" in (worker.status(f"{topic_name}-source").tasks[0].trace or "")


def test_a_connector_may_keep_its_offsets_in_a_topic_of_its_own(
    exactly_once_worker: Worker, topics: Topics, topic_name: str, lines: GrowingFile
) -> None:
    worker = exactly_once_worker
    topics.create(topic_name)
    config = file_source(lines.path, topic_name, offsets__storage__topic=f"{topic_name}-offsets")
    lines.append(20)
    worker.start_connector(topic_name, config)
    lines_have_come(topics, topic_name, lines)
    offset = {SourcePartition(filename=str(lines.path)): {"position": lines.path.stat().st_size}}
    eventually(lambda: dict(worker.offsets.read(topic_name)) == offset, 30, "the worker's topic has no copy")
    own = topics.records(f"{topic_name}-offsets")
    assert any(f'{{"position":{lines.path.stat().st_size}}}' in values for values in own.values())
    # The connector's own topic is what counts.
    worker.set_target(topic_name, TargetState.STOPPED)
    assert worker.wait_for(topic_name, State.STOPPED, 30)
    worker.offsets.write(topic_name, {SourcePartition(filename=str(lines.path)): {"position": 0}})
    lines.append(5)
    worker.set_target(topic_name, TargetState.STARTED)
    lines_have_come(topics, topic_name, lines)


@pytest.mark.parametrize("exactly_once", [True, False])
def test_nothing_is_lost_or_repeated_between_epochs(
    make_worker: MakeWorker, topics: Topics, topic_name: str, tmp_path: Path, exactly_once: bool
) -> None:
    worker, observed = make_worker(seamark__epoch__ms="500", **(ENABLED if exactly_once else {})), Observed(tmp_path)
    topics.create(topic_name, 3)
    worker.start_connector(topic_name, observable(topic_name, tmp_path, tasks__max="2", throughput="300"))
    eventually(lambda: len(observed.instances(0)) > 3 and len(observed.instances(1)) > 3, 60)
    worker.set_target(topic_name, TargetState.STOPPED)
    assert worker.wait_for(topic_name, State.STOPPED, 30)
    found = sequences(topics.values(topic_name))
    ended = {str(call.task): call["total"] for call in observed.calls("stop") if call.task is not None}
    assert {source: sorted(numbers) for source, numbers in found.items()} == {
        source: list(range(1, total + 1)) for source, total in ended.items()
    }


# --- leases, fences and slots


def test_a_python_worker_that_stands_still_loses_its_lease_and_is_replaced(
    make_worker: MakeWorker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    worker, observed = (
        make_worker(
            seamark__lease__ms="2000",
            seamark__lease__interval__ms="300",
            task__shutdown__graceful__timeout__ms="500",
            **ENABLED,
        ),
        Observed(tmp_path),
    )
    topics.create(topic_name)
    worker.start_connector(topic_name, observable(topic_name, tmp_path, throughput="200"))
    stuck = psutil.Process(observed.wait_for("poll")[0].pid)
    os.kill(stuck.pid, signal.SIGSTOP)
    observed.wait_for("poll", lambda calls: calls[-1].pid != stuck.pid)
    stuck.wait(20)  # Spark has ended it: it can do no harm when it would wake up
    there = len(topics.values(topic_name))
    eventually(lambda: len(topics.values(topic_name)) > there + 50, 30)
    numbers = sequences(topics.values(topic_name))["0"]
    assert numbers == list(range(1, len(numbers) + 1))


def test_two_workers_with_the_same_connector_write_each_record_once(
    make_worker: MakeWorker, topics: Topics, topic_name: str, lines: GrowingFile, tmp_path: Path
) -> None:
    first = make_worker(**ENABLED)
    same = {"group__id": first.config.group_id, "offset__storage__topic": first.config.offset_storage_topic}
    second = make_worker(**same, **ENABLED)
    topics.create(topic_name, 2)
    lines.start()
    try:
        first.start_connector(topic_name, file_source(lines.path, topic_name))
        for newer, older in ((second, first), (first, second)):
            if topic_name not in newer.connectors():
                newer.start_connector(topic_name, file_source(lines.path, topic_name))
            # Each takes over from the other, and is taken over from.
            eventually(lambda newer=newer: newer.progress(topic_name)[0].commits > 5, 60)
            eventually(lambda older=older: older.progress(topic_name)[0].state == "fenced", 60)
        first.stop_connector(topic_name)
        there = topics.committed_end(topic_name)
        eventually(lambda: topics.committed_end(topic_name) > there + 100, 60)
    finally:
        lines.stop()
    lines_have_come(topics, topic_name, lines)


@pytest.mark.alone
def test_offsets_behind_an_open_transaction_are_not_overlooked(
    make_worker: MakeWorker, broker: EmbeddedBroker, topics: Topics, topic_name: str, lines: GrowingFile
) -> None:
    worker = make_worker(**ENABLED)
    topics.create(topic_name)
    lines.append(10)
    worker.start_connector(topic_name, file_source(lines.path, topic_name))
    lines_have_come(topics, topic_name, lines)
    offsets_topic = worker.config.offset_storage_topic
    with RecordProducer({"bootstrap.servers": broker.bootstrap_servers}, f"{topic_name}-other") as other:
        other.init_transactions()
        other.begin()
        for partition in range(3):
            other.send(offsets_topic, b"{}", b'["another",{}]', partition=partition)
        assert other.flush(30) == 0
        lines.append(10)  # their offset is committed, but nobody can read it before the other transaction ends
        eventually(lambda: len(topics.values(topic_name)) == lines.written, 30)
        worker.restart_connector(topic_name)
        eventually(lambda: "a transaction is open" in (worker.progress(topic_name)[0].error or ""), 30)
        asked = time.monotonic()
        worker.set_target(topic_name, TargetState.PAUSED)  # waiting for offsets does not hold up a command
        assert worker.wait_for(topic_name, State.PAUSED, 30)
        assert time.monotonic() - asked < PROMPTLY_S + 1
        worker.set_target(topic_name, TargetState.STARTED)
        lines.append(10)
        other.abort()
    lines_have_come(topics, topic_name, lines)


@pytest.mark.slow
def test_more_tasks_than_slots_take_turns(
    broker: EmbeddedBroker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    topics.create(topic_name)
    names = {name: f"{topic_name}-{name}" for name in ("a", "b", "c")}
    settings = worker_properties(broker.bootstrap_servers, **ENABLED) | {"spark.master": "local[2]"}
    connectors = {
        names["a"]: observable(topic_name, tmp_path, tasks__max="3", throughput="200"),
        names["b"]: observable(topic_name, tmp_path, throughput="200"),
        names["c"]: observable(topic_name, tmp_path, throughput="200"),
    }
    tasks = [(names["a"], 0), (names["a"], 1), (names["a"], 2), (names["b"], 0), (names["c"], 0)]
    with DriverProcess(tmp_path, [{"properties": settings, "connectors": connectors}], sharing=(0.5, 1.0)):

        def turns() -> dict[tuple[str, int], int]:
            polls = [call for name in names.values() for call in Observed(tmp_path, name).calls("poll")]
            return {each: len({p.instance for p in polls if (p.connector, p.task) == each}) for each in tasks}

        eventually(lambda: min(turns().values()) >= 2, 120, "some task had no second turn")
