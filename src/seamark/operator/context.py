"""What every pass needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from seamark.operator import conditions
from seamark.operator.kinds import Key, Kind, Resource, name_of, namespace_of
from seamark.operator.kube import EditConflict, Kube, Missing
from seamark.operator.passes import delay_after
from seamark.operator.workers import Workers

RESYNC_S: Final = 120.0
"""After that long without an event a resource is looked at again, as in Strimzi."""
_SOON_S: Final = 0.5
_LATER_S: Final = 15.0
_FAILURE_S: Final = 10.0


@dataclass
class Context:
    """The API server, the workers, and what passes remember.

    Attributes:
        kube: the API server.
        workers: the workers.
        namespaces: that are served; none for all.
        last_seen: resources as they were last, for what has to be done when they are gone.
        wake: asks for a pass over a resource.
    """

    kube: Kube
    workers: Workers
    namespaces: tuple[str, ...] = ()
    last_seen: dict[Key, Resource] = field(default_factory=dict)
    wake: Callable[[Key], None] = lambda key: None
    _unsettled: dict[Key, int] = field(default_factory=dict)
    _settled: dict[Key, int] = field(default_factory=dict)
    _gone_at: dict[Key, float] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        """The time."""
        return datetime.now(UTC)

    async def list_all(self, kind: Kind) -> list[dict[str, Any]]:
        """All resources of a kind that are served."""
        try:
            if not self.namespaces:
                return await self.kube.all(kind)
            return [each for namespace in self.namespaces for each in await self.kube.all(kind, namespace)]
        except Missing:  # the kind is not installed
            return []

    async def write_status(self, kind: Kind, resource: Resource, status: Mapping[str, Any]) -> None:
        """Merge what is new into a status; nothing is written if only times would change."""
        change = conditions.status_change(resource.get("status") or {}, status, conditions.now_text(self.now))
        if change is None:
            return
        # With the uid a status never lands on another resource of that name that was made in the meantime.
        body = {"metadata": {"uid": resource["metadata"]["uid"]}, "status": change}
        try:
            await self.kube.merge(kind, namespace_of(resource), name_of(resource), body, below="/status")
        except (Missing, EditConflict):
            return

    def next_pass(self, key: Key, *, is_settled: bool, may_fail: bool = False) -> float:
        """In how many seconds to look again.

        Args:
            key: the resource.
            is_settled: whether nothing is to be expected. Otherwise it is looked at soon, and less and less soon.
            may_fail: whether a worker may tell of a failure all the same, most likely not long after a change.
        """
        if is_settled:
            self._unsettled.pop(key, None)
            if not may_fail:
                return RESYNC_S
            self._settled[key] = self._settled.get(key, 0) + 1
            return delay_after(self._settled[key], _FAILURE_S, RESYNC_S)
        self._settled.pop(key, None)
        self._unsettled[key] = self._unsettled.get(key, 0) + 1
        return delay_after(self._unsettled[key], _SOON_S, _LATER_S)

    def gone_s(self, key: Key) -> float:
        """For how many seconds a resource is known to be gone, while something is left to be cleaned up after it."""
        return time.monotonic() - self._gone_at.setdefault(key, time.monotonic())

    def forget(self, key: Key) -> None:
        """A resource is gone, and so is all that came with it."""
        self._gone_at.pop(key, None)
        self._unsettled.pop(key, None)
        self._settled.pop(key, None)
        self.last_seen.pop(key, None)
