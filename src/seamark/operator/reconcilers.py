"""What passes over resources of Strimzi's kinds have in common: those that are gone, going or paused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from seamark.operator import conditions
from seamark.operator.context import Context
from seamark.operator.kinds import Key, Kind, is_paused
from seamark.operator.passes import GONE


class Reconciler(ABC):
    """Brings about what resources of one kind say."""

    kind: ClassVar[Kind]

    def __init__(self, context: Context) -> None:
        self._context = context

    async def work(self, key: Key) -> float | None:
        """A pass."""
        context = self._context
        resource = await context.kube.find(self.kind, key.namespace, key.name)
        if resource is None:
            await self.clean_up(key)
            context.forget(key)
            return GONE
        context.last_seen[key] = resource
        if resource["metadata"].get("deletionTimestamp"):
            return None
        if is_paused(resource):
            await context.write_status(self.kind, resource, {"conditions": conditions.paused()})
            return None
        return await self.reconcile(key, resource)

    @abstractmethod
    async def reconcile(self, key: Key, resource: dict[str, Any]) -> float | None:
        """Bring it about; returns in how many seconds to look again."""

    @abstractmethod
    async def clean_up(self, key: Key) -> None:
        """The resource is gone; what is known of it is in the context, for the last time."""
