"""Which offset syncs are kept, and what offsets translate to."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seamark.mirror.sync_store import SLOTS, OffsetSyncStore
from seamark.mirror.wire import OffsetSync

# Steps as they occur: records one by one, in batches, over gaps.
STEPS = st.lists(st.one_of(st.just(1), st.integers(1, 120), st.integers(1, 10**6)), min_size=1, max_size=150)

anytime = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def store_of(upstreams: Iterable[int]) -> OffsetSyncStore:
    store = OffsetSyncStore()
    for upstream in upstreams:
        store.add(OffsetSync("t", 0, upstream, upstream))
    return store


def kept(store: OffsetSyncStore) -> list[int]:
    return [sync.upstream for sync in store.syncs("t", 0)]


@pytest.mark.parametrize(
    ("upstreams", "expected"),
    [
        (range(15), [14, 13, 12, 8, 0]),
        ([*range(10), 15], [15, 9, 0]),
        (range(0, 1001, 10), [1000, 990, 960, 900, 840, 720, 480, 0]),
    ],
)
def test_syncs_that_a_live_mirror_maker_kept(upstreams: Iterable[int], expected: list[int]) -> None:
    assert kept(store_of(upstreams)) == expected


@pytest.mark.parametrize(("upstream", "downstream"), [(5, 1), (8, 1), (14, 10), (15, 15), (20, 16), (0, 0)])
def test_offsets_as_a_live_mirror_maker_translated_them(upstream: int, downstream: int) -> None:
    assert store_of([*range(10), 15]).downstream("t", 0, upstream) == downstream


def test_without_a_sync_nothing_can_be_said() -> None:
    store = store_of([5])
    assert store.downstream("t", 1, 7) is None
    assert store.downstream("other", 0, 7) is None
    assert store.syncs("t", 1) == []


def test_an_offset_before_all_syncs_has_no_translation() -> None:
    assert store_of([5, 6]).downstream("t", 0, 4) == -1


def test_a_sync_of_an_earlier_record_replaces_all() -> None:
    store = store_of([*range(0, 100, 7), 50])
    assert kept(store) == [50]
    assert store.downstream("t", 0, 49) == -1


def test_only_the_last_sync_counts_until_all_are_read() -> None:
    store = OffsetSyncStore(only_last=True)
    for upstream in range(10):
        store.add(OffsetSync("t", 0, upstream, upstream))
    assert kept(store) == [9]
    store.read_to_end()
    store.add(OffsetSync("t", 0, 30, 30))
    assert kept(store) == [30, 9]


def test_partitions_do_not_mix() -> None:
    store = store_of([1, 2])
    store.add(OffsetSync("t", 1, 100, 7))
    assert kept(store) == [2, 1]
    assert store.downstream("t", 1, 100) == 7
    assert store.partitions() == [("t", 0), ("t", 1)]


@anytime
@given(st.integers(0, 2**40), STEPS)
def test_slots_are_recent_and_apart(start: int, steps: list[int]) -> None:
    store, upstream = OffsetSyncStore(), start
    for step in [0, *steps]:
        upstream += step
        store.add(OffsetSync("t", 0, upstream, upstream))
        slots = store._syncs["t", 0]
        assert len(slots) == SLOTS
        assert slots[0].upstream == upstream
        assert slots[-1].upstream == start
        # Of slots with the same sync, the last of the newer and the first of the older are the strictest.
        first = {sync.upstream: slot for slot, sync in reversed(list(enumerate(slots)))}
        last = {sync.upstream: slot for slot, sync in enumerate(slots)}
        for newer, older in itertools.combinations(sorted(first, reverse=True), 2):
            i, j = last[newer], first[older]
            assert i < j
            assert newer <= older + 2**j - 2**i
            assert newer >= older + 2 ** max(i - 2, 0)


@anytime
@given(st.integers(0, 10**6), STEPS, st.lists(st.integers(0, 10**8), min_size=2, max_size=20))
def test_translation_is_never_too_far_and_never_goes_back(start: int, steps: list[int], asked: list[int]) -> None:
    """Some records of the source were not copied, so downstream offsets fall behind; none may be skipped over."""
    store, upstream, downstream = OffsetSyncStore(), start, 0
    known: list[tuple[int, int]] = []
    for step in [0, *steps]:
        upstream, downstream = upstream + step, downstream + min(step, 50)
        known.append((upstream, downstream))
        store.add(OffsetSync("t", 0, upstream, downstream))
    before = -1
    for offset in sorted(asked):
        translated = store.downstream("t", 0, offset)
        assert translated is not None
        assert translated >= before
        before = translated
        # A record at or behind the group's position must not be passed: its copy is at or behind the next sync.
        following = [down for up, down in known if up >= offset]
        if following:
            assert translated <= following[0]
