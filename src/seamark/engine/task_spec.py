"""What a Spark task is told to run.

Plain values that travel as JSON in the task's closure, never as a pickle of our classes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from seamark.engine.lease_client import LeaseTicket


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task of one epoch."""

    kind: str
    """``source`` or ``sink``."""
    connector: str
    task: int
    task_class: str
    plugin_path: str | None
    lease: LeaseTicket
    worker: Mapping[str, str]
    config: Mapping[str, str]
    """The connector's config: converters, transforms, client overrides."""
    task_config: Mapping[str, str]
    exactly_once: bool = False
    transactional_id: str | None = None
    offsets_topic: str | None = None
    """With exactly-once: where the task's own transactions put source offsets."""
    has_secondary: bool = False
    """With exactly-once: whether offsets go to the worker's topic as well."""
    assignment: tuple[tuple[str, int, int], ...] = field(default=())
    """For sinks: topic, partition and the offset to start at; -1 means by `auto.offset.reset`."""

    def to_json(self) -> str:
        """The spec as text."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> TaskSpec:
        """The spec from its text."""
        values = json.loads(text)
        values["lease"] = LeaseTicket(**values["lease"])
        values["assignment"] = tuple((topic, partition, offset) for topic, partition, offset in values["assignment"])
        return TaskSpec(**values)
