"""The committers where the surroundings fail at the wrong moment: a producer and a worker that do as they are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seamark.config.connector_keys import TransactionBoundary
from seamark.config.worker import WorkerConfig
from seamark.connector import Offsets, RecordBatch, SourceRecord, SourceTask
from seamark.engine.at_least_once import AtLeastOnceCommitter
from seamark.engine.commits import CommitterParts, wants_commit_record
from seamark.engine.exactly_once import ExactlyOnceCommitter
from seamark.engine.pipeline import Converters, SourcePipeline
from seamark.engine.plugins import Plugins
from seamark.engine.source_task import SourceLoop
from seamark.engine.stage import TaskProgress
from seamark.engine.tolerance import ToleranceExceededError
from seamark.errors import ConnectorCodeError, KafkaError, LeaseLostError
from seamark.kafka.producer import DeliveryReport

FILE = {"file": "a"}
MARK = {"mark": "m"}
STRING = "org.apache.kafka.connect.storage.StringConverter"


class Producer:
    """Keeps what is sent until `acknowledge` is called; `room` records fit in, then the sender waits."""

    brokers = "nowhere:9092"

    def __init__(self) -> None:
        self.room = 1000
        self.waiting: list[Callable[[DeliveryReport], None] | None] = []
        self.sent = 0
        self.log: list[str] = []
        self.failure: KafkaError | None = None
        self.on_wait: Callable[[], None] = lambda: None
        self.stored: list[tuple[bytes | None, bytes | None]] = []

    def made(self, *, reports_successes: bool, on_wait: Callable[[], None]) -> Producer:
        self.on_wait = on_wait
        return self

    def send(self, topic: str, value: Any, key: Any = None, *rest: Any) -> None:
        while len(self.waiting) >= self.room:
            self.check()
            self.on_wait()
        self.sent += 1
        on_delivery = rest[-1] if rest else None
        if topic == "offsets":
            self.stored.append((key, value))
        else:
            self.waiting.append(on_delivery)

    def acknowledge(self, *indexes: int) -> None:
        """Acknowledge the waiting records of these indexes, or all."""
        for index in sorted(indexes or range(len(self.waiting)), reverse=True):
            on_delivery = self.waiting.pop(index)
            if on_delivery is not None:
                on_delivery(DeliveryReport("t", 0, 0, None))

    @property
    def in_flight(self) -> int:
        return len(self.waiting)

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def poll(self, timeout_s: float = 0.0) -> int:
        return 0

    def flush(self, timeout_s: float) -> int:
        self.check()
        return len(self.waiting)

    def begin(self) -> None:
        self.log.append("begin")

    def commit(self) -> None:
        self.log.append("commit")
        self.check()

    def abort(self) -> None:
        self.log.append("abort")


class Worker:
    """The worker's side of a lease."""

    should_end = False

    def __init__(self) -> None:
        self.commits: list[Any] = []
        self.failures: list[Exception] = []

    def check(self) -> None:
        """The lease is always held."""

    def take_config(self) -> None:
        """It stays as it is."""

    def call(self, action: str, body: dict[str, Any]) -> dict[str, Any]:
        if self.failures:
            raise self.failures.pop(0)
        self.commits.append((body["store"], [(entry["partition"], entry["offset"]) for entry in body["offsets"]]))
        return {}


class Topics:
    def ensure(self, topic: str) -> None:
        """Every topic exists."""


class Task(SourceTask):
    def __init__(self) -> None:
        self.commits = 0

    def start(self, config: Any, offsets: Offsets) -> None: ...

    def poll(self) -> Any:
        raise ValueError("the source is gone")

    def commit(self) -> None:
        self.commits += 1


class HookTask(Task):
    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers, self.arguments = list(answers), []

    def update_offsets(self, offsets: Offsets) -> Any:
        self.arguments.append([(dict(partition), offset) for partition, offset in offsets.items()])
        return self.answers.pop(0) if self.answers else None


class RecordsTask(Task):
    def __init__(self) -> None:
        super().__init__()
        self.acknowledged: list[Any] = []

    def commit_record(self, record: SourceRecord, metadata: Any) -> None:
        self.acknowledged.append(record.value)


def record(number: int) -> SourceRecord:
    return SourceRecord("t", str(number), source_partition=FILE, source_offset={"n": number})


class Setting:
    """A task between a producer and a worker."""

    def __init__(self, task: SourceTask) -> None:
        self.task, self.producer, self.worker = task, Producer(), Worker()
        config = WorkerConfig({"key.converter": STRING, "value.converter": STRING})
        self.parts = CommitterParts(
            connector="orders",
            task=task,
            make_producer=self.producer.made,  # type: ignore[arg-type]
            pipeline=SourcePipeline(Converters.of(Plugins(), {}, config)),
            topics=Topics(),  # type: ignore[arg-type]
            lease=self.worker,  # type: ignore[arg-type]
            progress=TaskProgress(0),
        )

    def at_least_once(self, interval_ms: int = 0) -> AtLeastOnceCommitter:
        return AtLeastOnceCommitter(self.parts, interval_ms, 1000)

    def exactly_once(self, has_secondary: bool = False) -> ExactlyOnceCommitter:
        return ExactlyOnceCommitter(
            self.parts,
            self.producer,  # type: ignore[arg-type]
            offsets_topic="offsets",
            has_secondary=has_secondary,
            boundary=TransactionBoundary.POLL,
            interval_ms=0,
            transaction=None,
        )


# at least once


def test_offsets_of_the_hook_are_kept_when_a_flush_fails_and_go_out_with_the_next() -> None:
    setting = Setting(task := HookTask([(MARK, {"lsn": 1})]))
    committer = setting.at_least_once()
    setting.worker.failures.append(KafkaError("no answer", retriable=True))
    committer.after_poll(False)
    assert (setting.worker.commits, task.commits) == ([], 0)
    committer.after_poll(False)
    assert task.arguments[1] == [(MARK, {"lsn": 1})], "they are about to be committed"
    assert setting.worker.commits == [("all", [(MARK, {"lsn": 1})])]
    committer.after_poll(False)
    assert task.arguments[2] == []


def test_a_later_record_wins_over_what_a_failed_flush_has_left() -> None:
    setting = Setting(HookTask([(FILE, {"n": 100})]))
    committer = setting.at_least_once()
    setting.worker.failures.append(KafkaError("no answer", retriable=True))
    committer.after_poll(False)
    committer.send([record(5)])
    setting.producer.acknowledge()
    committer.after_poll(True)
    assert setting.worker.commits == [("all", [(FILE, {"n": 5})])]


def test_commits_go_ahead_without_the_hook_while_a_batch_is_being_sent() -> None:
    setting = Setting(task := HookTask())
    committer = setting.at_least_once()
    committer.send([record(1)])
    setting.producer.room = 2
    calls: list[int] = []
    wait = setting.producer.on_wait

    def waiting() -> None:
        calls.append(len(setting.producer.waiting))
        setting.producer.acknowledge(0)
        wait()

    setting.producer.on_wait = waiting
    committer.send([record(2), record(3)])
    assert calls == [2]
    assert task.arguments == []
    assert setting.worker.commits == [("all", [(FILE, {"n": 1})])]


def test_a_failed_record_ends_the_commits_also_while_a_batch_is_being_sent() -> None:
    setting = Setting(HookTask())
    committer = setting.at_least_once()
    committer.send([record(1), record(2)])
    setting.producer.acknowledge(0)
    setting.producer.failure = KafkaError("too large")
    with pytest.raises(KafkaError, match="too large"):
        setting.producer.on_wait()
    assert setting.worker.commits == []


@pytest.mark.parametrize("task_class", [RecordsTask, Task])
def test_a_batch_has_a_position_only_when_all_of_its_records_are_acknowledged(task_class: type[Task]) -> None:
    setting = Setting(task_class())
    committer = setting.at_least_once()
    batch = RecordBatch("t", ["1", "2", "3"], source_partition=FILE, source_offset={"n": 3})
    if task_class is RecordsTask:
        committer.send(batch)  # one by one, since the task wants to hear of each
    else:
        committer.send([record(0)])
        setting.producer.acknowledge()
        committer.after_poll(True)
        setting.worker.commits.clear()
        setting.producer.send_batch = lambda topic, values, *_, **__: [setting.producer.send(topic, v) for v in values]  # type: ignore[attr-defined]
        committer.send(batch)
    setting.producer.acknowledge(2)
    committer.after_poll(True)
    assert setting.worker.commits == []
    setting.producer.acknowledge()
    committer.after_poll(False)
    assert setting.worker.commits == [("all", [(FILE, {"n": 3})])]


def test_after_a_failure_of_the_task_what_was_acknowledged_is_committed_without_the_hook() -> None:
    setting = Setting(task := HookTask())
    committer = setting.at_least_once(interval_ms=60_000)
    committer.send([record(1), record(2)])
    setting.producer.acknowledge(0)
    committer.give_up(own_code_failed=True)
    assert setting.worker.commits == [("all", [(FILE, {"n": 1})])]
    assert task.arguments == []


@pytest.mark.parametrize("poison", [0, 2])
@pytest.mark.parametrize("tells", [True, False])
def test_a_batch_with_a_poison_record_is_committed_up_to_it_if_its_source_can_tell_where(
    poison: int, tells: bool
) -> None:
    setting = Setting(Task())
    committer = setting.at_least_once(interval_ms=60_000)
    values: list[Any] = ["0", "1", "2", "3"]
    values[poison] = b"no text"
    batch = RecordBatch("t", values, source_partition=FILE, source_offset={"n": 4})
    batch.offset_at = (lambda index: {"n": index + 1}) if tells else None
    with pytest.raises(ToleranceExceededError):
        committer.send(batch)
    setting.producer.acknowledge()
    committer.give_up(own_code_failed=True)
    assert setting.producer.sent == poison
    assert setting.worker.commits == ([("all", [(FILE, {"n": poison})])] if tells and poison else [])


# exactly once


def test_a_transaction_whose_commit_failed_is_not_aborted_again() -> None:
    setting = Setting(Task())
    committer = setting.exactly_once()
    committer.send([record(1)])
    setting.producer.failure = KafkaError("the transaction was aborted", retriable=True)
    with pytest.raises(KafkaError, match="the transaction was aborted"):
        committer.after_poll(True)
    committer.give_up(own_code_failed=False)
    assert setting.producer.log == ["begin", "commit"]
    assert setting.parts.progress.commits == 0


def test_a_tombstone_that_cannot_reach_the_workers_topic_stops_the_transaction() -> None:
    setting = Setting(HookTask([(MARK, None)]))
    committer = setting.exactly_once(has_secondary=True)
    committer.send([record(1)])
    setting.worker.failures.append(KafkaError("no answer"))
    with pytest.raises(KafkaError, match="no answer"):
        committer.after_poll(True)
    committer.give_up(own_code_failed=False)
    assert setting.producer.log == ["begin", "abort"]
    assert setting.producer.stored == []


def test_a_copy_that_fails_does_not_undo_the_commit() -> None:
    setting = Setting(task := HookTask())
    committer = setting.exactly_once(has_secondary=True)
    committer.send([record(1)])
    setting.worker.failures.append(KafkaError("no answer"))
    committer.after_poll(True)
    assert (setting.producer.log, task.commits) == (["begin", "commit"], 1)
    assert setting.producer.stored == [(b'["orders",{"file":"a"}]', b'{"n":1}')]


def test_tombstones_are_copied_before_the_transaction_and_offsets_after_it() -> None:
    setting = Setting(HookTask([(MARK, None), ({"mark": "n"}, {"lsn": 1})]))
    committer = setting.exactly_once(has_secondary=True)
    call = setting.worker.call

    def noted(action: str, body: dict[str, Any]) -> dict[str, Any]:
        setting.producer.log.append("tombstones" if body["offsets"][0]["offset"] is None else "offsets")
        return call(action, body)

    setting.worker.call = noted  # type: ignore[method-assign]
    committer.after_poll(False)
    assert setting.producer.log == ["tombstones", "begin", "commit", "offsets"]
    assert setting.worker.commits == [("secondary", [(MARK, None)]), ("secondary", [({"mark": "n"}, {"lsn": 1})])]


# the loop


@pytest.mark.parametrize("trouble", [KafkaError("no answer"), LeaseLostError("the worker is gone")])
def test_the_failure_of_a_task_is_not_hidden_by_trouble_that_follows(trouble: Exception) -> None:
    setting = Setting(Task())
    committer = setting.at_least_once(interval_ms=60_000)
    committer.send([record(1)])
    setting.producer.acknowledge()
    setting.worker.failures.append(trouble)
    loop = SourceLoop("orders", setting.task, committer, setting.worker)  # type: ignore[arg-type]
    with pytest.raises(ConnectorCodeError) as raised:
        loop.run()
    assert isinstance(raised.value.__cause__, ValueError), "the trace shows the line in the connector's code"


def test_a_hook_that_fails_while_the_task_is_told_to_stop_aborts_the_transaction() -> None:
    class Failing(HookTask):
        def update_offsets(self, offsets: Offsets) -> Any:
            raise ValueError("no offset today")

    setting = Setting(Failing())
    committer = setting.exactly_once()
    committer.send([record(1)])
    setting.worker.should_end = True
    loop = SourceLoop("orders", setting.task, committer, setting.worker)  # type: ignore[arg-type]
    with pytest.raises(ConnectorCodeError, match="no offset today"):
        loop.run()
    assert setting.producer.log == ["begin", "abort"]


def test_a_task_without_commit_record_does_not_want_to_hear_of_records() -> None:
    class OldTask:
        """Has neither this method nor the hook."""

    assert not wants_commit_record(OldTask)  # type: ignore[arg-type]
    assert not wants_commit_record(Task)
    assert wants_commit_record(RecordsTask)
