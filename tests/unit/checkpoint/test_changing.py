"""Moving a checkpoint: which files change, and what is left when that ends at any point."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from fixtures.checkpoints import Written, line, offsets_text, snapshot
from seamark.checkpoint import guards
from seamark.checkpoint.changing import carry_out, last_change, put_right, undo
from seamark.checkpoint.errors import (
    ChangeUnderWayError,
    CheckpointError,
    DamagedCheckpointError,
    NothingToRestoreError,
    QueryRunningError,
)
from seamark.checkpoint.files import LocalFiles
from seamark.checkpoint.guards import Guard, make_guard, parse_guard
from seamark.checkpoint.moves import plan_files
from seamark.checkpoint.reading import read_checkpoint
from seamark.config.position_plans import Partition

NEW: dict[str, dict[Partition, int]] = {"0": {("orders", 0): 12}}


def move(written: Written, moved: dict[str, dict[Partition, int]] = NEW, *, is_fenced: bool = True) -> None:
    checkpoint = read_checkpoint(written.files)
    changes = plan_files(checkpoint, moved, now_ms=5_000, is_fenced=is_fenced)
    carry_out(written.files, checkpoint, changes, "a move")


def positions(written: Written) -> dict[Partition, int]:
    found = read_checkpoint(written.files).sources[0].positions
    assert found is not None
    return dict(found)


def test_the_last_committed_batch_ends_at_the_new_positions_and_an_empty_one_is_planned(orders: Written) -> None:
    move(orders)
    moved = line(orders={0: 12, 1: 60})
    assert (orders.root / "offsets/2").read_text() == offsets_text(moved)
    version, metadata, *sources = (orders.root / "offsets/3").read_text().split("\n")
    assert (version, sources) == ("v1", [moved]), "to the letter, or Spark would see new records"
    assert json.loads(metadata) == {
        "batchWatermarkMs": 77,
        "batchTimestampMs": 5_000,
        "conf": {"spark.sql.shuffle.partitions": "2"},
    }
    assert not (orders.root / "commits/3").exists()
    assert not (orders.root / "offsets/.2.crc").exists(), "it would no longer fit"
    assert (orders.root / "offsets/.1.crc").exists()
    assert (orders.root / "sources/0/0").read_text() == "\0v1\n" + line(orders={0: 1, 1: 2})
    assert read_checkpoint(orders.files).is_fenced
    assert positions(orders) == {("orders", 0): 12, ("orders", 1): 60}


def test_without_a_fence_only_one_file_changes(orders: Written) -> None:
    before = snapshot(orders.root)
    move(orders, is_fenced=False)
    after = snapshot(orders.root)
    assert {path for path in before | after if before.get(path) != after.get(path)} == {"offsets/2", "offsets/.2.crc"}


def test_an_unfinished_batch_keeps_its_number_and_what_is_not_moved(orders: Written) -> None:
    orders.batch(3, line(orders={0: 40, 1: 80}), is_committed=False)
    move(orders)
    assert (orders.root / "offsets/2").read_text() == offsets_text(line(orders={0: 12, 1: 60}))
    assert (orders.root / "offsets/3").read_text() == offsets_text(line(orders={0: 12, 1: 80}))
    assert not (orders.root / "offsets/4").exists()


def test_a_partition_that_the_unfinished_batch_found_is_in_both(orders: Written) -> None:
    orders.batch(3, line(orders={0: 40, 1: 80, 2: 9}), is_committed=False)
    move(orders, {"0": {("orders", 2): 4}})
    assert (orders.root / "offsets/2").read_text() == offsets_text(line(orders={0: 30, 1: 60, 2: 4}))
    assert (orders.root / "offsets/3").read_text() == offsets_text(line(orders={0: 40, 1: 80, 2: 4}))


def test_before_the_first_commit_the_beginning_moves(written: Written) -> None:
    written.began(0, line(orders={0: 1, 1: 2}))
    move(written)
    assert (written.root / "sources/0/0").read_text() == "\0v1\n" + line(orders={0: 12, 1: 2})
    assert list((written.root / "offsets").iterdir()) == []
    written.batch(0, line(orders={0: 40, 1: 80}), is_committed=False)
    move(written, {"0": {("orders", 0): 3}})
    assert (written.root / "sources/0/0").read_text() == "\0v1\n" + line(orders={0: 3, 1: 2})
    assert (written.root / "offsets/0").read_text() == offsets_text(line(orders={0: 3, 1: 80}))


def test_a_stream_that_is_used_twice_moves_in_both_lines(written: Written) -> None:
    written.began(0, line(orders={0: 0}))
    written.batch(0, line(orders={0: 5}), '{"logOffset":3}', line(orders={0: 5}))
    move(written)
    moved = line(orders={0: 12})
    assert (written.root / "offsets/0").read_text() == offsets_text(moved, '{"logOffset":3}', moved)


def test_a_source_that_came_late_keeps_its_other_partitions(written: Written) -> None:
    written.began(0, line(a={0: 1}))
    written.began(1, line(b={0: 2, 1: 3}))
    written.batch(0, line(a={0: 5}), "-")
    written.batch(1, line(a={0: 6}), line(b={0: 30, 1: 40}), is_committed=False)
    move(written, {"1": {("b", 0): 12}})
    assert (written.root / "offsets/0").read_text() == offsets_text(line(a={0: 5}), line(b={0: 12, 1: 3}))
    assert (written.root / "offsets/1").read_text() == offsets_text(line(a={0: 6}), line(b={0: 12, 1: 40}))


class Ended(BaseException):
    """The process ends here."""


class Mortal(LocalFiles):
    """Ends before its n-th change, and can do nothing after that."""

    def __init__(self, root: Path, lives: int) -> None:
        super().__init__(str(root), root)
        self.lives = lives

    def _live(self) -> None:
        self.lives -= 1
        if self.lives < 0:
            raise Ended

    def create(self, path: str, text: str) -> bool:
        self._live()
        return super().create(path, text)

    def replace(self, path: str, text: str) -> None:
        self._live()
        super().replace(path, text)

    def delete(self, path: str) -> None:
        self._live()
        super().delete(path)


@pytest.mark.parametrize("is_undone", [False, True])
@pytest.mark.parametrize("case", ["committed", "unfinished", "first"])
@pytest.mark.parametrize("lives", range(8))
def test_whoever_ends_in_the_middle_leaves_the_old_or_the_new_one(
    written: Written, monkeypatch: pytest.MonkeyPatch, lives: int, case: str, is_undone: bool
) -> None:
    written.began(0, line(orders={0: 1}))
    written.batch(0, line(orders={0: 10}), is_committed=case != "first")
    if case == "unfinished":
        written.batch(1, line(orders={0: 20}), is_committed=False)
    if is_undone:
        move(written)
    before = without_checksums(snapshot(written.root))
    mortal = Mortal(written.root, lives)
    checkpoint = read_checkpoint(mortal)
    try:
        if is_undone:
            undo(mortal, checkpoint, last_change(mortal, checkpoint))
        else:
            carry_out(mortal, checkpoint, plan_files(checkpoint, NEW, now_ms=5_000), "a move")
        is_done = True
    except Ended:
        is_done = False
    after = without_checksums(snapshot(written.root))
    guard = read_checkpoint(written.files).guard
    if guard is None:
        assert is_done or after == before, "nothing had begun"
    else:
        monkeypatch.setattr(guards.Guard, "is_left_behind", True)
        assert put_right(written.files) is not None
        restored = without_checksums(snapshot(written.root))
        assert is_undone or restored == before
        assert read_checkpoint(written.files).guard is None
        if is_undone:
            assert positions(written) == {("orders", 0): 1 if case == "first" else 10}
    assert put_right(written.files) is None


def without_checksums(found: dict[str, str]) -> dict[str, str]:
    return {path: text for path, text in found.items() if not path.endswith(".crc")}


def test_while_it_changes_spark_finds_a_batch_that_it_does_not_know(orders: Written) -> None:
    mortal = Mortal(orders.root, 3)  # backup, guard, first file
    checkpoint = read_checkpoint(mortal)
    with pytest.raises(Ended):
        carry_out(mortal, checkpoint, plan_files(checkpoint, NEW, now_ms=5_000), "a move")
    text = (orders.root / "offsets/3").read_text()
    assert text.startswith("seamark: this checkpoint is being changed")
    assert parse_guard(text, 3) == read_checkpoint(orders.files).guard
    with pytest.raises(ChangeUnderWayError, match="is being changed by process"):
        put_right(orders.files)
    with pytest.raises(ChangeUnderWayError):
        move(orders)


def test_a_failure_puts_everything_back(orders: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    orders.batch(3, line(orders={0: 40, 1: 80}), is_committed=False)
    before = without_checksums(snapshot(orders.root))
    replace = LocalFiles.replace

    def full(files: LocalFiles, path: str, text: str) -> None:
        if path == "offsets/3":
            monkeypatch.undo()
            raise CheckpointError("the disk is full")
        replace(files, path, text)

    monkeypatch.setattr(LocalFiles, "replace", full)
    with pytest.raises(CheckpointError, match="the disk is full"):
        move(orders)
    assert without_checksums(snapshot(orders.root)) == before
    with pytest.raises(NothingToRestoreError):
        last_change(orders.files, read_checkpoint(orders.files))


def test_a_batch_that_is_committed_while_files_change_is_noticed(
    orders: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders.batch(3, line(orders={0: 40, 1: 80}), is_committed=False)
    before = without_checksums(snapshot(orders.root))
    replace = LocalFiles.replace

    def meanwhile(files: LocalFiles, path: str, text: str) -> None:
        replace(files, path, text)
        if path == "offsets/3":
            monkeypatch.undo()
            orders.write("commits/3", "v1")

    monkeypatch.setattr(LocalFiles, "replace", meanwhile)
    with pytest.raises(QueryRunningError, match="has just committed a batch"):
        move(orders)
    assert without_checksums(snapshot(orders.root)) == {**before, "commits/3": "v1"}


@pytest.mark.parametrize("what", ["planned", "committed", "changed"])
def test_a_query_that_has_run_meanwhile_is_noticed(orders: Written, what: str) -> None:
    orders.batch(3, line(orders={0: 40, 1: 80}), is_committed=False)
    checkpoint = read_checkpoint(orders.files)
    changes = plan_files(checkpoint, NEW, now_ms=5_000)
    if what == "planned":
        orders.batch(4, line(orders={0: 50, 1: 90}), is_committed=False)
    elif what == "committed":
        orders.write("commits/3", 'v1\n{"nextBatchWatermarkMs":0}')
    else:
        orders.batch(3, line(orders={0: 41, 1: 80}), is_committed=False)
    before = snapshot(orders.root)
    with pytest.raises(QueryRunningError, match="only while the query is stopped"):
        carry_out(orders.files, checkpoint, changes, "a move")
    assert snapshot(orders.root) == before
    assert list((orders.root / "seamark-backups").iterdir()) == []


def test_changes_are_undone_one_after_the_other(orders: Written) -> None:
    before = without_checksums(snapshot(orders.root))
    move(orders)
    once = without_checksums(snapshot(orders.root))
    move(orders, {"0": {("orders", 1): 1}})
    for expected in (once, before):
        checkpoint = read_checkpoint(orders.files)
        undo(orders.files, checkpoint, last_change(orders.files, checkpoint))
        assert without_checksums(snapshot(orders.root)) == expected
    with pytest.raises(NothingToRestoreError, match="has run since"):
        last_change(orders.files, read_checkpoint(orders.files))


def test_nothing_is_undone_once_the_query_has_run(orders: Written) -> None:
    with pytest.raises(NothingToRestoreError, match="has no backups"):
        last_change(orders.files, read_checkpoint(orders.files))
    move(orders)
    orders.write("commits/3", 'v1\n{"nextBatchWatermarkMs":0}')
    with pytest.raises(NothingToRestoreError, match="has run since") as caught:
        last_change(orders.files, read_checkpoint(orders.files))
    assert "seamark-backups/" in str(caught.value.hint)


def test_who_is_gone_is_told_from_who_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = make_guard(3, "b")
    assert ours.is_left_behind is False
    assert Guard(3, "b", ours.host, ours.process, ours.begun - 100).is_left_behind is True, "another one of that number"
    assert Guard(3, "b", ours.host, 2**22 + 7, ours.begun).is_left_behind is True
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    assert ours.is_left_behind is None


def test_a_guard_of_another_machine_is_removed_only_by_force(orders: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    before = without_checksums(snapshot(orders.root))
    mortal = Mortal(orders.root, 3)
    checkpoint = read_checkpoint(mortal)
    with pytest.raises(Ended):
        carry_out(mortal, checkpoint, plan_files(checkpoint, NEW, now_ms=5_000), "a move")
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    with pytest.raises(ChangeUnderWayError) as caught:
        put_right(orders.files)
    assert "--force" in str(caught.value.hint)
    undone = put_right(orders.files, is_forced=True)
    assert undone is not None and undone.what == "a move"
    assert without_checksums(snapshot(orders.root)) == before


def test_a_guard_whose_backup_is_gone_is_said(orders: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    orders.write("offsets/3", Guard(3, "seamark-backups/x.json").render())
    monkeypatch.setattr(guards.Guard, "is_left_behind", True)
    with pytest.raises(DamagedCheckpointError, match="backup"):
        put_right(orders.files)
    orders.write("offsets/3", "seamark: torn")
    with pytest.raises(DamagedCheckpointError, match="backup"):
        put_right(orders.files)


def test_files_are_written_for_whoever_runs_the_query(orders: Written) -> None:
    (orders.root / "offsets/2").chmod(0o640)
    move(orders)
    assert (orders.root / "offsets/2").stat().st_mode & 0o777 == 0o640
