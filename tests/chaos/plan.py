"""What clients and faults do, drawn from a seed: the same seed gives the same choices, whatever the machine does."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

ROUNDS = {"move": 5, "recreate": 2, "restart": 1, "pause": 1, "configure": 1}
MOVES = ("alter", "alter", "alter", "reset", "alter-twice", "reset-and-alter", "none")


@dataclass(frozen=True, slots=True)
class Round:
    """A client lets its connector run for a while, then does something with it."""

    wait_s: float
    what: str
    move: str
    places: tuple[float, float]
    """Where to move to, as parts of what has been written by then."""
    worker: int
    state: str


@dataclass(frozen=True, slots=True)
class Strike:
    """After a calm a fault strikes, and is mended."""

    calm_s: float
    fault: str
    worker: int
    hold_s: float
    degree: float
    """From 0 to 1: how bad, where there is a choice."""


def rounds(seed: int, client: str) -> Iterator[Round]:
    """What a client does, without end."""
    draw = random.Random(f"{seed}-{client}")
    kinds = [kind for kind, weight in ROUNDS.items() for _ in range(weight)]
    while True:
        yield Round(
            wait_s=draw.uniform(0.5, 4.0),
            what=draw.choice(kinds),
            move=draw.choice(MOVES),
            places=(draw.random(), draw.random()),
            worker=draw.randrange(1 << 16),
            state=draw.choice(("RUNNING", "RUNNING", "STOPPED", "PAUSED")),
        )


def strikes(seed: int, faults: Sequence[str]) -> Iterator[Strike]:
    """The faults, without end; each kind comes once before one comes again."""
    draw = random.Random(f"{seed}-faults")
    while True:
        for fault in draw.sample(list(faults), len(faults)):
            yield Strike(
                calm_s=draw.uniform(1.0, 5.0),
                fault=fault,
                worker=draw.randrange(1 << 16),
                hold_s=draw.uniform(0.5, 9.0),
                degree=draw.random(),
            )
