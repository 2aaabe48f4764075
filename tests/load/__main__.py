"""``python -m load``: load and soak from the command line; see docs/reliability.md."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from load import many, shapes, soak, topics
from load.results import Results

PARTS: dict[str, Callable[[Path, Results], None]] = {
    "many": lambda directory, results: many.run(directory, results, "seamark"),
    "many-java": lambda directory, results: many.run(directory, results, "kafka"),
    "hot": shapes.hot_partition,
    "large": shapes.large_records,
    "topics": topics.run,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m load", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)} and soak; all but soak if none is named")
    parser.add_argument("--hours", type=float, default=2.0, help="of the soak")
    parser.add_argument("--report", type=Path, default=Path("build/soak"), help="where the soak's report goes")
    options = parser.parse_args()
    if unknown := set(options.parts) - {*PARTS, "soak"}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join((*PARTS, 'soak'))}")
    results, is_good = Results(), True
    with tempfile.TemporaryDirectory(prefix="seamark-load-") as scratch:
        for name in options.parts or PARTS:
            folder = Path(scratch) / name
            folder.mkdir()
            if name == "soak":
                is_good = soak.run(folder, options.report, options.hours)
            else:
                print(f"== {name}", file=sys.stderr, flush=True)
                results.rows.append((f"**{name}**", ""))
                PARTS[name](folder, results)
    if results.rows:
        print(results.table())
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
