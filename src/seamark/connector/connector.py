"""What source and sink connectors have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from seamark.config.configdef import ConfigDef, ConfigValue
from seamark.connector.offsets import Offsets, SourceOffset, SourcePartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ConnectorMemory(Protocol):
    """What outlives a source connector: its offsets, and notes of its own that nobody else is shown.

    For the connector, not for its tasks. Offsets may be moved only before there are tasks: in `Connector.start`.
    """

    def offsets(self) -> Offsets:
        """The source offsets that are committed."""

    def move(self, offsets: Mapping[SourcePartition, SourceOffset | None]) -> None:
        """Change some of them; None resets one."""

    def notes(self) -> dict[str, SourceOffset]:
        """The notes that were written, by name."""

    def write_notes(self, notes: Mapping[str, SourceOffset | None]) -> None:
        """Write some; None removes one. Values are maps of primitives, as offsets are."""


class ConnectorContext:
    """A connector's way to talk to the runtime. One is set as `Connector.context` before `start`, and for source
    connectors also before `alter_offsets`.
    """

    def __init__(
        self,
        name: str,
        request_task_reconfiguration: Callable[[], None],
        raise_error: Callable[[BaseException], None],
        memory: ConnectorMemory | None = None,
        request_restart: Callable[[], None] = lambda: None,
        spark: Callable[[], SparkSession] | None = None,
    ) -> None:
        self.name = name
        self.memory = memory
        self.spark = spark
        """The worker's Spark session, to look at a source with; started first if the worker has given it back."""
        self._request_restart = request_restart
        self._request_task_reconfiguration = request_task_reconfiguration
        self._raise_error = raise_error

    def request_task_reconfiguration(self) -> None:
        """Ask the runtime to call `task_configs` again: what there is to read has changed."""
        self._request_task_reconfiguration()

    def request_restart(self) -> None:
        """Ask the runtime to start the connector and its tasks anew: what it found when it started is not so any more.

        Returns at once; `Connector.stop` is called later, from another thread.
        """
        self._request_restart()

    def raise_error(self, error: BaseException) -> None:
        """Fail the connector from a thread of its own."""
        self._raise_error(error)


class Connector(ABC):
    """Plans the work; lives in the worker (the Spark driver). The work itself is done by tasks on executors.

    Only `task_class` and `task_configs` are required. `start` may be called again after `stop`, on a fresh instance.
    """

    version: ClassVar[str] = "unknown"
    context: ConnectorContext
    task_class: ClassVar[type[Any]]

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The keys this connector understands; feeds validation, the reference pages and forms."""
        return ConfigDef()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """Check a config against `config_def`; override to add checks that span several keys."""
        return self.config_def().validate(config)

    def start(self, config: Mapping[str, str]) -> None:  # noqa: B027 - optional
        """Prepare planning with this config. Raise to fail the connector."""

    def stop(self) -> None:  # noqa: B027 - optional
        """Release what `start` acquired. Not called for a worker that is killed."""

    @abstractmethod
    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """One config per task, at most `max_tasks` of them; task *i* runs as Spark partition *i*."""
