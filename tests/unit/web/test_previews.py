"""What a change of positions comes to."""

from __future__ import annotations

from seamark.client import OffsetMove
from seamark.web.previews import preview_of, reversed_moves


def move(partition: int, old: int | None, new: int | None, **fields: object) -> OffsetMove:
    def offset(number: int | None) -> dict[str, int] | None:
        return None if number is None else {"kafka_offset": number}

    where = {"kafka_topic": "orders", "kafka_partition": partition}
    return OffsetMove(where, offset(old), offset(new), **fields)  # type: ignore[arg-type]


def test_records_between_old_and_new_are_counted() -> None:
    found = preview_of([move(10, 100, 40), move(2, 5, 5), move(1, 10, 1010)])
    assert [row.partition for row in found.rows] == ["orders:1", "orders:2", "orders:10"]
    assert [(row.old, row.new, row.replayed, row.skipped) for row in found.rows] == [
        ("10", "1,010", 0, 1000),
        ("5", "5", 0, 0),
        ("100", "40", 60, 0),
    ]
    assert found.sentences == [
        "60 records will be read again, in 1 partition.",
        "1,000 records will be skipped, in 1 partition.",
        "1 partition stays in place.",
    ]


def test_what_the_worker_counted_is_taken() -> None:
    where = {"cluster": "A", "topic": "orders", "partition": 0}
    mirrored = OffsetMove(where, {"offset": 9}, {"offset": 4}, old=10, new=5, replayed=5, skipped=0)
    row = preview_of([mirrored]).rows[0]
    assert (row.partition, row.old, row.new, row.replayed) == ("orders:0", "10", "5", 5)


def test_what_has_no_position_yet_or_none_afterwards_is_not_counted() -> None:
    found = preview_of([move(0, None, 7), move(1, 7, None)])
    assert [(row.old, row.new) for row in found.rows] == [("none yet", "7"), ("7", "none (reset)")]
    assert found.sentences == ["Of 2 partitions nobody can tell how many records that is."]


def test_a_change_that_changes_nothing_says_so() -> None:
    assert preview_of([move(0, 3, 3)]).sentences == ["Nothing changes: every partition is already there."]


def test_offsets_that_are_no_numbers_are_shown_as_they_are() -> None:
    row = preview_of([OffsetMove({"filename": "a.txt"}, {"position": 5, "line": 2}, {"position": 0})]).rows[0]
    assert (row.partition, row.old, row.new, row.replayed) == (
        "filename=a.txt",
        "position=5, line=2",
        "position=0",
        None,
    )


def test_the_way_back() -> None:
    found = preview_of(reversed_moves([move(0, 100, 40, clamped="too early")]))
    assert found.skipped == 60
    assert found.notes == []


def test_notes_stand_once() -> None:
    assert preview_of([move(0, 9, 4, clamped="too early"), move(1, 9, 4, clamped="too early")]).notes == ["too early"]
