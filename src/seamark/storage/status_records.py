"""The records of the status topic, byte for byte as a Java worker writes them, and what they add up to.

* ``status-connector-N`` and ``status-task-N-i``:
  ``{"state":..,"trace":..,"worker_id":..,"generation":..,"version":..}``; workers before 4.0 write no ``version``
* ``status-topic-T:connector-N``: ``{"topic":{"name":..,"connector":..,"task":..,"discoverTimestamp":..}}``

A null value deletes the row; the same deletion twice is normal.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from seamark.config.states import State
from seamark.errors import DataError
from seamark.storage import codec
from seamark.storage.status_store import ConnectorStatusRow, TaskStatusRow, TopicStatusRow

_log = logging.getLogger(__name__)
CONNECTOR: Final = "status-connector-"
TASK: Final = "status-task-"
TOPIC: Final = "status-topic-"
_OF_CONNECTOR: Final = ":connector-"
_TASK_KEY_PARTS: Final = 4
_T = TypeVar("_T", str, int)


def connector_key(name: str) -> str:
    """Key of a connector's row."""
    return CONNECTOR + name


def task_key(name: str, task: int) -> str:
    """Key of a task's row."""
    return f"{TASK}{name}-{task}"


def topic_key(topic: str, connector: str) -> str:
    """Key of the row of a topic that a connector uses."""
    return TOPIC + topic + _OF_CONNECTOR + connector


def status_value(row: ConnectorStatusRow | TaskStatusRow) -> bytes:
    """Value of a connector's or task's row."""
    return _struct(
        {
            "state": row.state.value,
            "trace": row.trace,
            "worker_id": row.worker_id,
            "generation": row.generation,
            "version": row.version,
        }
    )


def topic_value(row: TopicStatusRow) -> bytes:
    """Value of a topic's row."""
    fields = {
        "name": row.topic,
        "connector": row.connector,
        "task": row.task,
        "discoverTimestamp": row.discover_timestamp,
    }
    return b'{"topic":' + _struct(fields) + b"}"


def is_safe(known: ConnectorStatusRow | TaskStatusRow | None, row: ConnectorStatusRow | TaskStatusRow) -> bool:
    """Whether a worker that may no longer be the owner may write: no other worker of a later generation has."""
    return known is None or known.worker_id == row.worker_id or known.generation <= row.generation


class StatusTable:
    """What the records read so far add up to. Not guarded against other threads."""

    def __init__(self) -> None:
        self.connectors: dict[str, ConnectorStatusRow] = {}
        self.tasks: dict[str, dict[int, TaskStatusRow]] = {}
        self.topics: dict[str, dict[str, TopicStatusRow]] = {}

    def take(self, key: str, value: bytes | None) -> None:
        """Take one record in; what cannot be understood is logged and skipped."""
        try:
            if key.startswith(CONNECTOR):
                self._take_connector(key.removeprefix(CONNECTOR), value)
            elif key.startswith(TASK):
                self._take_task(*_task_id(key), value)
            elif key.startswith(TOPIC):
                self._take_topic(*_topic_id(key), value)
            else:
                raise DataError("it is of no known kind")
        except DataError as error:
            _log.warning("The record %r of the status topic is skipped: %s", key, error)

    def _take_connector(self, name: str, value: bytes | None) -> None:
        if not name:
            raise DataError("its key names no connector")
        if value is None:
            self.connectors.pop(name, None)
            self.tasks.pop(name, None)
            return
        state, worker_id, generation, trace, version = _status(value)
        self.connectors[name] = ConnectorStatusRow(name, state, worker_id, generation, trace, version)

    def _take_task(self, name: str, task: int, value: bytes | None) -> None:
        if value is None:
            tasks = self.tasks.get(name, {})
            tasks.pop(task, None)
            if not tasks:
                self.tasks.pop(name, None)
            return
        state, worker_id, generation, trace, version = _status(value)
        known = self.tasks.get(name, {}).get(task)
        # A worker that gave a task up may say so after its new owner has said that it runs.
        if (
            state is State.UNASSIGNED
            and known is not None
            and known.state is State.RUNNING
            and known.generation >= generation
        ):
            return
        row = TaskStatusRow(name, task, state, worker_id, generation, trace, version)
        self.tasks.setdefault(name, {})[task] = row

    def _take_topic(self, topic: str, connector: str, value: bytes | None) -> None:
        if value is None:
            topics = self.topics.get(connector, {})
            topics.pop(topic, None)
            if not topics:
                self.topics.pop(connector, None)
            return
        fields = _object(_object(codec.loads(value), "it").get("topic"), "'topic'")
        row = TopicStatusRow(
            _typed(fields, "name", str),
            _typed(fields, "connector", str),
            _typed(fields, "task", int),
            _typed(fields, "discoverTimestamp", int),
        )
        self.topics.setdefault(connector, {})[topic] = row


def _struct(fields: Mapping[str, Any]) -> bytes:
    return b"{" + b",".join(codec.dumps(name) + b":" + codec.dumps(value) for name, value in fields.items()) + b"}"


def _task_id(key: str) -> tuple[str, int]:
    parts = key.split("-")
    if len(parts) < _TASK_KEY_PARTS or not codec.is_count(parts[-1]):
        raise DataError(f"its key should be {TASK}<connector>-<number>")
    return "-".join(parts[2:-1]), int(parts[-1])


def _topic_id(key: str) -> tuple[str, str]:
    topic, _, rest = key.removeprefix(TOPIC).partition(":")
    connector = rest.removeprefix(_OF_CONNECTOR[1:])
    if not topic or not connector or connector == rest:
        raise DataError(f"its key should be {TOPIC}<topic>{_OF_CONNECTOR}<connector>")
    return topic, connector


def _status(value: bytes) -> tuple[State, str, int, str | None, str | None]:
    fields = _object(codec.loads(value), "it")
    text = _typed(fields, "state", str)
    try:
        state = State(text)
    except ValueError:
        raise DataError(f"{text!r} is no state") from None
    trace, version = fields.get("trace"), fields.get("version")
    return (
        state,
        _typed(fields, "worker_id", str),
        _typed(fields, "generation", int),
        trace if isinstance(trace, str) else None,
        version if isinstance(version, str) else None,
    )


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{what} should be an object, but is {value!r}")
    return value


def _typed(fields: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    value = fields.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DataError(f"{name!r} should be of type {kind.__name__}, but is {value!r}")
    return value
