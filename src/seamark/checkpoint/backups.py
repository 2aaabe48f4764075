"""Backups: a file per change, in the checkpoint, with the texts of all files before and after.

``seamark-backups/20260501T120000.000Z.json``. It is written before anything changes. Spark does not look there. One of
a later version is refused: half of a change must not be put back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import NoneType
from typing import Final

from seamark.checkpoint.errors import CheckpointError, DamagedCheckpointError
from seamark.checkpoint.files import Files
from seamark.checkpoint.moves import FileChange
from seamark.errors import DataError, NewerFormatError
from seamark.formats import VERSION, check_version

DIRECTORY: Final = "seamark-backups"
BACKUP_VERSION: Final = 1
_SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True)
class Backup:
    """A change that was made, or begun."""

    path: str
    made_at: str
    query_id: str
    committed: int | None
    """The last batch that was committed then."""
    what: str
    """In words."""
    changes: tuple[FileChange, ...]

    def render(self) -> str:
        """The file's text."""
        content = {
            VERSION: BACKUP_VERSION,
            "made_at": self.made_at,
            "query_id": self.query_id,
            "committed_batch": self.committed,
            "what": self.what,
            "files": [{"path": each.path, "before": each.before, "after": each.after} for each in self.changes],
        }
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def make_backup(query_id: str, committed: int | None, what: str, changes: tuple[FileChange, ...]) -> Backup:
    """One of now."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    name = now.replace("-", "").replace(":", "")
    return Backup(f"{DIRECTORY}/{name}{_SUFFIX}", now, query_id, committed, what, changes)


def read_backup(files: Files, path: str) -> Backup | None:
    """The backup at that path, if there is one.

    Raises:
        CheckpointError: a newer Seamark made it.
        DamagedCheckpointError: it is none.
    """
    text = files.read(path)
    if text is None:
        return None
    try:
        found = json.loads(text)
        check_version(found, BACKUP_VERSION, f"The backup {files.root}/{path}")
        changes = tuple(FileChange(each["path"], each["before"], each["after"]) for each in found["files"])
        backup = Backup(path, found["made_at"], found["query_id"], found["committed_batch"], found["what"], changes)
    except NewerFormatError as error:
        raise CheckpointError(str(error)) from error
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, DataError) as error:
        raise DamagedCheckpointError(f"{files.root}/{path} is no backup that Seamark wrote") from error
    if not _is_sound(backup):
        raise DamagedCheckpointError(f"{files.root}/{path} is no backup that Seamark wrote")
    return backup


def _is_sound(backup: Backup) -> bool:
    """Whether all of it is of the right kind, and no file is outside of the checkpoint: they will be written."""
    return (
        all(isinstance(text, str) for text in (backup.made_at, backup.query_id, backup.what))
        and (backup.committed is None or type(backup.committed) is int)
        and all(
            isinstance(change.path, str)
            and not change.path.startswith("/")
            and ".." not in change.path.split("/")
            and isinstance(change.before, (str, NoneType))
            and isinstance(change.after, (str, NoneType))
            for change in backup.changes
        )
    )


def newest_backups(files: Files) -> Iterator[Backup]:
    """All, the newest one first."""
    names = [each.name for each in files.list(DIRECTORY) or () if each.name.endswith(_SUFFIX)]
    for name in sorted((name for name in names if not name.startswith(".")), reverse=True):
        found = read_backup(files, f"{DIRECTORY}/{name}")
        if found is not None:
            yield found
