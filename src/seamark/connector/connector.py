"""What source and sink connectors have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from seamark.config.configdef import ConfigDef, ConfigValue


class ConnectorContext:
    """A connector's way to talk to the runtime. One is set as `Connector.context` before `start`."""

    def __init__(
        self,
        name: str,
        request_task_reconfiguration: Callable[[], None],
        raise_error: Callable[[BaseException], None],
    ) -> None:
        self.name = name
        self._request_task_reconfiguration = request_task_reconfiguration
        self._raise_error = raise_error

    def request_task_reconfiguration(self) -> None:
        """Ask the runtime to call `task_configs` again: what there is to read has changed."""
        self._request_task_reconfiguration()

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
