"""Requests for offsets as JSON, and what undoing comes to."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.errors import BadRequestError
from seamark.runtime.change_steps import differing, undo_request
from seamark.runtime.request_bodies import parse_request
from seamark.storage.operation_records import OperationRecord

P = [{"partition": n} for n in range(3)]


def entry(number: int, before: dict[int, Any], after: dict[int, Any], phase: str = "DONE") -> OperationRecord:
    def rows(offsets: dict[int, Any]) -> list[dict[str, Any]]:
        return [{"partition": P[n], "offset": offset} for n, offset in offsets.items()]

    return OperationRecord(f"e{number}", "alter", "c", phase, number, number, before=rows(before), after=rows(after))


HISTORY = [
    entry(1, {0: None, 1: None}, {0: {"o": 1}, 1: {"o": 1}}),
    entry(2, {1: {"o": 1}}, {1: {"o": 5}}),
    entry(3, {0: {"o": 4}}, {0: {"o": 9}}, "FAILED"),
    entry(4, {0: {"o": 4}, 2: None}, {0: {"o": 7}, 2: {"o": 7}}),
]


@pytest.mark.parametrize(
    ("wanted", "offsets"),
    [
        (None, {0: {"o": 4}, 2: None}),
        ("e4", {0: {"o": 4}, 2: None}),
        ("e2", {1: {"o": 1}, 0: {"o": 4}, 2: None}),
        ("e1", {0: None, 1: None, 2: None}),
    ],
)
def test_undo_goes_to_before_an_entry(wanted: str | None, offsets: dict[int, Any]) -> None:
    chosen, request = undo_request(HISTORY, wanted)
    assert chosen.id == (wanted or "e4")
    assert {partition["partition"]: offset for partition, offset in request.offsets} == offsets


@pytest.mark.parametrize("wanted", ["e3", "e9"])
def test_what_cannot_be_undone(wanted: str) -> None:
    with pytest.raises(BadRequestError, match="e1, e2, e4"):
        undo_request(HISTORY, wanted)
    with pytest.raises(BadRequestError, match="none"):
        undo_request([], None)


def test_requests_are_written_as_they_are_read() -> None:
    for body in (
        {"reset": True},
        {"positions": {"orders": "-2h", "orders:3": 42}, "clamp": True},
        {"positions": "earliest"},
        {"offsets": [{"partition": {"a": 1}, "offset": None}]},
    ):
        assert parse_request(body).as_json() == body


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "nothing"),
        ({"reset": False}, "nothing"),
        ({"reset": True, "positions": "latest"}, '"positions" and "reset"'),
        ({"reset": "yes"}, '"reset" should be true or false'),
        ({"offsets": []}, "not be empty"),
        ({"offsets": [3]}, "offsets[0]"),
        ({"offsets": [{"partition": {}, "ofset": {}}]}, "offsets[0]"),
        ({"offsets": [{"partition": {}, "offset": 3}]}, "offsets[0]"),
        ({"offsets": [{"partition": {}, "offset": None}], "clamp": True}, "clamp"),
        ({"positions": "soon"}, "soon"),
    ],
)
def test_requests_that_cannot_be_understood(body: dict[str, Any], word: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        parse_request(body)
    assert word in refused.value.message


def test_which_offsets_differ() -> None:
    current = [{"partition": {"b": 1, "a": 2}, "offset": {"o": 1}}]
    assert differing(current, [{"partition": {"a": 2, "b": 1}, "offset": {"o": 1}}]) == []
    assert differing(current, [{"partition": {"a": 3}, "offset": None}]) == []
    assert len(differing(current, [{"partition": {"a": 2, "b": 1}, "offset": None}])) == 1
