"""Single transfers of `bench capacity`: a connector with given settings, and what it took of time and processors."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.setup import CONVERTERS, SINK, SOURCE, Bench, SeamarkSide, cpu_seconds
from bench.table_targets import ParquetFolder
from seamark.capacity.model import Kind
from seamark.config.worker import WorkerConfig
from seamark.kafka.admin import Admin
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicPartition, TopicSpec
from seamark.runtime.worker import Worker
from seamark.testing.postgres import PostgresDatabase, PostgresServer

MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
TIMEOUT_S = 600.0


@dataclass(frozen=True)
class Setting:
    """A connector, and what it moves."""

    kind: Kind
    records: int
    record_bytes: int
    exactly_once: bool = False
    partitions: int = 1
    tasks: int = 1
    batch: int = 100_000

    def __str__(self) -> str:
        once = ", exactly-once" if self.exactly_once else ""
        batch = f", batches of {self.batch:,}" if self.kind.is_frame else ""
        return f"{self.kind}{once}, {self.record_bytes} B, {self.partitions} partitions, {self.tasks} tasks{batch}"


@dataclass(frozen=True)
class Taken:
    """What a transfer took, per record, while it was moving."""

    us: float
    cpu_us: float
    broker_us: float
    seconds: float

    @property
    def rate(self) -> float:
        return 1e6 / self.us


class CapacitySide(SeamarkSide):
    """A worker with a driver for PostgreSQL."""

    def __init__(self, bench: Bench, exactly_once: bool) -> None:
        settings = {
            "group.id": f"capacity-{uuid.uuid4().hex[:6]}",
            "exactly.once.source.support": "enabled" if exactly_once else "disabled",
            "seamark.spark.packages": "postgresql",
        }
        self.worker = Worker(WorkerConfig(settings).with_embedded_broker(bench.broker.bootstrap_servers))


class _Clock:
    """Follows a counter; what was spent between its first step and the total."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def follow(self, count: Callable[[], int], total: int, begun: Callable[[], int] | None = None) -> Taken:
        deadline = time.monotonic() + TIMEOUT_S
        while not (first := (begun or count)()):
            self._check(deadline, 0, total)
            time.sleep(0.005)
        began, cpu, broker = time.monotonic(), self._own(), self._broker()
        while (value := count()) < total:
            self._check(deadline, value, total)
            time.sleep(0.01)
        seconds, moved = time.monotonic() - began, max(total - first, 1)
        own, brokers = self._own(), self._broker()
        spent = sum(used - cpu.get(pid, 0.0) for pid, used in own.items())
        return Taken(
            us=1e6 * seconds / moved,
            cpu_us=1e6 * spent / moved,
            broker_us=1e6 * sum(used - broker.get(pid, 0.0) for pid, used in brokers.items()) / moved,
            seconds=seconds,
        )

    @staticmethod
    def _check(deadline: float, value: int, total: int) -> None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{value:,} of {total:,} after {TIMEOUT_S:.0f} s")

    def _broker(self) -> dict[int, float]:
        return cpu_seconds(self._bench.broker.pid) if self._bench.broker.pid else {}

    def _own(self) -> dict[int, float]:
        others = self._broker()
        return {pid: used for pid, used in cpu_seconds(os.getpid()).items() if pid not in others}


class Runs:
    """Transfers on one broker and one database server."""

    def __init__(self, bench: Bench, server: PostgresServer | None) -> None:
        self.bench, self._server = bench, server

    def run(self, side: SeamarkSide, setting: Setting) -> Taken:
        """One transfer."""
        return {
            Kind.SOURCE: self._source,
            Kind.SINK: self._sink,
            Kind.MIRROR: self._mirror,
            Kind.TABLE: self._table,
            Kind.TABLE_SOURCE: self._table_source,
        }[setting.kind](side, setting)

    def _follow(
        self,
        side: SeamarkSide,
        config: dict[str, str],
        count: Callable[[], int],
        total: int,
        begun: Callable[[], int] | None = None,
    ) -> Taken:
        name = f"capacity-{uuid.uuid4().hex[:6]}"
        side.create(name, config)
        try:
            return _Clock(self.bench).follow(count, total, begun)
        finally:
            side.delete(name)

    def _source(self, side: SeamarkSide, setting: Setting) -> Taken:
        lines = self.bench.directory / f"lines-{setting.records}-{setting.record_bytes}.txt"
        if not lines.exists():
            with lines.open("w") as out:
                out.writelines(f"{at:010d} ".ljust(setting.record_bytes, "x") + "\n" for at in range(setting.records))
        topic = self.bench.topic("lines")
        config = {"connector.class": SOURCE, "tasks.max": "1", "file": str(lines), "topic": topic, **CONVERTERS}
        with self.bench.admin as admin:
            end = _ends(admin, topic, 1)
            end(True)
            taken = self._follow(side, config, lambda: end(True), setting.records, lambda: end(False))
            admin.delete_topics([topic])
        return taken

    def _sink(self, side: SeamarkSide, setting: Setting) -> Taken:
        topic = self._filled(setting, _line)
        folder = self.bench.directory / f"sink-{uuid.uuid4().hex[:6]}"
        folder.mkdir()
        # One file: all tasks append to it.
        out = folder / "out.txt"
        config = {
            "connector.class": SINK,
            "tasks.max": str(setting.tasks),
            "file": str(out),
            "topics": topic,
            **CONVERTERS,
        }
        line = setting.record_bytes + 1
        taken = self._follow(side, config, lambda: out.stat().st_size // line if out.exists() else 0, setting.records)
        self._drop(topic)
        out.unlink()
        return taken

    def _mirror(self, side: SeamarkSide, setting: Setting) -> Taken:
        topic = self._filled(setting, _line)
        alias, servers = f"s{uuid.uuid4().hex[:6]}", self.bench.broker.bootstrap_servers
        copy = f"{alias}.{topic}"
        config = {
            "connector.class": MIRROR,
            "tasks.max": str(setting.tasks),
            "source.cluster.alias": alias,
            "target.cluster.alias": "t",
            "source.cluster.bootstrap.servers": servers,
            "target.cluster.bootstrap.servers": servers,
            "topics": topic,
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "sync.topic.acls.enabled": "false",
            **{f"{kind}.converter": BYTES for kind in ("key", "value", "header")},
        }
        with self.bench.admin as admin:
            admin.create_topics([TopicSpec(copy, setting.partitions, 1)])
            end = _ends(admin, copy, setting.partitions)
            end(True)
            taken = self._follow(side, config, lambda: end(True), setting.records, lambda: end(False))
            admin.delete_topics([copy, topic])
        return taken

    def _table(self, side: SeamarkSide, setting: Setting) -> Taken:
        topic = self._filled(setting, _json)
        path = self.bench.directory / f"table-{uuid.uuid4().hex[:6]}"
        config = {
            "connector.class": "SparkSink",
            "tasks.max": str(setting.tasks),
            "topics": topic,
            "format": "parquet",
            "path": str(path),
            "value.format": "json",
            "schema": "id long, text string",
            "seamark.batch.max.records": str(setting.batch),
        }
        target = ParquetFolder(path)
        taken = self._follow(side, config, target.count, setting.records)
        self._drop(topic)
        return taken

    def _table_source(self, side: SeamarkSide, setting: Setting) -> Taken:
        assert self._server is not None, "needs PostgreSQL"
        database = PostgresDatabase(self._server)
        padding = setting.record_bytes - len(_json(0, 0))
        database.execute(
            "CREATE TABLE rows (id bigint PRIMARY KEY, text text); INSERT INTO rows SELECT n, repeat('x', "
            f"{max(padding, 1)}) FROM generate_series(1000000001, {1_000_000_000 + setting.records}) AS n; ANALYZE rows"
        )
        prefix = f"db{uuid.uuid4().hex[:6]}-"
        topic = f"{prefix}rows"
        config = {
            "connector.class": "SparkSource",
            "tasks.max": str(setting.tasks),
            "format": "jdbc",
            "connection.url": database.url,
            "connection.user": database.user,
            "connection.password": database.password,
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "table.whitelist": "rows",
            "topic.prefix": prefix,
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "seamark.batch.max.records": str(setting.batch),
        }
        with self.bench.admin as admin:
            admin.create_topics([TopicSpec(topic, setting.partitions, 1)])
            end = _ends(admin, topic, setting.partitions)
            end(True)
            taken = self._follow(side, config, lambda: end(True), setting.records)
            admin.delete_topics([topic])
        database.drop()
        return taken

    def _filled(self, setting: Setting, value: Callable[[int, int], bytes]) -> str:
        topic = self.bench.topic("full", setting.partitions)
        servers = self.bench.broker.bootstrap_servers
        with RecordProducer({"bootstrap.servers": servers, "linger.ms": "50"}) as producer:
            for partition in range(setting.partitions):
                numbers = range(partition, setting.records, setting.partitions)
                for at in range(0, len(numbers), 10_000):
                    values = [value(number, setting.record_bytes) for number in numbers[at : at + 10_000]]
                    producer.send_batch(topic, values, partition=partition)
            assert producer.flush(300) == 0
        return topic

    def _drop(self, topic: str) -> None:
        with self.bench.admin as admin:
            admin.delete_topics([topic])


def twice(run: Callable[[Setting], Taken], setting: Setting, repeats: int) -> Taken:
    """The best of several: what disturbs makes only slower."""
    found = [run(setting) for _ in range(repeats)]
    best = min(found, key=lambda taken: taken.us)
    return replace(best, cpu_us=min(taken.cpu_us for taken in found), broker_us=min(taken.broker_us for taken in found))


def _line(number: int, size: int) -> bytes:
    return f"{number:010d} ".ljust(size, "x").encode()


def _json(number: int, size: int) -> bytes:
    start = f'{{"id":{1_000_000_000 + number},"text":"'
    return f'{start}{"x" * max(0, size - len(start) - 2)}"}}'.encode()


def _ends(admin: Admin, topic: str, partitions: int) -> Callable[[bool], int]:
    where = [TopicPartition(topic, number) for number in range(partitions)]

    def end(is_committed: bool) -> int:
        return sum(admin.list_offsets(dict.fromkeys(where, "latest"), is_committed=is_committed).values())

    return end
