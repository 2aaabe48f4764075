"""When offset syncs are due."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.mirror.emission import SyncEmission
from seamark.mirror.sync_store import OffsetSyncStore


def acknowledge(emission: SyncEmission, offsets: Iterable[int], *, partition: int = 0, is_gap: bool = False) -> None:
    for offset in offsets:
        emission.acknowledged("t", partition, offset, offset, is_gap=is_gap)


def taken(emission: SyncEmission, limit: int = 10) -> list[int]:
    return [sync.upstream for sync in emission.take(limit)]


def test_the_first_record_is_synced_at_once() -> None:
    emission = SyncEmission(100)
    acknowledge(emission, [41, 42])
    assert taken(emission) == [41]
    assert not emission.has_pending()


def test_the_next_sync_is_due_when_the_last_one_is_far_enough_back() -> None:
    emission = SyncEmission(10)
    acknowledge(emission, [0])
    assert taken(emission) == [0]
    acknowledge(emission, range(1, 11))
    assert taken(emission) == []  # a group is translated to one past the sync, so ten are between
    acknowledge(emission, [11])
    assert taken(emission) == [11]


def test_with_a_lag_of_zero_every_record_is_synced() -> None:
    emission = SyncEmission(0)
    for offset in range(5):
        acknowledge(emission, [offset])
        assert taken(emission) == [offset]


def test_a_gap_is_synced_at_once() -> None:
    emission = SyncEmission(100)
    acknowledge(emission, [0, 1])
    assert taken(emission) == [0]
    acknowledge(emission, [7], is_gap=True)
    assert taken(emission) == [7]
    emission.promote()
    assert taken(emission) == []  # what was delayed before the gap is no longer news


def test_a_target_that_went_back_is_synced_at_once() -> None:
    emission = SyncEmission(100)
    emission.acknowledged("t", 0, 10, 50, is_gap=False)
    assert taken(emission) == [10]
    emission.acknowledged("t", 0, 11, 3, is_gap=False)
    assert taken(emission) == [11]


def test_the_rest_is_due_at_the_next_commit() -> None:
    emission = SyncEmission(100)
    acknowledge(emission, range(8))
    assert taken(emission) == [0]
    emission.promote()
    assert taken(emission) == [7]
    emission.promote()
    assert taken(emission) == []


def test_only_the_newest_of_a_partition_waits() -> None:
    emission = SyncEmission(0)
    acknowledge(emission, range(16))
    acknowledge(emission, range(3), partition=1)
    assert [(sync.partition, sync.upstream) for sync in emission.take(10)] == [(0, 15), (1, 2)]


def test_what_exceeds_the_limit_stays_due() -> None:
    emission = SyncEmission(0)
    for partition in range(15):
        acknowledge(emission, [5], partition=partition)
    assert [sync.partition for sync in emission.take(10)] == list(range(10))
    assert emission.take(0) == []
    assert emission.take(-1) == []
    assert [sync.partition for sync in emission.take(10)] == list(range(10, 15))


@settings(deadline=None)
@given(st.integers(0, 50), st.lists(st.sampled_from(["record", "gap", "commit"]), max_size=200))
def test_telling_some_records_loses_no_sync_that_matters(lag: int, events: list[str]) -> None:
    """Told of first records, gaps, one in `lag` and the last before a commit, groups translate nearly as well."""
    complete, partial = SyncEmission(lag), SyncEmission(lag)
    stores = OffsetSyncStore(), OffsetSyncStore()
    upstream, downstream, since, untold = 0, 0, lag, False
    for event in ["record", *events, "commit"]:
        if event == "commit":
            if untold:
                partial.acknowledged("t", 0, upstream, downstream, is_gap=False)
                since, untold = 0, False
            complete.promote()
            partial.promote()
        else:
            is_gap = event == "gap"
            upstream, downstream = upstream + (3 if is_gap else 1), downstream + 1
            complete.acknowledged("t", 0, upstream, downstream, is_gap=is_gap)
            since += 1
            untold = not (is_gap or since >= max(lag, 1))
            if not untold:
                partial.acknowledged("t", 0, upstream, downstream, is_gap=is_gap)
                since = 0
        for emission, store in zip((complete, partial), stores, strict=True):
            for sync in emission.take(10):
                store.add(sync)
    # After a commit both know the end of the partition.
    assert stores[0].downstream("t", 0, upstream) == stores[1].downstream("t", 0, upstream) == downstream
