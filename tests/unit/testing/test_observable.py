from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seamark.connector import Offsets, SinkRecord, SinkTaskContext, SourcePartition, TopicPartition, TransactionContext
from seamark.connector.source import SourceTask, SourceTaskContext
from seamark.errors import ConfigError, RetriableError
from seamark.testing import Observed, sequences
from seamark.testing.observable import ObservableHookTask, ObservableSourceConnector, ObservableSourceTask
from seamark.testing.observable_sink import ObservableSinkConnector, ObservableSinkTask

StartSource = Callable[..., ObservableSourceTask]


@pytest.fixture
def observed(tmp_path: Path) -> Observed:
    return Observed(tmp_path)


@pytest.fixture
def start(observed: Observed) -> StartSource:
    def begin(offsets: Any = (), transaction: TransactionContext | None = None, **config: Any) -> ObservableSourceTask:
        full = {"name": "c", "observe.dir": str(observed.directory), "topic": "t", "poll.block.ms": "0"}
        full |= {
            key.replace("_", "."): value if isinstance(value, str) else json.dumps(value)
            for key, value in config.items()
        }
        connector = ObservableSourceConnector()
        connector.start(full)
        task: ObservableSourceTask = connector.task_class()  # type: ignore[assignment]
        task.context = SourceTaskContext("c", 0, transaction)
        task.start(full, Offsets(offsets))
        return task

    return begin


def values(polled: Any) -> list[str]:
    return [] if polled is None else [record.value for record in polled]


def test_records_are_numbered_per_source_and_go_on_after_a_restart(start: StartSource) -> None:
    first = start(partitions=2, messages_per_poll=3).poll()
    assert values(first) == ["0.0-1", "0.1-1", "0.0-2"]
    assert isinstance(first, list)
    offsets = {SourcePartition(record.source_partition): record.source_offset for record in first}
    second = start(offsets, partitions=2, messages_per_poll=3, max_messages=5).poll()
    assert sequences([*values(first), *values(second)]) == {"0.0": [1, 2, 3], "0.1": [1, 2]}


def test_a_batch_holds_one_source_partition(start: StartSource) -> None:
    task = start(partitions=2, messages_per_poll=2, as_batch=True)
    polled = [task.poll(), task.poll()]
    assert [(batch.values, batch.source_offset) for batch in polled] == [  # type: ignore[union-attr]
        (["0.1-1", "0.1-2"], {"seq": 2}),
        (["0.0-1", "0.0-2"], {"seq": 2}),
    ]


def test_a_gate_is_opened_from_outside(observed: Observed, start: StartSource) -> None:
    task = start(gated=True)
    assert task.poll() is None
    observed.allow(3)
    assert values(task.poll()) == ["0-1", "0-2", "0-3"]
    assert task.poll() is None
    assert [call["records"] for call in observed.calls("poll")] == [0, 3, 0]


def test_only_tasks_that_are_asked_for_a_hook_have_one(start: StartSource) -> None:
    plain = type(start())
    assert plain.update_offsets is SourceTask.update_offsets
    assert plain.commit_record is SourceTask.commit_record
    assert isinstance(start(hook=True), ObservableHookTask)
    both = type(start(hook=True, commit_record=True))
    assert both.update_offsets is not SourceTask.update_offsets
    assert both.commit_record is not SourceTask.commit_record


def test_the_hook_follows_its_script(observed: Observed, start: StartSource) -> None:
    partition = {"p": 1}
    script = [
        None,
        {"empty": True},
        {"offsets": [[partition, {"n": "$call"}], [{"q": 1}, None]]},
        {"echo": True},
        {"mutate": [[partition, {"n": 9}]]},
        {"raise": "boom"},
    ]
    task = start(update_offsets_script=script)
    argument = Offsets([(partition, {"n": 0})])
    assert task.update_offsets(argument) is None
    assert task.update_offsets(argument) == {}
    assert task.update_offsets(argument) == [(partition, {"n": 3}), ({"q": 1}, None)]
    observed.next_update({"offsets": [[partition, {"n": 77}]]})
    assert observed.next_update_is_pending
    assert task.update_offsets(argument) == [(partition, {"n": 77})]
    assert not observed.next_update_is_pending
    assert task.update_offsets(argument) is argument
    assert task.update_offsets(argument) is None
    assert argument[partition] == {"n": 0}
    with pytest.raises(RuntimeError, match="boom"):
        task.update_offsets(argument)
    assert task.update_offsets(argument) is None
    calls = observed.calls("update_offsets")
    assert len(calls) == 8
    assert calls[2]["offsets"] == [[partition, {"n": 0}]]
    assert calls[2]["returned"] == [[partition, {"n": 3}], [{"q": 1}, None]]


@pytest.mark.parametrize(
    ("after", "expected"), [("none", [1, 2, None, None]), ("last", [1, 2, 2, 2]), ("loop", [1, 2, 1, 2])]
)
def test_after_the_script(after: str, expected: list[int | None], start: StartSource) -> None:
    script = [{"offsets": [[{}, {"n": number}]]} for number in (1, 2)]
    task = start(update_offsets_script=script, update_offsets_after=after)
    answers: list[Any] = [task.update_offsets(Offsets()) for _ in range(4)]
    assert [None if answer is None else answer[0][1]["n"] for answer in answers] == expected


def test_transactions_end_by_plan(start: StartSource) -> None:
    context = TransactionContext()
    task = start(transaction=context, transaction_plan={"every": 2, "abort": [2], "idle": [1]}, max_messages=5)
    polled = task.poll()
    assert isinstance(polled, list)
    assert [context.take_record_request(record) for record in polled] == [None, "commit", None, "abort", None]
    assert context.take_batch_request() is None
    assert task.poll() is None
    assert context.take_batch_request() == "commit"
    by_batch = start(transaction=context, transaction_plan={"every": 10, "at": "batch"})
    by_batch.poll()
    assert context.take_batch_request() == "commit"


def test_a_failure_happens_once_after_the_records_before_it(observed: Observed, start: StartSource) -> None:
    task = start(fail_at=4, max_messages=6)
    assert values(task.poll()) == ["0-1", "0-2", "0-3"]
    with pytest.raises(RuntimeError, match="failing in poll at 4"):
        task.poll()
    assert values(task.poll()) == ["0-4", "0-5", "0-6"]
    assert len(observed.calls("failure")) == 1


def test_other_methods_fail_too(start: StartSource) -> None:
    task = start(fail_at=2, fail_in="commit", fail_once=False, fail_how="retriable")
    task.commit()
    with pytest.raises(RetriableError):
        task.commit()


def test_a_killed_process_leaves_its_log(observed: Observed) -> None:
    code = f"""if True:
        from seamark.connector import Offsets
        from seamark.connector.source import SourceTaskContext
        from seamark.testing.observable import ObservableSourceTask
        task = ObservableSourceTask()
        task.context = SourceTaskContext("c", 0)
        config = {{"observe.dir": {str(observed.directory)!r}, "topic": "t", "fail.at": "3", "fail.how": "kill"}}
        task.start(config, Offsets())
        task.poll()
        task.poll()
    """
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert [call.method for call in observed.calls()] == ["start", "poll", "failure"]
    assert observed.calls("poll")[0]["last"] == "0-2"


def test_waiting_shows_what_was_seen_instead(observed: Observed, start: StartSource) -> None:
    start().poll()
    assert observed.wait_for("poll", lambda calls: calls[-1]["total"] == 10)[0]["first"] == "0-1"
    with pytest.raises(AssertionError, match=r"No such call of 'commit' within 0\.1 s(.|\n)*method='poll'"):
        observed.wait_for("commit", within_s=0.1)


def test_instances_tell_restarts_apart(observed: Observed, start: StartSource) -> None:
    tasks = [start(), start()]
    assert observed.instances() == [task.calls.instance for task in tasks]
    assert observed.calls("start", task=0, connector="other") == []


def test_has_work_as_configured(observed: Observed) -> None:
    connector = ObservableSourceConnector()
    config = {
        "observe.dir": str(observed.directory),
        "topic": "t",
        "max.messages": "2",
        "has.work": "auto",
        "tasks.max": "2",
    }
    rows = [({"source": "0"}, {"seq": 2})]
    assert connector.has_work(config, Offsets(rows)) is True
    assert connector.has_work(config, Offsets([*rows, ({"source": "1"}, {"seq": 2})])) is False
    assert connector.has_work({**config, "has.work": "unknown"}, Offsets()) is None


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="fail.how"):  # noqa: RUF043
        ObservableSourceConnector().start({"observe.dir": "d", "topic": "t", "fail.how": "gently"})


def sink_task(observed: Observed, **config: str) -> ObservableSinkTask:
    full = {"name": "s", "observe.dir": str(observed.directory)} | {k.replace("__", "."): v for k, v in config.items()}
    ObservableSinkConnector().start(full)
    task = ObservableSinkTask()
    task.context = SinkTaskContext("s", 0)
    task.start(full)
    return task


def records(*offsets: int) -> list[SinkRecord]:
    return [SinkRecord("t", f"v{offset}", kafka_partition=0, kafka_offset=offset) for offset in offsets]


def test_a_sink_tells_what_it_was_given(observed: Observed) -> None:
    task = sink_task(observed, pre_commit__lag="2", request__commit__at="2")
    partition = TopicPartition("t", 0)
    task.open([partition])
    task.put([])
    task.put(records(5, 6))
    assert task.context.take_commit_request() is False
    task.put(records(7))
    assert task.context.take_commit_request() is True
    assert task.pre_commit({partition: 8}) == {partition: 6}
    task.close([partition])
    task.stop()
    assert [call.method for call in observed.calls(task=0)] == [
        "start",
        "open",
        "put",
        "put",
        "pre_commit",
        "close",
        "stop",
    ]
    assert observed.calls("put")[0]["records"] == [["t", 0, 5, None, "v5"], ["t", 0, 6, None, "v6"]]
    assert observed.calls("pre_commit")[0]["returned"] == [["t", 0, 6]]


def test_a_sink_asks_for_records_again(observed: Observed) -> None:
    task = sink_task(observed, retriable__at="2", retriable__times="2", retry__after__ms="30")
    task.put(records(1))
    for _ in range(2):
        with pytest.raises(RetriableError):
            task.put(records(2))
        assert task.context.take_retry_after_ms() == 30
    task.put(records(2))
    assert [call["records"][0][2] for call in observed.calls("put")] == [1, 2]


def test_a_sink_rewinds_once_and_fails_once(observed: Observed) -> None:
    rewind = json.dumps({"put": 1, "topic": "t", "partition": 0, "offset": 0})
    task = sink_task(observed, rewind__at=rewind, fail__at="3")
    task.put(records(1))
    assert task.context.take_rewinds() == {TopicPartition("t", 0): 0}
    with pytest.raises(RuntimeError, match="failing in put at 3"):
        task.put(records(2, 3))
    again = sink_task(observed, rewind__at=rewind, fail__at="3")
    again.put(records(1, 2, 3))
    assert again.context.take_rewinds() == {}
