"""KIP-910 with exactly-once: the hook at the boundaries of transactions, and its offsets inside them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from fixtures.update_offsets import SOURCE, Lab, Run, seqs
from seamark.connector import SourcePartition
from seamark.kafka import TopicSpec
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.producer import RecordProducer
from seamark.testing.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK, ADDED = {"table": "mark"}, {"table": "added"}
LEFT, RIGHT = {"source": "0.0"}, {"source": "0.1"}
INTERVAL_MS = 300
EXACTLY_ONCE = {"exactly__once__source__support": "enabled"}


@pytest.fixture(scope="module")
def lab(spark: SparkSession, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(spark, broker, tmp_path_factory.mktemp("exactly-once"), **EXACTLY_ONCE) as lab:
        yield lab


# boundaries


@pytest.fixture(scope="module")
def at_polls(lab: Lab) -> Run:
    """Two sources; a transaction per poll."""
    run = lab.start("polls", gated=True, hook=True, partitions=2)
    run.observed.wait_for("update_offsets")
    run.next_update([RIGHT, {"seq": 40}], [ADDED, {"lsn": 1}], when="offsets")
    run.allow(4)
    run.await_offset(ADDED, {"lsn": 1})
    run.next_update([ADDED, None])
    run.await_offset(ADDED, None)
    run.allow(6)
    run.await_offset(RIGHT, {"seq": 3})
    run.stop()
    return run


@pytest.mark.requirement("K910-22")
def test_with_poll_boundaries_the_hook_is_called_once_per_batch_also_without_records(at_polls: Run) -> None:
    methods = [call.method for call in at_polls.calls() if call.method in ("poll", "update_offsets")]
    assert methods.pop() == "update_offsets", "the transaction that the stop ends"
    assert methods == ["poll", "update_offsets"] * (len(methods) // 2)
    assert [call["records"] for call in at_polls.polls() if call["records"]] == [4, 2]


@pytest.mark.requirement("K910-20")
@pytest.mark.requirement("K910-03")
def test_the_argument_is_what_the_current_transaction_has_not_flushed(at_polls: Run) -> None:
    assert at_polls.arguments() == [
        [[LEFT, {"seq": 2}], [RIGHT, {"seq": 2}]],
        [[LEFT, {"seq": 3}], [RIGHT, {"seq": 3}]],
    ]
    followers = [call.method for before, call in pairwise(at_polls.calls()) if before.method == "update_offsets"]
    assert set(followers) == {"commit"}, "the flush comes right after the hook"


@pytest.mark.requirement("K910-04")
@pytest.mark.requirement("K910-08")
def test_returned_offsets_replace_add_and_leave_the_rest(at_polls: Run) -> None:
    assert at_polls.written() == {
        SourcePartition(LEFT): seqs(2, 3),
        SourcePartition(RIGHT): seqs(40, 3),
        SourcePartition(ADDED): [{"lsn": 1}, None],
    }


@pytest.fixture(scope="module")
def at_intervals(lab: Lab) -> Run:
    """A record every 20 ms for a while, then none."""
    run = lab.prepare("intervals", hook=True, max__messages=40, messages__per__poll=1, block__ms={"poll": 20})
    run.config |= {"transaction.boundary": "interval", "transaction.boundary.interval.ms": str(INTERVAL_MS)}
    run.start()
    run.await_offset(SOURCE, {"seq": 40})
    run.next_update([MARK, {"lsn": 1}])
    run.await_offset(MARK, {"lsn": 1})
    run.stop()
    return run


@pytest.mark.requirement("K910-23")
def test_with_interval_boundaries_the_hook_is_called_once_per_interval_also_without_records(at_intervals: Run) -> None:
    scheduled = [call.time_ns for call in at_intervals.updates()][:-1]  # the last one is that of the stop
    assert scheduled[-1] - scheduled[0] >= (len(scheduled) - 1) * INTERVAL_MS * 0.9e6
    assert len(at_intervals.arguments()) >= 2
    update = next(call for call in at_intervals.updates() if call["returned"])
    assert update["offsets"] == [], "an interval without records"
    assert at_intervals.written_for(MARK) == [{"lsn": 1}]


@pytest.mark.requirement("K910-20")
@pytest.mark.requirement("K910-23")
def test_with_interval_boundaries_the_argument_covers_all_batches_of_the_interval(at_intervals: Run) -> None:
    latest = 0
    expected = []
    for call in at_intervals.calls():
        if call.method == "poll" and call["records"]:
            latest = call["total"]
        elif call.method == "update_offsets" and latest:
            expected.append([[SOURCE, {"seq": latest}]])
            latest = 0
    assert at_intervals.arguments() == expected
    numbers = [argument[0][1]["seq"] for argument in expected]
    assert any(later - earlier > 1 for earlier, later in pairwise([0, *numbers]))
    assert at_intervals.written_for(SOURCE) == seqs(*numbers)


@pytest.fixture(scope="module")
def at_requests(lab: Lab) -> Run:
    """Ten records in one poll; requests after records 3, 6 (an abort) and 9, and in the empty polls 10 and 20."""
    plan = {"every": 3, "abort": [2], "idle": [10, 20]}
    script = [None, None, None, None, {"offsets": [[MARK, {"lsn": 1}]]}]
    run = lab.prepare("requests", max__messages=10, transaction__plan=plan, update__offsets__script=script)
    run.config["transaction.boundary"] = "connector"
    run.start()
    run.await_offset(MARK, {"lsn": 1})
    run.observed.wait_for("poll", lambda calls: len(calls) >= 30)
    run.stop()
    return run


@pytest.mark.requirement("K910-24")
def test_with_connector_boundaries_the_hook_is_called_only_when_the_task_ends_a_transaction(at_requests: Run) -> None:
    assert [call["offsets"] for call in at_requests.updates()] == [
        *([[SOURCE, offset]] for offset in seqs(3, 6, 9, 10)),
        [],
    ]
    polls_before = [
        len([poll for poll in at_requests.polls() if poll.time_ns < call.time_ns]) for call in at_requests.updates()
    ]
    assert polls_before == [1, 1, 1, 1 + 10, 1 + 20], "idle polls and the stop do not call it"


@pytest.mark.requirement("K910-24")
def test_the_records_of_an_aborted_transaction_are_dropped_but_their_offsets_count(at_requests: Run) -> None:
    assert at_requests.values() == [f"0-{number}" for number in (1, 2, 3, 7, 8, 9, 10)]
    assert at_requests.written_for(SOURCE) == seqs(3, 6, 9, 10)


@pytest.mark.requirement("K910-25")
def test_a_task_can_ask_for_a_commit_without_returning_records(at_requests: Run) -> None:
    update = at_requests.updates()[-1]
    assert (update["offsets"], update["returned"]) == ([], [[MARK, {"lsn": 1}]])
    assert at_requests.written_for(MARK) == [{"lsn": 1}]


@pytest.mark.requirement("K910-24")
def test_without_a_request_the_hook_is_not_called_and_nothing_is_committed(lab: Lab) -> None:
    run = lab.prepare("silent", hook=True, max__messages=5)
    run.config["transaction.boundary"] = "connector"
    run.start()
    run.observed.wait_for("poll", lambda calls: len(calls) >= 10)
    run.stop()
    assert run.updates() == []
    assert (run.values(), run.written()) == ([], {})


# all together, or nothing


@pytest.mark.requirement("K910-21")
def test_records_and_the_offsets_of_the_hook_become_visible_together(lab: Lab) -> None:
    run = lab.start("together", gated=True, hook=True)
    run.next_update([MARK, {"lsn": 1}], when="offsets", **{"block.until": "looked"})
    run.allow(2)
    run.await_update()
    eventually(lambda: run.values(isolation="read_uncommitted") == ["0-1", "0-2"])
    assert (run.values(), run.written()) == ([], {}), "the transaction is open"
    run.observed.release("looked")
    run.await_offset(MARK, {"lsn": 1})
    assert run.values() == ["0-1", "0-2"]
    assert run.written() == {SourcePartition(SOURCE): seqs(2), SourcePartition(MARK): [{"lsn": 1}]}
    run.stop()


class Fenced(NamedTuple):
    """A connector with an offsets topic of its own, and how it all looked when its transaction had failed."""

    run: Run
    own_topic: str
    values: list[str | None]
    own: dict[SourcePartition, Any]
    copied: dict[SourcePartition, Any]


@pytest.fixture(scope="module")
def fenced(spark: SparkSession, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fenced]:
    """Another producer takes the task's transactional id over while the hook is being asked."""
    with Lab(spark, broker, tmp_path_factory.mktemp("fenced"), **EXACTLY_ONCE) as lab:
        run = lab.prepare("fenced", gated=True, hook=True)
        own_topic = run.config["offsets.storage.topic"] = f"{run.name}-offsets"
        run.start()
        run.allow(1)
        run.await_offset(SOURCE, {"seq": 1})
        run.next_update([MARK, {"lsn": 1}])
        run.await_offset(MARK, {"lsn": 1})

        run.next_update([MARK, None], [ADDED, {"lsn": 5}], when="offsets", **{"block.until": "fenced"})
        run.allow(2)
        run.await_update()
        eventually(lambda: run.values(isolation="read_uncommitted") == ["0-1", "0-2"])
        with RecordProducer(lab.servers, f"{lab.worker.config.group_id}-{run.name}-0") as usurper:
            usurper.init_transactions()
        run.next_update([ADDED, {"lsn": 6}], when="offsets", **{"block.until": "seen"})  # for the next task object
        run.observed.release("fenced")
        run.await_update()
        seen = (run.values(), run.written(own_topic), run.written())
        run.observed.release("seen")
        run.await_offset(ADDED, {"lsn": 6})
        run.stop()
        yield Fenced(run, own_topic, *seen)


@pytest.mark.requirement("K910-21")
def test_nothing_of_a_failed_transaction_is_ever_visible(fenced: Fenced) -> None:
    assert fenced.values == ["0-1"]
    assert fenced.own == {SourcePartition(SOURCE): seqs(1), SourcePartition(MARK): [{"lsn": 1}]}
    assert fenced.run.written_for(MARK, fenced.own_topic) == [{"lsn": 1}]
    assert fenced.run.written_for(ADDED, fenced.own_topic) == [{"lsn": 6}]


@pytest.mark.requirement("K910-21")
def test_after_a_failed_transaction_the_task_goes_on_and_each_record_is_there_once(fenced: Fenced) -> None:
    restart = fenced.run.calls("start", instance=1)[0]
    assert sorted(restart["offsets"], key=str) == [[SOURCE, {"seq": 1}], [MARK, {"lsn": 1}]]
    assert fenced.run.values() == ["0-1", "0-2"]
    assert fenced.run.written_for(SOURCE, fenced.own_topic) == seqs(1, 2)


@pytest.mark.requirement("K910-26")
def test_tombstones_reach_the_workers_topic_before_the_transaction_is_committed(fenced: Fenced) -> None:
    assert fenced.copied == {SourcePartition(SOURCE): seqs(1), SourcePartition(MARK): [{"lsn": 1}, None]}


@pytest.mark.requirement("K910-26")
def test_committed_offsets_are_copied_to_the_workers_topic_without_a_transaction(fenced: Fenced) -> None:
    lab, run = fenced.run.lab, fenced.run
    assert run.written() == {
        SourcePartition(SOURCE): seqs(1, 2),
        SourcePartition(MARK): [{"lsn": 1}, None],
        SourcePartition(ADDED): [{"lsn": 6}],
    }
    # The end of a transaction takes an offset of its own, so the messages of a topic without any have all of them.
    assert end_of(lab, lab.offsets_topic) == len(lab.read(lab.offsets_topic, isolation="read_uncommitted"))
    assert end_of(lab, fenced.own_topic) > len(lab.read(fenced.own_topic, isolation="read_uncommitted"))


def end_of(lab: Lab, topic: str) -> int:
    return sum(lab.admin.list_offsets(dict.fromkeys(lab.admin.partitions_of([topic]), "latest")).values())


@pytest.mark.requirement("K910-21")
def test_a_record_that_cannot_be_sent_takes_the_offsets_of_the_hook_with_it(lab: Lab) -> None:
    run = lab.prepare("too-large", gated=True, hook=True)
    tiny = f"{run.topic}-tiny"
    lab.admin.create_topics([TopicSpec(tiny, 1, 1, {"max.message.bytes": "1"})])
    run.config["topic"] = ",".join([run.topic, tiny])
    run.start()
    run.allow(1)
    run.await_offset(SOURCE, {"seq": 1})
    run.next_update([MARK, {"lsn": 1}], when="offsets")
    run.allow(3)
    assert tiny in run.await_failure().strip().splitlines()[-1]
    assert run.values() == ["0-1"]
    assert run.written() == {SourcePartition(SOURCE): seqs(1)}
    run.stop()


# the end


@pytest.mark.requirement("K910-29")
def test_a_hook_that_outlasts_the_stop_writes_nothing(
    spark: SparkSession, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    with Lab(spark, broker, tmp_path, task__shutdown__graceful__timeout__ms="300", **EXACTLY_ONCE) as lab:
        run = lab.prepare("late", hook=True, max__messages=0)
        run.next_update([MARK, {"lsn": 1}], **{"block.until": "stopped"})
        run.start()
        run.await_update()
        run.stop()
        run.observed.release("stopped")
        run.await_end()
        assert run.written() == {}
