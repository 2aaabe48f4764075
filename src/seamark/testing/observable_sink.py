"""A sink connector made to be observed and to misbehave on request; see `seamark.testing.observable`.

Calls and their details: ``start``, ``open`` and ``close`` (partitions), ``put`` (records as ``[topic, partition,
offset, key, value]``), ``pre_commit`` (offsets and returned, as ``[topic, partition, offset]``), ``stop``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from seamark.config.configdef import NO_DEFAULT, ConfigDef, Type
from seamark.connector.records import SinkRecord
from seamark.connector.sink import SinkConnector, SinkTask, TopicPartition
from seamark.errors import RetriableError
from seamark.testing.misbehaviour import Key, Misbehaviour, define_keys
from seamark.testing.observed import CallLog

_CONFIG: list[Key] = [
    ("observe.dir", Type.STRING, NO_DEFAULT, "Directory for the log of calls."),
    ("observe.polls", Type.STRING, "records", "Which puts are logged: `all`, `records`, `none`."),
    ("block.ms", Type.STRING, "{}", 'JSON: how long methods wait when called, as `{"put": 500}`.'),
    ("fail.at", Type.LONG, -1, "Fail in the put with this record of the object, or in the n-th call of `fail.in`."),
    ("fail.in", Type.STRING, "put", "The method that fails."),
    ("fail.how", Type.STRING, "raise", "`raise`, `retriable`, or `kill`: SIGKILL to the own process."),
    ("fail.once", Type.BOOLEAN, True, "Whether the failure happens once, or each time again."),
    ("retriable.at", Type.LONG, -1, "The put with records, by number, that raises RetriableError."),
    ("retriable.times", Type.INT, 1, "How often it does, before it takes the records."),
    ("retry.after.ms", Type.LONG, None, "What it sets as the time until the records come again."),
    ("rewind.at", Type.STRING, None, 'JSON: `{"put": n, "topic": t, "partition": p, "offset": o}`, once.'),
    ("pre_commit.lag", Type.LONG, 0, "How many records pre_commit stays behind."),
    ("pre_commit.none", Type.BOOLEAN, False, "Whether pre_commit returns nothing."),
    ("request.commit.at", Type.LONG, -1, "The put with records, by number, that asks for a commit."),
]


class ObservableSinkTask(SinkTask):
    """Takes records, and tells what it is given."""

    def start(self, config: Mapping[str, str]) -> None:
        self._values = ObservableSinkConnector.config_def().parse(config)
        self._calls = CallLog(self._values["observe.dir"], self.context.connector, self.context.task)
        self._misbehaviour = Misbehaviour(self._values, self._calls)
        self._puts, self._records, self._retriable_left = 0, 0, self._values["retriable.times"]
        self._misbehaviour.enter("start")
        self._calls.write("start")

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._misbehaviour.enter("open")
        self._calls.write("open", partitions=[list(partition) for partition in partitions])

    def put(self, records: Sequence[SinkRecord]) -> None:
        self._misbehaviour.enter("put")
        if records:
            self._before_records(records)
        if self._values["observe.polls"] == "all" or (records and self._values["observe.polls"] == "records"):
            self._calls.write(
                "put", records=[[r.topic, r.kafka_partition, r.kafka_offset, r.key, _text(r.value)] for r in records]
            )

    def _before_records(self, records: Sequence[SinkRecord]) -> None:
        if self._puts + 1 == self._values["retriable.at"] and self._retriable_left > 0:
            self._retriable_left -= 1
            if self._values["retry.after.ms"] is not None:
                self.context.timeout_ms(self._values["retry.after.ms"])
            self._calls.write("retriable", records=len(records), time=time.time())
            raise RetriableError("asking for the same records again, as configured")
        failing = self._misbehaviour.record
        self._misbehaviour.fail_if(self._records < failing <= self._records + len(records))
        self._puts += 1
        self._records += len(records)
        if self._puts == self._values["request.commit.at"]:
            self.context.request_commit()
        rewind = json.loads(self._values["rewind.at"] or "{}")
        if rewind and rewind["put"] == self._puts and self._calls.first_time("rewind"):
            self._calls.write("rewind", **rewind)
            self.context.offset(TopicPartition(rewind["topic"], rewind["partition"]), rewind["offset"])

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int] | None:
        self._misbehaviour.enter("pre_commit")
        lag = self._values["pre_commit.lag"]
        returned = None
        if not self._values["pre_commit.none"]:
            returned = {partition: max(0, offset - lag) for partition, offset in offsets.items()}
        self._calls.write("pre_commit", offsets=_rows(offsets), returned=returned and _rows(returned))
        return returned

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._misbehaviour.enter("close")
        self._calls.write("close", partitions=[list(partition) for partition in partitions])

    def stop(self) -> None:
        self._misbehaviour.enter("stop")
        self._calls.write("stop", records=self._records)


def _rows(offsets: Mapping[TopicPartition, int]) -> list[list[Any]]:
    return [[topic, partition, offset] for (topic, partition), offset in offsets.items()]


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


class ObservableSinkConnector(SinkConnector):
    """Plans `tasks.max` tasks."""

    version = "1"
    task_class = ObservableSinkTask

    @classmethod
    def config_def(cls) -> ConfigDef:
        return define_keys(_CONFIG)

    def start(self, config: Mapping[str, str]) -> None:
        values = self.config_def().parse(config)
        self._config = dict(config)
        self._calls = CallLog(values["observe.dir"], config.get("name", "connector"), None)
        self._calls.write("start", config=self._config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        self._calls.write("task_configs", max_tasks=max_tasks)
        return [dict(self._config) for _ in range(max_tasks)]

    def stop(self) -> None:
        self._calls.write("stop")

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        rows = [[topic, partition, offset] for (topic, partition), offset in offsets.items()]
        CallLog(config["observe.dir"], config.get("name", "connector"), None).write("alter_offsets", offsets=rows)
        return True
