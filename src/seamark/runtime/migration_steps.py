"""Steps of a migration: a connector gets a new name, or moves to another worker, with its offsets.

QUEUED -> STOPPING -> CREATING -> CHANGING -> STARTING -> DELETING -> DONE. It is KIP-980's recipe: the new connector is
created STOPPED, gets the offsets of the old one, which is stopped and so does not move any more, and is started. Up to
CHANGING all can be taken back: the new connector is deleted and the old one gets its state back. From STARTING on there
is no way back, since the new one may have moved; then all that is left is to go on, again and again.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from seamark.client import ClientError, ConnectClient, ConnectorOffset, NotFound, Settings
from seamark.client.exchange import shown_url
from seamark.config.states import TargetState
from seamark.errors import BadRequestError, ConnectError, NotFoundError
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
    pairs,
)
from seamark.storage.operation_records import FAILED, OperationRecord

log = logging.getLogger(__name__)

Step = Callable[[OperationRecord], OperationRecord]


class Destination(Protocol):
    """Where the new connector is made. All raise ConnectError."""

    def config(self, name: str) -> dict[str, str | None] | None:
        """Of a connector, None if there is none."""

    def create(self, name: str, config: Mapping[str, str | None]) -> None:
        """Create it STOPPED."""

    def alter(self, name: str, offsets: list[Any]) -> None:
        """Give the stopped connector its offsets."""

    def start(self, name: str, target: TargetState) -> None:
        """Start or pause it, or leave it stopped."""

    def delete(self, name: str) -> None:
        """Delete it; no error if it is gone."""


class Here(Destination):
    """The cluster that the old connector is in."""

    def __init__(self, context: OperationContext) -> None:
        self._context, self._host = context, context.host

    def config(self, name: str) -> dict[str, str | None] | None:
        try:
            return self._host.connector_config(name)
        except NotFoundError:
            return None

    def create(self, name: str, config: Mapping[str, str | None]) -> None:
        self._host.put_connector_config(name, config, TargetState.STOPPED, allow_replace=False)

    def alter(self, name: str, offsets: list[Any]) -> None:
        self._host.await_stopped(name, STOP_TIMEOUT_S)
        self._host.modify_offsets(name, lambda config: self._context.changes.alter(name, config, offsets))

    def start(self, name: str, target: TargetState) -> None:
        if self._host.target_state(name) is not target:
            self._host.set_target_state(name, target)

    def delete(self, name: str) -> None:
        try:
            self._host.delete_connector(name)
        except NotFoundError:
            return


class Elsewhere(Destination):
    """Another worker, Seamark or Java."""

    def __init__(self, url: str, tls: ssl.SSLContext | None = None) -> None:
        self.url, self._tls = url, tls

    def config(self, name: str) -> dict[str, str | None] | None:
        with _told(self.url, self._tls) as client:
            try:
                return client.config(name)
            except NotFound:
                return None

    def create(self, name: str, config: Mapping[str, str | None]) -> None:
        with _told(self.url, self._tls) as client:
            client.create(name, config, "STOPPED")

    def alter(self, name: str, offsets: list[Any]) -> None:
        with _told(self.url, self._tls) as client:
            client.await_state(name, "STOPPED", STOP_TIMEOUT_S)
            client.alter_offsets(name, [ConnectorOffset(partition, offset) for partition, offset in offsets])

    def start(self, name: str, target: TargetState) -> None:
        with _told(self.url, self._tls) as client:
            if target is TargetState.STARTED:
                client.resume(name)
            elif target is TargetState.PAUSED:
                client.pause(name)

    def delete(self, name: str) -> None:
        with _told(self.url, self._tls) as client:
            try:
                client.delete(name)
            except NotFound:
                return

    def kafka_cluster_id(self) -> str:
        """Of the other worker's Kafka."""
        with _told(self.url, self._tls) as client:
            return client.server_info().kafka_cluster_id


@contextmanager
def _told(url: str, tls: ssl.SSLContext | None) -> Iterator[ConnectClient]:
    """A client whose errors say which worker they come from."""
    try:
        with ConnectClient(Settings(url, verify=tls or True)) as client:
            yield client
    except ClientError as error:
        raise ConnectError(f"The worker at {shown_url(url)} says: {error}") from error


class MigrationSteps:
    """Carries out migrations, from whatever step they have reached."""

    def __init__(self, context: OperationContext) -> None:
        self._context = context

    def run(self, record: OperationRecord) -> OperationRecord:
        """Go on until it is finished."""
        context = self._context
        if record.phase == QUEUED:
            record = context.stop(record)
        if record.phase == STOPPING:
            record = self._step(record, self._read_offsets)
        if record.phase == CREATING:
            record = self._step(record, self._create)
        if record.phase == CHANGING:
            record = self._step(record, self._copy_offsets)
        if record.phase == STARTING:
            record = self._go_on(record, self._start)
        if record.phase == DELETING:
            record = self._go_on(record, self._delete)
        return record

    def _destination(self, record: OperationRecord) -> Destination:
        url = record.details.get("url")
        return Elsewhere(str(url), self._context.tls) if url else Here(self._context)

    def _step(self, record: OperationRecord, work: Step) -> OperationRecord:
        """A step that can be taken back."""
        context = self._context
        try:
            return work(record)
        except AbandonedError:
            raise
        except ConnectError as error:
            context.require_hold()
            log.warning("[%s] migration %s fails and is taken back: %s", record.connector, record.id, error.message)
            return context.roll_back(record, error, lambda: self._remove_new(record))

    def _go_on(self, record: OperationRecord, work: Step) -> OperationRecord:
        context = self._context
        try:
            return work(record)
        except AbandonedError:
            raise
        except ConnectError as error:
            context.require_hold()
            new, old = record.details["name"], record.connector
            what = "started" if record.phase == STARTING else f"started, but the old one, {old}, not deleted"
            return context.advance(
                record,
                FAILED,
                error=f"Connector {new} has its offsets and could not be {what}: {error.message} Connector {old} is "
                f"left stopped: do not resume it, or records are copied twice.",
            )

    def _read_offsets(self, record: OperationRecord) -> OperationRecord:
        context, name = self._context, record.connector
        context.await_stopped(record)
        offsets = context.changes.read(name, context.host.connector_config(name))
        return context.advance(record, CREATING, before=offsets, after=offsets)

    def _create(self, record: OperationRecord) -> OperationRecord:
        context, name = self._context, str(record.details["name"])
        destination, config = self._destination(record), dict(record.details["config"])
        found = destination.config(name)
        if found is None:
            destination.create(name, config)
        elif record.details.get("is_created") is None and {**found, "name": name} != {**config, "name": name}:
            # One that is equal is the one that a worker created before it died.
            raise BadRequestError(f"Connector {name} already exists.")
        return context.advance(record, CHANGING, details={**record.details, "is_created": True})

    def _copy_offsets(self, record: OperationRecord) -> OperationRecord:
        offsets = pairs(record.after or ())
        if offsets:
            self._destination(record).alter(str(record.details["name"]), offsets)
        return self._context.advance(record, STARTING)

    def _start(self, record: OperationRecord) -> OperationRecord:
        former = TargetState(record.former_state or TargetState.STARTED.value)
        self._destination(record).start(str(record.details["name"]), former)
        return self._context.advance(record, DELETING)

    def _delete(self, record: OperationRecord) -> OperationRecord:
        context, name = self._context, record.connector
        new = record.details["name"]
        if record.details.get("keep"):
            return context.done(record, f"Connector {new} goes on where {name} was stopped; {name} is left STOPPED.")
        Here(context).delete(name)
        return context.done(record, f"Connector {new} goes on where {name} was; {name} is deleted.")

    def _remove_new(self, record: OperationRecord) -> None:
        if record.phase == CHANGING or record.details.get("is_created"):
            self._destination(record).delete(str(record.details["name"]))
        elif record.phase == CREATING:
            # It may have been created by the request that failed; only ours is stopped and has this config.
            destination, name = self._destination(record), str(record.details["name"])
            try:
                found = destination.config(name)
            except ConnectError:
                return
            if found is not None and {**found, "name": name} == {**record.details["config"], "name": name}:
                destination.delete(name)
