"""What the offset annotations of a resource ask for.

============================  ===============================  ======================================
`strimzi.io/connector-offsets`  `strimzi.io/mirrormaker-connector`  what is done
============================  ===============================  ======================================
absent                        absent or set                    nothing
set                           absent                           a Warning
another value                 set                              a Warning
list, alter, reset            no connector of the resource     a Warning
list, alter, reset            a connector                      it
list, alter, reset            ``*``                            it, for all connectors of the resource
============================  ===============================  ======================================

A KafkaConnector is one connector, so it has the first annotation only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from seamark.operator import conditions
from seamark.operator.conditions import Warning_
from seamark.operator.kinds import CONNECTOR_OFFSETS, MIRROR_CONNECTOR, Key

ALL: Final = "*"


class Action(Enum):
    """What can be done with offsets."""

    LIST = "list"
    ALTER = "alter"
    RESET = "reset"

    @property
    def reason(self) -> str:
        """Of a Warning that it has failed."""
        return {
            Action.LIST: conditions.LIST_OFFSETS,
            Action.ALTER: conditions.ALTER_OFFSETS,
            Action.RESET: conditions.RESET_OFFSETS,
        }[self]

    @property
    def needed_property(self) -> str | None:
        """The field of the resource without which it cannot be done."""
        return {Action.LIST: "listOffsets", Action.ALTER: "alterOffsets", Action.RESET: None}[self]


@dataclass(frozen=True, slots=True)
class OffsetRequest:
    """Something to do.

    Attributes:
        action: what.
        connectors: with which connectors.
        served: the annotations that ask for it, to be removed afterwards if they still have these values.
    """

    action: Action
    connectors: tuple[str, ...]
    served: Mapping[str, str]

    def applies_to(self, connector: str) -> bool:
        """Whether a connector is meant."""
        return connector in self.connectors

    def failure(self, connector: str, text: str) -> Warning_:
        """The Warning for a failure; `text` is the worker's, or ours."""
        message = f'Failed to {self.action.value} the connector offsets for {connector} due to "{text}".'
        return Warning_(self.action.reason, message)

    def property_missing(self, connector: str, kind: str) -> Warning_:
        """The Warning for a resource that does not say where to."""
        message = (
            f"Failed to {self.action.value} the connector offsets for {connector} due to missing property "
            f"{self.action.needed_property} in {kind} CR."
        )
        return Warning_(self.action.reason, message)


def mirror_request(
    annotations: Mapping[str, str], connectors: Sequence[str], key: Key
) -> OffsetRequest | Warning_ | None:
    """What a KafkaMirrorMaker2 asks for."""
    if CONNECTOR_OFFSETS not in annotations:
        return None
    if MIRROR_CONNECTOR not in annotations:
        return _unclear(key, f"is missing annotation {MIRROR_CONNECTOR}")
    action = _action(annotations, key)
    if isinstance(action, Warning_):
        return action
    wanted = annotations[MIRROR_CONNECTOR]
    if wanted != ALL and wanted not in connectors:
        known = ", ".join(connectors) or "none"
        return _unclear(key, f"has no connector {wanted!r} as annotation {MIRROR_CONNECTOR} says; it has: {known}")
    chosen = tuple(connectors) if wanted == ALL else (wanted,)
    served = {each: annotations[each] for each in (CONNECTOR_OFFSETS, MIRROR_CONNECTOR)}
    return OffsetRequest(action, chosen, served)


def connector_request(annotations: Mapping[str, str], key: Key) -> OffsetRequest | Warning_ | None:
    """What a KafkaConnector asks for."""
    if CONNECTOR_OFFSETS not in annotations:
        return None
    action = _action(annotations, key)
    if isinstance(action, Warning_):
        return action
    return OffsetRequest(action, (key.name,), {CONNECTOR_OFFSETS: annotations[CONNECTOR_OFFSETS]})


def colliding(places: Mapping[str, tuple[str, str]], connector: str) -> list[str]:
    """Other connectors whose offsets would be in the same entry of the same ConfigMap."""
    mine = places.get(connector)
    return [other for other, place in places.items() if other != connector and place == mine]


def removal(served: Mapping[str, str], present: Mapping[str, str]) -> list[dict[str, Any]]:
    """A JSON patch that removes annotations, each only if it still has the value that was served."""
    steps: list[dict[str, Any]] = []
    for name, value in served.items():
        if name in present:
            path = f"/metadata/annotations/{_pointer(name)}"
            steps += [{"op": "test", "path": path, "value": value}, {"op": "remove", "path": path}]
    return steps


def _action(annotations: Mapping[str, str], key: Key) -> Action | Warning_:
    value = annotations[CONNECTOR_OFFSETS]
    try:
        return Action(value)
    except ValueError:
        return _unclear(
            key,
            f"has the value {value!r} in annotation {CONNECTOR_OFFSETS}; valid are {_listed(a.value for a in Action)}",
        )


def _unclear(key: Key, what: str) -> Warning_:
    message = (
        f"Encountered error getting connector offsets annotation. {key.kind} resource {key.namespace}/{key.name} {what}"
    )
    return Warning_(conditions.MANAGE_OFFSETS, message)


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}"


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
