"""When a source task writes an offset sync: MirrorMaker 2's rule, without the I/O.

After each record that arrived on the target, a sync is due at once if it is the first of its partition, if the last
sync is `offset.lag.max` records back, if records of the source were skipped (compaction, transaction markers), or if
the target went back. Otherwise the sync is remembered and due at the next commit of offsets, so that the syncs of a
quiet topic catch up. Only the newest sync of a partition is ever waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

from seamark.mirror.wire import OffsetSync


@dataclass(slots=True)
class _Partition:
    last_sync_downstream: int | None = None
    previous_downstream: int = -1


class SyncEmission:
    """The syncs of one task. Not for use by several threads at once.

    The caller may report some records only, as long as among them are the first one, every one after a gap, one in
    each `offset.lag.max`, and the last one before each commit.
    """

    def __init__(self, offset_lag_max: int) -> None:
        self._lag_max = offset_lag_max
        self._partitions: dict[tuple[str, int], _Partition] = {}
        self._delayed: dict[tuple[str, int], OffsetSync] = {}
        self._pending: dict[tuple[str, int], OffsetSync] = {}

    def acknowledged(self, topic: str, partition: int, upstream: int, downstream: int, *, is_gap: bool) -> None:
        """A record arrived on the target.

        Args:
            topic: The source topic.
            partition: The source partition.
            upstream: The record's offset on the source.
            downstream: The offset that it got on the target.
            is_gap: Whether the source record before this one was not copied, or is not known.
        """
        where = topic, partition
        state = self._partitions.setdefault(where, _Partition())
        sync = OffsetSync(topic, partition, upstream, downstream)
        if (
            is_gap
            or state.last_sync_downstream is None
            # A group behind the last sync is translated to one past it, so that one does not count.
            or downstream - (state.last_sync_downstream + 1) >= self._lag_max
            or downstream < state.previous_downstream
        ):
            state.last_sync_downstream = downstream
            self._delayed.pop(where, None)
            self._pending[where] = sync
        else:
            self._delayed[where] = sync
        state.previous_downstream = downstream

    def promote(self) -> None:
        """Offsets are committed: what was remembered is due now."""
        self._pending.update(self._delayed)
        self._delayed.clear()

    def take(self, limit: int) -> list[OffsetSync]:
        """The syncs to send now, longest waiting first, at most `limit`; the others stay due."""
        where = list(self._pending)[: max(limit, 0)]
        return [self._pending.pop(each) for each in where]

    def has_pending(self) -> bool:
        """Whether a sync is due."""
        return bool(self._pending)
