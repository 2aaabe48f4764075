"""The status of a ResetOffset: six conditions, and what has to be known to go on after an interruption.

Conditions are those of a Knative batch: five steps, and `Succeeded` over them. Beside Knative's fields there are:

``consumers``  the connectors that are stopped for this, each with the state that it had before and whether it has that
               again (`started`); written before anything is stopped, gone when everything runs again after a failure
``updating``   offsets are being moved, or were when the operator was interrupted: whether they have been moved is then
               found by comparing them with ``partitions``
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seamark.operator.kinds import Resource

FINALIZER: Final = "resetoffsets.kafka.eventing.knative.dev"
SUCCEEDED: Final = "Succeeded"
REF_MAPPED: Final = "RefMapped"
ACQUIRED: Final = "AcquireDataPlaneServices"
STOPPED: Final = "ConsumerGroupsStopped"
UPDATED: Final = "OffsetsUpdated"
STARTED: Final = "ConsumerGroupsStarted"
STEPS: Final = (REF_MAPPED, ACQUIRED, STOPPED, UPDATED, STARTED)
REASONS: Final = {
    REF_MAPPED: "FailedToMapRef",
    ACQUIRED: "FailedToAcquireDataPlaneServices",
    STOPPED: "FailedToStopConsumerGroups",
    UPDATED: "FailedToUpdateOffsets",
    STARTED: "FailedToStartConsumerGroups",
}
# Knative's words, with its slip in the second: who looks for them finds them.
_MESSAGES: Final = {
    REF_MAPPED: "Failed to map 'ref' to Kafka Topic and Group: ",
    ACQUIRED: "Failed to reconciler DataPlane Services from ConnectionPool: ",
    STOPPED: "Failed to stop one or more ConsumerGroups: ",
    UPDATED: "Failed to update Offsets of ConsumerGroup Partitions: ",
    STARTED: "Failed to restart one or more ConsumerGroups: ",
}
_TIME: Final = "lastTransitionTime"
Condition = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """A connector that is stopped for a reset.

    Attributes:
        namespace: of its resource.
        cluster: its KafkaConnect, empty if it has none.
        connector: its name.
        state: that it had before.
        started: whether it has that state again.
        url: of its worker, where neither its own resource nor its KafkaConnect leads there.
    """

    namespace: str
    cluster: str
    connector: str
    state: str
    started: bool = False
    url: str = ""

    def entry(self) -> dict[str, Any]:
        """For a status."""
        return {
            **({"url": self.url} if self.url else {}),
            "namespace": self.namespace,
            "cluster": self.cluster,
            "connector": self.connector,
            "state": self.state,
            "started": self.started,
        }


def held(status: Mapping[str, Any]) -> list[Held]:
    """The connectors that a status says are stopped, or were."""
    return [
        Held(
            str(each.get("namespace", "")),
            str(each.get("cluster") or ""),
            str(each.get("connector", "")),
            str(each.get("state", "RUNNING")),
            bool(each.get("started")),
            str(each.get("url") or ""),
        )
        for each in status.get("consumers") or []
    ]


def holds(resource: Resource, namespace: str, connector: str, url: str) -> bool:
    """Whether a ResetOffset has a connector stopped, by its resource or by its worker."""
    status = resource.get("status") or {}
    return not is_true(status.get("conditions"), SUCCEEDED) and any(
        each.connector == connector and not each.started and (each.namespace == namespace or each.url == url)
        for each in held(status)
    )


def is_true(conditions: Iterable[Mapping[str, Any]] | None, kind: str) -> bool:
    """Whether a condition holds."""
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions or [])


def initialised(conditions: Sequence[Mapping[str, Any]], now: str) -> list[Condition]:
    """All six; those that are missing are Unknown, the others stay."""
    known = {str(each["type"]): dict(each) for each in conditions}
    for kind in (*STEPS, SUCCEEDED):
        known.setdefault(kind, {"type": kind, "status": "Unknown", _TIME: now})
    return _in_order(known)


def marked_true(conditions: Sequence[Mapping[str, Any]], step: str, now: str) -> list[Condition]:
    """A step has been done."""
    known = _set({str(each["type"]): dict(each) for each in conditions}, {"type": step, "status": "True"}, now)
    return _in_order(_set(known, _overall(known), now))


def marked_false(conditions: Sequence[Mapping[str, Any]], step: str, error: str, now: str) -> list[Condition]:
    """A step has failed."""
    failure = {"status": "False", "reason": REASONS[step], "message": failure_message(step, error)}
    known = {str(each["type"]): dict(each) for each in conditions}
    known = _set(known, {"type": step, **failure}, now)
    return _in_order(_set(known, {"type": SUCCEEDED, **failure}, now))


def failure_message(step: str, error: str) -> str:
    """What a condition says."""
    return f"{_MESSAGES[step]}{error}"


def event_message(step: str, error: str) -> str:
    """What an event says."""
    if step == ACQUIRED:
        return f"failed to reconcile DataPlane Services from ConnectionPool: {error}"
    message = failure_message(step, error)
    return message[:1].lower() + message[1:]


def _overall(known: Mapping[str, Condition]) -> Condition:
    steps = [known[step] for step in STEPS]
    if all(each["status"] == "True" for each in steps):
        return {"type": SUCCEEDED, "status": "True"}
    failed = [each for each in steps if each["status"] == "False"]
    if not failed:
        return {"type": SUCCEEDED, "status": "Unknown"}
    newest = max(failed, key=lambda each: str(each.get(_TIME, "")))
    return {"type": SUCCEEDED, "status": "False", "reason": newest.get("reason"), "message": newest.get("message")}


def _set(known: dict[str, Condition], new: Mapping[str, Any], now: str) -> dict[str, Condition]:
    """With one condition; its time stays if nothing of it changes."""
    kind = str(new["type"])
    content = {key: value for key, value in new.items() if value is not None}
    old = known.get(kind, {})
    if {key: value for key, value in old.items() if key not in (_TIME, "severity")} == content:
        return known
    return {**known, kind: {**content, _TIME: now}}


def _in_order(known: Mapping[str, Condition]) -> list[Condition]:
    return [known[kind] for kind in sorted(known)]
