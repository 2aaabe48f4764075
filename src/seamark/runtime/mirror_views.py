"""The mirrors of a worker's cluster, for `/mirrors` and metrics. Any worker can tell, wherever the connectors run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from seamark.connector.connector import Connector
from seamark.errors import ConnectError, NotFoundError
from seamark.mirror.checkpoint import MirrorCheckpointConnector
from seamark.mirror.group_moves import commit_moves, find_moves
from seamark.mirror.source import MirrorSourceConnector
from seamark.mirror.views import FlowView, look
from seamark.runtime.herder import ConnectorStateInfo, Herder, StateInfo

log = logging.getLogger(__name__)

AT_A_TIME: Final = 8


def mirrors(herder: Herder) -> list[dict[str, Any]]:
    """A row for each MirrorSourceConnector: `GET /mirrors`."""
    return [view.summary() for view in flow_views(herder, mirror_names(herder))]


def mirror(herder: Herder, name: str) -> dict[str, Any]:
    """All about one: `GET /mirrors/{connector}`.

    Raises:
        NotFoundError: there is no such connector, or it is not a MirrorSourceConnector.
    """
    _require_mirror(herder, name)
    return _view(herder, name, is_detailed=True).detail()


def mirror_groups(herder: Herder, name: str) -> dict[str, Any]:
    """Where groups of the source would go on at the target: `GET /mirrors/{connector}/groups`.

    Raises:
        NotFoundError: there is no such connector, or it is not a MirrorSourceConnector.
        KafkaError: the target cluster did not answer.
    """
    moves = find_moves(_flow_config(herder, name))
    return {"groups": [move.as_json() for move in moves.groups], "error": moves.error}


def sync_mirror_groups(herder: Herder, name: str) -> dict[str, Any]:
    """Commit that for groups without members on the target: `POST /mirrors/{connector}/groups/sync`.

    Raises:
        NotFoundError: there is no such connector, or it is not a MirrorSourceConnector.
        KafkaError: the target cluster did not answer.
    """
    config = _flow_config(herder, name)
    moves = find_moves(config)
    done = commit_moves(config, moves)
    rows = []
    for move in moves.groups:
        committed = done.get(move.group, {})
        if committed:
            outcome = "synced"
        elif not move.is_idle:
            outcome = "in use on the target"
        else:
            outcome = "failed" if move.to_commit() else "up to date"
        rows.append(
            {
                "group": move.group,
                "outcome": outcome,
                "partitions": [
                    {"remote_topic": where.topic, "partition": where.partition, "committed": each.offset}
                    for where, each in sorted(committed.items())
                ],
            }
        )
    return {"groups": rows, "error": moves.error}


def mirror_names(herder: Herder, names: Iterable[str] | None = None) -> list[str]:
    """The MirrorSourceConnectors, in order; of these names, or of all connectors."""
    return connectors_of(herder, MirrorSourceConnector, herder.connectors() if names is None else names)


def connectors_of(herder: Herder, kind: type[Connector], names: Iterable[str]) -> list[str]:
    """Those of the connectors that are of a kind, in order."""
    return sorted(name for name in names if _is_a(herder, name, kind))


def flow_views(herder: Herder, names: Iterable[str]) -> list[FlowView]:
    """How far these connectors are, in order; those that were deleted meanwhile are left out."""
    listed = list(names)

    def view(name: str) -> FlowView | None:
        try:
            return _view(herder, name, is_detailed=False)
        except NotFoundError:
            return None

    if not listed:
        return []
    with ThreadPoolExecutor(min(AT_A_TIME, len(listed)), "mirrors") as pool:
        return [found for found in pool.map(view, listed) if found is not None]


def _view(herder: Herder, name: str, *, is_detailed: bool) -> FlowView:
    shown = herder.connector_config(name)
    try:
        status = herder.connector_status(name)
    except NotFoundError:  # it has only just been created
        status = ConnectorStateInfo(name, StateInfo("UNASSIGNED", ""), (), "source")
    state, tasks = status.connector.state, Counter(task.state for task in status.tasks)
    try:
        config = herder.resolved_config(name)
        offsets = [(row["partition"], row["offset"]) for row in herder.connector_offsets(name)]
    except NotFoundError:
        raise
    except ConnectError as error:
        source, target = shown.get("source.cluster.alias") or "", shown.get("target.cluster.alias") or "target"
        return FlowView(name, state, source, target, tasks, error=error.message)
    return look(config, offsets, connector=name, state=state, tasks=tasks, is_detailed=is_detailed)


def _flow_config(herder: Herder, name: str) -> dict[str, str]:
    """The config of the flow's checkpoint connector, whose filter of groups counts; else that of the connector."""
    _require_mirror(herder, name)
    own = herder.resolved_config(name)
    for other in herder.connectors():
        if _is_a(herder, other, MirrorCheckpointConnector):
            config = herder.resolved_config(other)
            if _flow(config) == _flow(own):
                return config
    return own


def _flow(config: dict[str, str]) -> tuple[str, str]:
    return config.get("source.cluster.alias", ""), config.get("target.cluster.alias", "target")


def _require_mirror(herder: Herder, name: str) -> None:
    herder.connector_config(name)  # raises if there is none
    if not _is_a(herder, name, MirrorSourceConnector):
        known = ", ".join(mirror_names(herder)) or "none"
        raise NotFoundError(f"Connector {name} is not a MirrorSourceConnector; those that are: {known}")


def _is_a(herder: Herder, name: str, wanted: type[Connector]) -> bool:
    try:
        found = herder.connector_class(name)
    except ConnectError as error:  # deleted meanwhile, or its class cannot be loaded here
        log.debug("[%s] is taken for no mirror: %s", name, error)
        return False
    return found is not None and issubclass(found, wanted)
