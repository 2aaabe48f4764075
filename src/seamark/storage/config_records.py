"""The records of the config topic: their keys, and their values byte for byte as a Java worker writes them.

=======================  ==========================================  ==========================================
``connector-N``          ``{"properties":{..}}``                     the connector's configuration; null: deleted
``target-state-N``       ``{"state":..,"state.v2":..}``              what is wanted of it; null: deleted
``task-N-i``             ``{"properties":{..}}``                     a task's configuration, waiting for a commit
``commit-N``             ``{"tasks":n}``                             the n configurations before it are complete
``tasks-fencing-N``      ``{"task-count":n}``                        tasks whose producers were fenced or may run
``session-key``          ``{"key":..,"algorithm":..,"creation-timestamp":..}``  signs requests between workers
``restart-connector-N``  ``{"include-tasks":..,"only-failed":..}``   restart it now
``logger-cluster-L``     ``{"level":..}``                            the level of a logger on every worker
``placement-N``          ``{"version":1,"slot":n}``                  Seamark's own; Java workers log and skip it
=======================  ==========================================  ==========================================

Java writes these values as structs, whose fields keep their order, and maps in the order that the map at hand has: that
of the request for a connector's configuration, that of a ``HashMap`` for a task's. `STOPPED` is written as PAUSED for
workers that know only ``state``.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from seamark.config.states import TargetState
from seamark.storage.codec import dumps, hash_map_order

TARGET_STATE: Final = "target-state-"
CONNECTOR: Final = "connector-"
TASK: Final = "task-"
COMMIT: Final = "commit-"
RESTART: Final = "restart-connector-"
FENCING: Final = "tasks-fencing-"
SESSION_KEY: Final = "session-key"
LOGGER: Final = "logger-cluster-"
PLACEMENT: Final = "placement-"
PLACEMENT_VERSION: Final = 1

ConfigRecord = tuple[str, bytes | None]
"""Key and value of a record to write."""


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The secret with which workers sign their requests to each other."""

    key: bytes = field(repr=False)
    algorithm: str
    creation_timestamp: int
    """Milliseconds since the epoch."""


def struct(**fields: Any) -> bytes:
    """A JSON object with its fields in this order; ``_`` in a name stands for ``-``, ``__`` for ``.``."""
    names = {name: name.replace("__", ".").replace("_", "-") for name in fields}
    return b"{" + b",".join(dumps(names[name]) + b":" + dumps(value) for name, value in fields.items()) + b"}"


def ordered_map(values: Mapping[str, str | None]) -> bytes:
    """A JSON object with its fields in the order of the map."""
    return b"{" + b",".join(dumps(name) + b":" + dumps(value) for name, value in values.items()) + b"}"


def connector_record(name: str, config: Mapping[str, str | None]) -> ConfigRecord:
    """A connector's configuration, in the order of the map."""
    return CONNECTOR + name, b'{"properties":' + ordered_map(config) + b"}"


def task_record(name: str, task: int, config: Mapping[str, str | None]) -> ConfigRecord:
    """A task's configuration, in the order of Java's ``HashMap``."""
    ordered = {key: config[key] for key in hash_map_order(config)}
    return f"{TASK}{name}-{task}", b'{"properties":' + ordered_map(ordered) + b"}"


def commit_record(name: str, tasks: int) -> ConfigRecord:
    """The end of a set of task configurations."""
    return COMMIT + name, struct(tasks=tasks)


def target_state_record(name: str, state: TargetState) -> ConfigRecord:
    """What is wanted of a connector."""
    known_to_all = TargetState.PAUSED if state is TargetState.STOPPED else state
    return TARGET_STATE + name, struct(state=known_to_all.value, state__v2=state.value)


def fencing_record(name: str, tasks: int) -> ConfigRecord:
    """How many tasks may have producers that a later round of fencing has to end."""
    return FENCING + name, struct(task_count=tasks)


def session_key_record(key: SessionKey) -> ConfigRecord:
    """The secret that workers share."""
    text = base64.b64encode(key.key).decode("ascii")
    return SESSION_KEY, struct(key=text, algorithm=key.algorithm, creation_timestamp=key.creation_timestamp)


def restart_record(name: str, *, include_tasks: bool, only_failed: bool) -> ConfigRecord:
    """Asks the workers that run the connector and its tasks to restart them."""
    return RESTART + name, struct(include_tasks=include_tasks, only_failed=only_failed)


def logger_record(logger: str, level: str) -> ConfigRecord:
    """The level of a logger; the text as it was sent."""
    return LOGGER + logger, struct(level=level)


def placement_record(name: str, slot: int | None) -> ConfigRecord:
    """The slot in which a connector runs; None takes it back."""
    return PLACEMENT + name, None if slot is None else struct(version=PLACEMENT_VERSION, slot=slot)
