"""What is written down of an operation: a change of offsets, a migration, a deletion with offsets.

A record is written before and after each step, so that whoever leads after a crash knows what was meant, what was done
and what has to be put back. Finished records are the history of a connector's offsets.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final

import orjson

from seamark.errors import DataError
from seamark.formats import VERSION, check_version

OPERATION_VERSION: Final = 1
Offset = Mapping[str, Any]
"""``{"partition": {...}, "offset": {...} or None}``, as in REST."""

DONE: Final = "DONE"
FAILED: Final = "FAILED"
ROLLED_BACK: Final = "ROLLED_BACK"
FINISHED: Final = frozenset({DONE, FAILED, ROLLED_BACK})


@dataclass(frozen=True, slots=True)
class OperationRecord:
    """An operation, as far as it has come.

    Attributes:
        id: unique; later operations have greater ones.
        kind: ``alter``, ``reset``, ``change``, ``undo``, ``create``, ``delete`` or ``migrate``.
        connector: the name of the connector.
        phase: the step that is under way, or how it ended.
        created_ms: when it was asked for.
        updated_ms: when this was written.
        who: asked for it, and from where.
        reason: why, in the words of who asked.
        request: what was asked for.
        former_state: the target state of the connector before; it gets it back.
        before: the offsets that are changed, as they were; None if that is not known (yet).
        after: the same as they shall be.
        message: what a client should read.
        error: why it failed.
        steps: phases with their times, in order.
        details: what only this kind of operation needs.
    """

    id: str
    kind: str
    connector: str
    phase: str
    created_ms: int
    updated_ms: int
    who: str = ""
    reason: str | None = None
    request: Mapping[str, Any] = field(default_factory=dict)
    former_state: str | None = None
    before: Sequence[Offset] | None = None
    after: Sequence[Offset] | None = None
    message: str | None = None
    error: str | None = None
    steps: Sequence[Mapping[str, Any]] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether nothing will happen any more."""
        return self.phase in FINISHED

    def moved_to(self, phase: str, now_ms: int, **changes: Any) -> OperationRecord:
        """The record of the next step."""
        step = {"phase": phase, "at": now_ms}
        return dataclasses.replace(self, phase=phase, updated_ms=now_ms, steps=(*self.steps, step), **changes)

    def encoded(self) -> bytes:
        """As it is stored."""
        fields = {VERSION: OPERATION_VERSION, **{name: getattr(self, name) for name in _NAMES}}
        try:
            return orjson.dumps(fields)
        except TypeError:  # half surrogates and numbers beyond 64 bits, which names and requests may have
            pass
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


_NAMES: Final = tuple(each.name for each in dataclasses.fields(OperationRecord))


def decode_operation(value: bytes) -> OperationRecord:
    """A record of its stored form; fields that are not known here are left out.

    Raises:
        NewerFormatError: it is of a later version.
        DataError: it is none.
    """
    try:
        fields = json.loads(value)
        check_version(fields, OPERATION_VERSION, f"Operation {fields.get('id')}")
        record = OperationRecord(**{name: content for name, content in fields.items() if name in _NAMES})
    except RecursionError as error:
        raise DataError("This is no record of an operation: its values are nested too deeply") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(f"This is no record of an operation: {error}") from error
    for names, is_fine, expected in _SHAPES:
        for name in names:
            if not is_fine(getattr(record, name)):
                raise DataError(f"This is no record of an operation: {name!r} should be {expected}")
    return record


def _is_row(row: Any) -> bool:
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("partition"), Mapping)
        and "offset" in row
        and isinstance(row["offset"], (Mapping, NoneType))
    )


_SHAPES: Final[tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...]] = (
    (("id", "kind", "connector", "phase", "who"), lambda value: isinstance(value, str), "a text"),
    (("reason", "former_state", "message", "error"), lambda value: isinstance(value, (str, NoneType)), "a text"),
    (("created_ms", "updated_ms"), lambda value: type(value) is int, "a number of milliseconds"),
    (("request", "details"), lambda value: isinstance(value, Mapping), "an object"),
    (
        ("before", "after"),
        lambda value: value is None or (isinstance(value, (list, tuple)) and all(map(_is_row, value))),
        "a list of partitions with their offsets",
    ),
    (
        ("steps",),
        lambda value: isinstance(value, (list, tuple)) and all(isinstance(step, Mapping) for step in value),
        "a list of objects",
    ),
)
"""What the fields of a record must be, since whoever reads them relies on it."""
