"""What is wanted of a connector, and what it is: two different words, as in Kafka Connect."""

from __future__ import annotations

from dataclasses import dataclass, field

from seamark.config.states import State, TargetState

__all__ = ["ConnectorStatus", "State", "TargetState", "TaskStatus"]


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
