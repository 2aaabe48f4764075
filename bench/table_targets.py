"""What readers see of what a side has written: files, a Delta table, a topic. Counted cheaply, and read as a whole."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path

import orjson
import pyarrow.parquet as pq

from seamark.kafka.admin import Admin
from seamark.kafka.consumer import RecordConsumer
from seamark.kafka.topic_partitions import TopicPartition


class Target(ABC):
    """Where rows arrive; each has an `id` of its own."""

    def __init__(self) -> None:
        self._marked = 0

    @abstractmethod
    def count(self) -> int:
        """Rows that readers see now."""

    @abstractmethod
    def ids(self) -> list[int]:
        """The ids of all rows that readers see now."""

    def mark(self) -> int:
        """Remember what is there; how many rows that is."""
        self._marked = self.count()
        return self._marked

    def is_ahead(self) -> bool:
        """Whether there are rows that were not there at the mark."""
        return self.count() > self._marked

    def close(self) -> None:
        """Let go of what is open: nothing, unless a target says otherwise."""
        return


class ParquetFolder(Target):
    """Files of either side: Structured Streaming lists those that count in a log of its own."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._counts: dict[str, int] = {}

    def count(self) -> int:
        return sum(self._rows(file) for file in self._files())

    def ids(self) -> list[int]:
        return [number for file in self._files() for number in pq.read_table(file, columns=["id"])["id"].to_pylist()]

    def _rows(self, file: str) -> int:
        if file not in self._counts:
            self._counts[file] = pq.ParquetFile(file).metadata.num_rows
        return self._counts[file]

    def _files(self) -> list[str]:
        log = self.path / "_spark_metadata"
        if not log.exists():
            return [str(file) for file in self.path.glob("*.parquet")]
        found: set[str] = set()
        for entry in sorted(log.iterdir()):
            if entry.name.startswith("."):
                continue
            lines = entry.read_text().splitlines()[1:]
            found |= {json.loads(line)["path"].removeprefix("file://") for line in lines}
        return sorted(found)


class DeltaFolder(Target):
    """Read by delta-rs."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def count(self) -> int:
        from deltalake import DeltaTable

        if not (self.path / "_delta_log" / f"{0:020d}.json").exists():
            return 0
        actions = DeltaTable(str(self.path)).get_add_actions(flatten=True)
        names = [field.name for field in actions.schema]
        return sum(actions.column(names.index("num_records")).to_pylist())

    def ids(self) -> list[int]:
        from deltalake import DeltaTable

        return list(DeltaTable(str(self.path)).to_pyarrow_table(columns=["id"])["id"].to_pylist())


class Topic(Target):
    """Counted by its ends; what is new at a mark is told by ids, since rows may come twice."""

    def __init__(self, admin: Admin, servers: str, name: str, partitions: int) -> None:
        super().__init__()
        self._admin, self._partitions = admin, [TopicPartition(name, number) for number in range(partitions)]
        self._consumer = RecordConsumer({"bootstrap.servers": servers, "isolation.level": "read_committed"})
        self._consumer.assign(dict.fromkeys(self._partitions, 0))
        self._ids: list[int] = []
        self._known: set[int] = set()
        self._positions = dict.fromkeys(self._partitions, 0)

    def count(self) -> int:
        ends = self._admin.list_offsets(dict.fromkeys(self._partitions, "latest"), is_committed=True)
        return sum(ends.values())

    def ids(self) -> list[int]:
        idle = 0
        while idle < 3:  # markers of transactions are at the ends, so offsets do not tell that all was read
            idle = 0 if self._read(1.0) else idle + 1
        return self._ids

    def mark(self) -> int:
        self._known = set(self.ids())
        return len(self._known)

    def is_ahead(self) -> bool:
        before = len(self._ids)
        self._read(0.05)
        return any(number not in self._known for number in self._ids[before:])

    def close(self) -> None:
        self._consumer.close()

    def _read(self, timeout_s: float) -> int:
        messages = self._consumer.read(50_000, timeout_s)
        self._ids += [orjson.loads(message.value())["id"] for message in messages]
        return len(messages)
