"""`make bench`: everything, or the parts named on the command line."""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from pathlib import Path

from bench import control, idle, latency, mirror, records, throughput
from bench.setup import Bench
from seamark.kafka.broker import EmbeddedBroker

PARTS = {
    "throughput": throughput.run,
    "records": records.run,
    "latency": latency.run,
    "idle": idle.run,
    "control": control.run,
    "mirror": mirror.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(PARTS)}")
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, one embedded broker for both sides")
    with tempfile.TemporaryDirectory(prefix="seamark-bench-") as directory:
        path = Path(directory)
        with EmbeddedBroker(path / "kafka", heap="1g") as broker:
            bench = Bench(path, broker, arguments.records, arguments.repeats)
            for name in arguments.parts or PARTS:
                PARTS[name](bench)
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.results, indent=2) + "\n")


if __name__ == "__main__":
    main()
