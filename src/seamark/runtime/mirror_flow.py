"""A flow of a mirror maker: a worker on the target cluster whose leader keeps the flow's connectors configured.

As in MirrorMaker 2, whoever leads writes the configs of the connectors when it begins to lead, and only those that
differ: so a rolling restart with a changed file changes them, and nothing else does.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from seamark.errors import ConnectError, NotFoundError
from seamark.runtime.distributed import DistributedHerder

log = logging.getLogger(__name__)

LOOK_S = 0.5


class FlowConnectors:
    """Keeps the connectors of a flow configured while this worker leads."""

    def __init__(self, flow: str, herder: DistributedHerder, configs: Mapping[str, Mapping[str, str]]) -> None:
        """`configs` by connector name."""
        self._flow, self._herder = flow, herder
        self._configs = {name: dict(config) for name, config in configs.items()}
        self._stopping = threading.Event()
        self._is_configured = False
        self.problem: str | None = None
        """Why the connectors are not configured yet."""
        self._thread = threading.Thread(target=self._run, name=f"flow-{flow}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; the connectors stay configured."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_S):
            if not self._herder.is_leader:
                self._is_configured = False
            elif not self._is_configured:
                try:
                    self._configure()
                    self._is_configured, self.problem = True, None
                except ConnectError as error:
                    # It has lost the lead, or Kafka is away: it or its successor does it later.
                    if str(error) != self.problem:
                        log.warning("[%s] the connectors cannot be configured yet: %s", self._flow, error)
                    self.problem = str(error)

    def _configure(self) -> None:
        for name, wanted in self._configs.items():
            try:
                stored: Mapping[str, str | None] | None = self._herder.connector_config(name)
            except NotFoundError:
                stored = None
            if stored != wanted:
                log.info("[%s] configuring %s", self._flow, name)
                self._herder.put_connector_config(name, wanted, None, allow_replace=True)
