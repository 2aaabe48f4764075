"""``python -m chaos``: the fault suite from the command line; see docs/reliability.md."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

from chaos import history
from chaos.evidence import Evidence
from chaos.faults import FAULTS
from chaos.report import as_json, details, table, violations
from chaos.run import Order, Result, judge, run

KINDS = {"seamark": ("seamark",), "kafka": ("kafka",), "both": ("seamark", "kafka")}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--target", choices=list(KINDS), default="both", help="whose workers (default: both)")
    parser.add_argument("--seed", type=int, action="append", help="replays a run; may be given several times")
    parser.add_argument("--runs", type=int, default=1, help="runs with seeds of their own (default: 1)")
    parser.add_argument("--seconds", type=float, default=180.0, help="of faults, per run (default: 180)")
    parser.add_argument("--faults", default=",".join(FAULTS), help=f"which, with commas: {', '.join(FAULTS)}")
    parser.add_argument("--without", default="", help="faults to leave out, with commas")
    parser.add_argument("--directory", type=Path, help="keeps histories, evidence and logs")
    parser.add_argument("--check", type=Path, help="judge the run that this directory holds once more, and no new one")
    options = parser.parse_args()
    if options.check:
        result = _again(options.check)
        print(table([result]), details(result), sep="\n\n")
        return 1 if violations(result) else 0
    wanted = [name for name in options.faults.split(",") if name and name not in options.without.split(",")]
    if unknown := sorted(set(wanted) - set(FAULTS)):
        parser.error(f"there is no fault {', '.join(unknown)}; valid: {', '.join(FAULTS)}")
    seeds = options.seed or [random.SystemRandom().randrange(1 << 32) for _ in range(options.runs)]
    directory = options.directory or Path(tempfile.mkdtemp(prefix="seamark-chaos-"))
    results = []
    for seed in seeds:
        for kind in KINDS[options.target]:
            print(
                f"{kind}: seed {seed}, in {directory}; again: python -m chaos --target {kind} --seed {seed}",
                file=sys.stderr,
            )
            result = run(Order(kind, seed, options.seconds, wanted), directory / f"{kind}-{seed}")
            (directory / f"{kind}-{seed}" / "result.json").write_text(json.dumps(as_json(result), indent=1))
            results.append(result)
    print(table(results))
    for result in results:
        print(f"\n{details(result)}")
    return 1 if any(violations(result) for result in results if result.order.kind == "seamark") else 0


def _again(directory: Path) -> Result:
    """A result of before; how long its recovery took is taken from there."""
    order = Order(**json.loads((directory / "order.json").read_text()))
    evidence = Evidence.load(directory / "evidence.json")
    before = directory / "result.json"
    recovery_s = json.loads(before.read_text())["recovery_s"] if before.exists() else 0.0
    return judge(order, history.load(directory / "history.jsonl"), evidence, recovery_s, {})


if __name__ == "__main__":
    sys.exit(main())
