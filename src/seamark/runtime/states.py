"""What is wanted of a connector, and what it is: two different words, as in Kafka Connect."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class TargetState(Enum):
    """What is wanted; `value` is the name in the config topic."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class State(Enum):
    """What a connector or task is."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """State of a task, with its trace if it failed."""

    id: int
    state: State
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """State of a connector and its tasks."""

    name: str
    state: State
    trace: str | None = None
    tasks: tuple[TaskStatus, ...] = field(default=())
