"""Operations of a standalone worker, in its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamark.errors import DataError, OffsetStoreError
from seamark.storage.operation_records import OperationRecord, decode_operation
from seamark.storage.operation_store import KEPT_PER_CONNECTOR, FileOperationStore, operation_store


def record(number: int, phase: str = "DONE", connector: str = "c") -> OperationRecord:
    return OperationRecord(f"{number:05d}", "alter", connector, phase, number, number, before=(), after=())


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    store = FileOperationStore(tmp_path / "history")
    first = record(1, "CHANGING")
    store.put(first)
    store.put(record(2))
    store.put(first.moved_to("DONE", 9, message="grüße"))
    again = FileOperationStore(tmp_path / "history")
    again.refresh()
    assert [(each.id, each.phase, each.message) for each in again.all()] == [
        ("00001", "DONE", "grüße"),
        ("00002", "DONE", None),
    ]
    assert [step["phase"] for step in again.all()[0].steps] == ["DONE"]


def test_half_a_line_is_as_if_it_was_never_written(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(record(1).encoded() + b"\n" + record(2).encoded()[:20])
    store = FileOperationStore(path)
    store.put(record(3))
    again = FileOperationStore(path)
    again.refresh()
    assert [each.id for each in again.all()] == ["00001", "00003"]


def test_old_ones_are_forgotten_but_none_that_is_under_way(tmp_path: Path) -> None:
    path = tmp_path / "history"
    lines = [
        record(0, "CHANGING"),
        *(record(number) for number in range(1, KEPT_PER_CONNECTOR + 3)),
        record(9000, "DONE", "d"),
    ]
    path.write_bytes(b"".join(each.encoded() + b"\n" for each in lines))
    store = FileOperationStore(path)
    store.refresh()
    store.trim("c")
    kept = [each.id for each in store.of("c")]
    assert (kept[:2], len(kept)) == (["00000", "00003"], KEPT_PER_CONNECTOR + 1)
    assert len(store.of("d")) == 1


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    store = FileOperationStore(tmp_path / "no" / "history")
    with pytest.raises(OffsetStoreError, match=r"cannot be written to .*history"):
        store.put(record(1))


def test_without_a_file_they_are_kept_in_memory() -> None:
    store = operation_store({}, is_distributed=False)
    store.put(record(1))
    assert [each.id for each in store.all()] == ["00001"]


def test_what_is_no_record(tmp_path: Path) -> None:
    for value in (b"", b"{", b"[]", b'{"id": "a"}', b"null"):
        with pytest.raises(DataError):
            decode_operation(value)
    later = b'{"id":"a","kind":"k","connector":"c","phase":"DONE","created_ms":1,"updated_ms":2,"new":true}'
    assert decode_operation(later).phase == "DONE"
