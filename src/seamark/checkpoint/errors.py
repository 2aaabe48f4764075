"""What can be wrong with a checkpoint, or with changing it now.

::

    CheckpointError
    ├── MissingCheckpointError    there is nothing at that path
    ├── NotACheckpointError       there is something else; says what a checkpoint has
    ├── DamagedCheckpointError    Spark could not go on from it, or a file is not as Spark writes it
    ├── QueryRunningError         a query changes it now
    ├── ChangeUnderWayError       another command changes it now, or has not finished
    └── NothingToRestoreError     no backup fits what is there
"""

from __future__ import annotations

from seamark.errors import BadRequestError


class CheckpointError(BadRequestError):
    """Something about a checkpoint; nothing was changed. `hint` says what would help."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class MissingCheckpointError(CheckpointError):
    """There is nothing at that path."""


class NotACheckpointError(CheckpointError):
    """There is something else."""


class DamagedCheckpointError(CheckpointError):
    """A file is missing, or not as Spark writes it."""


class QueryRunningError(CheckpointError):
    """A query changes the checkpoint now."""


class ChangeUnderWayError(CheckpointError):
    """Another command changes the checkpoint now, or was ended in the middle."""


class NothingToRestoreError(CheckpointError):
    """No backup fits what is there."""
