"""What is wanted of a connector, and what a connector or task is: two different words, as in Kafka Connect."""

from __future__ import annotations

from enum import Enum


class TargetState(Enum):
    """What is wanted; `value` is the name in the config topic."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class State(Enum):
    """What a connector or task is; `value` is the name in the status topic."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
