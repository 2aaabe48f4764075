"""What work costs, for `seamark plan`: measures, fits, and checks the fit with settings that were not part of it."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from collections.abc import Callable
from dataclasses import replace

from bench.capacity_runs import CapacitySide, Runs, Setting, Taken, twice
from bench.idle import idle_costs
from bench.setup import Bench, heading
from seamark.capacity.model import Costs, Kind, Measurements, key_of
from seamark.capacity.planning import Workload, predicted_rate
from seamark.engine.session import end_jvm
from seamark.testing.postgres import PostgresServer, find_postgres

SMALL, LARGE, BETWEEN = 100, 1000, 400
MANY_PARTITIONS = 200
IDLE = 40
DIRECT = (Kind.SOURCE, Kind.SINK, Kind.MIRROR)

Run = Callable[[Setting], Taken]


def run(bench: Bench) -> None:
    binaries = find_postgres()
    server = None if binaries is None else PostgresServer(binaries)
    try:
        if server is not None:
            server.start()
        _measure(bench, server)
    finally:
        if server is not None:
            server.remove()


def _measure(bench: Bench, server: PostgresServer | None) -> None:
    runs, kinds = Runs(bench, server), dict[str, Costs]()
    checks: list[tuple[Setting, Taken]] = []
    worker_mb = connector_mb = connector_ms = 0.0
    end_jvm()  # an earlier part may have left one that lacks the database's driver
    for exactly_once in (False, True):
        chosen = [kind for kind in Kind if kind is not Kind.HTTP_SINK and (kind.has_exactly_once or not exactly_once)]
        if server is None:
            chosen = [kind for kind in chosen if kind is not Kind.TABLE_SOURCE]
        with CapacitySide(bench, exactly_once) as side:
            measure: Run = lambda setting: twice(lambda each: runs.run(side, each), setting, bench.repeats)  # noqa: E731, B023
            for kind in chosen:
                with heading(f"what {key_of(kind, exactly_once=exactly_once)} costs"):
                    runs.run(side, _warm_up(bench, kind, exactly_once))
                    fit = _direct if kind in DIRECT else _frame
                    kinds[key_of(kind, exactly_once=exactly_once)] = fit(bench, measure, kind, exactly_once)
            checks += [(each, measure(each)) for each in _unseen(bench, exactly_once, server is not None)]
            if not exactly_once:
                with heading(f"what {IDLE} idle connectors cost"):
                    worker_mb, connector_mb, connector_ms = idle_costs(bench, side, IDLE)
                    print(f"   {worker_mb:.0f} MB, {connector_mb:.2f} MB and {connector_ms:.3f} ms/s per connector")
    measured = Measurements(
        machine=f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, broker on the same machine",
        versions=f"Python {platform.python_version()}, Spark {importlib.metadata.version('pyspark')}",
        measured=datetime.datetime.now(datetime.UTC).date().isoformat(),
        load=f"{os.getloadavg()[1]:.1f} over 5 minutes",
        kinds=kinds,
        worker_mb=round(worker_mb),
        connector_mb=round(connector_mb, 2),
        connector_ms=round(connector_ms, 3),
    )
    _check(bench, measured, checks)
    bench.results["capacity"] = measured.to_json()
    if bench.measurements is not None:
        bench.measurements.write_text(json.dumps(measured.to_json(), indent=2) + "\n")
        print(f"   written to {bench.measurements}")


def _warm_up(bench: Bench, kind: Kind, exactly_once: bool) -> Setting:
    return Setting(kind, max(bench.records // 20, 5000), SMALL, exactly_once, batch=max(1000, bench.records // 40))


def _direct(bench: Bench, measure: Run, kind: Kind, exactly_once: bool) -> Costs:
    small = measure(Setting(kind, bench.records // 2, SMALL, exactly_once))
    large = measure(Setting(kind, bench.records // 8, LARGE, exactly_once))
    partition_ms = 0.0
    if kind is Kind.MIRROR:
        many = measure(Setting(kind, bench.records // 4, SMALL, exactly_once, partitions=MANY_PARTITIONS))
        extra = (many.cpu_us - small.cpu_us) * bench.records / 4 / 1e6
        partition_ms = max(0.0, 1000 * extra / MANY_PARTITIONS / many.seconds)
    costs = _costs(small, large, partition_ms=partition_ms)
    _tell(costs)
    return costs


def _frame(bench: Bench, measure: Run, kind: Kind, exactly_once: bool) -> Costs:
    """The cost of a batch from small ones, of a record from large ones, of a Spark task from batches with several."""
    few, full = 1000, max(bench.records // 20, 5000)
    small = Setting(kind, 12 * few, SMALL, exactly_once, partitions=4, batch=few)
    first, more = measure(small), measure(replace(small, tasks=4))
    large = measure(Setting(kind, 6 * full, SMALL, exactly_once, partitions=4, batch=full))
    wide = measure(Setting(kind, 6 * full, LARGE, exactly_once, partitions=4, batch=full))

    def split(of: Callable[[Taken], float]) -> tuple[float, float, float]:
        """What a batch takes in ms, a record in us, a byte in ns."""
        batch, whole = of(first) * few, of(large) * full
        each = max((whole - batch) / (full - few), of(large) / 100)
        fixed = max(batch - few * each, 0.0)
        per_byte = max(0.0, (of(wide) * full - fixed) / full - each) / (LARGE - SMALL)
        return fixed / 1000, max(each - per_byte * SMALL, each / 10), per_byte * 1000

    batch_ms, record_us, byte_ns = split(lambda taken: taken.us)
    cpu_batch_ms, cpu_record_us, cpu_byte_ns = split(lambda taken: taken.cpu_us)
    _, broker_record_us, broker_byte_ns = split(lambda taken: taken.broker_us)
    task_ms = max(0.0, (more.us - first.us) * few / 1000 / 3)
    made = Costs(
        record_us=round(record_us, 3),
        byte_ns=round(byte_ns, 3),
        cpu_record_us=round(cpu_record_us, 3),
        cpu_byte_ns=round(cpu_byte_ns, 3),
        broker_record_us=round(broker_record_us, 3),
        broker_byte_ns=round(broker_byte_ns, 3),
        batch_ms=round(max(batch_ms - task_ms, 0.0), 1),
        cpu_batch_ms=round(cpu_batch_ms, 1),
        task_ms=round(task_ms, 1),
    )
    _tell(made)
    return made


def _costs(small: Taken, large: Taken, *, partition_ms: float = 0.0) -> Costs:
    def line(low: float, high: float) -> tuple[float, float]:
        per_byte = max(0.0, (high - low) / (LARGE - SMALL))
        return round(max(low - per_byte * SMALL, low / 10), 3), round(per_byte * 1000, 3)

    record_us, byte_ns = line(small.us, large.us)
    cpu_us, cpu_ns = line(small.cpu_us, large.cpu_us)
    broker_us, broker_ns = line(small.broker_us, large.broker_us)
    return Costs(
        record_us=record_us,
        byte_ns=byte_ns,
        cpu_record_us=cpu_us,
        cpu_byte_ns=cpu_ns,
        broker_record_us=broker_us,
        broker_byte_ns=broker_ns,
        partition_ms=round(partition_ms, 3),
    )


def _tell(costs: Costs) -> None:
    print(
        f"   a task: {costs.record_us:.2f} us per record, {costs.byte_ns:.2f} ns per byte;  processors: "
        f"{costs.cpu_record_us:.2f} us, {costs.cpu_byte_ns:.2f} ns;  broker: {costs.broker_record_us:.2f} us, "
        f"{costs.broker_byte_ns:.2f} ns",
        flush=True,
    )
    if costs.batch_ms:
        print(
            f"   a batch: {costs.batch_ms:.0f} ms ({costs.cpu_batch_ms:.0f} ms of a core), and {costs.task_ms:.0f} ms "
            "for each of its tasks",
            flush=True,
        )
    if costs.partition_ms:
        print(f"   a partition: {costs.partition_ms:.3f} ms of a core per second", flush=True)


def _unseen(bench: Bench, exactly_once: bool, has_database: bool) -> list[Setting]:
    """Settings that no cost was taken from: another size, other tasks, partitions and batches."""
    some = bench.records // 4
    if exactly_once:
        return [Setting(Kind.MIRROR, some, BETWEEN, True, partitions=4, tasks=2)]
    batch = max(bench.records // 40, 3000)
    chosen = [
        Setting(Kind.SOURCE, some, BETWEEN),
        Setting(Kind.SINK, some, BETWEEN, partitions=3),
        Setting(Kind.TABLE, 6 * batch, BETWEEN, partitions=2, tasks=2, batch=batch),
    ]
    if has_database:
        chosen.append(Setting(Kind.TABLE_SOURCE, 6 * batch, BETWEEN, partitions=2, tasks=2, batch=batch))
    return chosen


def _check(bench: Bench, measured: Measurements, checks: list[tuple[Setting, Taken]]) -> None:
    with heading("predicted and measured, for settings that the costs were not taken from"):
        for setting, taken in checks:
            work = Workload(
                kind=setting.kind,
                rate=1,
                record_bytes=setting.record_bytes,
                partitions=setting.partitions,
                exactly_once=setting.exactly_once,
            )
            predicted = predicted_rate(
                work,
                measured,
                tasks=setting.tasks,
                batch_records=setting.batch,
                cores=os.cpu_count() or 1,
                with_broker=True,
            )
            print(
                f"   {setting!s:90} predicted {predicted:>9,.0f}/s   measured {taken.rate:>9,.0f}/s   "
                f"{predicted / taken.rate:.2f}",
                flush=True,
            )
            bench.results[f"capacity check: {setting}"] = {
                "predicted": round(predicted),
                "measured": round(taken.rate),
            }
    print(f"   load of the machine, 5 minutes: {os.getloadavg()[1]:.1f}")
