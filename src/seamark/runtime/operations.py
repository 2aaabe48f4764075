"""Operations on offsets: previews, changes in one step, history and undo, migrations. Additions to KIP-875.

Every operation is written down before each of its steps (`seamark.storage.operation_store`). The worker that leads
carries them out, one after the other for each connector; whoever leads after it goes on with what is not finished.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

from seamark.config.states import TargetState
from seamark.engine.tracing import span
from seamark.errors import AlreadyExistsError, BadRequestError, ConnectError, NotFoundError
from seamark.runtime.change_steps import ChangeSteps, before_and_after, undo_request
from seamark.runtime.herder import RestError
from seamark.runtime.lifecycle_steps import CreateSteps, DeleteSteps
from seamark.runtime.migration_steps import Elsewhere, Here, MigrationSteps
from seamark.runtime.offset_plans import require_moves
from seamark.runtime.offset_requests import OffsetMove, OffsetRequest
from seamark.runtime.operation_context import (
    CHANGING,
    CREATING,
    QUEUED,
    AbandonedError,
    OperationContext,
    Origin,
)
from seamark.storage.operation_records import DONE, FAILED, OperationRecord

log = logging.getLogger(__name__)

WAIT_S: Final = 80.0  # what is left of a request's 90 seconds
_WITHOUT_STEPS: Final = frozenset({"alter", "reset"})
_LOOK_AGAIN_S: Final = 30.0


class Operations:
    """The operations of a worker's cluster; any worker may be asked, the leader does the work."""

    def __init__(self, context: OperationContext, *, allowed_urls: str) -> None:
        self._context, self._allowed_urls = context, allowed_urls
        changes = ChangeSteps(context)
        self._changes = changes
        self._steps: dict[str, Callable[[OperationRecord], OperationRecord]] = {
            "change": changes.run,
            "undo": changes.run,
            "create": CreateSteps(context).run,
            "delete": DeleteSteps(context).run,
            "migrate": MigrationSteps(context).run,
        }
        self._lock = threading.Condition()
        self._queues: dict[str, deque[OperationRecord]] = {}
        self._held: set[str] = set()
        self._looked_at: float | None = None

    def require_leader(self) -> None:
        """Raises ForwardError unless this worker carries operations out."""
        self._context.host.require_leader()

    # looking

    def preview(self, name: str, request: OffsetRequest) -> dict[str, Any]:
        """What a request would change; nothing is."""
        context = self._context
        config = context.host.connector_config(name)
        changes = context.plans.preview(name, config, request, context.now_ms())
        state = context.host.target_state(name)
        return {
            "dry_run": True,
            "connector": name,
            "state": "RUNNING" if state is TargetState.STARTED else state.value if state else "UNASSIGNED",
            "message": "Nothing was changed: it is a dry run.",
            "changes": changes,
        }

    def get(self, operation_id: str) -> OperationRecord:
        """An operation.

        Raises:
            NotFoundError: there is none.
        """
        found = self._context.store.get(operation_id)
        if found is None or not found.is_finished:
            self._context.store.refresh()
            found = self._context.store.get(operation_id)
        if found is None:
            raise NotFoundError(f"Operation {operation_id} not found")
        return found

    def all(self, connector: str | None = None) -> list[OperationRecord]:
        """All operations, or those of a connector; the newest last."""
        store = self._context.store
        store.refresh()
        return store.all() if connector is None else store.of(connector)

    def history(self, name: str) -> list[OperationRecord]:
        """The changes of a connector's offsets, the newest last; also those of a connector that is deleted.

        Raises:
            NotFoundError: there is no such connector, and never was one.
        """
        found = [record for record in self.all(name) if record.after is not None or record.before is not None]
        if not found:
            self._context.host.connector_config(name)
        return found

    # changing at once, as KIP-875 does

    def alter(self, name: str, request: OffsetRequest, origin: Origin) -> tuple[str, list[OffsetMove]]:
        """Change offsets of a stopped connector; what was said, and where partitions went."""
        self._refuse_if_busy(name)
        now_ms = self._context.now_ms()
        with span(f"offsets {'reset' if request.is_reset else 'alter'}", seamark__connector=name):
            return self._context.host.modify_offsets(
                name, lambda config: self._recorded(name, config, request, origin, now_ms)
            )

    def _recorded(
        self, name: str, config: Mapping[str, str | None], request: OffsetRequest, origin: Origin, now_ms: int
    ) -> tuple[str, list[OffsetMove]]:
        context = self._context
        moves, is_just_read = self._moves(name, config, request, now_ms)
        before, after = before_and_after(moves)
        kind = "reset" if request.is_reset else "alter"
        record = context.new(kind, name, origin, request.as_json(), CHANGING, before=before, after=after)
        self._hold(record.id)
        try:
            self._note(record)
            try:
                if request.is_reset:
                    message = context.changes.reset(name, config, is_just_read=is_just_read)
                else:
                    entries = request.offsets or [move.entry for move in moves]
                    message = context.changes.alter(name, config, entries, is_just_read=is_just_read)
            except ConnectError as error:
                self._note(record.moved_to(FAILED, context.now_ms(), error=error.message))
                raise
            self._note(record.moved_to(DONE, context.now_ms(), message=message))
        finally:
            self._release(record.id)
        return message, moves

    def _moves(
        self, name: str, config: Mapping[str, str | None], request: OffsetRequest, now_ms: int
    ) -> tuple[list[OffsetMove], bool]:
        """Where partitions go, and whether offsets could be read for that."""
        try:
            _, moves = self._context.plans.plan(name, config, request, now_ms)
        except BadRequestError:
            raise
        except ConnectError as error:
            if request.positions:
                raise
            # The change itself says better what is wrong.
            log.debug("[%s] what its offsets are now is not known: %s", name, error)
            return [], False
        if request.positions:
            require_moves(moves, name)
        return moves, True

    def _note(self, record: OperationRecord) -> None:
        """Write it down if that is possible: a change that Kafka Connect allows is not refused for it.

        How it ended is not waited for. If that is lost with the worker, the next one finds it out.
        """
        try:
            self._context.store.put(record, waits=not record.is_finished)
            if record.is_finished:
                self._context.store.trim(record.connector)
        except ConnectError as error:
            log.warning("[%s] the history of its offsets cannot be written: %s", record.connector, error.message)

    # operations

    def change(self, name: str, request: OffsetRequest, origin: Origin) -> OperationRecord:
        """Stop a connector, change its offsets, and give it back its state: begins, and does not wait.

        Raises:
            BadRequestError: it cannot be done; nothing was changed or stopped.
        """
        context = self._context
        context.host.require_leader()
        config = context.host.connector_config(name)
        _, moves = context.plans.plan(name, config, request, context.now_ms())
        require_moves(moves, name)
        return self._begin(context.new("change", name, origin, request.as_json(), QUEUED))

    def undo(self, name: str, entry: str | None, origin: Origin) -> OperationRecord:
        """Take a connector back to where it was before an entry of its history; begins, and does not wait."""
        context = self._context
        context.host.require_leader()
        context.host.connector_config(name)
        chosen, request = undo_request(self.history(name), entry)
        record = context.new("undo", name, origin, request.as_json(), QUEUED, details={"entry": chosen.id})
        return self._begin(record)

    def create(
        self,
        name: str,
        config: Mapping[str, str | None],
        target: TargetState | None,
        request: OffsetRequest,
        origin: Origin,
    ) -> OperationRecord:
        """Create a connector that begins at these offsets; waits.

        Raises:
            AlreadyExistsError: it exists.
            BadRequestError: the config or the offsets are refused; nothing is left.
        """
        context = self._context
        context.host.require_leader()
        if name in context.host.connectors():
            raise AlreadyExistsError(f"Connector {name} already exists")
        if not request.is_reset:
            context.plans.plan(name, {**config, "name": name}, request, context.now_ms())
        former = (target or TargetState.STARTED).value
        record = context.new(
            "create", name, origin, request.as_json(), CREATING, former_state=former, details={"config": dict(config)}
        )
        return self._finished(self._begin(record))

    def delete(self, name: str, origin: Origin) -> OperationRecord:
        """Delete a connector with its offsets; waits."""
        context = self._context
        context.host.require_leader()
        context.host.connector_config(name)
        return self._finished(self._begin(context.new("delete", name, origin, {"reset": True}, QUEUED)))

    def migrate(self, name: str, wanted: Mapping[str, Any], origin: Origin) -> OperationRecord:
        """Give a connector a new name, or move it to another worker; begins, and does not wait.

        Args:
            name: the connector.
            wanted: ``name``, ``url`` of the other worker, ``config`` with keys that change (None removes one), and
                ``keep`` to leave the old one stopped instead of deleting it.
            origin: who asks.

        Raises:
            BadRequestError: it cannot be done; nothing was changed or stopped.
        """
        context = self._context
        context.host.require_leader()
        config = context.host.connector_config(name)
        url, new = wanted.get("url") or None, str(wanted.get("name") or name)
        if url is None and new == name:
            raise BadRequestError('Say where to: another "name" in this cluster, or the "url" of another worker.')
        for key, value in dict(wanted.get("config") or {}).items():
            if value is None:
                config.pop(key, None)
            else:
                config[key] = str(value)
        config["name"] = new
        self._check_destination(name, config, url, new)
        details = {"name": new, "url": url, "config": config, "keep": bool(wanted.get("keep"))}
        return self._begin(context.new("migrate", name, origin, dict(wanted), QUEUED, details=details))

    def _check_destination(self, name: str, config: Mapping[str, str | None], url: Any, new: str) -> None:
        context = self._context
        if url is None:
            if Here(context).config(new) is not None:
                raise AlreadyExistsError(f"Connector {new} already exists")
            return
        if not isinstance(url, str) or not re.match(r"https?://", url) or not re.fullmatch(self._allowed_urls, url):
            raise BadRequestError(
                f"{url!r} is no worker that connectors may be migrated to: expected is an address such as "
                f"http://host:8083 that matches the worker's seamark.migration.urls ({self._allowed_urls})."
            )
        there = Elsewhere(url, context.tls)
        if there.config(new) is not None:
            raise AlreadyExistsError(f"Connector {new} already exists at {url}")
        if context.plans.is_sink(config) and there.kafka_cluster_id() != context.host.kafka_cluster_id:
            raise BadRequestError(
                f"{name} is a sink and the worker at {url} has another Kafka cluster, where its offsets mean nothing. "
                "Mirror its topics and let the mirror translate its group's offsets, or create it there with positions."
            )

    # carrying out

    def tick(self) -> None:
        """Go on with what another worker, or this one before a crash, did not finish; called while leading."""
        now, store = time.monotonic(), self._context.store
        if self._looked_at is None:
            store.refresh()
        elif now - self._looked_at < _LOOK_AGAIN_S:
            return
        self._looked_at = now
        for record in store.all():
            if not record.is_finished:
                self._enqueue(record)

    def led(self) -> None:
        """This worker has just become the leader: look for unfinished operations at the next tick."""
        self._looked_at = None

    def stop(self) -> None:
        """Let go of the store; operations under way are abandoned, to be gone on with later."""
        deadline = time.monotonic() + 10.0
        with self._lock:
            while self._queues and time.monotonic() < deadline:
                self._lock.wait(0.1)
        self._context.store.stop()

    def _begin(self, record: OperationRecord) -> OperationRecord:
        self._context.store.put(record)
        self._enqueue(record)
        return record

    def _enqueue(self, record: OperationRecord) -> None:
        with self._lock:
            if record.id in self._held:
                return
            self._held.add(record.id)
            queue = self._queues.get(record.connector)
            if queue is not None:
                queue.append(record)
                return
            self._queues[record.connector] = deque([record])
        name = f"operations-{record.connector}"
        threading.Thread(target=self._drain, args=(record.connector,), name=name, daemon=True).start()

    def _drain(self, connector: str) -> None:
        while True:
            with self._lock:
                queue = self._queues[connector]
                if not queue:
                    del self._queues[connector]
                    self._lock.notify_all()
                    return
                record = queue.popleft()
            try:
                self._carry_out(record)
            finally:
                self._release(record.id)

    def _carry_out(self, record: OperationRecord) -> None:
        step = self._changes.settle if record.kind in _WITHOUT_STEPS else self._steps.get(record.kind)
        if step is None:
            log.error("Operation %s is of an unknown kind, %r", record.id, record.kind)
            return
        try:
            with span(f"offsets {record.kind}", seamark__connector=record.connector, seamark__operation=record.id):
                done = step(record)
            log.info("[%s] operation %s (%s): %s", record.connector, record.id, record.kind, done.phase)
        except AbandonedError as error:
            log.info("[%s] operation %s is left to another worker: %s", record.connector, record.id, error.message)
            self._looked_at = None
        except ConnectError as error:
            self._end_badly(record, error.message)
        except Exception as error:
            log.exception("[%s] operation %s failed unexpectedly", record.connector, record.id)
            self._end_badly(record, f"{type(error).__name__}: {error}")

    def _end_badly(self, record: OperationRecord, error: str) -> None:
        context = self._context
        latest = context.store.get(record.id) or record
        state = context.host.target_state(record.connector)
        left = "" if state is None else f" Connector {record.connector} is {state.value}."
        try:
            context.advance(latest, FAILED, error=f"{error}{left}")
        except ConnectError as further:
            # It stays unfinished, and is gone on with at the next look.
            log.warning("[%s] operation %s: %s; and %s", record.connector, record.id, error, further.message)

    def _finished(self, record: OperationRecord) -> OperationRecord:
        """Wait for the end of an operation that a request waits for.

        Raises:
            RestError: it failed, or takes longer than a request may.
        """
        deadline = time.monotonic() + WAIT_S
        with self._lock:
            while record.id in self._held and time.monotonic() < deadline:
                self._lock.wait(0.5)
        found = self._context.store.get(record.id) or record
        if not found.is_finished:
            raise RestError(
                500, f"Operation {record.id} is still {found.phase}; see GET /operations/{record.id} for how it ends."
            )
        if found.phase != DONE:
            raise RestError(int(found.details.get("status", 500)), f"{found.error} {found.message or ''}".strip())
        return found

    def _refuse_if_busy(self, name: str) -> None:
        with self._lock:
            is_busy = name in self._queues
        if is_busy:
            raise RestError(
                409,
                "Cannot complete request because of a conflicting operation on the offsets of this connector; see "
                f"GET /connectors/{name}/offsets/history",
            )

    def _hold(self, operation_id: str) -> None:
        with self._lock:
            self._held.add(operation_id)

    def _release(self, operation_id: str) -> None:
        with self._lock:
            self._held.discard(operation_id)
            self._lock.notify_all()


def matching(names: Sequence[str], pattern: str) -> list[str]:
    """The names that a pattern with ``*`` and ``?`` stands for, in order."""
    return sorted(name for name in names if fnmatchcase(name, pattern))
