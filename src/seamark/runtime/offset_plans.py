"""Finds what a request for offsets would do, from what is in Kafka now. Changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from seamark.connector.positions import PositionLogs
from seamark.connector.sink import SinkConnector
from seamark.connector.source import SourceConnector
from seamark.errors import BadRequestError, ConnectError
from seamark.kafka.clients import effective_client_config
from seamark.runtime.offset_changes import OffsetChanges, checked_entries
from seamark.runtime.offset_effects import effects
from seamark.runtime.offset_requests import (
    OffsetMove,
    OffsetRequest,
    Row,
    moves_of_entries,
    moves_of_positions,
    moves_of_reset,
    refuse_positions,
)
from seamark.runtime.sink_positions import SinkPositions
from seamark.runtime.worker import Worker

log = logging.getLogger(__name__)

LOOK_S = 30.0
PREVIEW_S = 5.0


class OffsetPlans:
    """Plans changes for the connectors of a worker's cluster, wherever they run."""

    def __init__(self, worker: Worker, changes: OffsetChanges) -> None:
        self._worker, self._changes = worker, changes

    def plan(
        self, name: str, config: Mapping[str, str | None], request: OffsetRequest, now_ms: int
    ) -> tuple[list[Row], list[OffsetMove]]:
        """All present offsets of the connector, and where the request takes them.

        Raises:
            BadRequestError: it cannot be done, and why.
            ConnectError: offsets or logs could not be read.
        """
        current = self._changes.read(name, config)
        if request.is_reset:
            return current, moves_of_reset(current)
        if request.positions:
            with self.logs(name, config, current) as logs:
                if logs is None:
                    raise refuse_positions(name, str(config.get("connector.class")))
                return current, moves_of_positions(request, logs, current, now_ms)
        entries = checked_entries(name, self._worker.class_of(config), request.offsets)
        return current, moves_of_entries(entries, current)

    def is_sink(self, config: Mapping[str, str | None]) -> bool:
        """Whether a config is that of a sink."""
        return issubclass(self._worker.class_of(config), SinkConnector)

    def preview(
        self, name: str, config: Mapping[str, str | None], request: OffsetRequest, now_ms: int
    ) -> list[dict[str, Any]]:
        """Where the request would take each partition, and what that means for its records.

        Raises:
            BadRequestError: it cannot be done, and why.
            ConnectError: offsets or logs could not be read.
        """
        current, moves = self.plan(name, config, request, now_ms)
        try:
            with self.logs(name, config, current, PREVIEW_S) as logs:
                found = {} if logs is None else effects(moves, logs)
        except ConnectError as error:
            # The change itself needs no logs, if it is by offsets.
            log.warning("[%s] how many records a change is about cannot be told: %s", name, error)
            found = {}
        return [
            {**move.as_json(), **(found[number].as_json() if number in found else {})}
            for number, move in enumerate(moves)
        ]

    @contextmanager
    def logs(
        self, name: str, config: Mapping[str, str | None], current: Sequence[Row], timeout_s: float = LOOK_S
    ) -> Iterator[PositionLogs | None]:
        """The logs that a connector reads; None if it does not say. `current` has its offsets."""
        resolved = self._worker.resolved(name, config)
        connector = self._worker.connector_class(resolved)()
        if isinstance(connector, SinkConnector):
            consumer = effective_client_config(
                "consumer", self._worker.config.raw, resolved, connector_name=name, task=None
            )
            topics = {str(row["partition"]["kafka_topic"]) for row in current}
            with self._worker.admin_of(name, resolved) as admin:
                yield SinkPositions(admin, resolved, consumer, topics, timeout_s=timeout_s)
            return
        found = connector.positions(resolved) if isinstance(connector, SourceConnector) else None
        if found is None:
            yield None
            return
        with found:
            if timeout_s < LOOK_S:
                found.hurry(timeout_s)
            yield found


def require_moves(moves: Sequence[OffsetMove], name: str) -> Sequence[OffsetMove]:
    """The moves.

    Raises:
        BadRequestError: there are none.
    """
    if not moves:
        raise BadRequestError(f"Connector {name} has no offsets that could be changed.")
    return moves
