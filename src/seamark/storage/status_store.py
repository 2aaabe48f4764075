"""What connectors and tasks are, who runs them, and which topics they use.

`KafkaStatusStore` keeps it in the status topic, `MemoryStatusStore` in memory for a standalone worker.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from seamark.config.states import State


@dataclass(frozen=True, slots=True)
class ConnectorStatusRow:
    """What a connector is."""

    name: str
    state: State
    worker_id: str
    """The worker that says so, as ``host:port`` of its REST API."""
    generation: int
    """Of the group of workers when it was said."""
    trace: str | None = None
    """Why it failed."""
    version: str | None = None
    """Of the plugin; None while UNASSIGNED or RESTARTING."""


@dataclass(frozen=True, slots=True)
class TaskStatusRow:
    """What a task is."""

    name: str
    """Of the connector."""
    task: int
    state: State
    worker_id: str
    generation: int
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class TopicStatusRow:
    """A topic that a connector uses."""

    topic: str
    connector: str
    task: int
    """The first task that was seen to use it."""
    discover_timestamp: int
    """When, in milliseconds since the epoch."""


class StatusStore(ABC):
    """Statuses by connector and task.

    Writes return at once and are repeated until the broker has them, or a later one for the same row has replaced
    them. What is read is what came back from the topic; after `flush` that includes every write before it. May be used
    from any thread.
    """

    @abstractmethod
    def start(self) -> None:
        """Read everything that is known.

        Raises:
            ConfigError: the status topic cannot serve, for instance since it is not compacted.
            KafkaError: the broker refused, or did not answer in time.
        """

    @abstractmethod
    def stop(self) -> None:
        """Let go of the broker; writes that it does not have yet get a moment and are then dropped."""

    @abstractmethod
    def flush(self, timeout_s: float) -> None:
        """Wait until everything written before has arrived and can be read here.

        Raises:
            KafkaTimeoutError: not in time.
        """

    # --- writing --------------------------------------------------------------------------------------------------

    @abstractmethod
    def put_connector(self, row: ConnectorStatusRow) -> None:
        """Write what a connector is."""

    @abstractmethod
    def put_connector_safe(self, row: ConnectorStatusRow) -> None:
        """Write what a connector is, unless another worker of a later generation has said something else.

        For FAILED and UNASSIGNED, which a worker may say of what it no longer owns.
        """

    @abstractmethod
    def put_task(self, row: TaskStatusRow) -> None:
        """Write what a task is."""

    @abstractmethod
    def put_task_safe(self, row: TaskStatusRow) -> None:
        """Write what a task is, unless another worker of a later generation has said something else."""

    @abstractmethod
    def delete_connector(self, name: str) -> None:
        """Delete a connector's row and those of its tasks that are known; its topics stay."""

    @abstractmethod
    def delete_task(self, name: str, task: int) -> None:
        """Delete a task's row, even if none is known."""

    @abstractmethod
    def put_topic(self, topic: str, connector: str, task: int) -> None:
        """Note that a connector uses a topic; does nothing when that is known, so it may be called for every batch."""

    @abstractmethod
    def delete_topics(self, connector: str) -> None:
        """Forget the topics that a connector has used."""

    # --- reading --------------------------------------------------------------------------------------------------

    @abstractmethod
    def get_connector(self, name: str) -> ConnectorStatusRow | None:
        """What a connector is, if known."""

    @abstractmethod
    def get_task(self, name: str, task: int) -> TaskStatusRow | None:
        """What a task is, if known."""

    @abstractmethod
    def get_tasks(self, name: str) -> list[TaskStatusRow]:
        """What all known tasks of a connector are, by number; may hold tasks that the connector no longer has."""

    @abstractmethod
    def get_topics(self, connector: str) -> list[TopicStatusRow]:
        """The topics that a connector is known to have used since it was created or they were reset, by name."""

    @abstractmethod
    def connectors(self) -> set[str]:
        """Names of all connectors with a row."""
