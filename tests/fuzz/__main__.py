"""``python -m fuzz``: a long search from the command line; see docs/reliability.md."""

from __future__ import annotations

import argparse
import logging
import random
import resource
import sys
from pathlib import Path
from typing import Final

from fuzz import corpus
from fuzz.search import Tally, search
from fuzz.targets import TARGETS

MOST_MEMORY: Final = 8 << 30
"""A parser that wants more fails with a MemoryError, rather than the machine."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long (default: 300)")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), metavar="NAME", help="only this parser")
    parser.add_argument("--seed", type=int, help="tries the same inputs again")
    parser.add_argument("--corpus", type=Path, default=corpus.FOLDER, help="where inputs are, and are kept")
    parser.add_argument("--list", action="store_true", help="names the parsers, and ends")
    options = parser.parse_args()
    if options.list:
        print("\n".join(TARGETS))
        return 0
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    logging.disable(logging.CRITICAL)
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    targets = [TARGETS[name] for name in options.target or TARGETS]
    print(f"{len(targets)} targets, {options.seconds:g} s, --seed {seed}", file=sys.stderr)
    tallies = search(targets, options.seconds, seed, folder=options.corpus)
    print(table(tallies))
    return 1 if any(tally.defects for tally in tallies.values()) else 0


def table(tallies: dict[str, Tally]) -> str:
    """A line for each target, and their sum."""
    whole = Tally(
        sum(tally.inputs for tally in tallies.values()),
        sum(tally.accepted for tally in tallies.values()),
        sum(tally.seconds for tally in tallies.values()),
    )
    found = sum(len(tally.defects) for tally in tallies.values())
    lines = [f"{'target':26} {'inputs':>10} {'per s':>8} {'accepted':>10} {'defects':>8}"]
    for name, tally in tallies.items():
        lines.append(_line(name, tally, len(tally.defects)))
    return "\n".join([*lines, _line("all", whole, found)])


def _line(name: str, tally: Tally, defects: int) -> str:
    rate = tally.inputs / tally.seconds if tally.seconds else 0.0
    return f"{name:26} {tally.inputs:>10,} {rate:>8,.0f} {tally.accepted:>10,} {defects:>8}"


if __name__ == "__main__":
    sys.exit(main())
