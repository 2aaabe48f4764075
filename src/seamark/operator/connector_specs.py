"""What a connector shall be, as a resource says: name, configuration, state, restarts, ConfigMaps for its offsets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from seamark.operator import config_maps
from seamark.operator.kinds import Resource, name_of
from seamark.operator.offset_forms import MirrorFields

RUNNING, PAUSED, STOPPED = "running", "paused", "stopped"
FORBIDDEN: Final = frozenset({"name", "connector.class", "tasks.max", "connector.plugin.version"})
"""Keys of a `config` that the resource says elsewhere."""
_TASK: Final = re.compile("[0-9]{1,9}")
_LIVE: Final = {RUNNING: "RUNNING", PAUSED: "PAUSED", STOPPED: "STOPPED"}


@dataclass(frozen=True, slots=True)
class ConnectorSpec:
    """A connector as it shall be.

    Attributes:
        name: of the connector.
        config: complete, as Kafka Connect keeps it.
        state: ``running``, ``paused`` or ``stopped``.
        restarts: whether it is restarted when it has failed.
        most_restarts: how often; None for ever.
        key: of the entry with its offsets in a ConfigMap.
        list_to: the ConfigMap that its offsets are written to.
        alter_from: the ConfigMap that its offsets are read from.
        mirror: what is known of its offsets, for the connector of a mirror.
    """

    name: str
    config: Mapping[str, str]
    state: str = RUNNING
    restarts: bool = False
    most_restarts: int | None = None
    key: str = config_maps.CONNECTOR_KEY
    list_to: str | None = None
    alter_from: str | None = None
    mirror: MirrorFields | None = None

    @property
    def live_state(self) -> str:
        """As Kafka Connect calls it."""
        return _LIVE[self.state]


def kafka_connector(resource: Resource) -> ConnectorSpec:
    """The connector of a KafkaConnector."""
    spec = resource["spec"]
    config = {
        **texts(spec.get("config")),
        "name": name_of(resource),
        "connector.class": str(spec["class"]),
        **number_of_tasks(spec),
    }
    return ConnectorSpec(
        name_of(resource),
        config,
        state_of(spec),
        **restarts_of(spec),
        list_to=config_maps.target_name(spec),
        alter_from=config_maps.source_name(spec),
    )


def texts(config: Mapping[str, Any] | None) -> dict[str, str]:
    """A `config` as Kafka Connect keeps it: texts only, and nothing that is said elsewhere."""
    return {key: text_of(value) for key, value in (config or {}).items() if value is not None and key not in FORBIDDEN}


def text_of(value: Any) -> str:
    """A value of YAML as a text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(text_of(each) for each in value)
    return str(value)


def number_of_tasks(spec: Mapping[str, Any]) -> dict[str, str]:
    """`tasks.max` and the version of the plugin, if they are given."""
    given = {"tasks.max": spec.get("tasksMax"), "connector.plugin.version": spec.get("version")}
    return {key: str(value) for key, value in given.items() if value is not None}


def state_of(spec: Mapping[str, Any]) -> str:
    """The state that is wanted; the old `pause` counts if there is no `state`."""
    state = spec.get("state")
    if state in _LIVE:
        return str(state)
    return PAUSED if spec.get("pause") else RUNNING


def restarts_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `ConnectorSpec`."""
    given = spec.get("autoRestart") or {}
    return {"restarts": bool(given.get("enabled")), "most_restarts": given.get("maxRestarts")}


@dataclass(frozen=True, slots=True)
class Restart:
    """A restart that an annotation asks for."""

    include_tasks: bool = False
    only_failed: bool = False


def restart_of(value: str) -> Restart | None:
    """What ``true``, ``includeTasks`` or ``includeTasks,onlyFailed`` ask for; None if it is not understood."""
    words = [word.strip() for word in value.split(",")]
    if words == ["true"]:
        return Restart()
    if not set(words) <= {"includeTasks", "onlyFailed"}:
        return None
    return Restart("includeTasks" in words, "onlyFailed" in words)


def mirror_restart(value: str) -> tuple[str, Restart] | None:
    """What ``NAME`` or ``NAME:includeTasks,onlyFailed`` ask for; None if it is not understood."""
    name, colon, words = value.partition(":")
    if not name:
        return None
    if not colon:
        return name, Restart()
    restart = restart_of(words) if words != "true" else None
    return None if restart is None else (name, restart)


def task_restart(value: str) -> tuple[str, int] | None:
    """What ``NAME:ID`` asks for; None if it is not understood."""
    name, _, task = value.rpartition(":")
    return (name, int(task)) if name and _TASK.fullmatch(task) else None
