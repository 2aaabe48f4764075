"""Runs every client command of `seamark` against a worker of `seamark up`, and records what it prints.

`make tour` writes docs/guides/command-line-tour.md. Nothing in it is written by hand but the words between commands.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guides" / "command-line-tour.md"
SEAMARK = Path(sys.executable).with_name("seamark")
START_S, COMMAND_S = 180.0, 120.0

FILES = {
    "orders.yaml": """\
name: orders-archive
config:
  connector.class: FileStreamSink
  topics: example-orders
  file: archive.txt
  value.converter: org.apache.kafka.connect.storage.StringConverter
""",
    "wrong.json": '{"name": "orders-wrong", "config": {"connector.class": "FileStreamSink", "tasks.max": "0"}}\n',
}

HEAD = """\
# A tour of the command line

Every command below ran against a worker of `seamark up` with its example, in this order. What it printed is below it,
unchanged but for the port of the worker. `make tour` records it again.
What the commands do: [The command line](command-line.md).
`seamark checkpoint` has a recorded run of its own in [Spark checkpoints](spark-checkpoints.md).

"""

TOUR: list[tuple[str, list[str]]] = [
    (
        "Looking around",
        [
            "seamark context set here --url $URL",
            "seamark context list",
            "seamark get",
            "seamark get worker",
            "seamark get tasks",
            "seamark describe example-source",
            "seamark get config example-source -o yaml",
            "seamark plugins",
            "seamark plugins FileStreamSink",
            "seamark top --once",
        ],
    ),
    (
        "Files: checked, compared, applied",
        [
            "cat orders.yaml",
            "seamark validate -f orders.yaml",
            "seamark validate -f wrong.json",
            "seamark apply -f orders.yaml --yes",
            "seamark watch orders-archive --until running --timeout 60",
            "seamark apply -f orders.yaml --yes",
        ],
    ),
    (
        "States",
        [
            "seamark pause orders-archive",
            "seamark resume orders-archive",
            "seamark restart orders-archive",
            "seamark stop 'orders-*' --yes",
            "seamark get connectors 'orders-*' -o wide",
            "seamark resume orders-archive",
            "seamark stop no-such-connector",
        ],
    ),
    (
        "Offsets",
        [
            "seamark offsets list example-parquet",
            "seamark offsets list example-source",
            "seamark offsets set example-parquet --to -50 --yes",
            "seamark offsets set example-parquet --to -50 --yes --stop",
            "seamark offsets rewind example-parquet earliest --dry-run",
            'seamark offsets rewind example-parquet -20 --reason "a bad batch" --yes',
            "seamark offsets rewind example-parquet 2030-01-01T00:00:00Z --yes",
            "seamark offsets rewind example-parquet other-topic=earliest --yes",
            "seamark offsets rewind '*a*r*t' -5 --yes",
            "seamark offsets history example-parquet",
            "seamark offsets undo example-parquet --yes",
            "seamark offsets export example-parquet -f positions.json",
            "cat positions.json",
            "seamark offsets import example-parquet -f positions.json --stop --yes",
            "seamark offsets reset orders-archive --stop --yes",
        ],
    ),
    (
        "Moving and removing connectors",
        [
            "seamark migrate orders-archive --name orders-files --yes",
            "seamark operations",
            "seamark get",
            "seamark delete orders-files --include-offsets --yes",
        ],
    ),
    (
        "Logs",
        [
            "seamark logs level org.apache.kafka.connect DEBUG",
            "seamark logs level org.apache.kafka.connect",
            "seamark logs level org.apache.kafka.connect INFO",
        ],
    ),
]


@contextmanager
def running_worker(directory: Path) -> Iterator[str]:
    """`seamark up` with its example; yields the address of its REST API."""
    log = directory / "up.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(SEAMARK), "up", "--port", "0", "--data-dir", str(directory / "data")],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=directory,
        )
        try:
            deadline = time.monotonic() + START_S
            while not (found := re.search(r"REST API\s+(http://\S+)", log.read_text())):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"seamark up did not start:\n{log.read_text()}")
                time.sleep(0.2)
            while not _has_moved(log.read_text()):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the example does not move:\n{log.read_text()}")
                time.sleep(0.5)
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _has_moved(text: str) -> bool:
    """Whether enough records have reached the end of the pipeline for the tour."""
    counts = re.findall(r"example-parquet RUNNING at \S+@(\d+)", text)
    return bool(counts) and int(counts[-1]) >= 100


def record(directory: Path, url: str) -> str:
    """All commands with what they print, as a page."""
    work = directory / "work"
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
    environment = {
        **os.environ,
        "PATH": f"{SEAMARK.parent}:{os.environ['PATH']}",
        "SEAMARK_CONFIG": str(directory / "config.yaml"),
        "URL": url,
        "NO_COLOR": "1",
        "COLUMNS": "160",
    }
    parts = []
    for title, commands in TOUR:
        shown = []
        for command in commands:
            print(f"$ {command}", flush=True)
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=work,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=COMMAND_S,
                check=False,
            )
            text = done.stdout.rstrip("\n").replace(f"{directory}/", "")
            print(text, flush=True)
            shown.append(f"$ {command}\n{text}" if text else f"$ {command}")
            if done.returncode:
                shown.append(f"$ echo $?\n{done.returncode}")
        parts.append(f"## {title}\n\n```console\n" + "\n".join(shown) + "\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as directory, running_worker(Path(directory)) as url:
        text = record(Path(directory), url).replace(url, "http://localhost:8083")
    PAGE.write_text(HEAD + text)


if __name__ == "__main__":
    main()
