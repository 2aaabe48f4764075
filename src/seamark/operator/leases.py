"""One ResetOffset at a time per consumer group: a Lease that its holder renews, and that runs out if it does not.

The holder is the ResetOffset, not the process: after a restart the operator goes on at once with what it had begun.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Final

from seamark.errors import ConnectError
from seamark.operator.kinds import LEASE, MANAGER
from seamark.operator.kube import EditConflict, Exists, Kube, KubeError, Missing

_log = logging.getLogger(__name__)
DURATION_S: Final = 60
_MOST_SHOWN: Final = 200


class LeaseHeldError(ConnectError):
    """Another one has it."""


class LeaseLostError(ConnectError):
    """It ran out before the work was done."""


class GroupLease:
    """The Lease of a consumer group, while it is used as a context; kept if the work inside says so."""

    def __init__(self, kube: Kube, namespace: str, group: str, holder: str) -> None:
        self._kube, self._namespace, self._group, self._holder = kube, namespace, group, holder
        self.name = f"seamark-reset-{hashlib.sha256(group.encode()).hexdigest()[:24]}"
        self.keep = False
        """Whether to let it run out instead of giving it back, as the work is not over."""
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> GroupLease:
        await self._take()
        self._renewing = asyncio.create_task(self._renew(), name=f"lease {self.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        if not self.keep and not isinstance(error, asyncio.CancelledError):
            with suppress(KubeError):  # it runs out by itself
                await self.give_back()

    async def require(self) -> None:
        """Make sure of it, right before something that must not happen twice.

        Raises:
            LeaseLostError: another one has it.
        """
        try:
            await self._take()
        except LeaseHeldError as error:
            raise LeaseLostError(f"The Lease {self._namespace}/{self.name} was lost: {error}") from error

    async def give_back(self) -> None:
        """Let the next one have it."""
        found = await self._kube.find(LEASE, self._namespace, self.name)
        if found is not None and found["spec"].get("holderIdentity") == self._holder:
            with suppress(EditConflict, Missing):
                await self._kube.delete(LEASE, self._namespace, self.name, found["metadata"]["resourceVersion"])

    async def _take(self) -> None:
        for _ in range(3):
            with suppress(Exists, EditConflict, Missing):  # somebody was quicker: look again
                await self._try_to_take()
                return
        raise LeaseHeldError(f"Lease {self._namespace}/{self.name} of group {self._group} is contended")

    async def _try_to_take(self) -> None:
        now = datetime.now(UTC)
        found = await self._kube.find(LEASE, self._namespace, self.name)
        if found is None:
            await self._kube.create(LEASE, self._namespace, self._body(now))
        else:
            spec = found["spec"]
            holder = spec.get("holderIdentity")
            if holder not in (None, "", self._holder) and not _has_run_out(spec, now):
                raise LeaseHeldError(f"group {self._group} is being reset by {holder}")
            is_new = holder != self._holder
            made = self._body(now, spec.get("leaseTransitions") or 0, None if is_new else spec.get("acquireTime"))
            made["spec"]["leaseTransitions"] += int(is_new)
            made["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
            await self._kube.replace(LEASE, self._namespace, self.name, made)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(DURATION_S / 4)
            try:
                await self._take()
            except ConnectError as error:
                _log.warning("Lease %s/%s could not be renewed: %s", self._namespace, self.name, error)

    def _body(self, now: datetime, transitions: int = 0, acquired: str | None = None) -> dict[str, Any]:
        moment = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self.name,
                "namespace": self._namespace,
                "labels": {"app.kubernetes.io/managed-by": MANAGER},
                "annotations": {"seamark.dev/group": self._group[:_MOST_SHOWN]},
            },
            "spec": {
                "holderIdentity": self._holder,
                "leaseDurationSeconds": DURATION_S,
                "acquireTime": acquired or moment,
                "renewTime": moment,
                "leaseTransitions": transitions,
            },
        }


def _has_run_out(spec: dict[str, Any], now: datetime) -> bool:
    try:
        renewed = datetime.fromisoformat(spec["renewTime"])
    except (KeyError, TypeError, ValueError):
        return True
    return now > renewed + timedelta(seconds=int(spec.get("leaseDurationSeconds") or 0))
