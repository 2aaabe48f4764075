"""What a Spark task is told to run.

Plain values that travel as JSON in the task's closure, never as a pickle of our classes. On a cluster the task may find
another version of Seamark than its worker has: that of an archive that was packed before an upgrade.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from seamark.engine.lease_client import LeaseTicket
from seamark.errors import ConnectError, NewerFormatError
from seamark.formats import VERSION, check_version

SPEC_VERSION: Final = 1


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
        return json.dumps({VERSION: SPEC_VERSION, **asdict(self)})

    @staticmethod
    def from_json(text: str) -> TaskSpec:
        """The spec from its text.

        Raises:
            ConnectError: a newer worker has made it; each of its fields counts, so none is left out.
        """
        values = json.loads(text)
        try:
            check_version(values, SPEC_VERSION, "A task")
            values.pop(VERSION, None)
            values["lease"] = LeaseTicket(**values["lease"])
            values["assignment"] = tuple((topic, number, offset) for topic, number, offset in values["assignment"])
            return TaskSpec(**values)
        except (NewerFormatError, TypeError) as error:
            raise ConnectError(
                f"The Seamark of this executor is older than that of the worker ({error}). Pack it anew with `seamark "
                "pack`, or install the worker's version on the machines of Spark's cluster."
            ) from error
