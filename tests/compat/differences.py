"""Where Seamark answers otherwise than Kafka Connect 4.2.0, by case.

Every entry names the row of docs/differences.md that tells users of it: the text of its first column. A case that is
not here must be answered alike by all targets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from re import Pattern
from typing import Final

from compat.targets import Target


@dataclass(frozen=True, slots=True)
class Difference:
    """What Seamark does instead: the row that documents it, and the status and message if they differ."""

    row: str
    status: int | None = None
    message: str | Pattern[str] | tuple[str, ...] | None = None


ANYTHING: Final = re.compile(r"(?s).+")
UNREADABLE: Final = "REST requests with a body that cannot be read"
BAD_STATE: Final = "REST requests with a bad `initial_state`"
BAD_STATE_FILE: Final = "Connector files with a bad `initial_state`"
LEFT_OVER: Final = "A target state that is left over for the name of a new connector"
UNKNOWN_CLASS: Final = "Stopping a connector whose class cannot be found or whose config cannot be read"
OWN_TOPIC: Final = "Resetting offsets with exactly-once and an `offsets.storage.topic`"
BOGUS_TASK: Final = "Restarting a task that does not exist, standalone"
STOP_UNKNOWN: Final = "REST: `PUT /connectors/{connector}/stop` of an unknown connector, standalone"
PLACEMENT: Final = "Records of the config topic"
BATCH_SIZE: Final = "`FileStreamSource` `batch.size`"

# Texts that a JVM or Jackson made up are not imitated: any clear sentence will do.
_CREATE: Final = ("truncated", "truncated-after-name", "not-json", "empty", "null", "config-missing", "config-null")
_MAPS: Final = ("truncated", "not-json", "empty", "null")
_OFFSETS: Final = ("truncated", "not-json", "empty", "null", "null-element")
# These fragments are what Kafka's own tests look for; they stay.
_CREATE_ALIKE: Final = (
    "array",
    "string",
    "number",
    "unknown-field",
    "config-is-an-array",
    "config-is-a-string",
    "config-value-is-an-object",
    "config-value-is-an-array",
    "name-is-an-object",
)
_MAPS_ALIKE: Final = ("array", "string", "value-is-an-object")
_OFFSETS_ALIKE: Final = (
    "array",
    "string",
    "unknown-field",
    "unknown-field-of-an-offset",
    "offsets-is-an-object",
    "offset-is-an-array",
    "partition-is-a-string",
    "partition-is-an-array",
)
_ENDPOINTS: Final = ("put-config", "patch-config", "validate", "logger")
_STATES: Final = ("bogus", "started", "empty", "number", "boolean")

DIFFERENCES: Final[dict[str, Difference]] = {
    **{f"parse/create/{case}": Difference(UNREADABLE, 400, ANYTHING) for case in _CREATE},
    **{f"parse/create/{case}": Difference(UNREADABLE, 400) for case in _CREATE_ALIKE},
    **{f"parse/{end}/{case}": Difference(UNREADABLE, 400, ANYTHING) for end in _ENDPOINTS for case in _MAPS},
    **{f"parse/{end}/{case}": Difference(UNREADABLE, 400) for end in _ENDPOINTS for case in _MAPS_ALIKE},
    **{f"parse/offsets/{case}": Difference(UNREADABLE, 400, ANYTHING) for case in _OFFSETS},
    **{f"parse/offsets/{case}": Difference(UNREADABLE, 400) for case in _OFFSETS_ALIKE},
    **{f"parse/initial-state/{case}": Difference(BAD_STATE, 400, ANYTHING) for case in _STATES},
    "command-line/bad-state": Difference(BAD_STATE_FILE),
    "plugin-config/batch.size": Difference(BATCH_SIZE),
    "target-state/left-over": Difference(LEFT_OVER),
    "stop/unreadable-config": Difference(UNKNOWN_CLASS),
    "stop/unknown-class": Difference(UNKNOWN_CLASS),
    "config-topic/placement": Difference(PLACEMENT),
    "reset/own-topic": Difference(OWN_TOPIC),
    "standalone/bogus-task": Difference(BOGUS_TASK),
    "standalone/stop-unknown": Difference(STOP_UNKNOWN, 404, re.compile("Unknown connector .+")),
}


def differs(target: Target, case: str) -> bool:
    """Whether the target is Seamark, in a case that must be listed here."""
    assert case in DIFFERENCES, f"{case} is no listed difference"
    return target.is_seamark
