"""What kopf watches, and what is woken by it.

Only raw events are used: kopf then keeps nothing of its own in resources, neither annotations nor finalizers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import kopf

from seamark.operator import reset_states
from seamark.operator.connect_clusters import ConnectClusters
from seamark.operator.context import Context
from seamark.operator.kafka_connectors import KafkaConnectors
from seamark.operator.kinds import (
    CLUSTER_LABEL,
    CONNECT,
    CONNECTOR,
    MIRROR_MAKER,
    RESET_OFFSET,
    WATCHED,
    Key,
    Kind,
    Resource,
    labels_of,
)
from seamark.operator.mirror_makers import MirrorMakers
from seamark.operator.passes import Passes
from seamark.operator.reset_refs import reference_of
from seamark.operator.resets import Resets

_DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class _Fingerprint:
    """What a pass depends on; not the status."""

    uid: str | None
    generation: int | None
    deleted_at: str | None
    annotations: dict[str, str]
    labels: dict[str, str]


class Watcher:
    """Turns events into passes."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._workers = {
            MIRROR_MAKER.kind: MirrorMakers(context).work,
            CONNECT.kind: ConnectClusters(context).work,
            CONNECTOR.kind: KafkaConnectors(context).work,
            RESET_OFFSET.kind: Resets(context).work,
        }
        self.passes = Passes(self._work)
        self._seen: dict[Key, _Fingerprint] = {}
        context.wake = self._wake_known

    async def _work(self, key: Key) -> float | None:
        return await self._workers[key.kind](key)

    def register(self, registry: kopf.OperatorRegistry, versions: Mapping[str, str]) -> None:
        """Watch every kind, in one of its versions."""
        for kind in WATCHED:
            self._register(registry, kind, versions.get(kind.kind, kind.versions[0]))

    def _register(self, registry: kopf.OperatorRegistry, kind: Kind, version: str) -> None:
        @kopf.on.event(kind.group, version, kind.plural, registry=registry, id=kind.kind)
        async def observe(event: kopf.RawEvent, **_: Any) -> None:
            self.observe(kind, event["type"], event["object"])

    def observe(self, kind: Kind, event: str | None, resource: Resource) -> None:
        """Something was made, changed or deleted, or is seen for the first time."""
        meta = resource["metadata"]
        key = Key(kind.kind, str(meta["namespace"]), str(meta["name"]))
        self._context.last_seen[key] = {"apiVersion": "", "kind": kind.kind, **resource}
        before, seen = self._seen.get(key), _fingerprint(resource)
        if event == _DELETED:
            self._seen.pop(key, None)
        elif before == seen:
            return  # only its status has changed, and that is the operator's own doing
        else:
            self._seen[key] = seen
        self.passes.wake(key)
        if kind is CONNECTOR and before is not None:
            cluster = before.labels.get(CLUSTER_LABEL)
            if cluster is not None and (event == _DELETED or cluster != seen.labels.get(CLUSTER_LABEL)):
                self._wake_known(Key(CONNECT.kind, key.namespace, cluster))  # has a connector too many now
        if kind in (CONNECT, CONNECTOR):
            self._wake_others(kind, key)

    def _wake_others(self, kind: Kind, key: Key) -> None:
        """What waits for this resource."""
        for other, known in list(self._context.last_seen.items()):
            if kind is CONNECT and other.kind == CONNECTOR.kind and other.namespace == key.namespace:
                if labels_of(known).get(CLUSTER_LABEL) == key.name:
                    self._wake_known(other)
            elif other.kind == RESET_OFFSET.kind and self._is_waiting(known, kind, key):
                self._wake_known(other)

    def _is_waiting(self, reset: Resource, kind: Kind, key: Key) -> bool:
        if reset_states.is_true((reset.get("status") or {}).get("conditions"), reset_states.SUCCEEDED):
            return False
        reference = reference_of(reset)
        return kind is CONNECT or (reference.kind, reference.namespace, reference.name) == (
            kind.kind,
            key.namespace,
            key.name,
        )

    def _wake_known(self, key: Key) -> None:
        if key in self._context.last_seen:
            self.passes.wake(key)


def _fingerprint(resource: Resource) -> _Fingerprint:
    meta = resource["metadata"]
    return _Fingerprint(
        meta.get("uid"),
        meta.get("generation"),
        meta.get("deletionTimestamp"),
        dict(meta.get("annotations") or {}),
        labels_of(resource),
    )
