"""Steps of a change of offsets: QUEUED -> STOPPING -> CHANGING -> RESUMING -> DONE.

Each step can be taken again by another worker after a crash: what CHANGING writes is written down before, as exact
offsets, so that it is the same when it is done twice.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from seamark.config.states import TargetState
from seamark.connector.offsets import SourcePartition
from seamark.errors import BadRequestError, ConnectError
from seamark.runtime.offset_requests import OffsetMove, OffsetRequest, Row, key_of
from seamark.runtime.operation_context import (
    CHANGING,
    QUEUED,
    RESUMING,
    STOPPING,
    AbandonedError,
    OperationContext,
    pairs,
)
from seamark.runtime.request_bodies import parse_request
from seamark.storage.operation_records import DONE, FAILED, ROLLED_BACK, OperationRecord

log = logging.getLogger(__name__)


class ChangeSteps:
    """Carries out changes of offsets, from whatever step they have reached."""

    def __init__(self, context: OperationContext) -> None:
        self._context = context

    def run(self, record: OperationRecord) -> OperationRecord:
        """Go on until it is finished."""
        context = self._context
        if record.phase == QUEUED:
            record = context.stop(record)
        if record.phase == STOPPING:
            record = self._plan(record)
        if record.phase == CHANGING:
            record = self._change(record)
        if record.phase == RESUMING:
            context.restore(record)
            record = context.done(record, record.message)
        return record

    def _plan(self, record: OperationRecord) -> OperationRecord:
        context = self._context
        try:
            context.await_stopped(record)
            request = parse_request(record.request)
            config = context.host.connector_config(record.connector)
            _, moves = context.plans.plan(record.connector, config, request, record.created_ms)
        except AbandonedError:
            raise
        except ConnectError as error:
            context.require_hold()
            return context.roll_back(record, error, lambda: None)
        before, after = before_and_after(moves)
        return context.advance(record, CHANGING, before=before, after=after)

    def _change(self, record: OperationRecord) -> OperationRecord:
        context, name = self._context, record.connector
        if context.host.target_state(name) is not TargetState.STOPPED:
            return self._interrupted(record)
        try:
            message = context.host.modify_offsets(name, lambda config: self._apply(record, config))
        except AbandonedError:
            raise
        except ConnectError as error:
            context.require_hold()
            log.warning("[%s] operation %s: its offsets cannot be changed: %s", name, record.id, error.message)
            return context.roll_back(record, error, lambda: self._undo(record))
        return context.advance(record, RESUMING, message=message)

    def _apply(self, record: OperationRecord, config: Mapping[str, str | None]) -> str:
        changes = self._context.changes
        if record.request.get("reset"):
            return changes.reset(record.connector, config)
        entries = pairs(record.after or ())
        if not entries:
            return "There was nothing to change"
        return changes.alter(record.connector, config, entries)

    def _undo(self, record: OperationRecord) -> None:
        """Make offsets what they were, if a failure has changed some of them."""
        context, name = self._context, record.connector
        before = list(record.before or ())
        if not differing(context.changes.read(name, context.host.connector_config(name)), before):
            return
        context.host.modify_offsets(name, lambda config: context.changes.alter(name, config, pairs(before)))

    def _interrupted(self, record: OperationRecord) -> OperationRecord:
        """Somebody has started the connector while no worker was there to go on: its offsets are its own now."""
        context = self._context
        state = context.host.target_state(record.connector)
        if state is None:
            return context.advance(record, FAILED, error=f"Connector {record.connector} was deleted meanwhile.")
        return context.advance(
            record,
            FAILED,
            error=f"Connector {record.connector} was set to {state.value} by another request while its offsets were "
            "being changed; they are left as they are now. Look at them, and ask again if they are not what is wanted.",
        )

    def settle(self, record: OperationRecord) -> OperationRecord:
        """Find out how a change without steps of its own, which a crash interrupted, has ended."""
        context, name = self._context, record.connector
        if context.host.target_state(name) is None:
            return context.advance(record, FAILED, error=f"Connector {name} was deleted meanwhile.")
        current = context.changes.read(name, context.host.connector_config(name))
        if not differing(current, record.after or ()):
            return context.advance(record, DONE, message="The worker ended before it could answer; the change is made.")
        if not differing(current, record.before or ()):
            error = "The worker ended before it had changed anything."
            return context.advance(record, ROLLED_BACK, error=error)
        error = "The worker ended while offsets were being changed; some may be changed, others not. Ask again."
        return context.advance(record, FAILED, error=error)


def before_and_after(moves: Sequence[OffsetMove]) -> tuple[list[Row], list[Row]]:
    """The offsets that a plan changes, as they are and as they shall be."""
    before = [_row(move.partition, move.before) for move in moves]
    return before, [_row(move.partition, move.after) for move in moves]


def differing(current: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of the wanted offsets that are not so."""
    known = {key_of(row["partition"]): row["offset"] for row in current}
    return [row for row in wanted if known.get(key_of(row["partition"])) != row["offset"]]


def undo_request(history: Sequence[OperationRecord], entry: str | None) -> tuple[OperationRecord, OffsetRequest]:
    """What takes a connector back to where it was before an entry of its history; by default the last one.

    Raises:
        BadRequestError: there is no such entry, or it changed nothing; lists those that can be undone.
    """
    undoable = [record for record in history if record.phase == DONE and record.before is not None and record.after]
    chosen = (
        next((record for record in undoable if record.id == entry), None) if entry else next(reversed(undoable), None)
    )
    if chosen is None:
        ids = ", ".join(record.id for record in undoable[-10:]) or "none"
        what = "There is no change that could be undone." if entry is None else f"There is no change {entry!r} to undo."
        raise BadRequestError(f"{what} Changes that can be undone: {ids}.")
    back: dict[SourcePartition, tuple[Any, Any]] = {}
    for record in undoable[undoable.index(chosen) :]:
        for row in record.before or ():
            back.setdefault(key_of(row["partition"]), (row["partition"], row["offset"]))
    return chosen, OffsetRequest(offsets=tuple(back.values()))


def _row(partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> Row:
    return {"partition": dict(partition), "offset": None if offset is None else dict(offset)}
