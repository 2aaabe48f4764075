"""What a request for offsets looks like as JSON: in a body of REST, and in the record of an operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from seamark.config.positions import parse_rules
from seamark.errors import BadRequestError
from seamark.runtime.offset_requests import OffsetRequest

FIELDS: Final = ("offsets", "positions", "reset", "clamp")
EXPECTED: Final = (
    'one of "offsets" (a list of partitions and offsets), "positions" (such as "-2h" or {"orders": "earliest"}) and '
    '"reset": true'
)


def parse_request(body: Mapping[str, Any]) -> OffsetRequest:
    """The request in a JSON object, numbers as numbers; fields of other kinds are the caller's.

    Raises:
        BadRequestError: it asks for nothing, or for two things at once, or cannot be understood.
    """
    wanted = [name for name in ("offsets", "positions") if body.get(name) is not None]
    reset, clamp = _flag(body, "reset"), _flag(body, "clamp")
    if len(wanted) + reset != 1:
        found = " and ".join(f'"{name}"' for name in [*wanted, *(["reset"] if reset else [])]) or "nothing"
        raise BadRequestError(f"Expected {EXPECTED}; found {found}.")
    if clamp and "positions" not in wanted:
        raise BadRequestError('"clamp" goes with "positions" only: offsets are taken as they are.')
    if reset:
        return OffsetRequest(is_reset=True)
    if wanted == ["positions"]:
        return OffsetRequest(positions=parse_rules(body["positions"]), shown=body["positions"], clamp=clamp)
    return OffsetRequest(offsets=tuple(_entry(each, number) for number, each in enumerate(_entries(body["offsets"]))))


def _entries(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise BadRequestError('"offsets" should be a list of objects with "partition" and "offset", and not be empty.')
    return value


def _entry(value: Any, number: int) -> tuple[Any, Any]:
    is_fine = isinstance(value, dict) and set(value) <= {"partition", "offset"}
    if not is_fine or not all(isinstance(value.get(name), (dict, type(None))) for name in ("partition", "offset")):
        raise BadRequestError(f'"offsets[{number}]" should have the objects "partition" and "offset", and no others.')
    return value.get("partition"), value.get("offset")


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadRequestError(f'"{name}" should be true or false.')
    return bool(value)
