"""Which files change if a checkpoint's positions do. Nothing is written here.

Spark's next batch begins where the last committed one ended, so that file of ``offsets`` gets the new positions. What
else depends on what follows it:

* An unfinished batch will be run again with exactly its range. It gets the new positions as its end, too: Spark runs it
  without the records of what was moved, and with those of everything else. It keeps its number: sinks that know
  numbers (files, Delta) may have written it already and would skip records of another range, or miss a number.
* If there is none, a batch without records is planned behind, the *fence*. Spark runs it first. A query that runs
  unnoticed wants to write a batch of that number, and fails instead of going on from where it was.
* Before the first commit, the place where the source began changes as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seamark.checkpoint.entries import moved_initial
from seamark.checkpoint.reading import OFFSETS, SOURCES, Checkpoint
from seamark.config.position_plans import Partition


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after; None where there is none."""

    path: str
    before: str | None
    after: str | None


def plan_files(
    checkpoint: Checkpoint,
    moved: Mapping[str, Mapping[Partition, int]],
    *,
    now_ms: int,
    is_fenced: bool = True,
) -> tuple[FileChange, ...]:
    """The files to change.

    Args:
        checkpoint: as it is.
        moved: new positions, by the name of the source.
        now_ms: the time of the fence.
        is_fenced: whether to make one.
    """
    changes = []
    entries = dict(checkpoint.entries)
    for source in checkpoint.sources:
        positions = moved.get(source.name)
        if not positions:
            continue
        for line in source.lines:
            entries = {
                number: entry.moved(line, positions, source.positions or {}) for number, entry in entries.items()
            }
        began = checkpoint.initials.get(source.name)
        if checkpoint.committed is None and began is not None:
            changes.append(FileChange(f"{SOURCES}/{source.name}/0", began, moved_initial(began, positions)))
    for number, entry in sorted(entries.items()):
        changes.append(FileChange(f"{OFFSETS}/{number}", checkpoint.texts[number], entry.render()))
    if is_fenced and checkpoint.latest is not None and checkpoint.unfinished is None:
        fence = entries[checkpoint.latest].next_batch(checkpoint.watermark_ms, now_ms)
        changes.append(FileChange(f"{OFFSETS}/{checkpoint.latest + 1}", None, fence.render()))
    return tuple(change for change in changes if change.before != change.after)
