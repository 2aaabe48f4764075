"""Whether a query is running on a checkpoint. Spark keeps no lock there; a query at work is seen by changing files.

What cannot be seen: a query that waits for records, and one in a batch that takes longer than those before. So the
checkpoint is watched for as long as batches lately took, and a query that slips through meets the fence
(`seamark.checkpoint.moves`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from seamark.checkpoint.changing import running
from seamark.checkpoint.files import Files
from seamark.checkpoint.reading import COMMITS, OFFSETS, Checkpoint

_LOOK_S: Final = 0.2
_LEAST_S: Final = 2.0
_LEAST_UNFINISHED_S: Final = 10.0  # somebody may be at work on it
_MOST_S: Final = 30.0
_RECENT: Final = 6


def quiet_time_s(checkpoint: Checkpoint, files: Files, now_ms: int) -> float:
    """How long it is to be watched: until it has been quiet for twice as long as between its last batches."""
    committed = [each.modified_ms for each in files.list(COMMITS) or ()]
    is_unfinished = checkpoint.unfinished is not None and not checkpoint.is_fenced
    return needed_s(committed, last_change_ms(files), now_ms, is_unfinished=is_unfinished)


def needed_s(committed_ms: Sequence[int], changed_ms: int | None, now_ms: int, *, is_unfinished: bool) -> float:
    """The same, by the times of commits and of the last change of any kind."""
    gaps_ms = [later - sooner for sooner, later in pairwise(sorted(committed_ms)[-_RECENT:])]
    usual_s = median(gaps_ms) / 1000 if gaps_ms else 0.0
    least_s = _LEAST_UNFINISHED_S if is_unfinished else _LEAST_S
    quiet_s = 0.0 if changed_ms is None else max(0, now_ms - changed_ms) / 1000
    return max(_LEAST_S, min(max(least_s, 2 * usual_s), _MOST_S) - quiet_s)


def watch(
    files: Files,
    seconds: float,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Look for that long whether anything changes.

    Raises:
        QueryRunningError: something did.
    """
    before = _names(files)
    deadline = clock() + seconds
    while (left := deadline - clock()) > 0:
        sleep(min(_LOOK_S, left))
        changed = sorted(_names(files) ^ before)
        if changed:
            raise running(files, f"{changed[-1][0]} changed while it was watched")


def last_change_ms(files: Files) -> int | None:
    """When the last batch was planned or committed."""
    return max((each.modified_ms for log in (OFFSETS, COMMITS) for each in files.list(log) or ()), default=None)


def _names(files: Files) -> set[tuple[str, int, int]]:
    return {
        (f"{log}/{each.name}", each.size, each.modified_ms)
        for log in (OFFSETS, COMMITS)
        for each in files.list(log) or ()
    }
