"""Tables: Kafka -> Parquet, Kafka -> Delta and PostgreSQL -> Kafka, Seamark beside Structured Streaming jobs by hand.

Both sides are processes with the same cores, memory, jars and batches. Each moves rows that wait for it; then more rows
come, it is killed in the midst of them, and started again.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.setup import Bench, heading, median
from bench.table_sides import ByHand, Flow, Seamark, SeamarkExactlyOnce, Side
from bench.table_targets import DeltaFolder, ParquetFolder, Target, Topic
from seamark.kafka.admin import Admin
from seamark.kafka.producer import RecordProducer
from seamark.kafka.topic_partitions import TopicSpec
from seamark.testing.postgres import PostgresDatabase, PostgresServer, find_postgres

PARTITIONS = TASKS = 4
COLUMNS = "id long, name string, amount double, country string, created long"
TABLE = "rows"
BATCHES = 10
WANTED = 1.0
TIMEOUT_S = 600.0
COUNTRIES = ("DE", "FR", "PL", "SE", "IT")


@dataclass(frozen=True)
class Result:
    """What one side did."""

    first_s: float
    moving: float
    from_start: float
    cpu_us: float
    resume_s: float
    repeated: int


@dataclass
class Place:
    """A flow that waits to be run: its target, and how more rows come."""

    flow: Flow
    target: Target
    add: Callable[[int, int], None]
    clean_up: Callable[[], None]


def run(bench: Bench) -> None:
    for format_ in ("parquet", "delta"):
        with heading(f"Kafka -> {format_}, {bench.records:,} JSON records of about 95 bytes, {PARTITIONS} partitions"):
            _compare(bench, f"Kafka -> {format_}", [ByHand, Seamark], lambda format_=format_: _sink(bench, format_))
    binaries = find_postgres()
    if binaries is None:
        print("\n## PostgreSQL -> Kafka: there is no PostgreSQL here; `make postgres` installs it")
        return
    server = PostgresServer(binaries)
    try:
        server.start()
        with heading(f"PostgreSQL -> Kafka, {bench.records:,} rows, {TASKS} connections"):
            sides = [ByHand, Seamark, SeamarkExactlyOnce]
            _compare(bench, "PostgreSQL -> Kafka", sides, lambda: _source(bench, server))
    finally:
        server.remove()


def _compare(bench: Bench, label: str, sides: list[type[Side]], prepare: Callable[[], Place]) -> None:
    results: dict[str, list[Result]] = {side.name: [] for side in sides}
    for _ in range(bench.repeats):
        for side in sides:  # in turns, so that what else the machine does meets all
            results[side.name].append(_measure(bench, side, prepare()))
    by_hand = median([each.moving for each in results[ByHand.name]])
    for name, found in results.items():
        moving, whole = median([each.moving for each in found]), median([each.from_start for each in found])
        first, resume = median([each.first_s for each in found]), median([each.resume_s for each in found])
        cpu = median([each.cpu_us for each in found])
        repeated = max(each.repeated for each in found)
        ratio = "" if name == ByHand.name else f"   ratio {moving / by_hand:.2f} (wanted: {WANTED})"
        print(
            f"   {name:22} {moving:>9,.0f} rows/s moving {whole:>9,.0f} from start   {cpu:5.1f} us of a core per row   "
            f"first row {first:5.1f} s   "
            f"resumed in {resume:5.1f} s, {repeated:,} rows twice{ratio}",
            flush=True,
        )
        bench.results[f"{label}: {name} rows/s"] = round(moving)
        bench.results[f"{label}: {name} rows/s from start"] = round(whole)
        bench.results[f"{label}: {name} us of a core per row"] = round(cpu, 1)
        bench.results[f"{label}: {name} first row s"] = round(first, 1)
        bench.results[f"{label}: {name} resume s"] = round(resume, 1)
        bench.results[f"{label}: {name} rows twice"] = repeated
        if name != ByHand.name:
            bench.results[f"{label}: {name} ratio"] = round(moving / by_hand, 2)
    print(f"   load of the machine, 1 and 5 minutes: {os.getloadavg()[0]:.1f}, {os.getloadavg()[1]:.1f}")


def _measure(bench: Bench, kind: type[Side], place: Place) -> Result:
    rows, more = bench.records, bench.records // 2
    side = kind(bench.directory / f"{kind.__name__.lower()}-{uuid.uuid4().hex[:6]}", place.flow)
    target = place.target
    try:
        target.count()  # a client's first look may take its time
        place.add(1, rows)
        began = side.start()
        side.started()
        first, seen = _until(side, target.count, 1)
        spent = side.cpu_s()
        last, _ = _until(side, target.count, rows)
        spent = side.cpu_s() - spent
        place.add(rows + 1, more)
        _until(side, target.count, rows + 1)
        side.kill()
        target.mark()
        again = side.start()
        resumed, _ = _until(side, lambda: int(target.is_ahead()), 1)
        _until(side, target.count, rows + more)
        side.check()
        ids = _all(side, target, rows + more)
        side.kill()
    finally:
        side.kill()
        target.close()
        place.clean_up()
    assert set(ids) == set(range(1, rows + more + 1)), f"{side.name}: {len(set(ids)):,} of {rows + more:,} rows"
    return Result(
        first_s=first - began,
        moving=(rows - seen) / max(last - first, 1e-6) if rows > seen else rows / (last - began),
        from_start=rows / (last - began),
        cpu_us=1e6 * spent / max(rows - seen, 1),
        resume_s=resumed - again,
        repeated=len(ids) - len(set(ids)),
    )


def _until(side: Side, count: Callable[[], int], wanted: int) -> tuple[float, int]:
    """When the counter has got there, and where it was."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        value, now = count(), time.monotonic()
        if value >= wanted:
            return now, value
        if now > deadline:
            raise TimeoutError(f"{side.name}: {value:,} of {wanted:,} after {TIMEOUT_S:.0f} s: {side.last_words()}")
        side.check()
        time.sleep(0.02)


def _all(side: Side, target: Target, wanted: int) -> list[int]:
    """All ids, as soon as there are as many different ones as there should be."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        ids = target.ids()
        if len(set(ids)) >= wanted:
            return ids
        if time.monotonic() > deadline:
            raise TimeoutError(f"{side.name}: {len(set(ids)):,} of {wanted:,} rows: {side.last_words()}")
        side.check()
        time.sleep(0.5)


def _sink(bench: Bench, format_: str) -> Place:
    topic = bench.topic("rows", PARTITIONS)
    path = bench.directory / f"{format_}-{uuid.uuid4().hex[:6]}"
    servers = bench.broker.bootstrap_servers
    flow = Flow(topic, servers, topic, bench.records // BATCHES, TASKS, COLUMNS, format_, str(path))
    return Place(
        flow,
        ParquetFolder(path) if format_ == "parquet" else DeltaFolder(path),
        lambda start, count: _produce(servers, topic, start, count),
        lambda: _remove(bench, topic, path),
    )


def _remove(bench: Bench, topic: str, path: Path | None = None) -> None:
    with bench.admin as admin:
        admin.delete_topics([topic])
    if path is not None:
        shutil.rmtree(path, ignore_errors=True)


def _produce(servers: str, topic: str, start: int, count: int) -> None:
    """Rows by number, `created` in order, dealt out evenly."""
    with RecordProducer({"bootstrap.servers": servers, "linger.ms": "50"}) as producer:
        for partition in range(PARTITIONS):
            numbers = range(start + partition, start + count, PARTITIONS)
            for at in range(0, len(numbers), 10_000):
                values = [_json(number) for number in numbers[at : at + 10_000]]
                producer.send_batch(topic, values, partition=partition)
        assert producer.flush(300) == 0


def _json(number: int) -> bytes:
    return (
        f'{{"id":{number},"name":"customer {number % 9973}","amount":{number % 1000}.25,'
        f'"country":"{COUNTRIES[number % 5]}","created":{1_700_000_000_000 + number}}}'
    ).encode()


def _source(bench: Bench, server: PostgresServer) -> Place:
    database = PostgresDatabase(server)
    database.execute(
        f"CREATE TABLE {TABLE} (id bigint PRIMARY KEY, name text, amount double precision, country text, "
        "created bigint)"
    )
    prefix = f"db{uuid.uuid4().hex[:6]}-"
    topic, servers = f"{prefix}{TABLE}", bench.broker.bootstrap_servers
    admin: Admin = bench.admin
    admin.create_topics([TopicSpec(topic, PARTITIONS, 1)])
    login = {"jdbc.url": database.url, "jdbc.user": database.user, "jdbc.password": database.password}
    flow = Flow(topic, servers, topic, bench.records // BATCHES, TASKS, database=login, table=TABLE)

    def clean_up() -> None:
        admin.delete_topics([topic])
        admin.close()
        database.drop()

    return Place(
        flow,
        Topic(admin, servers, topic, PARTITIONS),
        lambda start, count: database.execute(_insert(start, count)),
        clean_up,
    )


def _insert(start: int, count: int) -> str:
    countries = ", ".join(f"'{name}'" for name in COUNTRIES)
    return (
        f"INSERT INTO {TABLE} SELECT n, 'customer ' || n % 9973, n % 1000 + 0.25, "
        f"(ARRAY[{countries}])[n % 5 + 1], 1700000000000 + n FROM generate_series({start}, {start + count - 1}) AS n; "
        f"ANALYZE {TABLE}"
    )
