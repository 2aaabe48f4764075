"""Many inputs, one after the other, until the time is over."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fuzz import corpus
from fuzz.judge import DefectError, judge
from fuzz.mutations import mutated, noise
from fuzz.target import Target

_ROUND: Final = 50
_MOST_KEPT: Final = 300
_KEPT_BYTES: Final = 5_000
_SHRINKING: Final = 400


@dataclass(slots=True)
class Tally:
    """What came of the inputs of a target."""

    inputs: int = 0
    accepted: int = 0
    seconds: float = 0.0
    defects: dict[str, tuple[Path, DefectError]] = field(default_factory=dict)
    """By what went wrong and where: one input of each is enough."""


def search(
    targets: Sequence[Target],
    seconds: float,
    seed: int,
    *,
    folder: Path = corpus.FOLDER,
    tell: Callable[[str], None] = print,
) -> dict[str, Tally]:
    """Try inputs on targets in turn. Those that show a defect are made smaller and kept in the corpus."""
    chance = random.Random(seed)
    pools = {target.name: corpus.inputs(target.name, folder) or [b""] for target in targets}
    tallies = {target.name: Tally() for target in targets}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for target in targets:
            began = time.monotonic()
            for _ in range(_ROUND):
                _try(target, chance, pools[target.name], tallies[target.name], folder, tell)
            tallies[target.name].seconds += time.monotonic() - began
            if time.monotonic() >= end:
                break
    return tallies


def _try(
    target: Target,
    chance: random.Random,
    pool: list[bytes],
    tally: Tally,
    folder: Path,
    tell: Callable[[str], None],
) -> None:
    if chance.random() < 0.1:
        data = noise(chance, target.tokens)
    else:
        data = mutated(chance, chance.choice(pool), chance.choice(pool), target.tokens)
    tally.inputs += 1
    try:
        is_accepted = judge(target, data)
    except DefectError as error:
        _note(target, data, error, tally, folder, tell)
        return
    tally.accepted += is_accepted
    # What is accepted is worth going on from: it gets further from the corpus than any one step.
    if is_accepted and len(data) <= _KEPT_BYTES and chance.random() < 0.05:
        if len(pool) < _MOST_KEPT:
            pool.append(data)
        else:
            pool[chance.randrange(len(pool))] = data


def _note(
    target: Target, data: bytes, error: DefectError, tally: Tally, folder: Path, tell: Callable[[str], None]
) -> None:
    kind = kind_of(error)
    if kind in tally.defects:
        return
    small = shrunk(target, data, kind)
    path = corpus.keep(target.name, small, folder)
    tally.defects[kind] = (path, error)
    tell(f"DEFECT {kind}\n    {error}\n    kept as {path}")


def kind_of(error: DefectError) -> str:
    """What went wrong, and where: the same for inputs that show the same defect."""
    cause = error.__cause__
    if cause is None:
        return "no reason"
    frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if "seamark" in frame.filename]
    ours = [frame for frame in frames if "/fuzz/" not in frame.filename] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else "?"
    return f"{type(cause).__name__} in {where}"


def shrunk(target: Target, data: bytes, kind: str) -> bytes:
    """A smaller input that shows the same defect, as far as some hundred attempts find one."""
    attempts, size = 0, max(1, len(data) // 2)
    while attempts < _SHRINKING:
        at = 0
        while at < len(data) and attempts < _SHRINKING:
            attempts += 1
            smaller = data[:at] + data[at + size :]
            if _shows(target, smaller, kind):
                data = smaller
            else:
                at += size
        if size == 1:
            break
        size //= 2
    return data


def _shows(target: Target, data: bytes, kind: str) -> bool:
    try:
        judge(target, data)
    except DefectError as error:
        return kind_of(error) == kind
    return False
