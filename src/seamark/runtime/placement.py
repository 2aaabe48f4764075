"""Which slot a connector is placed in, and which connectors another worker should have: decisions without effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping


def least_loaded_slot(used: Iterable[int | None], owners: Mapping[int, str], slots: int) -> int:
    """The slot with the fewest connectors, of the worker with the fewest.

    Of equal ones the last: the group's assignor takes a worker's first slots away when another worker joins, so what is
    in the last ones is not interrupted.

    Args:
        used: the slot of each connector; None for one that has none.
        owners: the worker of each slot, as far as it is known.
        slots: how many there are.
    """
    counts = Counter(used)
    load: Counter[str] = Counter()
    for slot, owner in owners.items():
        load[owner] += counts[slot]

    def rank(slot: int) -> tuple[int, int, int]:
        return (load[owners[slot]] if slot in owners else 0, counts[slot], -slot)

    return min(range(slots), key=rank)


def to_be_moved(placed: Mapping[str, int], owners: Mapping[int, str]) -> list[str]:
    """The fewest connectors that have to leave their worker so that no worker has two more than another."""
    running: dict[str, list[str]] = {owner: [] for owner in owners.values()}
    for name, slot in sorted(placed.items()):
        if slot in owners:
            running[owners[slot]].append(name)
    load = {owner: len(names) for owner, names in running.items()}
    moved: list[str] = []
    while load:
        most, fewest = max(load, key=lambda owner: load[owner]), min(load, key=lambda owner: load[owner])
        if load[most] - load[fewest] < 2:
            break
        # Never one that was moved before: who is above the average stays there until it is done.
        moved.append(running[most].pop())
        load[most] -= 1
        load[fewest] += 1
    return moved
