"""KIP-910 where it is the same with and without exactly-once: one scripted run each, looked at from all sides."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.update_offsets import SOURCE, Lab, Run, seqs
from seamark.connector import Offsets, SourcePartition, SourceTask
from seamark.connector.source import SourceTaskContext
from seamark.kafka.broker import EmbeddedBroker
from seamark.runtime.states import State
from seamark.testing.observable import ObservableHookTask
from seamark.testing.observed import Observed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUPPORT = {"at-least-once": "disabled", "exactly-once": "enabled"}
ADDED, MOVED, INVENTED = {"table": "added"}, {"table": "moved"}, {"table": "invented"}


@pytest.fixture(scope="module", params=SUPPORT)
def lab(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    broker: EmbeddedBroker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Lab]:
    directory = tmp_path_factory.mktemp("update-offsets")
    with Lab(spark, broker, directory, exactly__once__source__support=SUPPORT[request.param]) as lab:
        yield lab


@pytest.fixture(scope="module")
def run(lab: Lab) -> Run:
    """The script, in the order in which the tests below look at it."""
    run = lab.start("script", gated=True, hook=True)
    run.allow(1)
    run.await_offset(SOURCE, {"seq": 1})

    run.next_update([SOURCE, {"seq": 10}], when="offsets")
    run.allow(2)
    run.await_offset(SOURCE, {"seq": 10})

    run.next_update([ADDED, {"lsn": 7}], when="offsets")
    run.allow(3)
    run.await_offset(ADDED, {"lsn": 7})
    run.next_update([ADDED, None])
    run.await_offset(ADDED, None)

    run.next_update(empty=True, when="offsets")
    run.allow(4)
    run.await_offset(SOURCE, {"seq": 4})

    run.next_update(mutate=[[SOURCE, {"seq": 999}], [INVENTED, {"lsn": 1}]], when="offsets")
    run.allow(5)
    run.await_offset(SOURCE, {"seq": 5})

    run.next_update([SOURCE, {"seq": 100}], [MOVED, {"lsn": "$seq", "mark": "$bytes"}])
    run.await_offset(SOURCE, {"seq": 100})
    run.stop()

    run.resume()
    run.allow(101)
    run.await_offset(SOURCE, {"seq": 101})
    run.stop()
    return run


def update_that_returned(run: Run, offsets: list[Any]) -> Any:
    return next(call for call in run.updates() if call["returned"] == offsets)


@pytest.mark.requirement("K910-01")
def test_the_hook_is_called_before_offsets_are_committed(run: Run) -> None:
    update = update_that_returned(run, [[SOURCE, {"seq": 10}]])
    assert update["offsets"] == [[SOURCE, {"seq": 2}]]
    told = next(call for call in run.calls("commit") if call.time_ns > update.time_ns)
    between = [c.method for c in run.calls() if update.time_ns < c.time_ns < told.time_ns]
    assert between == [], "the commit that the hook decided on came right after it"


@pytest.mark.requirement("K910-02")
def test_none_leaves_the_offsets_as_they_are(run: Run) -> None:
    assert any(call["offsets"] == [[SOURCE, {"seq": 1}]] and call["returned"] is None for call in run.updates())
    assert run.written_for(SOURCE)[0] == {"seq": 1}
    assert SourceTask.update_offsets(ObservableHookTask(), Offsets()) is None


@pytest.mark.requirement("K910-03")
def test_the_argument_holds_the_latest_offset_of_what_is_about_to_be_committed(run: Run) -> None:
    assert run.arguments() == [[[SOURCE, offset]] for offset in seqs(1, 2, 3, 4, 5, 101)]


@pytest.mark.requirement("K910-04")
def test_a_returned_offset_replaces_the_one_of_the_argument(run: Run) -> None:
    assert run.written_for(SOURCE) == seqs(1, 10, 3, 4, 5, 100, 101)


@pytest.mark.requirement("K910-05")
def test_a_partition_can_be_added_and_is_committed_with_the_others(run: Run) -> None:
    assert update_that_returned(run, [[ADDED, {"lsn": 7}]])["offsets"] == [[SOURCE, {"seq": 3}]]
    assert run.written_for(ADDED)[0] == {"lsn": 7}
    assert set(run.written()) == {SourcePartition(each) for each in (SOURCE, ADDED, MOVED)}


@pytest.mark.requirement("K910-05")
def test_bytes_in_an_offset_are_stored_as_base64_and_do_not_disturb_the_task(run: Run) -> None:
    assert run.written_for(MOVED) == [{"lsn": 5, "mark": "AP8="}]


@pytest.mark.requirement("K910-06")
def test_none_as_the_offset_writes_a_tombstone(run: Run) -> None:
    assert run.written_for(ADDED) == [{"lsn": 7}, None]


@pytest.mark.requirement("K910-07")
def test_after_a_tombstone_the_partition_is_neither_listed_nor_found_by_a_restarted_task(run: Run) -> None:
    assert SourcePartition(ADDED) not in run.stored()
    restart = run.calls("start", instance=-1)[0]
    assert ADDED not in [partition for partition, _ in restart["offsets"]]
    assert MOVED in [partition for partition, _ in restart["offsets"]]


@pytest.mark.requirement("K910-08")
def test_a_partition_that_the_result_leaves_out_is_committed_nonetheless(run: Run) -> None:
    update = update_that_returned(run, [[ADDED, {"lsn": 7}]])
    assert update["offsets"] == [[SOURCE, {"seq": 3}]]
    assert {"seq": 3} in run.written_for(SOURCE)


@pytest.mark.requirement("K910-09")
def test_an_empty_result_changes_nothing_and_the_hook_is_called_again(run: Run) -> None:
    empty = next(call for call in run.updates() if call["returned"] == {})
    assert empty["offsets"] == [[SOURCE, {"seq": 4}]]
    assert {"seq": 4} in run.written_for(SOURCE)
    later = [call for call in run.updates(instance=0) if call.time_ns > empty.time_ns]
    assert any(
        call["returned"] == [[SOURCE, {"seq": 100}], [MOVED, {"lsn": 5, "mark": str(b"\x00\xff")}]] for call in later
    )


@pytest.mark.requirement("K910-10")
def test_changes_to_the_argument_have_no_effect(run: Run) -> None:
    assert {"seq": 5} in run.written_for(SOURCE)
    assert {"seq": 999} not in run.written_for(SOURCE)
    assert SourcePartition(INVENTED) not in run.written()


@pytest.mark.requirement("K910-11")
def test_offsets_move_without_a_record(run: Run) -> None:
    update = next(call for call in run.updates() if call["returned"] and [SOURCE, {"seq": 100}] in call["returned"])
    assert update["offsets"] == []
    assert {"seq": 100} in run.written_for(SOURCE)
    assert run.values() == [f"0-{number}" for number in (1, 2, 3, 4, 5, 101)]


@pytest.mark.requirement("K910-12")
def test_a_restarted_task_goes_on_from_the_offsets_of_the_hook(run: Run) -> None:
    restart = run.calls("start", instance=-1)[0]
    assert [SOURCE, {"seq": 100}] in restart["offsets"]
    polled = [call["first"] for call in run.polls(instance=-1) if call["records"]]
    assert polled == ["0-101"], "nothing before the hook's offset is read again"


@pytest.mark.requirement("K910-29")
def test_nothing_is_written_once_the_connector_is_stopped(lab: Lab, run: Run) -> None:
    assert lab.worker.status(run.name).state is State.STOPPED
    assert run.calls()[-1].method == "stop", "the last call of all is that of the task's own stop"
    assert run.written_for(SOURCE)[-1] == {"seq": 101}


@pytest.mark.requirement("K910-29")
def test_the_hook_writes_only_under_its_own_connectors_name(lab: Lab) -> None:
    victim = lab.start("victim", gated=True, hook=True)
    victim.allow(1)
    victim.await_offset(SOURCE, {"seq": 1})
    thief = lab.prepare("thief", hook=True, max__messages=0)
    thief.next_update([SOURCE, None], [MOVED, {"lsn": 1}])
    thief.start()
    thief.await_offset(MOVED, {"lsn": 1})
    for run in (victim, thief):
        run.stop()
    assert victim.written() == {SourcePartition(SOURCE): seqs(1)}
    assert victim.stored() == {SourcePartition(SOURCE): {"seq": 1}}


@pytest.mark.requirement("K910-32")
def test_the_hook_creates_no_topic_and_produces_no_record(lab: Lab, run: Run) -> None:
    assert {topic for topic in lab.admin.list_topics() if run.name in topic} == {run.topic}
    idle = lab.prepare("idle", hook=True, max__messages=0)
    before = lab.admin.list_topics()
    idle.next_update([MOVED, {"lsn": 1}])
    idle.start()
    idle.await_offset(MOVED, {"lsn": 1})
    idle.stop()
    assert {topic for topic in lab.admin.list_topics() - before if not topic.startswith("__")} == set()
    assert idle.written() == {SourcePartition(MOVED): [{"lsn": 1}]}


@pytest.mark.requirement("K910-27")
def test_a_task_without_the_hook_commits_what_it_always_did(lab: Lab) -> None:
    without, with_none = (lab.start("plain", gated=True, hook=hook) for hook in (False, True))
    for number in (1, 2, 3):
        for run in (without, with_none):
            run.allow(number)
            run.await_offset(SOURCE, {"seq": number})
    commits = len(without.calls("commit"))
    without.observed.wait_for("commit", lambda calls: len(calls) > commits)
    for run in (without, with_none):
        run.stop()
    assert without.updates() == []
    assert without.written() == with_none.written() == {SourcePartition(SOURCE): seqs(1, 2, 3)}
    assert without.values() == with_none.values() == ["0-1", "0-2", "0-3"]


@pytest.mark.requirement("K910-28")
def test_a_task_written_before_the_hook_existed_runs(lab: Lab) -> None:
    old = {"old": "a"}
    run = lab.start("old", connector__class="hook_plugins:OldConnector")
    run.await_offset(old, {"n": 3})
    run.stop()
    assert run.values() == ["1", "2", "3"]
    newer = lab.start("newer", connector__class="hook_plugins:NewConnectorOnOldBase")
    newer.await_offset(old, {"n": 30})
    newer.stop()


@pytest.mark.requirement("K910-28")
def test_a_task_with_the_hook_runs_where_nobody_knows_the_hook(tmp_path: Path) -> None:
    task = ObservableHookTask()
    task.context = SourceTaskContext("older", 0)
    task.start({"observe.dir": str(tmp_path), "topic": "t", "update.offsets.script": "[]"}, Offsets())
    assert len(task.poll() or ()) == 10
    task.commit()
    task.stop()
    assert [call.method for call in Observed(tmp_path).calls()] == ["start", "poll", "commit", "stop"]
    assert SourceTask.__abstractmethods__ == {"start", "poll"}, "the hook is not required"
    assert list(inspect.signature(SourceTask.poll).parameters) == ["self"]


@pytest.mark.requirement("K910-28")
def test_an_exception_of_the_hook_fails_the_task_and_nothing_is_committed(lab: Lab) -> None:
    run = lab.start("raises", gated=True, hook=True)
    run.allow(1)
    run.await_offset(SOURCE, {"seq": 1})
    run.next_update(**{"raise": "no offset today"}, when="offsets")
    run.allow(2)
    trace = run.await_failure()
    assert "RuntimeError: no offset today" in trace
    assert "in update_offsets" in trace
    assert 'raise RuntimeError(step["raise"])' in trace, "the trace shows the line of the connector"
    run.await_end()
    assert run.updates()[-1]["raised"] == "no offset today", "it is not called again"
    assert run.written() == {SourcePartition(SOURCE): seqs(1)}


@pytest.mark.requirement("K910-31")
def test_a_record_without_key_and_value_is_a_record_like_any_other(lab: Lab) -> None:
    partition = {"old": "a"}
    run = lab.start("empty", connector__class="hook_plugins:EmptyRecordsConnector")
    run.await_offset(partition, {"n": 1})
    run.stop()
    assert [(message.key(), message.value()) for message in lab.read(run.topic)] == [(None, None)] * 2


@pytest.mark.requirement("K910-31")
def test_a_record_without_a_topic_is_refused(lab: Lab) -> None:
    run = lab.start("nowhere", connector__class="hook_plugins:EmptyRecordsConnector", without__topic="yes")
    trace = run.await_failure()
    assert "topic" in trace.strip().splitlines()[-1]
    run.stop()
    assert run.written() == {}
