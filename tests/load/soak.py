"""Hours of steady load: memory, open files and threads must stay flat. Writes a report with plots."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from chaos.lines import Numbered
from compat.targets import Target
from load.cluster import SINK, SOURCE, admin_of, await_running, client_of, running, use_of
from load.plots import plot
from seamark.client import ConnectClient
from seamark.kafka import TopicSpec
from seamark.kafka.topic_partitions import TopicPartition
from seamark.testing.waiting import eventually

PIPELINES, PER_SECOND = 6, 50
SAMPLE_S = 20.0
MOVE_EVERY = 15
"""Every so many samples a sink is stopped, put back a little, and resumed: what operators do, again and again."""
SETTLING = 0.2
"""The part of a run that is not looked at: pools and caches fill."""
MOST_GROWTH = 0.10
"""Of a mean, over the part that is looked at."""


@dataclass(frozen=True, slots=True)
class Sample:
    """All workers together."""

    at_s: float
    memory_mb: float
    files: int
    threads: int
    processes: int
    cpu: float
    """Cores."""
    carried: int
    lag: int


def run(directory: Path, report: Path, hours: float) -> bool:
    """True if everything stayed flat."""
    with running(directory, log__retention__bytes="50000000", log__segment__bytes="10000000") as (target, _):
        files = [Numbered(directory / f"line{number}.txt", f"line{number}") for number in range(PIPELINES)]
        with client_of(target) as client:
            _create(target, client, directory, files)
            for file in files:
                file.start(PER_SECOND)
            samples = _watch(target, client, files, hours * 3600)
            for file in files:
                file.stop()
            _await_end(target, files)
    report.mkdir(parents=True, exist_ok=True)
    (report / "soak.json").write_text(json.dumps([asdict(sample) for sample in samples]) + "\n")
    return write_report(samples, report)


def _create(target: Target, client: ConnectClient, directory: Path, files: Sequence[Numbered]) -> None:
    with admin_of(target) as admin:
        admin.create_topics([TopicSpec(file.label, 1, 1, {}) for file in files])
    for file in files:
        client.create(f"{file.label}-source", {"connector.class": SOURCE, "file": str(file.path), "topic": file.label})
        output = str(directory / f"{file.label}.out")
        client.create(f"{file.label}-sink", {"connector.class": SINK, "file": output, "topics": file.label})
    await_running(client, 2 * len(files))


def _watch(target: Target, client: ConnectClient, files: Sequence[Numbered], seconds: float) -> list[Sample]:
    began, samples = time.monotonic(), []
    last_cpu, last_at = _cpu(target), began
    with admin_of(target) as admin:
        partitions = [TopicPartition(file.label, 0) for file in files]
        while (now := time.monotonic()) - began < seconds:
            time.sleep(max(0.0, SAMPLE_S - (now - last_at)))
            uses = [use_of(target, number) for number in range(len(target.workers))]
            ends = admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=True)
            cpu, at = sum(use.cpu_s for use in uses), time.monotonic()
            samples.append(
                Sample(
                    at - began,
                    sum(use.memory_mb for use in uses),
                    sum(use.files for use in uses),
                    sum(use.threads for use in uses),
                    sum(use.processes for use in uses),
                    max(0.0, (cpu - last_cpu) / (at - last_at)),
                    sum(ends.values()),
                    sum(file.written for file in files) - sum(ends.values()),
                )
            )
            last_cpu, last_at = cpu, at
            if len(samples) % MOVE_EVERY == 0:
                _move(client, files[len(samples) // MOVE_EVERY % len(files)].label)
            if len(samples) % 30 == 0:
                print(f"{samples[-1]}", file=sys.stderr, flush=True)
    return samples


def _move(client: ConnectClient, label: str) -> None:
    name = f"{label}-sink"
    client.stop(name)
    client.await_state(name, "STOPPED", 120)
    rows = [row for row in client.offsets(name) if row.offset is not None]
    for row in rows:
        back = max(0, int((row.offset or {})["kafka_offset"]) - 100)
        client.alter_offsets(name, [type(row)(row.partition, {"kafka_offset": back})])
    client.resume(name)
    client.await_state(name, "RUNNING", 120)


def _await_end(target: Target, files: Sequence[Numbered]) -> None:
    with admin_of(target) as admin:
        partitions = [TopicPartition(file.label, 0) for file in files]
        wanted = sum(file.written for file in files)
        # Markers of transactions count as offsets, too: at least as many as there are lines.
        eventually(
            lambda: sum(admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=True).values()) >= wanted,
            120,
            "not everything was carried",
        )


def _cpu(target: Target) -> float:
    return sum(use_of(target, number).cpu_s for number in range(len(target.workers)))


# the report


def growth(times: Sequence[float], values: Sequence[float]) -> float:
    """What the line through all points gains from end to end, as a part of their mean."""
    mean_t, mean_v = sum(times) / len(times), sum(values) / len(values)
    spread = sum((t - mean_t) ** 2 for t in times)
    slope = sum((t - mean_t) * (v - mean_v) for t, v in zip(times, values, strict=True)) / spread
    return slope * (times[-1] - times[0]) / mean_v


def write_report(samples: Sequence[Sample], report: Path) -> bool:
    """`soak.md` and its plots; true if nothing grows."""
    settled = samples[int(len(samples) * SETTLING) :]
    times = [sample.at_s for sample in settled]
    rows, is_flat = [], True
    measures: dict[str, tuple[str, Callable[[Sample], float], bool]] = {
        "memory": ("Memory of three workers, MB", lambda sample: sample.memory_mb, True),
        "files": ("Open files", lambda sample: float(sample.files), True),
        "threads": ("Threads", lambda sample: float(sample.threads), True),
        "cpu": ("Cores in use", lambda sample: sample.cpu, False),
    }
    for name, (title, value, must_be_flat) in measures.items():
        values = [value(sample) for sample in settled]
        grown = growth(times, values)
        is_flat = is_flat and (not must_be_flat or grown <= MOST_GROWTH)
        (report / f"soak-{name}.svg").write_text(
            plot(title, [sample.at_s / 60 for sample in samples], [value(sample) for sample in samples])
        )
        rows.append(f"| {title} | {min(values):,.1f} | {max(values):,.1f} | {values[-1]:,.1f} | {100 * grown:+.1f} % |")
    minutes = samples[-1].at_s / 60
    moves = len(samples) // MOVE_EVERY
    text = [
        f"{minutes:.0f} minutes, 3 workers, {2 * PIPELINES} connectors, {PIPELINES * PER_SECOND} records/s into Kafka "
        f"and out again; {moves} times a sink was stopped, put back and resumed. "
        f"{samples[-1].carried:,} offsets written.",
        "",
        "| | least | most | at the end | growth over the run |",
        "|---|---|---|---|---|",
        *rows,
        "",
        f"Looked at is what comes after the first {SETTLING:.0%}. Growth is that of a line through all points.",
        "",
        *(f"![{title}](soak-{name}.svg)" for name, (title, _, _) in measures.items()),
    ]
    (report / "soak.md").write_text("\n".join(text) + "\n")
    print("\n".join(text[:9]))
    return is_flat
