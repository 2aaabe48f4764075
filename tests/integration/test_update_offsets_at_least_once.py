"""KIP-910 without exactly-once: when the hook is called, and what Kafka must have acknowledged before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from fixtures.update_offsets import SOURCE, Lab, Run, seqs
from seamark.connector import SourcePartition
from seamark.kafka import TopicSpec
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.observed import Call
from seamark.testing.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLUSH_MS = 200
HELD_BACK_MS = 60_000  # a producer that waits so long for more records sends only full batches
MARK = {"table": "mark"}


@pytest.fixture(scope="module")
def lab(spark: SparkSession, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    directory = tmp_path_factory.mktemp("at-least-once")
    with Lab(spark, broker, directory, offset__flush__interval__ms=str(FLUSH_MS)) as lab:
        yield lab


@pytest.fixture(scope="module")
def slow_lab(spark: SparkSession, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Its scheduled commits do not come before the test is over."""
    with Lab(spark, broker, tmp_path_factory.mktemp("slow"), offset__flush__interval__ms="600000") as lab:
        yield lab


# when the hook is called


@pytest.fixture(scope="module")
def idle(lab: Lab) -> Run:
    """Returns no record, ever, and marks each call of the hook."""
    script = [{"offsets": [[MARK, {"call": "$call"}]]}]
    run = lab.start("idle", max__messages=0, update__offsets__script=script, update__offsets__after="last")
    eventually(lambda: run.stored().get(SourcePartition(MARK), {"call": 0})["call"] >= 6)
    run.stop()
    return run


@pytest.mark.requirement("K910-16")
@pytest.mark.requirement("K910-11")
def test_the_hook_is_called_if_the_last_poll_returned_nothing(idle: Run) -> None:
    polls, updates = idle.polls(), idle.updates()
    assert {call["records"] for call in polls} == {0}
    assert len([call for call in updates if call.time_ns > polls[0].time_ns]) >= 5
    assert idle.arguments() == []
    assert idle.written_for(MARK) == [{"call": number + 1} for number in range(len(updates))]


@pytest.mark.requirement("K910-13")
def test_the_hook_is_part_of_the_commit_at_every_flush_interval(idle: Run) -> None:
    methods = [call.method for call in idle.calls() if call.method in ("update_offsets", "commit")]
    assert methods == ["update_offsets", "commit"] * (len(methods) // 2)
    scheduled = [call.time_ns for call in idle.updates()][:-1]  # the last one is that of the stop
    assert scheduled[-1] - scheduled[0] >= (len(scheduled) - 1) * FLUSH_MS * 0.9e6


@pytest.mark.parametrize("is_batch", [False, True], ids=["records", "columns"])
@pytest.mark.requirement("K910-17")
@pytest.mark.requirement("K910-13")
@pytest.mark.requirement("K910-03")
def test_the_hook_is_called_if_all_records_of_the_previous_poll_were_processed(lab: Lab, is_batch: bool) -> None:
    run = lab.start("busy", hook=True, messages__per__poll=2, block__ms={"poll": 10}, as__batch=is_batch)
    run.observed.wait_for("update_offsets", lambda calls: len([call for call in calls if call["offsets"]]) >= 4)
    run.stop()
    assert all(call["records"] for call in run.polls()), "there was no empty poll that could have been the reason"
    numbers = [argument[0][1]["seq"] for argument in run.arguments()]
    assert numbers == sorted(set(numbers))
    polled = {call.time_ns: call["total"] for call in run.polls()}
    for call in run.updates():
        for _, offset in call["offsets"]:
            assert offset["seq"] <= max(total for time_ns, total in polled.items() if time_ns < call.time_ns)
    assert run.written_for(SOURCE) == seqs(*numbers)
    assert run.stored()[SourcePartition(SOURCE)] == {"seq": len(run.values())}


@pytest.mark.requirement("K910-18")
def test_the_hook_is_called_on_the_first_iteration(slow_lab: Lab) -> None:
    run = slow_lab.prepare("first", hook=True, max__messages=3)
    run.next_update([MARK, {"lsn": 1}])
    run.start()
    run.await_offset(MARK, {"lsn": 1})
    run.observed.wait_for("poll", lambda calls: len(calls) >= 5)
    assert [call.method for call in run.calls()][:3] == ["start", "update_offsets", "commit"], "before any poll"
    assert len(run.updates()) == 1, "the next one is due at the next flush interval"
    run.stop()
    assert [call["offsets"] for call in run.updates()] == [[], [[SOURCE, {"seq": 3}]]]


@pytest.mark.requirement("K910-19")
def test_the_hook_is_not_called_while_records_of_the_last_batch_are_unsent(lab: Lab) -> None:
    held_back = {
        "producer.override.linger.ms": "2500",
        "producer.override.queue.buffering.max.messages": "10",
        "producer.override.batch.num.messages": "10000",
    }
    run = lab.prepare("full", hook=True, max__messages=15, messages__per__poll=15)
    run.config |= held_back
    run.start()
    batch = run.observed.wait_for("poll", lambda calls: any(call["records"] for call in calls))[0]
    run.observed.wait_for("poll", lambda calls: any(call.time_ns > batch.time_ns for call in calls))
    run.stop()
    following = next(call for call in run.polls() if call.time_ns > batch.time_ns)
    meanwhile = [call.method for call in run.calls() if batch.time_ns < call.time_ns < following.time_ns]
    assert meanwhile.count("commit") >= 3, "commits go ahead"
    # One may come right at the end, when the whole batch has been handed over.
    assert "update_offsets" not in meanwhile[:-2]
    assert run.values() == [f"0-{number}" for number in range(1, 16)]
    assert run.stored() == {SourcePartition(SOURCE): {"seq": 15}}


# what was acknowledged


class Held(NamedTuple):
    """A run, and what there was of it while an acknowledgement was held back."""

    run: Run
    stored: dict[SourcePartition, Any]
    calls: list[Call]

    def of(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]


@pytest.fixture(scope="module")
def held(lab: Lab) -> Held:
    """Of each five records the second goes to a topic of its own, whose records are held back until there are four.

    So the records 3, 4 and 5 are acknowledged long before record 2 is; the 17th record releases it.
    """
    run = lab.prepare("held", gated=True, hook=True, commit__record=True)
    slow_topic = f"{run.topic}-slow"
    run.config |= {
        "topic": ",".join([run.topic, slow_topic, run.topic, run.topic, run.topic]),
        "producer.override.linger.ms": str(HELD_BACK_MS),
        "producer.override.batch.num.messages": "4",
    }
    lab.admin.create_topics([TopicSpec(topic, 1, 1) for topic in (run.topic, slow_topic)])
    run.start()
    run.allow(5)
    run.observed.wait_for("commit_record", lambda calls: len(calls) == 4)
    run.await_offset(SOURCE, {"seq": 1})
    run.next_update([MARK, {"lsn": 1}])
    run.await_offset(MARK, {"lsn": 1})
    held = Held(run, run.stored(), run.calls())
    run.allow(20)
    run.await_offset(SOURCE, {"seq": 20})
    run.stop()
    return held


@pytest.mark.requirement("K910-14")
def test_offsets_behind_an_unacknowledged_record_are_not_in_the_argument(held: Held) -> None:
    assert [call["value"] for call in held.of("commit_record")] == ["0-1", "0-3", "0-4", "0-5"]
    arguments = [call["offsets"] for call in held.of("update_offsets")]
    assert [argument for argument in arguments if argument] == [[[SOURCE, {"seq": 1}]]]


@pytest.mark.requirement("K910-15")
def test_returned_offsets_count_as_acknowledged_and_acknowledge_nothing_else(held: Held) -> None:
    assert held.stored == {SourcePartition(SOURCE): {"seq": 1}, SourcePartition(MARK): {"lsn": 1}}
    calls = held.run.calls()
    update = next(index for index, call in enumerate(calls) if call.method == "update_offsets" and call["returned"])
    assert calls[update + 1].method == "commit", "the same flush took the returned offset"
    acknowledged = sorted(int(call["value"].split("-")[1]) for call in held.run.calls("commit_record"))
    assert acknowledged == list(range(1, 21)), "each record is acknowledged once"


@pytest.mark.requirement("K910-16")
def test_the_hook_is_called_after_an_empty_poll_also_while_records_are_unacknowledged(held: Held) -> None:
    update = next(call for call in held.of("update_offsets") if call["returned"])
    last_poll = [call for call in held.of("poll") if call.time_ns < update.time_ns][-1]
    assert (last_poll["records"], update["offsets"]) == (0, [])


@pytest.mark.requirement("K910-14")
def test_a_record_that_cannot_be_sent_fails_the_task_and_nothing_more_is_committed(lab: Lab) -> None:
    run = lab.prepare("too-large", gated=True, hook=True)
    tiny = f"{run.topic}-tiny"
    lab.admin.create_topics([TopicSpec(tiny, 1, 1, {"max.message.bytes": "1"})])
    run.config["topic"] = ",".join([run.topic, tiny, run.topic])
    run.start()
    run.allow(1)
    run.await_offset(SOURCE, {"seq": 1})
    run.allow(3)
    trace = run.await_failure()
    assert tiny in trace
    run.await_end()
    assert run.arguments() == [[[SOURCE, {"seq": 1}]]]
    assert run.written() == {SourcePartition(SOURCE): seqs(1)}


# the end


@pytest.mark.requirement("K910-29")
def test_a_hook_that_outlasts_the_stop_cannot_undo_what_an_administrator_does_then(
    spark: SparkSession, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    with Lab(spark, broker, tmp_path, task__shutdown__graceful__timeout__ms="300") as lab:
        run = lab.prepare("late", hook=True, max__messages=0)
        run.next_update([MARK, {"lsn": 1}], **{"block.until": "stopped"})
        run.start()
        run.await_update()
        run.stop()
        lab.worker.offsets.write(run.name, {SourcePartition(MARK): {"lsn": 500}})
        run.observed.release("stopped")
        run.await_end()
        assert run.written_for(MARK) == [{"lsn": 500}]
