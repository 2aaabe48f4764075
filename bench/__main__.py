"""`make bench`: everything, or the parts named on the command line."""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from pathlib import Path

from bench import capacity, control, idle, latency, mirror, records, tables, throughput
from bench.setup import Bench
from seamark.kafka.broker import EmbeddedBroker

PARTS = {
    "throughput": throughput.run,
    "records": records.run,
    "latency": latency.run,
    "idle": idle.run,
    "control": control.run,
    "mirror": mirror.run,
    "tables": tables.run,
    "capacity": capacity.run,
}

BROKER_START_S = 300.0  # a bench that begins while the machine is busy is slow, not wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    parser.add_argument("--measurements", type=Path, help="where `capacity` writes what `seamark plan` takes")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(PARTS)}")
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, one embedded broker for both sides")
    with tempfile.TemporaryDirectory(prefix="seamark-bench-") as directory:
        path = Path(directory)
        broker = EmbeddedBroker(path / "kafka", heap="1g")
        try:
            broker.start(BROKER_START_S)
            bench = Bench(path, broker, arguments.records, arguments.repeats, measurements=arguments.measurements)
            for name in arguments.parts or PARTS:
                PARTS[name](bench)
        finally:
            broker.stop()
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.results, indent=2) + "\n")


if __name__ == "__main__":
    main()
