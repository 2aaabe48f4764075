"""What the config topic says, learnt record by record. No Kafka here: keys and values in, state and events out.

The topic is compacted, so a reader may find any record without those before it. Task configurations therefore wait for
their commit, and a commit without all of them leaves its connector *inconsistent*: its tasks have to be written anew.
"""

from __future__ import annotations

import base64
import binascii
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

from seamark.config.states import TargetState
from seamark.errors import DataError, NewerFormatError
from seamark.formats import check_version
from seamark.storage import codec
from seamark.storage import config_records as records
from seamark.storage.config_records import SessionKey

_log = logging.getLogger(__name__)
_TASK_KEY_PARTS: Final = 3
_INT32: Final = 2**31
_K = TypeVar("_K")
_V = TypeVar("_V")

Config = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ConnectorConfigUpdated:
    """A connector was created, or its configuration written again."""

    name: str


@dataclass(frozen=True, slots=True)
class ConnectorConfigRemoved:
    """A connector was deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class TaskConfigsUpdated:
    """Tasks of a connector were committed; `ids` is empty for none, or when the connector is inconsistent now."""

    name: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TargetStateChanged:
    """Something else is wanted of an existing connector."""

    name: str


@dataclass(frozen=True, slots=True)
class SessionKeyUpdated:
    """Workers sign with another key."""


@dataclass(frozen=True, slots=True)
class RestartRequested:
    """A connector, or its tasks too, should restart."""

    name: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class LoggerLevelUpdated:
    """A logger should have another level; the text as it was sent."""

    logger: str
    level: str


@dataclass(frozen=True, slots=True)
class PlacementChanged:
    """A connector got another slot, or has none any more."""

    name: str


ConfigEvent = (
    ConnectorConfigUpdated
    | ConnectorConfigRemoved
    | TaskConfigsUpdated
    | TargetStateChanged
    | SessionKeyUpdated
    | RestartRequested
    | LoggerLevelUpdated
    | PlacementChanged
)


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ClusterConfigState:
    """What the config topic says up to `offset`. Never changes; all maps are read-only."""

    offset: int = -1
    """Of the record after the last one that counts; -1 before any."""
    session_key: SessionKey | None = None
    connectors: Mapping[str, Config] = field(default_factory=_nothing)
    """Configurations by name."""
    target_states: Mapping[str, TargetState] = field(default_factory=_nothing)
    """Has every connector, and may have names without one: their state was written ahead of a configuration."""
    task_counts: Mapping[str, int] = field(default_factory=_nothing)
    """By connector, as last committed, also if the connector is inconsistent."""
    task_configs: Mapping[tuple[str, int], Config] = field(default_factory=_nothing)
    applied_configs: Mapping[str, Config] = field(default_factory=_nothing)
    """The connector's configuration from which its committed tasks were made."""
    inconsistent: frozenset[str] = frozenset()
    """Connectors whose tasks are not all known; they have to be written anew."""
    task_count_records: Mapping[str, int] = field(default_factory=_nothing)
    """How many tasks the last round of fencing was for; outlives the connector."""
    pending_fencing: frozenset[str] = frozenset()
    """Connectors whose tasks were committed since the last round of fencing."""
    placements: Mapping[str, int] = field(default_factory=_nothing)
    """The slot of each connector that has one."""

    def connector_config(self, name: str) -> dict[str, str | None] | None:
        """A copy of the connector's configuration."""
        config = self.connectors.get(name)
        return None if config is None else dict(config)

    def target_state(self, name: str) -> TargetState | None:
        """What is wanted of an existing connector."""
        return self.target_states.get(name) if name in self.connectors else None

    def task_count(self, name: str) -> int:
        """How many tasks were committed."""
        return self.task_counts.get(name, 0)

    def tasks(self, name: str) -> list[int]:
        """Ids of the tasks that can run: none while the connector is inconsistent."""
        return [] if name in self.inconsistent else list(range(self.task_count(name)))

    def task_config(self, name: str, task: int) -> dict[str, str | None] | None:
        """A copy of a task's configuration."""
        config = self.task_configs.get((name, task))
        return None if config is None else dict(config)

    def all_task_configs(self, name: str) -> list[dict[str, str | None]]:
        """Copies of the configurations of the tasks that can run, in order."""
        return [dict(self.task_configs[(name, task)]) for task in self.tasks(name)]

    def is_applied(self, name: str) -> bool:
        """Whether the committed tasks were made from the configuration that the connector has now."""
        return name in self.applied_configs and self.applied_configs[name] == self.connectors.get(name)


class ConfigLogReducer:
    """Takes the records of a config topic one by one. One thread applies, any thread takes snapshots."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # what it logs may be looked at by who asks it whether a connector exists
        self._snapshot: ClusterConfigState | None = None
        self._offset = -1
        self._session_key: SessionKey | None = None
        self._connectors: dict[str, Config] = {}
        self._target_states: dict[str, TargetState] = {}
        self._task_counts: dict[str, int] = {}
        self._task_configs: dict[str, dict[int, Config]] = {}
        self._deferred: dict[str, dict[int, Config]] = {}
        self._applied: dict[str, Config] = {}
        self._inconsistent: set[str] = set()
        self._task_count_records: dict[str, int] = {}
        self._pending_fencing: set[str] = set()
        self._placements: dict[str, int] = {}
        # The order decides: "task-" is a prefix of nothing else here, but "connector-" could be one of a later kind.
        self._takers: tuple[tuple[str, Callable[[str, Any], list[ConfigEvent]]], ...] = (
            (records.TARGET_STATE, self._take_target_state),
            (records.CONNECTOR, self._take_connector),
            (records.TASK, self._take_task),
            (records.COMMIT, self._take_commit),
            (records.RESTART, self._take_restart),
            (records.FENCING, self._take_fencing),
            (records.SESSION_KEY, self._take_session_key),
            (records.LOGGER, self._take_logger),
            (records.PLACEMENT, self._take_placement),
        )

    def snapshot(self) -> ClusterConfigState:
        """What is known now; the same object while nothing changes."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = ClusterConfigState(
                    offset=self._offset,
                    session_key=self._session_key,
                    connectors=_read_only(self._connectors),
                    target_states=_read_only(self._target_states),
                    task_counts=_read_only(self._task_counts),
                    task_configs=_read_only(
                        {
                            (name, task): config
                            for name, tasks in self._task_configs.items()
                            for task, config in tasks.items()
                        }
                    ),
                    applied_configs=_read_only(self._applied),
                    inconsistent=frozenset(self._inconsistent),
                    task_count_records=_read_only(self._task_count_records),
                    pending_fencing=frozenset(self._pending_fencing),
                    placements=_read_only(self._placements),
                )
            return self._snapshot

    def apply(self, key: str, value: bytes | None, offset: int) -> list[ConfigEvent]:
        """Take one record in; returns what listeners should hear of.

        Nothing that a record holds makes this fail: what cannot be understood is logged and skipped.
        """
        try:
            content = None if value is None else codec.loads(value)
        except DataError as error:
            _log.error("The record %r at offset %s of the config topic is skipped: %s", key, offset, error)
            return []
        with self._lock:
            self._snapshot = None
            self._offset = offset + 1
            for prefix, take in self._takers:
                if key.startswith(prefix):
                    try:
                        return take(key[len(prefix) :], content)
                    except _ShapeError as error:
                        _log.error("The record %r at offset %s of the config topic is skipped: %s", key, offset, error)
                        return []
        _log.error("The record %r at offset %s of the config topic is of no known kind and is skipped", key, offset)
        return []

    # --- one kind of record each --------------------------------------------------------------------------------------

    def _take_target_state(self, name: str, content: Any) -> list[ConfigEvent]:
        if content is None:
            self._target_states.pop(name, None)
            if name in self._connectors:
                self._target_states[name] = TargetState.STARTED
            return []  # a deletion is told by the connector's own record
        fields = _fields(content)
        text = fields.get("state.v2")
        if not isinstance(text, str):
            text = _text(fields, "state")
        try:
            state = TargetState(text)
        except ValueError:
            raise _ShapeError(f"{text!r} is no target state; known are STARTED, PAUSED and STOPPED") from None
        is_changed = self._target_states.get(name) is not state
        self._target_states[name] = state
        return [TargetStateChanged(name)] if is_changed and name in self._connectors else []

    def _take_connector(self, name: str, content: Any) -> list[ConfigEvent]:
        if content is None:
            self._forget(name)
            return [ConnectorConfigRemoved(name)]
        self._connectors[name] = _properties(content)
        self._target_states.setdefault(name, TargetState.STARTED)
        return [ConnectorConfigUpdated(name)]

    def _take_task(self, rest: str, content: Any) -> list[ConfigEvent]:
        name, task = _task_id(records.TASK + rest)
        self._deferred.setdefault(name, {})[task] = _properties(content)
        return []

    def _take_commit(self, name: str, content: Any) -> list[ConfigEvent]:
        config = self._connectors.get(name)
        if config is None:  # deleted, and compaction has left no trace of it but this
            self._forget(name)
            return []
        count = _count(_fields(content), "tasks")
        # Cleared in any case: after a commit only a complete new set counts.
        deferred = self._deferred.pop(name, {})
        ids: tuple[int, ...] = ()
        if all(task in deferred for task in range(count)):
            # A set may hold more than is committed: tasks that a compacted earlier commit was about.
            ids = tuple(range(count))
            self._task_configs[name] = {task: deferred[task] for task in ids}
            self._applied[name] = config
            self._inconsistent.discard(name)
        else:
            _log.debug("The tasks of connector %r are incomplete at offset %s", name, self._offset - 1)
            self._inconsistent.add(name)
        self._task_counts[name] = count
        self._pending_fencing.add(name)
        return [TaskConfigsUpdated(name, ids)]

    def _take_restart(self, name: str, content: Any) -> list[ConfigEvent]:
        fields = _fields(content)
        include_tasks, only_failed = fields.get("include-tasks"), fields.get("only-failed")
        if not isinstance(include_tasks, bool) or not isinstance(only_failed, bool):
            _log.warning("A restart request for connector %r lacks a flag, which counts as false: %s", name, fields)
        return [RestartRequested(name, include_tasks is True, only_failed is True)]

    def _take_fencing(self, name: str, content: Any) -> list[ConfigEvent]:
        self._task_count_records[name] = _count(_fields(content), "task-count")
        self._pending_fencing.discard(name)
        return []

    def _take_session_key(self, rest: str, content: Any) -> list[ConfigEvent]:
        if rest:
            raise _ShapeError(f"it is of no known kind; the key of a session key is {records.SESSION_KEY!r} alone")
        fields = _fields(content)
        text, algorithm = _text(fields, "key"), _text(fields, "algorithm")
        created = _integer(fields, "creation-timestamp")
        try:
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise _ShapeError("'key' should be base64") from None
        self._session_key = SessionKey(key, algorithm, created)
        return [SessionKeyUpdated()]

    def _take_logger(self, logger: str, content: Any) -> list[ConfigEvent]:
        return [LoggerLevelUpdated(logger, _text(_fields(content), "level"))]

    def _take_placement(self, name: str, content: Any) -> list[ConfigEvent]:
        before = self._placements.get(name)
        slot = None if content is None else _slot(name, _fields(content))
        if slot is None:
            self._placements.pop(name, None)
        else:
            self._placements[name] = slot
        return [] if self._placements.get(name) == before else [PlacementChanged(name)]

    def _forget(self, name: str) -> None:
        for known in (self._connectors, self._task_counts, self._task_configs, self._deferred, self._applied):
            known.pop(name, None)
        self._inconsistent.discard(name)


class _ShapeError(Exception):
    """A record is JSON, but not what its key says."""


def _fields(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise _ShapeError(f"it should be an object, but is {_kind(content)}")
    return content


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _ShapeError(f"{name!r} should be a text, but is {_kind(value)}")
    return value


def _integer(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _ShapeError(f"{name!r} should be an integer, but is {_kind(value)}")
    return value


def _count(fields: Mapping[str, Any], name: str) -> int:
    value = _integer(fields, name)
    if not 0 <= value < _INT32:
        raise _ShapeError(f"{name!r} should be from 0 to {_INT32 - 1}, but is {value}")
    return value


def _slot(name: str, fields: Mapping[str, Any]) -> int | None:
    """Where a connector is placed; None if a newer worker has said it in a way that is not known here.

    Then it runs elsewhere: in the slot that it had before, two workers might run it.
    """
    try:
        check_version(fields, records.PLACEMENT_VERSION, f"The placement of connector {name!r}")
    except NewerFormatError as error:
        _log.warning("%s", error)
        return None
    except DataError as error:
        raise _ShapeError(str(error)) from None
    return _count(fields, "slot")


def _properties(content: Any) -> Config:
    properties = _fields(content).get("properties")
    if not isinstance(properties, dict):
        raise _ShapeError(f"'properties' should be an object, but is {_kind(properties)}")
    for name, value in properties.items():
        if value is not None and not isinstance(value, str):
            raise _ShapeError(f"the value of {name!r} should be a text, but is {_kind(value)}")
    return MappingProxyType(properties)


def _task_id(key: str) -> tuple[str, int]:
    parts = key.split("-")
    number = parts[-1].removeprefix("+")
    if len(parts) < _TASK_KEY_PARTS or not codec.is_count(number):
        raise _ShapeError("its key should be task-<connector>-<number>")
    return "-".join(parts[1:-1]), int(number)


def _kind(value: Any) -> str:
    names = {type(None): "null", dict: "an object", list: "a list", str: "a text", bool: "a boolean"}
    return names.get(type(value), f"the number {value!r}")


def _read_only(values: Mapping[_K, _V]) -> Mapping[_K, _V]:
    return MappingProxyType(dict(values))
