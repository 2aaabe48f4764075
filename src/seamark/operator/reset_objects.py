"""A ResetOffset as a resource: its status, its finalizer, its Lease and its events.

Everything is written at once, and only if the resource is still the one that was read (`GoneError` otherwise).
"""

from __future__ import annotations

from typing import Any

from seamark.errors import ConnectError
from seamark.operator import conditions, reset_states
from seamark.operator.context import Context
from seamark.operator.kinds import RESET_OFFSET, name_of, namespace_of
from seamark.operator.kube import EditConflict, Missing
from seamark.operator.leases import GroupLease, LeaseHeldError


class StepFailedError(ConnectError):
    """A step has failed; the status says so already."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


class GoneError(ConnectError):
    """The resource is gone."""


class ResetObject:
    """A ResetOffset.

    Attributes:
        resource: as it was read.
        status: as it was last written.
        time: where to move offsets.
    """

    def __init__(self, context: Context, resource: dict[str, Any]) -> None:
        self._context, self.resource = context, resource
        self.status: dict[str, Any] = dict(resource.get("status") or {})
        self.time = str(resource["spec"]["offset"]["time"])

    def step(self, step: str, *kinds: type[ConnectError]) -> _Step:
        """What is raised inside is the failure of a step, and goes to the status."""
        return _Step(self, step, *kinds)

    @property
    def now(self) -> str:
        """The time, as a status has it."""
        return conditions.now_text(self._context.now)

    @property
    def holder(self) -> str:
        """What it is called in a Lease: the resource, not the process that works on it."""
        meta = self.resource["metadata"]
        return f"{meta['namespace']}/{meta['name']}/{meta['uid']}"

    @property
    def has_finalizer(self) -> bool:
        """Whether it cannot go before it was looked at."""
        return reset_states.FINALIZER in (self.resource["metadata"].get("finalizers") or [])

    def is_done(self, step: str) -> bool:
        """Whether a condition is True."""
        return reset_states.is_true(self.status.get("conditions"), step)

    async def done(self, step: str, **changes: Any) -> None:
        """Write that a step has been done, together with other fields of the status."""
        marked = reset_states.marked_true(self.status.get("conditions") or [], step, self.now)
        await self.write(conditions=marked, **changes)

    async def failed(self, step: str, error: str) -> None:
        """Write that a step has failed."""
        marked = reset_states.marked_false(self.status.get("conditions") or [], step, error, self.now)
        await self.write(conditions=marked)

    async def write(self, **changes: Any) -> None:
        """Write fields of the status, those that are None being removed.

        Raises:
            GoneError: there is no such resource any more.
        """
        new = {key: value for key, value in changes.items() if self.status.get(key) != value}
        if not new:
            return
        body = {"metadata": {"uid": self.resource["metadata"]["uid"]}, "status": new}
        where = namespace_of(self.resource), name_of(self.resource)
        try:
            await self._context.kube.merge(RESET_OFFSET, *where, body, below="/status")
        except (Missing, EditConflict) as error:
            raise GoneError(error.message) from error
        self.status.update(new)

    async def add_finalizer(self) -> None:
        """Keep it until what was stopped for it runs again."""
        if not self.has_finalizer:
            await self._set_finalizers([*(self.resource["metadata"].get("finalizers") or []), reset_states.FINALIZER])

    async def remove_finalizer(self) -> None:
        """Let it go when its user wants that."""
        if self.has_finalizer:
            kept = [each for each in self.resource["metadata"]["finalizers"] if each != reset_states.FINALIZER]
            await self._set_finalizers(kept)

    async def _set_finalizers(self, finalizers: list[str]) -> None:
        meta = self.resource["metadata"]
        where = namespace_of(self.resource), name_of(self.resource)
        for is_last in (False, False, False, True):
            try:
                fresh = await self._context.kube.get(RESET_OFFSET, *where)
                others = [each for each in fresh["metadata"].get("finalizers") or [] if each != reset_states.FINALIZER]
                if reset_states.FINALIZER in finalizers:
                    others.append(reset_states.FINALIZER)
                version = fresh["metadata"]["resourceVersion"]
                change = {"metadata": {"uid": meta["uid"], "resourceVersion": version, "finalizers": others}}
                await self._context.kube.merge(RESET_OFFSET, *where, change)
            except Missing:
                return
            except EditConflict:  # somebody else has written it since
                if is_last:
                    raise
                continue
            meta["finalizers"] = others
            return

    def own_lease(self) -> GroupLease | None:
        """That of the group that is being moved, as far as the status tells."""
        group, held = self.status.get("group"), reset_states.held(self.status)
        if not group or not held:
            return None
        return GroupLease(self._context.kube, held[0].namespace, str(group), self.holder)

    async def tell(self, kind: str, reason: str, message: str) -> None:
        """An event."""
        await self._context.kube.tell(self.resource, kind, reason, message, now=self.now)


class _Step:
    """What is raised inside is the failure of a step, and goes to the status."""

    def __init__(self, reset: ResetObject, step: str, *kinds: type[ConnectError]) -> None:
        self._reset, self._step, self._kinds = reset, step, kinds

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        is_passed = isinstance(error, (LeaseHeldError, GoneError, StepFailedError))
        if error is None or is_passed or not isinstance(error, self._kinds):
            return False
        message = error.message if isinstance(error, ConnectError) else str(error)
        await self._reset.failed(self._step, message)
        raise StepFailedError(self._step, message) from error
