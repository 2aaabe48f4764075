"""A source connector made to be observed and to misbehave on request.

Every call is written below `observe.dir`, see `seamark.testing.Observed`. Records carry numbers, so that loss,
repetition and order can be checked: task 0 writes the values ``0-1``, ``0-2``, ... with the source partition
``{"source": "0"}`` and the source offset ``{"seq": 1}``, ``{"seq": 2}``, ...; with `partitions` over 1 the sources of
task 0 are ``0.0``, ``0.1``, ... and take turns. The key of a record is its source. A started task goes on after the
offsets it is given.

Calls and their details: ``start`` (offsets), ``poll`` (records, first and last value, total), ``update_offsets``
(offsets, returned or raised, total), ``commit`` (total), ``commit_record`` (value, acknowledged, partition, offset),
``stop`` (total), ``failure`` (how, where); of the connector ``start``, ``stop``, ``task_configs``, ``alter_offsets``.
Offsets are lists of ``[partition, offset]``.

`update.offsets.script` is a JSON list with a step per call of the hook, counted per task object; after its end the hook
returns None (`update.offsets.after`: ``none``, ``last`` repeats the last step, ``loop`` starts over). A step given with
`Observed.next_update` comes before them. Steps:

- ``null``: return None
- ``{"empty": true}``: return an empty map
- ``{"offsets": [[partition, offset], ...]}``: return these; within an offset the values ``"$call"`` and ``"$seq"``
  stand for the number of the call and for the number of records so far, ``"$bytes"`` for some bytes
- ``{"echo": true}``: return the argument
- ``{"mutate": [[partition, offset], ...]}``: try to change the argument, return None
- ``{"raise": "text"}``: raise RuntimeError
- ``{"block.ms": n}``: wait first; ``{"block.until": "name"}``: wait for `Observed.release` with that name; both can be
  combined with the others
- ``{"when": "offsets"}``, only with `Observed.next_update`: wait for a call whose argument is not empty

`transaction.plan` is a JSON object for ``transaction.boundary=connector``: ``{"every": n}`` ends a transaction after
each n-th record of the task, ``{"abort": [k, ...]}`` aborts the k-th transaction (from 1) instead of committing it,
``{"at": "batch"}`` asks for the end of the batch rather than for the record, and ``{"idle": [k, ...]}`` asks for a
commit in the k-th poll of the object that returns nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any, cast

from seamark.config.configdef import NO_DEFAULT, ConfigDef, Type
from seamark.connector.offsets import Offsets, SourcePartition
from seamark.connector.records import RecordBatch, RecordMetadata, SourceRecord
from seamark.connector.schema import STRING_SCHEMA
from seamark.connector.source import (
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    OffsetUpdates,
    SourceConnector,
    SourceTask,
)
from seamark.testing.misbehaviour import Key, Misbehaviour, define_keys
from seamark.testing.observed import ALLOWED_FILE, NEXT_UPDATE_FILE, CallLog

_CONFIG: list[Key] = [
    ("observe.dir", Type.STRING, NO_DEFAULT, "Directory for the log of calls."),
    ("topic", Type.LIST, NO_DEFAULT, "Topic to write to; records take turns if there are several."),
    ("messages.per.poll", Type.INT, 10, "The most records per poll."),
    ("throughput", Type.INT, -1, "Records per second and task; -1 for no limit."),
    ("max.messages", Type.LONG, -1, "Records per task in all; then polls return nothing. -1 for no limit."),
    ("gated", Type.BOOLEAN, False, "Whether records in all are limited by `Observed.allow`, from 0 on."),
    ("partitions", Type.INT, 1, "Source partitions per task."),
    ("as.batch", Type.BOOLEAN, False, "Whether poll returns a RecordBatch (one source partition each)."),
    ("poll.block.ms", Type.LONG, 20, "How long a poll that has nothing to return waits."),
    ("observe.polls", Type.STRING, "all", "Which polls are logged: `all`, `records`, `none`."),
    ("block.ms", Type.STRING, "{}", 'JSON: how long methods wait when called, as `{"commit": 500}`.'),
    (
        "fail.at",
        Type.LONG,
        -1,
        "Fail before the record with this number of the task, or in the n-th call of `fail.in`.",
    ),
    ("fail.in", Type.STRING, "poll", "The method that fails."),
    ("fail.how", Type.STRING, "raise", "`raise`, `retriable`, or `kill`: SIGKILL to the own process."),
    ("fail.once", Type.BOOLEAN, True, "Whether the failure happens once, or each time again."),
    ("hook", Type.BOOLEAN, None, "Whether tasks define update_offsets. Default: if there is a script."),
    ("update.offsets.script", Type.STRING, None, "JSON: what update_offsets does."),
    ("update.offsets.after", Type.STRING, "none", "What it does after the last step: `none`, `last`, `loop`."),
    ("commit.record", Type.BOOLEAN, False, "Whether tasks define commit_record."),
    ("transaction.plan", Type.STRING, "{}", "JSON: when transactions end, with connector-defined boundaries."),
    (
        "has.work",
        Type.STRING,
        "unknown",
        "What has_work says: `unknown`, `true`, `false`, or `auto`: whether records are left.",
    ),
]


SOME_BYTES = b"\x00\xff"


def pairs(offsets: Mapping[Any, Any]) -> list[list[Any]]:
    """Offsets as JSON can hold them."""
    return [[dict(partition), None if offset is None else dict(offset)] for partition, offset in offsets.items()]


class ObservableSourceTask(SourceTask):
    """Counts, and tells what it is asked."""

    def start(self, config: Mapping[str, str], offsets: Offsets) -> None:
        self.values = ObservableSourceConnector.config_def().parse(config)
        self.calls = CallLog(self.values["observe.dir"], self.context.connector, self.context.task)
        self.misbehaviour = Misbehaviour(self.values, self.calls)
        self.misbehaviour.enter("start")
        names = source_names(self.context.task, self.values["partitions"])
        self._numbers = {name: int((offsets.get(SourcePartition(source=name)) or {}).get("seq", 0)) for name in names}
        self._plan = TransactionPlan(json.loads(self.values["transaction.plan"]))
        self._turn, self._idle_polls = 0, 0
        self._began_s, self._returned = time.monotonic(), 0
        self.calls.write("start", offsets=pairs(offsets), transactions=self.context.transaction is not None)

    @property
    def total(self) -> int:
        """Records of this task so far, earlier instances included."""
        return sum(self._numbers.values())

    def poll(self) -> list[SourceRecord] | RecordBatch | None:
        self.misbehaviour.enter("poll")
        count = self._due()
        if count <= 0:
            self._idle()
            return None
        records = self._records(count)
        self._returned += len(records)
        self._plan.after_records(records, self.total, self.context.transaction)
        if self.values["observe.polls"] != "none":
            self.calls.write(
                "poll", records=len(records), first=records[0].value, last=records[-1].value, total=self.total
            )
        if not self.values["as.batch"]:
            return records
        last = records[-1]
        return RecordBatch(
            last.topic,
            [record.value for record in records],
            STRING_SCHEMA,
            [record.key for record in records],
            STRING_SCHEMA,
            source_partition=last.source_partition,
            source_offset=last.source_offset,
        )

    def _due(self) -> int:
        """How many records this poll may return."""
        limits = [self.values["messages.per.poll"], left_over(self.values, self.total)]
        if self.values["throughput"] > 0:
            elapsed_s = time.monotonic() - self._began_s
            limits.append(int(elapsed_s * self.values["throughput"]) - self._returned)
        return int(min(limits))

    def _records(self, count: int) -> list[SourceRecord]:
        if self.values["as.batch"]:
            self._turn += 1
        records: list[SourceRecord] = []
        for _ in range(count):
            if self.total + 1 == self.misbehaviour.record:
                if records:
                    break  # what was read before is returned first
                self.misbehaviour.fail_if(True)
            name = list(self._numbers)[self._turn % len(self._numbers)]
            self._turn += 0 if self.values["as.batch"] else 1
            self._numbers[name] += 1
            topics = self.values["topic"]
            records.append(
                SourceRecord(
                    topics[(self.total - 1) % len(topics)],
                    f"{name}-{self._numbers[name]}",
                    name,
                    STRING_SCHEMA,
                    STRING_SCHEMA,
                    source_partition={"source": name},
                    source_offset={"seq": self._numbers[name]},
                )
            )
        return records

    def _idle(self) -> None:
        self._idle_polls += 1
        time.sleep(self.values["poll.block.ms"] / 1000)
        self._plan.after_nothing(self._idle_polls, self.context.transaction)
        if self.values["observe.polls"] == "all":
            self.calls.write("poll", records=0, total=self.total)

    def commit(self) -> None:
        self.misbehaviour.enter("commit")
        self.calls.write("commit", total=self.total)

    def stop(self) -> None:
        self.misbehaviour.enter("stop")
        self.calls.write("stop", total=self.total)


class TransactionPlan:
    """When an observable task asks for the end of a transaction."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._every: int = plan.get("every", 0)
        self._abort: list[int] = plan.get("abort", [])
        self._at_batch = plan.get("at") == "batch"
        self._idle: list[int] = plan.get("idle", [])

    def after_records(self, records: list[SourceRecord], total: int, transaction: Any) -> None:
        """Ask for what is due within these records, of which the last is number `total` of the task."""
        if transaction is None or self._every <= 0:
            return
        for index, record in enumerate(records):
            number = total - len(records) + index + 1
            if number % self._every == 0:
                aborts = number // self._every in self._abort
                request = transaction.abort_transaction if aborts else transaction.commit_transaction
                request() if self._at_batch else request(record)

    def after_nothing(self, idle_polls: int, transaction: Any) -> None:
        """Ask for a commit in an empty poll, if it is due."""
        if transaction is not None and idle_polls in self._idle:
            transaction.commit_transaction()


class _Hook(ObservableSourceTask):
    """Defines `update_offsets`."""

    def update_offsets(self, offsets: Offsets) -> OffsetUpdates:
        before = pairs(offsets)
        step = self._step(bool(before))
        self.misbehaviour.enter("update_offsets")
        time.sleep(step.get("block.ms", 0) / 1000)
        if "block.until" in step:
            self.calls.await_release(step["block.until"])
        if "raise" in step:
            self.calls.write("update_offsets", offsets=before, raised=step["raise"])
            raise RuntimeError(step["raise"])
        returned: Any = None
        if "offsets" in step:
            returned = [(partition, self._filled(offset)) for partition, offset in step["offsets"]]
        elif step.get("empty"):
            returned = {}
        elif step.get("echo"):
            returned = offsets
        elif "mutate" in step:
            _mutate(offsets, step["mutate"])
        shown = [list(pair) for pair in returned] if isinstance(returned, list) else returned and pairs(returned)
        self.calls.write("update_offsets", offsets=before, returned=shown, total=self.total)
        return cast("OffsetUpdates", returned)

    def _step(self, has_offsets: bool) -> dict[str, Any]:
        self.updates = getattr(self, "updates", 0) + 1
        given = self._given(has_offsets)
        if given is not None:
            return given
        script = json.loads(self.values["update.offsets.script"] or "[]")
        index = self._scripted = getattr(self, "_scripted", -1) + 1
        if script and self.values["update.offsets.after"] == "loop":
            index %= len(script)
        elif script and self.values["update.offsets.after"] == "last":
            index = min(index, len(script) - 1)
        return (script[index] or {}) if index < len(script) else {}

    def _given(self, has_offsets: bool) -> dict[str, Any] | None:
        given = self.calls.directory / NEXT_UPDATE_FILE
        try:
            step: dict[str, Any] = json.loads(given.read_text()) or {}
            if step.get("when") == "offsets" and not has_offsets:
                return None
            given.rename(self.calls.directory / f".{NEXT_UPDATE_FILE}-{self.calls.instance}")  # only one task gets it
        except FileNotFoundError:
            return None
        return step

    def _filled(self, offset: dict[str, Any] | None) -> dict[str, Any] | None:
        if offset is None:
            return None
        known = {"$call": self.updates, "$seq": self.total, "$bytes": SOME_BYTES}
        return {name: known.get(value, value) if isinstance(value, str) else value for name, value in offset.items()}


def _mutate(offsets: Offsets, changes: list[Any]) -> None:
    """Do what a careless author might do to the argument."""
    for partition, offset in changes:
        try:
            cast("Any", offsets)[SourcePartition(partition)] = offset
        except TypeError:
            found = offsets.get(SourcePartition(partition))
            if isinstance(found, dict):
                found.clear()
                found.update(offset or {})


class _Records(ObservableSourceTask):
    """Defines `commit_record`."""

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.misbehaviour.enter("commit_record")
        where = {} if metadata is None else {"partition": metadata.partition, "offset": metadata.offset}
        self.calls.write("commit_record", value=record.value, acknowledged=metadata is not None, **where)


class ObservableHookTask(_Hook):
    """An observable task with `update_offsets`."""


class ObservableRecordsTask(_Records):
    """An observable task with `commit_record`."""


class ObservableHookRecordsTask(_Hook, _Records):
    """An observable task with both."""


class ObservableSourceConnector(SourceConnector):
    """Plans `tasks.max` tasks. `task_class` depends on the config: a task without a hook must not define it."""

    version = "1"
    task_class = ObservableSourceTask

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_keys(_CONFIG)

    def start(self, config: Mapping[str, str]) -> None:
        values = self.config_def().parse(config)
        self._config = dict(config)
        hook = bool(values["update.offsets.script"]) if values["hook"] is None else values["hook"]
        classes = {
            (False, False): ObservableSourceTask,
            (True, False): ObservableHookTask,
            (False, True): ObservableRecordsTask,
            (True, True): ObservableHookRecordsTask,
        }
        self.task_class = classes[hook, values["commit.record"]]  # type: ignore[misc]
        self._calls = CallLog(values["observe.dir"], config.get("name", "connector"), None)
        self._calls.write("start", config=self._config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        self._calls.write("task_configs", max_tasks=max_tasks)
        return [dict(self._config) for _ in range(max_tasks)]

    def stop(self) -> None:
        self._calls.write("stop")

    def alter_offsets(self, config: Mapping[str, str], offsets: Offsets) -> bool:
        CallLog(config["observe.dir"], config.get("name", "connector"), None).write(
            "alter_offsets", offsets=pairs(offsets)
        )
        return True

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        return ConnectorTransactionBoundaries.SUPPORTED

    def has_work(self, config: Mapping[str, str], offsets: Offsets) -> bool | None:
        values = self.config_def().parse(config)
        if values["has.work"] != "auto":
            return {"unknown": None, "true": True, "false": False}[values["has.work"]]
        tasks = range(int(config.get("tasks.max", "1")))
        return any(
            left_over(values, sum((offsets.get(SourcePartition(source=name)) or {}).get("seq", 0) for name in names))
            > 0
            for names in (source_names(task, values["partitions"]) for task in tasks)
        )


def source_names(task: int, partitions: int) -> list[str]:
    """The sources of a task: what the values of its records start with."""
    return [str(task)] if partitions == 1 else [f"{task}.{partition}" for partition in range(partitions)]


def left_over(values: Mapping[str, Any], total: int) -> float:
    """How many records a task may still return."""
    limits = [float("inf")]
    if values["max.messages"] >= 0:
        limits.append(values["max.messages"] - total)
    if values["gated"]:
        try:
            with open(os.path.join(values["observe.dir"], ALLOWED_FILE), encoding="utf-8") as file:
                limits.append(int(file.read()) - total)
        except FileNotFoundError:
            limits.append(0)
    return min(limits)
