"""Where connectors are placed, and which ones have to move."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from seamark.runtime.placement import least_loaded_slot, to_be_moved

workers = st.sampled_from(["a", "b", "c", "d"])


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[str, int], dict[int, str]]:
    owners = dict(enumerate(draw(st.lists(workers, min_size=1, max_size=25))))
    slots = draw(st.lists(st.integers(0, len(owners) - 1), max_size=40))
    return {f"c{number}": slot for number, slot in enumerate(slots)}, owners


@given(clusters())
def test_moves_even_the_load_and_are_as_few_as_can_be(cluster: tuple[dict[str, int], dict[int, str]]) -> None:
    placed, owners = cluster
    before = Counter(owners[slot] for slot in placed.values())
    moved = to_be_moved(placed, owners)
    assert len(moved) == len(set(moved))
    for name in moved:
        del placed[name]
    for name in moved:
        placed[name] = least_loaded_slot(placed.values(), owners, len(owners))
    after = Counter(owners[slot] for slot in placed.values())
    counts = [after[owner] for owner in set(owners.values())]
    assert max(counts) - min(counts) <= 1
    # No worker that gave something away is below what every worker has at least, none that got something was above it.
    least, most = min(counts), max(counts)
    assert len(moved) == sum(max(0, before[owner] - after[owner]) for owner in before)
    assert all(after[owner] >= least for owner in before if before[owner] > after[owner])
    assert all(before[owner] < most for owner in after if after[owner] > before[owner])


@given(clusters())
def test_nothing_moves_once_it_is_even(cluster: tuple[dict[str, int], dict[int, str]]) -> None:
    _, owners = cluster
    placed: dict[str, int] = {}
    for number in range(20):
        placed[f"c{number}"] = least_loaded_slot(placed.values(), owners, len(owners))
    assert to_be_moved(placed, owners) == []


def test_slots_are_used_evenly_too() -> None:
    used: list[int | None] = []
    for _ in range(10):
        used.append(least_loaded_slot(used, dict.fromkeys(range(5), "a"), 5))
    assert Counter(used) == dict.fromkeys(range(5), 2)


def test_without_known_owners_slots_count_alone() -> None:
    assert least_loaded_slot([0, 0, 1, None], {}, 3) == 2


def test_connectors_in_slots_of_nobody_stay() -> None:
    assert to_be_moved({"x": 7}, {0: "a", 1: "b"}) == []
    assert to_be_moved({"x": 7}, {}) == []
