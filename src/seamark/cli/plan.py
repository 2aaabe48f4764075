"""`seamark plan`: from topics, rate and record size to tasks, cores, memory and batches."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seamark.capacity.model import Kind
from seamark.cli.connection import Form, Output

if TYPE_CHECKING:
    from seamark.capacity.model import Measurements
    from seamark.capacity.planning import Plan, Workload


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(plan)


def plan(
    rate: Annotated[float, typer.Option(metavar="N", help="Records per second, of all connectors together.")],
    record_size: Annotated[float, typer.Option(metavar="BYTES", help="Key and value of a record, on average.")],
    connector_kind: Annotated[Kind, typer.Option(help="What the connectors are.")],
    topics: Annotated[int, typer.Option(metavar="N", help="How many topics there are.")] = 1,
    partitions: Annotated[int, typer.Option(metavar="N", help="How many partitions each topic has.")] = 1,
    connectors: Annotated[int, typer.Option(metavar="N", help="How many connectors share the topics.")] = 1,
    exactly_once: Annotated[
        bool, typer.Option("--exactly-once", help="The worker has exactly.once.source.support=enabled.")
    ] = False,
    max_latency_ms: Annotated[
        float, typer.Option(metavar="MS", help="How old a record may be when a table has it.")
    ] = 10_000.0,
    headroom: Annotated[
        float, typer.Option(metavar="PART", help="The part of the time that stays free, for peaks and catching up.")
    ] = 0.3,
    cores_per_executor: Annotated[int, typer.Option(metavar="N", help="spark.executor.cores.")] = 4,
    request_ms: Annotated[float, typer.Option(metavar="MS", help="How long a request of an http-sink takes.")] = 0.0,
    request_records: Annotated[int, typer.Option(metavar="N", help="Records in a request of an http-sink.")] = 1,
    measurements: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Written by `python -m bench capacity`. Default: those of this build."),
    ] = None,
    output: Form = Output.table,
) -> None:
    """Suggest tasks, cores, memory and batches for what is to be moved, and say which limit binds."""
    from seamark.capacity.model import read_measurements
    from seamark.capacity.planning import Workload
    from seamark.capacity.planning import plan as made_plan
    from seamark.cli.shown import note, print_data

    work = Workload(
        kind=connector_kind,
        rate=rate,
        record_bytes=record_size,
        topics=topics,
        partitions=partitions,
        connectors=connectors,
        exactly_once=exactly_once,
        latency_ms=max_latency_ms,
        headroom=headroom,
        cores_per_executor=cores_per_executor,
        request_ms=request_ms,
        request_records=request_records,
    )
    measured = read_measurements(measurements)
    found = made_plan(work, measured)
    if output in (Output.json, Output.yaml):
        print_data(_document(work, found, measured), output)
        return
    _print(work, found, measured)
    for line in found.advice:
        note(line)


def _document(work: Workload, found: Plan, measured: Measurements) -> dict[str, Any]:
    return {
        "workload": {**asdict(work), "kind": work.kind.value},
        "connector": _connector(work, found),
        "spark": _spark(found),
        "plan": {
            key: round(value, 3) if isinstance(value, float) else value
            for key, value in asdict(found).items()
            if key != "advice"
        },
        "advice": found.advice,
        "measured": {
            "machine": measured.machine,
            "versions": measured.versions,
            "at": measured.measured,
            "load": measured.load,
        },
    }


def _connector(work: Workload, found: Plan) -> dict[str, str]:
    """What goes into the config of each connector."""
    settings = {"tasks.max": str(found.tasks)}
    if work.kind.is_frame:
        settings |= {
            "seamark.batch.max.records": str(found.batch_records),
            "seamark.batch.max.ms": str(found.batch_ms),
            "seamark.batch.max.bytes": str(found.batch_bytes),
        }
    return settings


def _spark(found: Plan) -> dict[str, str]:
    """What goes into the worker's properties, on a cluster."""
    each = -(-found.slots // found.executors)
    return {
        "spark.executor.instances": str(found.executors),
        "spark.executor.cores": str(each),
        "spark.executor.memory": f"{found.executor_memory_mb}m",
        "spark.executor.memoryOverhead": f"{found.executor_overhead_mb}m",
        "spark.driver.memory": f"{found.driver_memory_mb}m",
    }


def _print(work: Workload, found: Plan, measured: Measurements) -> None:
    from seamark.capacity.planning import LIMITS
    from seamark.cli.shown import count, print_table

    rows = [[key, value, "connector"] for key, value in _connector(work, found).items()]
    rows += [[key, value, "worker, on a cluster"] for key, value in _spark(found).items()]
    rows += [
        ["tasks at the same time", count(found.slots), "task slots of Spark"],
        ["cores", count(found.cores), f"{found.busy_cores:.2f} busy at this rate"],
        ["cores of the brokers", f"{found.broker_cores:.2f} busy", "for one copy of the records"],
        ["memory, all in one machine", f"{count(found.worker_memory_mb)} MB", "worker, JVM and Python"],
        ["could move", f"{count(found.capacity)} records/s", f"asked for: {count(work.rate)}"],
    ]
    if found.latency_ms is not None:
        rows.append(["records arrive within", f"{count(found.latency_ms)} ms", "once a batch"])
    rows += [
        ["keeps up", "yes" if found.is_enough else "NO", f"{work.headroom:.0%} kept free"],
        ["limited by", found.binding, LIMITS[found.binding]],
    ]
    print_table(["WHAT", "VALUE", "WHERE"], rows, empty="")
    from seamark.cli.shown import note

    note(f"Measured on {measured.machine}, {measured.versions}, {measured.measured}; load {measured.load}.")
