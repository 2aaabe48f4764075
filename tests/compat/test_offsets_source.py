"""Offsets of sources: view, alter, reset, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from compat.client import Connect, expect, in_order, path_of
from compat.conftest import Files, Parked
from compat.differences import differs
from compat.targets import Target
from compat.test_offsets import ALTERED, RESET
from seamark.testing.waiting import eventually


@pytest.fixture
def stopped(connect: Connect, files: Files, name: str) -> str:
    """A source of three lines that has read them and was stopped."""
    connect.create(name, files.source(name, 3))
    eventually(lambda: connect.offsets(name)[0]["offset"] == {"position": 18}, 60, "the file is not read")
    connect.stop(name)
    return name


def row(files: Files, name: str, position: int) -> dict[str, Any]:
    return {"partition": files.partition(name), "offset": {"position": position}}


def shown(connect: Connect, name: str, offsets: list[dict[str, Any]]) -> None:
    """Fail unless the next look at the offsets shows these."""
    eventually(lambda: connect.offsets(name) == offsets, 10, f"the offsets are not {offsets}")


@pytest.mark.requirement("K875-05")
@pytest.mark.requirement("K875-08")
@pytest.mark.requirement("K875-40")
@pytest.mark.requirement("K875-47")
def test_alter(connect: Connect, files: Files, stopped: str) -> None:
    assert expect(connect.alter(stopped, (files.partition(stopped), {"position": 6})), 200) == ALTERED
    shown(connect, stopped, [row(files, stopped, 6)])
    answer = expect(connect.get(path_of(stopped, "offsets")), 200)
    assert expect(connect.patch(path_of(stopped, "offsets"), answer), 200) == ALTERED
    shown(connect, stopped, [row(files, stopped, 6)])
    connect.resume(stopped)
    eventually(lambda: len(files.topics.values(stopped)) >= 5, 60)
    assert files.topics.values(stopped) == ["line0", "line1", "line2", "line1", "line2"]


@pytest.mark.requirement("K875-08")
@pytest.mark.requirement("K875-23")
@pytest.mark.requirement("K875-48")
def test_reset(connect: Connect, files: Files, stopped: str) -> None:
    assert expect(connect.reset(stopped), 200) == RESET
    shown(connect, stopped, [])
    assert expect(connect.reset(stopped), 200) == RESET
    connect.resume(stopped)
    eventually(lambda: len(files.topics.values(stopped)) >= 6, 60)
    assert files.topics.values(stopped) == ["line0", "line1", "line2"] * 2


def test_reset_ignores_a_body(connect: Connect, stopped: str) -> None:
    response = connect.call("DELETE", path_of(stopped, "offsets"), content="{nonsense")
    assert expect(response, 200) == RESET


@pytest.mark.requirement("K875-06")
@pytest.mark.requirement("K875-07")
def test_alter_only_augments(connect: Connect, files: Files, stopped: str) -> None:
    other, third = {"filename": "/elsewhere"}, {"filename": "/third", "extra": True}
    expect(connect.alter(stopped, (other, {"position": 1}), (third, {"position": 2, "more": "x"})), 200)
    rows = [row(files, stopped, 18), {"partition": other, "offset": {"position": 1}}]
    rows.append({"partition": third, "offset": {"position": 2, "more": "x"}})
    shown(connect, stopped, in_order(rows))
    assert expect(connect.alter(stopped, (other, None)), 200) == ALTERED
    shown(connect, stopped, in_order([each for each in rows if each["partition"] != other]))
    body = {"offsets": [{"partition": third}]}  # a missing offset is a null one
    assert expect(connect.patch(path_of(stopped, "offsets"), body), 200) == ALTERED
    shown(connect, stopped, [row(files, stopped, 18)])
    assert expect(connect.alter(stopped, ({"filename": "/never"}, None)), 200) == ALTERED
    shown(connect, stopped, [row(files, stopped, 18)])


def test_last_of_duplicates_wins(connect: Connect, files: Files, stopped: str) -> None:
    partition = files.partition(stopped)
    expect(connect.alter(stopped, (partition, {"position": 1}), (partition, {"position": 12})), 200)
    shown(connect, stopped, [row(files, stopped, 12)])


def test_tombstones_skip_the_connectors_checks(connect: Connect, stopped: str) -> None:
    before = connect.offsets(stopped)
    assert expect(connect.alter(stopped, ({"no": "filename"}, None)), 200) == ALTERED
    assert expect(connect.patch(path_of(stopped, "offsets"), {"offsets": [{}]}), 200) == ALTERED
    shown(connect, stopped, before)


PRIMITIVE = "Offsets may only contain primitive types as values, but field {} contains {}"
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "partition-value-is-an-object": ({"filename": {"a": 1}}, {"position": 1}, PRIMITIVE.format("filename", "MAP")),
    "partition-value-is-an-array": ({"filename": [1]}, {"position": 1}, PRIMITIVE.format("filename", "ARRAY")),
    "offset-value-is-an-object": ({"filename": "f"}, {"position": {}}, PRIMITIVE.format("position", "MAP")),
    "offset-value-is-an-array": ({"filename": "f"}, {"position": []}, PRIMITIVE.format("position", "ARRAY")),
    "offset-value-is-too-large": (
        {"filename": "f"},
        {"position": 2**63},
        PRIMITIVE.format("position", "class java.math.BigInteger"),
    ),
    "no-position": (
        {"filename": "f"},
        {"other": 1},
        "Offset objects should either be null or contain the key 'position'",
    ),
    "empty-offset": ({"filename": "f"}, {}, "Offset objects should either be null or contain the key 'position'"),
    "position-is-text": (
        {"filename": "f"},
        {"position": "1"},
        "The value for the 'position' key in the offset is expected to be a Long value",
    ),
    "position-is-a-double": (
        {"filename": "f"},
        {"position": 1.0},
        "The value for the 'position' key in the offset is expected to be a Long value",
    ),
    "position-is-null": (
        {"filename": "f"},
        {"position": None},
        "The value for the 'position' key in the offset is expected to be a Long value",
    ),
    "position-is-negative": (
        {"filename": "f"},
        {"position": -1},
        "The value for the 'position' key in the offset should be a non-negative value",
    ),
    "no-partition": (None, {"position": 1}, "Partition objects cannot be null"),
    "no-filename": ({"other": "f"}, {"position": 1}, "Partition objects should contain the key 'filename'"),
    "empty-partition": ({}, {"position": 1}, "Partition objects should contain the key 'filename'"),
}


@pytest.mark.requirement("K875-10")
@pytest.mark.requirement("K875-16")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(connect: Connect, stopped_source: Parked, case: str) -> None:
    partition, offset, message = REFUSED[case]
    before = connect.offsets(stopped_source.name)
    good = {"partition": stopped_source.partition, "offset": {"position": 6}}
    body = {"offsets": [good, {"partition": partition, "offset": offset}]}
    connect.refuses(connect.patch(stopped_source.offsets, body), 500, message, f"source-offsets/{case}")
    assert connect.offsets(stopped_source.name) == before


def test_filename_may_be_anything(connect: Connect, stopped: str) -> None:
    for partition in ({"filename": None}, {"filename": 1}, {"filename": True, "x": 1.5}):
        assert expect(connect.alter(stopped, (partition, {"position": 2**63 - 1})), 200) == ALTERED
        assert {"partition": partition, "offset": {"position": 2**63 - 1}} in connect.offsets(stopped)


@pytest.mark.requirement("K875-50")
def test_offsets_topic_of_its_own(distributed: Target, connect: Connect, files: Files, name: str) -> None:
    topic = f"{name}-own-offsets"
    connect.create(name, files.source(name, 3, offsets__storage__topic=topic))
    eventually(lambda: connect.offsets(name) == [row(files, name, 18)], 60, "the file is not read")
    connect.stop(name)
    assert expect(connect.alter(name, (files.partition(name), {"position": 12})), 200) == ALTERED
    shown(connect, name, [row(files, name, 12)])
    connect.resume(name)
    eventually(lambda: len(files.topics.values(name)) >= 4, 60)
    assert files.topics.values(name) == ["line0", "line1", "line2", "line2"]
    assert files.topics.values(topic)
    connect.stop(name)
    if differs(distributed, "reset/own-topic"):  # Kafka Connect hangs here until the request times out
        assert expect(connect.alter(name, (files.partition(name), None)), 200) == ALTERED
        shown(connect, name, [])
        expect(connect.alter(name, (files.partition(name), {"position": 6})), 200)
        assert expect(connect.reset(name), 200) == RESET
        assert expect(connect.reset(name), 200) == RESET
        shown(connect, name, [])
        connect.resume(name)
        eventually(lambda: len(files.topics.values(name)) >= 7, 60)
        assert files.topics.values(name)[4:] == ["line0", "line1", "line2"]


def test_many_offsets(connect: Connect, files: Files, name: str) -> None:
    connect.create(name, files.source(name), "STOPPED")
    connect.await_state(name, "STOPPED")
    rows = [{"partition": {"filename": f"/f{number:04}"}, "offset": {"position": number}} for number in range(1000)]
    assert expect(connect.patch(path_of(name, "offsets"), {"offsets": rows}), 200) == ALTERED
    shown(connect, name, in_order(rows))
    assert expect(connect.reset(name), 200) == RESET
    shown(connect, name, [])
