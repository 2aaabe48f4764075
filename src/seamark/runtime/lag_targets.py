"""Which connectors of a worker have a lag, and where they are: for `seamark.runtime.lags`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from seamark.config.states import TargetState
from seamark.connector.sink import SinkConnector, TopicPartition
from seamark.engine.stage import TaskProgress
from seamark.errors import ConnectError
from seamark.mirror.clients import client_config, uses_read_committed
from seamark.mirror.source import MirrorSourceConnector
from seamark.mirror.views import committed_positions
from seamark.runtime.lags import LagTarget
from seamark.runtime.runner import ConnectorRunner

if TYPE_CHECKING:
    from seamark.runtime.abstract_herder import AbstractHerder

log = logging.getLogger(__name__)


class LagTargets:
    """The sinks and mirrors that run on a worker."""

    def __init__(self, herder: AbstractHerder) -> None:
        self._herder = herder
        self._settings: dict[str, tuple[ConnectorRunner, tuple[Mapping[str, str], bool, str | None] | None]] = {}

    def __call__(self) -> Iterator[LagTarget]:
        """As they are now."""
        local = self._herder.local
        names = local.names()
        self._settings = {name: each for name, each in self._settings.items() if name in set(names)}
        for name in names:
            runner = local.runner(name)
            settings = None if runner is None else self._settings_of(name, runner)
            if runner is None or settings is None:
                continue
            client, is_committed, cluster = settings
            reported = _reported(cluster, runner.progress())
            yield LagTarget(name, client, is_committed, reported, runner.target is TargetState.STARTED, cluster)

    def read(self, target: LagTarget) -> dict[TopicPartition, int]:
        """The next offsets of a connector, where they are kept. Raises ConnectError."""
        rows = [(row["partition"], row["offset"]) for row in self._herder.connector_offsets(target.name)]
        if target.cluster is not None:
            return committed_positions(target.cluster, rows)
        return {
            TopicPartition(where["kafka_topic"], where["kafka_partition"]): offset["kafka_offset"]
            for where, offset in rows
            if offset is not None
        }

    def _settings_of(self, name: str, runner: ConnectorRunner) -> tuple[Mapping[str, str], bool, str | None] | None:
        """Kept for as long as the runner lives: working out a client's settings takes longer than all the rest."""
        known = self._settings.get(name)
        if known is None or known[0] is not runner:
            try:
                found = self._find_settings(name, runner.config)
            except ConnectError as error:
                log.debug("The lag of %s cannot be told: %s", name, error)
                found = None
            known = self._settings[name] = runner, found
        return known[1]

    def _find_settings(self, name: str, config: Mapping[str, str]) -> tuple[Mapping[str, str], bool, str | None] | None:
        kind = self._herder.worker.class_of(config)
        if issubclass(kind, MirrorSourceConnector):
            client = client_config(config, "source", "admin")
            client.pop("client.id", None)
            return client, uses_read_committed(config), config.get("source.cluster.alias", "")
        if issubclass(kind, SinkConnector):
            return self._herder.worker.admin_config(name, config), True, None
        return None


def _reported(cluster: str | None, progress: list[TaskProgress]) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    mirrored: list[tuple[Mapping[str, Any], Mapping[str, Any] | None]] = []
    for task in progress:
        for entry in list(task.positions):
            if "topic" in entry:
                found[TopicPartition(entry["topic"], entry["partition"])] = entry["offset"]
            elif cluster is not None:
                mirrored.append((entry["partition"], entry["offset"]))
    return {**found, **committed_positions(cluster, mirrored)} if cluster is not None else found
