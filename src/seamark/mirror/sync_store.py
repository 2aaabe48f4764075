"""Offset syncs in memory, thinned out with age, and translation of offsets by them.

Per source partition there are 64 slots, one for each bit of an offset. For slots i < j with different syncs:

* slot 0 holds the newest sync, slot 63 the oldest that can be used;
* the sync of slot i is at most ``2**j - 2**i`` ahead of that of slot j (so each slot is recent enough for its place);
* and at least ``2**max(i - 2, 0)`` ahead (so slots are not spent on neighbours).

Near the end of a partition syncs are dense, further back they are exponentially apart. Which sync is kept decides what
a group's offset translates to, and a mirror may be handed over to or from MirrorMaker 2: so this chooses as
MirrorMaker 2 does, sync by sync.
"""

from __future__ import annotations

from typing import Final

from seamark.mirror.wire import OffsetSync

SLOTS: Final = 64


class OffsetSyncStore:
    """The syncs of all source partitions that matter. Not for use by several threads at once.

    Args:
        only_last: keep only the newest sync of each partition until `read_to_end` is called. That is how MirrorMaker 2
            starts when it cannot know which translations it gave before: an older sync might translate an offset to an
            earlier place than was committed already.
    """

    def __init__(self, *, only_last: bool = False) -> None:
        self._syncs: dict[tuple[str, int], tuple[OffsetSync, ...]] = {}
        self._only_last = only_last

    def read_to_end(self) -> None:
        """All syncs that existed at the start have been added."""
        self._only_last = False

    def add(self, sync: OffsetSync) -> None:
        """The next sync of the offset-syncs topic."""
        where = sync.topic, sync.partition
        slots = self._syncs.get(where)
        # A sync behind the newest one means that the source was truncated: nothing known before holds any more.
        if slots is None or self._only_last or sync.upstream < slots[0].upstream:
            self._syncs[where] = (sync,) * SLOTS
        else:
            self._syncs[where] = _inserted(slots, sync)

    def downstream(self, topic: str, partition: int, upstream: int) -> int | None:
        """Where a group at that offset of the source may go on at the target; never too far, often earlier.

        Returns:
            None if there is no sync of that partition; -1 if all are of later records.
        """
        slots = self._syncs.get((topic, partition))
        if slots is None:
            return None
        for sync in slots:
            if sync.upstream <= upstream:
                # How many of the records between were copied is not known: one, at least, is no longer needed.
                return sync.downstream + (upstream > sync.upstream)
        return -1

    def syncs(self, topic: str, partition: int) -> list[OffsetSync]:
        """The different syncs that are kept of a partition, newest first."""
        slots = self._syncs.get((topic, partition), ())
        return [sync for index, sync in enumerate(slots) if index == 0 or sync is not slots[index - 1]]

    def partitions(self) -> list[tuple[str, int]]:
        """The source partitions, as topic and number, of which there are syncs."""
        return list(self._syncs)


def _inserted(original: tuple[OffsetSync, ...], sync: OffsetSync) -> tuple[OffsetSync, ...]:
    """The slots with a newer sync; from slot to slot, until one still fits behind its predecessor."""
    slots = list(original)
    slots[0] = replacement = sync
    candidate_at = 0
    for current in range(1, SLOTS):
        previous = slots[current - 1]
        while True:
            candidate = original[candidate_at]
            is_apart = _is_apart(previous, candidate, current - 1)
            if (
                is_apart
                and _is_recent(previous, candidate, current - 1, current)
                and (current + 1 == SLOTS or _is_apart(candidate, slots[current + 1], current))
            ):
                replacement = candidate
                is_taken = True
            else:
                is_taken = False
            is_repeated = candidate_at + 1 < SLOTS and candidate is original[candidate_at + 1]
            # Neither a repetition nor one that is too close here can be of use in a later slot.
            is_useless = is_repeated or not is_apart
            if is_taken or is_useless:
                candidate_at += 1
            if not is_useless or candidate_at >= current:
                break
        if _is_recent(previous, slots[current], current - 1, current):
            break  # and so are all behind it
        slots[current] = replacement
    return tuple(slots)


def _is_recent(newer: OffsetSync, older: OffsetSync, i: int, j: int) -> bool:
    """Whether `older` may be in slot j behind `newer` in slot i."""
    return newer is older or newer.upstream <= older.upstream + (1 << j) - (1 << i)


def _is_apart(newer: OffsetSync, older: OffsetSync, i: int) -> bool:
    """Whether `older` is far enough behind `newer` in slot i to be worth a slot."""
    return newer is older or newer.upstream >= older.upstream + (1 << max(i - 2, 0))
