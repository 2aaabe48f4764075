"""Steps of a connector that is created with offsets, or deleted with them.

A new one: CREATING (stopped) -> CHANGING -> STARTING -> DONE; if its offsets are refused it is deleted again.
An old one: QUEUED -> STOPPING -> CHANGING (reset) -> DELETING -> DONE; if that is refused it gets its state back.
"""

from __future__ import annotations

from seamark.config.states import TargetState
from seamark.errors import ConnectError, NotFoundError
from seamark.runtime.change_steps import before_and_after
from seamark.runtime.operation_context import (
    CHANGING,
    CREATING,
    DELETING,
    QUEUED,
    STARTING,
    STOP_TIMEOUT_S,
    STOPPING,
    AbandonedError,
    OperationContext,
    failed_with,
    pairs,
)
from seamark.runtime.request_bodies import parse_request
from seamark.storage.operation_records import FAILED, ROLLED_BACK, OperationRecord


class CreateSteps:
    """Creates connectors with offsets."""

    def __init__(self, context: OperationContext) -> None:
        self._context = context

    def run(self, record: OperationRecord) -> OperationRecord:
        """Go on until it is finished."""
        context, host, name = self._context, self._context.host, record.connector
        try:
            if record.phase == CREATING:
                if name not in host.connectors():
                    config = record.details["config"]
                    host.put_connector_config(name, config, TargetState.STOPPED, allow_replace=False)
                host.await_stopped(name, STOP_TIMEOUT_S)
                request = parse_request(record.request)
                _, moves = context.plans.plan(name, host.connector_config(name), request, record.created_ms)
                before, after = before_and_after(moves)
                record = context.advance(record, CHANGING, before=before, after=after)
            if record.phase == CHANGING:
                host.await_stopped(name, STOP_TIMEOUT_S)
                entries = pairs(record.after or ())
                message = host.modify_offsets(name, lambda config: context.changes.alter(name, config, entries))
                record = context.advance(record, STARTING, message=message)
        except AbandonedError:
            raise
        except ConnectError as error:
            context.require_hold()
            return self._take_back(record, error)
        if record.phase == STARTING:
            context.restore(record)
            record = context.done(record, record.message)
        return record

    def _take_back(self, record: OperationRecord, error: ConnectError) -> OperationRecord:
        context, record = self._context, failed_with(record, error)
        try:
            context.host.delete_connector(record.connector)
        except NotFoundError:
            pass
        except ConnectError as further:
            text = f"{error.message} Connector {record.connector} is left STOPPED: {further.message}"
            return context.advance(record, FAILED, error=text)
        return context.advance(record, ROLLED_BACK, error=error.message, message="The connector is not created.")


class DeleteSteps:
    """Deletes connectors with their offsets."""

    def __init__(self, context: OperationContext) -> None:
        self._context = context

    def run(self, record: OperationRecord) -> OperationRecord:
        """Go on until it is finished."""
        context, host, name = self._context, self._context.host, record.connector
        try:
            if record.phase == QUEUED:
                record = context.stop(record)
            if record.phase == STOPPING:
                context.await_stopped(record)
                before = context.changes.read(name, host.connector_config(name))
                after = [{"partition": row["partition"], "offset": None} for row in before]
                record = context.advance(record, CHANGING, before=before, after=after)
            if record.phase == CHANGING:
                message = host.modify_offsets(name, lambda config: context.changes.reset(name, config))
                record = context.advance(record, DELETING, message=message)
        except AbandonedError:
            raise
        except NotFoundError:
            return context.done(record, "The connector was deleted meanwhile.")
        except ConnectError as error:
            context.require_hold()
            return context.roll_back(record, error, lambda: None)
        if record.phase == DELETING:
            try:
                host.delete_connector(name)
            except NotFoundError:
                pass
            record = context.done(record, f"{record.message} The connector is deleted.")
        return record
