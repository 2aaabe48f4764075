"""Changing a checkpoint so that whoever ends in the middle leaves the old or the new one.

1. The backup is written.
2. The guard is put where the next batch would be: from here on no query starts (`seamark.checkpoint.guards`).
3. All is compared with what was read: if a query has run meanwhile, the guard goes and nothing was changed.
4. Each file is replaced as a whole.
5. If no batch was committed meanwhile, the guard is replaced by the fence, or removed: now the change is made.

A guard that was left behind is found by the next command, which puts the files back as they were and removes it.
"""

from __future__ import annotations

from seamark.checkpoint.backups import Backup, make_backup, newest_backups, read_backup
from seamark.checkpoint.errors import (
    ChangeUnderWayError,
    DamagedCheckpointError,
    NothingToRestoreError,
    QueryRunningError,
)
from seamark.checkpoint.files import Files
from seamark.checkpoint.guards import Guard, make_guard
from seamark.checkpoint.moves import FileChange
from seamark.checkpoint.reading import COMMITS, OFFSETS, Checkpoint, batches, read_guard
from seamark.errors import ConnectError


def carry_out(files: Files, checkpoint: Checkpoint, changes: tuple[FileChange, ...], what: str) -> Backup:
    """Make the changes to a checkpoint that has no guard.

    Args:
        files: where it is.
        checkpoint: as it was read, when the changes were planned.
        changes: see `seamark.checkpoint.moves`.
        what: is done, in words, for the backup.

    Raises:
        QueryRunningError: it is no longer as it was read; nothing was changed.
        ChangeUnderWayError: somebody else changes it.
    """
    backup = make_backup(checkpoint.query_id, checkpoint.committed, what, changes)
    files.replace(backup.path, backup.render())
    try:
        guard = _put_guard(files, checkpoint, backup)
    except ConnectError:
        files.delete(backup.path)
        raise
    place = f"{OFFSETS}/{guard.batch}"
    last = next((each for each in changes if each.path == place), None)
    try:
        for each in changes:
            if each is not last:
                _put(files, each.path, each.after)
        if not _is_still_at(files, checkpoint):
            raise running(files, "it has just committed a batch")
        _put(files, place, last.after if last else None)
    except BaseException:  # also Ctrl-C
        _put_back(files, backup, guard)
        files.delete(backup.path)
        raise
    return backup


def put_right(files: Files, *, is_forced: bool = False) -> Backup | None:
    """Undo a change that was interrupted; returns it, None if there was none.

    Raises:
        ChangeUnderWayError: it is still under way, or may be: on another machine only `is_forced` ends it.
    """
    guard = read_guard(files)
    if guard is None:
        return None
    if guard.is_left_behind is not True and not (is_forced and guard.is_left_behind is None):
        who = f"process {guard.process} on {guard.host}" if guard.host else "somebody"
        hint = None
        if guard.is_left_behind is None:
            hint = "If that has ended, run `seamark checkpoint restore PATH --force`."
        raise ChangeUnderWayError(f"{files.root} is being changed by {who}", hint)
    backup = read_backup(files, guard.backup) if guard.backup else None
    if backup is None:
        raise DamagedCheckpointError(
            f"{files.root} was being changed when that was interrupted, but the backup {guard.backup or ''} is gone",
            f"Remove {OFFSETS}/{guard.batch} after a look at the other files of {OFFSETS}.",
        )
    _put_back(files, backup, guard)
    return backup


def last_change(files: Files, checkpoint: Checkpoint) -> Backup:
    """The change that can be undone.

    Raises:
        NothingToRestoreError: nothing was changed, or the query has run since.
    """
    newest = None
    for backup in newest_backups(files):
        newest = newest or backup
        batches_after = [_number(each.path) for each in backup.changes if each.after is not None]
        is_last = max((number for number in batches_after if number is not None), default=None) in (
            checkpoint.latest,
            None,
        )
        is_same = backup.query_id == checkpoint.query_id and backup.committed == checkpoint.committed
        if is_same and is_last and all(files.read(each.path) == each.after for each in backup.changes):
            return backup
    if newest is None:
        raise NothingToRestoreError(f"{files.root} has no backups: `seamark checkpoint` has not changed it")
    raise NothingToRestoreError(
        f"The query of {files.root} has run since it was changed (last at {newest.made_at}): that cannot be undone",
        f"To go back all the same: seamark checkpoint set, with the old offsets in {newest.path}.",
    )


def undo(files: Files, checkpoint: Checkpoint, backup: Backup) -> None:
    """Put files back as they were before a change.

    Raises:
        QueryRunningError: it is no longer as it was read; nothing was changed.
        ChangeUnderWayError: somebody else changes it.
    """
    _put_back(files, backup, _put_guard(files, checkpoint, backup, is_undone=True))


def _put_guard(files: Files, checkpoint: Checkpoint, backup: Backup, *, is_undone: bool = False) -> Guard:
    guard = make_guard(0 if checkpoint.latest is None else checkpoint.latest + 1, backup.path)
    place = f"{OFFSETS}/{guard.batch}"
    if not files.create(place, guard.render()):
        other = read_guard(files)
        if other is not None:
            raise ChangeUnderWayError(f"{files.root} is being changed by process {other.process} on {other.host}")
        raise running(files, f"it has just planned batch {guard.batch}")
    expected = {each.path: each.after if is_undone else each.before for each in backup.changes}
    expected[place] = guard.render()
    changed = [path for path, text in expected.items() if files.read(path) != text]
    if not _is_still_at(files, checkpoint):
        changed.append(COMMITS)
    if changed:
        files.delete(place)
        raise running(files, f"{changed[0]} has just changed")
    return guard


def _is_still_at(files: Files, checkpoint: Checkpoint) -> bool:
    return batches(files, COMMITS)[-1:] == ([] if checkpoint.committed is None else [checkpoint.committed])


def running(files: Files, why: str) -> QueryRunningError:
    """The refusal of a checkpoint that is in use."""
    return QueryRunningError(
        f"A query is running on {files.root}: {why}. It can be moved only while the query is stopped",
        "Stop the query (query.stop(), or end its driver) and try again.",
    )


def _put_back(files: Files, backup: Backup, guard: Guard) -> None:
    place = f"{OFFSETS}/{guard.batch}"
    for each in backup.changes:
        if each.path != place:
            _put(files, each.path, each.before)
    files.delete(place)


def _put(files: Files, path: str, text: str | None) -> None:
    if text is None:
        files.delete(path)
    else:
        files.replace(path, text)


def _number(path: str) -> int | None:
    log, _, name = path.rpartition("/")
    return int(name) if log == OFFSETS and name.isdigit() else None
