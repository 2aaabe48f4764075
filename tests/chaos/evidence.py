"""What is in topics and files at the end of a run; kept beside the history, so that both can be judged again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaos.lines import number_of
from chaos.subjects import OWNER_HEADER, Sink, Source, Subject
from seamark.kafka.admin import Admin
from seamark.kafka.consumer import RecordConsumer
from seamark.kafka.topic_partitions import TopicPartition
from seamark.testing.waiting import eventually


@dataclass(frozen=True, slots=True)
class Written:
    """A record that a source wrote; the time is the broker's."""

    number: int
    at: float
    owner: str


@dataclass(frozen=True, slots=True)
class SinkLine:
    """A line that a sink wrote, and where in its file; no number if it is not one that was sent."""

    number: int | None
    place: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """Of a whole run."""

    fed: Mapping[str, int]
    """By connector, how many records there were to carry."""
    written: Mapping[str, list[Written]] = field(default_factory=dict)
    """By source, in the order of the topic, as readers of what is committed see it."""
    lines: Mapping[str, list[SinkLine]] = field(default_factory=dict)
    """By sink, in the order of the file."""
    runners: Mapping[str, list[str]] = field(default_factory=dict)
    """By connector, the workers that said to run its task, in order."""
    workers: Mapping[str, int] = field(default_factory=dict)
    """By address, the number of a worker."""
    configs: Mapping[str, Any] = field(default_factory=dict)
    states: Mapping[str, Any] = field(default_factory=dict)
    misplaced: Mapping[str, int] = field(default_factory=dict)
    """By sink, records of its topic whose offset is not their number: the run itself went wrong then."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> Evidence:
        fields = json.loads(path.read_text())
        fields["written"] = {name: [Written(**row) for row in rows] for name, rows in fields["written"].items()}
        fields["lines"] = {name: [SinkLine(**row) for row in rows] for name, rows in fields["lines"].items()}
        return cls(**fields)


def gather(
    subjects: list[Subject],
    bootstrap_servers: str,
    status_topic: str,
    workers: Mapping[str, int],
    shown: Mapping[str, Any],
) -> Evidence:
    """Read everything."""
    written: dict[str, list[Written]] = {}
    lines: dict[str, list[SinkLine]] = {}
    misplaced: dict[str, int] = {}
    for subject in subjects:
        if isinstance(subject, Source):
            written[subject.name] = [_written(row) for row in read_topic(bootstrap_servers, subject.topic)]
        elif isinstance(subject, Sink):
            lines[subject.name] = _lines(subject.output)
            rows = read_topic(bootstrap_servers, subject.topic)
            misplaced[subject.name] = sum(number_of(row.value()) != row.offset() for row in rows)
    return Evidence(
        fed={subject.name: subject.fed for subject in subjects},
        written=written,
        lines=lines,
        runners=_runners(bootstrap_servers, status_topic),
        workers=workers,
        configs=shown["configs"],
        states=shown["states"],
        misplaced=misplaced,
    )


def read_topic(bootstrap_servers: str, topic: str) -> list[Any]:
    """All committed messages of a topic, partition by partition."""
    servers = {"bootstrap.servers": bootstrap_servers}
    with Admin(servers) as admin:
        partitions = admin.partitions_of([topic])
        ends = admin.list_offsets(dict.fromkeys(partitions, "latest"), is_committed=True)
    consumer = RecordConsumer({**servers, "isolation.level": "read_committed"})
    found: dict[int, list[Any]] = {each.partition: [] for each in partitions}
    try:
        consumer.assign(dict.fromkeys(partitions, 0))

        def is_read() -> bool:
            for message in consumer.read(50_000, 0.1):
                found[message.partition()].append(message)
            positions: Mapping[TopicPartition, int] = consumer.positions()
            return all(positions.get(each, 0) >= end for each, end in ends.items())

        eventually(is_read, 120, f"{topic} could not be read to its end")
    finally:
        consumer.close()
    return [message for rows in found.values() for message in rows]


def _written(message: Any) -> Written:
    owner = dict(message.headers() or []).get(OWNER_HEADER, b"")
    number = number_of(message.value())
    return Written(-1 if number is None else number, message.timestamp()[1] / 1000, owner.decode())


def _lines(path: Path) -> list[SinkLine]:
    found, place = [], 0
    for text in path.read_bytes().split(b"\n") if path.exists() else []:
        if text:
            found.append(SinkLine(number_of(text), place))
        place += len(text) + 1
    return found


def _runners(bootstrap_servers: str, topic: str) -> dict[str, list[str]]:
    """Who said to run a task; what cannot be read was put there by a fault."""
    found: dict[str, list[str]] = {}
    for message in read_topic(bootstrap_servers, topic):
        key = (message.key() or b"").decode(errors="replace")
        if key.startswith("status-task-") and key.endswith("-0") and message.value():
            try:
                status = json.loads(message.value())
            except ValueError:
                continue
            if status.get("state") in ("RUNNING", "PAUSED"):
                found.setdefault(key.removeprefix("status-task-").removesuffix("-0"), []).append(status["worker_id"])
    return found
