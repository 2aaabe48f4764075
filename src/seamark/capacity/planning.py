"""From what is to be moved to settings: tasks, cores, memory, batches, and which limit binds. Arithmetic alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from seamark.capacity.model import Costs, Kind, Measurements
from seamark.errors import BadRequestError

DEFAULT_BATCH_RECORDS: Final = 100_000
DEFAULT_BATCH_BYTES: Final = 64 * 1024 * 1024
SMALLEST_BATCH: Final = 1000
_MAX_BATCH_RECORDS: Final = 5_000_000
_MAX_RECORD_BYTES: Final = 2**30
_MAX_TASKS: Final = 10_000
_ROW_SIZE: Final = 4  # a record takes about so many times its bytes while Spark works on it
_JVM_MB: Final = 512
_STEP_MB: Final = 256


@dataclass(frozen=True, slots=True)
class Workload:
    """What is to be moved, by connectors that are alike."""

    kind: Kind
    rate: float
    """Records per second, of all connectors together."""
    record_bytes: float
    topics: int = 1
    partitions: int = 1
    """Of each topic."""
    connectors: int = 1
    exactly_once: bool = False
    latency_ms: float = 10_000.0
    """How old a record may be when it arrives, in a frame connector."""
    headroom: float = 0.3
    """The part of the time that stays free, for peaks and for catching up."""
    cores_per_executor: int = 4
    request_ms: float = 0.0
    """How long a request takes, of an HTTP sink."""
    request_records: int = 1
    """Records in a request."""

    def __post_init__(self) -> None:
        """Raises BadRequestError if it makes no sense."""
        _need("--rate", self.rate, 0, above=True)
        _need("--record-size", self.record_bytes, 1, most=_MAX_RECORD_BYTES)
        for name in ("topics", "partitions", "connectors"):
            _need(f"--{name}", getattr(self, name), 1)
        _need("--max-latency-ms", self.latency_ms, 0, above=True)
        _need("--headroom", self.headroom, 0, most=0.9)
        _need("--cores-per-executor", self.cores_per_executor, 1)
        _need("--request-records", self.request_records, 1)
        _need("--request-ms", self.request_ms, 0)
        if self.kind.has_topics and self.connectors > self.topics * self.partitions:
            raise BadRequestError(
                f"{self.connectors} connectors cannot share {self.topics * self.partitions} partitions: some would "
                "have nothing to read. Name fewer --connectors, or more --topics or --partitions."
            )
        if self.exactly_once and self.kind in (Kind.SINK, Kind.HTTP_SINK):
            raise BadRequestError(
                f"A {self.kind.value} is at-least-once whatever the worker's settings say: leave --exactly-once out. "
                "Sinks with each record once are those of --connector-kind table."
            )
        if self.kind is Kind.HTTP_SINK and not self.request_ms:
            raise BadRequestError("What bounds an http-sink is how long requests take: give it with --request-ms.")
        if self.kind is not Kind.HTTP_SINK and (self.request_ms or self.request_records != 1):
            raise BadRequestError(
                f"--request-ms and --request-records belong to --connector-kind http-sink, not {self.kind.value}."
            )

    @property
    def connector_rate(self) -> float:
        """Records per second of one connector."""
        return self.rate / self.connectors

    @property
    def connector_partitions(self) -> int:
        """Partitions that the connector with the most of them has."""
        return math.ceil(self.topics * self.partitions / self.connectors)

    @property
    def most_tasks(self) -> int:
        """Tasks beyond which there is nothing to share out."""
        return self.connector_partitions if self.kind.has_topics else _MAX_TASKS


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings, and what to expect of them."""

    tasks: int
    """`tasks.max` of each connector."""
    slots: int
    """Spark tasks that run at the same time."""
    cores: int
    """Cores of the executors, or of the machine."""
    executors: int
    executor_memory_mb: int
    executor_overhead_mb: int
    driver_memory_mb: int
    worker_memory_mb: int
    """All processes of a worker that runs everything in `local[*]`."""
    batch_records: int
    batch_ms: int
    batch_bytes: int
    binding: str
    """Which limit decides: see `LIMITS`."""
    is_enough: bool
    """Whether this keeps up."""
    capacity: float
    """Records per second that it could move, of all connectors."""
    busy_cores: float
    """Processor time per second at the rate that was asked for."""
    broker_cores: float
    """The same of the brokers, for one copy of the records."""
    latency_ms: float | None
    """How old records of a frame connector are at most when they arrive; None for others, which do not wait."""
    advice: list[str] = field(default_factory=list)


LIMITS: Final = {
    "rate": "the time that tasks need for the records",
    "one-task": "nothing: one task is enough",
    "partitions": "the partitions: there are no more tasks than those",
    "requests": "the time that requests take",
    "latency": "the age that records may have",
    "batch": "the fixed cost of a batch",
}


def plan(work: Workload, measured: Measurements) -> Plan:
    """The fewest tasks that keep up, and what they need.

    Raises:
        BadRequestError: there is no measurement for this kind.
    """
    costs = measured.costs(work.kind, exactly_once=work.exactly_once)
    usable = 1 - work.headroom
    batch = None
    if work.kind.is_frame:
        tasks, batch, binding = _frame_tasks(work, costs, usable)
        per_second = _frame_rate(work, costs, tasks)
    else:
        tasks, binding = _direct_tasks(work, costs, usable)
        per_second = tasks / _task_s(work, costs)
    is_enough = per_second * usable >= work.connector_rate * (1 - 1e-9)
    busy = _busy_cores(work, costs, measured, batch)
    if work.kind.is_frame:
        # A slot is taken for as long as a batch runs; connectors take turns.
        taken = work.connector_rate / max(per_second, 1e-9)
        slots = max(tasks, math.ceil(work.connectors * tasks * min(1.0, taken)))
        cores = max(1, math.ceil(busy / usable), slots)
    else:
        slots = work.connectors * tasks
        cores = max(1, math.ceil(busy / usable))
    executors = math.ceil(slots / work.cores_per_executor)
    records, batch_ms = _batch_limits(work, batch)
    in_batch = min(records, DEFAULT_BATCH_BYTES / work.record_bytes) if work.kind.is_frame else 2000
    per_task_mb = in_batch * work.record_bytes * _ROW_SIZE / tasks / 2**20
    each = min(work.cores_per_executor, slots)
    overhead = _rounded(each * costs.python_mb)
    heap = _rounded(_JVM_MB + (each * per_task_mb if work.kind.is_frame else 0))
    local = measured.worker_mb + work.connectors * measured.connector_mb + slots * costs.python_mb
    return Plan(
        tasks=tasks,
        slots=slots,
        cores=cores,
        executors=executors,
        executor_memory_mb=heap,
        executor_overhead_mb=overhead,
        driver_memory_mb=_rounded(1024 + work.connectors * measured.connector_mb),
        worker_memory_mb=_rounded(local + (slots * per_task_mb if work.kind.is_frame else 0)),
        batch_records=records,
        batch_ms=batch_ms,
        batch_bytes=DEFAULT_BATCH_BYTES,
        binding=binding,
        is_enough=is_enough and (batch is None or batch.latency_ms <= work.latency_ms),
        capacity=per_second * work.connectors,
        busy_cores=busy,
        broker_cores=work.rate * costs.broker_us(work.record_bytes) / 1e6,
        latency_ms=None if batch is None else batch.latency_ms,
        advice=_advice(work, tasks, binding, is_enough, per_second * usable, batch),
    )


def predicted_rate(
    work: Workload, measured: Measurements, *, tasks: int, batch_records: int, cores: float, with_broker: bool = False
) -> float:
    """Records per second of one connector with these settings, if there is always more to do.

    Args:
        work: what is moved; its rate says nothing here.
        measured: what that costs.
        tasks: `tasks.max`.
        batch_records: `seamark.batch.max.records`.
        cores: of the machine.
        with_broker: whether the broker is on these cores, too.
    """
    costs = measured.costs(work.kind, exactly_once=work.exactly_once)
    busy = min(tasks, work.most_tasks)
    in_batch = 0.0
    if work.kind.is_frame:
        by_time = batch_records / costs.batch_s(batch_records, work.record_bytes, busy, cores)
        in_batch = costs.cpu_batch_ms * 1000 / batch_records
    else:
        by_time = busy / _task_s(work, costs)
    idle = work.connector_partitions * costs.partition_ms / 1000 if work.kind.has_topics else 0.0
    each_us = in_batch + costs.cpu_us(work.record_bytes) + (costs.broker_us(work.record_bytes) if with_broker else 0.0)
    return min(by_time, max(cores - idle, 0.01) * 1e6 / each_us)


@dataclass(frozen=True, slots=True)
class _Batch:
    records: int
    seconds: float
    latency_ms: float


def _task_s(work: Workload, costs: Costs) -> float:
    """Time of a task for a record, of a connector without batches."""
    waiting = work.request_ms / 1000 / work.request_records
    return costs.task_us(work.record_bytes) / 1e6 + waiting


def _direct_tasks(work: Workload, costs: Costs, usable: float) -> tuple[int, str]:
    wanted = max(1, math.ceil(work.connector_rate * _task_s(work, costs) / usable - 1e-9))
    if wanted > work.most_tasks:
        return work.most_tasks, "partitions"
    if wanted == 1:
        return 1, "one-task"
    waits = work.request_ms / 1000 / work.request_records > costs.task_us(work.record_bytes) / 1e6
    return wanted, "requests" if waits else "rate"


def _frame_tasks(work: Workload, costs: Costs, usable: float) -> tuple[int, _Batch | None, str]:
    """The fewest tasks whose batches keep up within the latency; if none do, those that come closest."""
    best: tuple[int, _Batch] | None = None
    for tasks in range(1, min(work.most_tasks, _MAX_TASKS) + 1):
        batch = _smallest_batch(work, costs, tasks, usable)
        if batch is None:
            continue
        if batch.latency_ms <= work.latency_ms:
            return tasks, batch, "one-task" if tasks == 1 else "rate"
        if best is None or batch.latency_ms < best[1].latency_ms:
            best = tasks, batch
        elif batch.latency_ms > 2 * best[1].latency_ms:
            break  # more tasks make batches longer from here on
    if best is None:
        is_bound = work.most_tasks < _MAX_TASKS
        return work.most_tasks if is_bound else 1, None, "partitions" if is_bound else "batch"
    return best[0], best[1], "latency"


def _smallest_batch(work: Workload, costs: Costs, tasks: int, usable: float) -> _Batch | None:
    """The batch that is done, within the usable part of the time, when the next one has gathered."""
    fixed = (costs.batch_ms + costs.task_ms * tasks) / 1000
    left = usable / work.connector_rate - costs.task_us(work.record_bytes) / 1e6 / tasks
    if left <= 0:
        return None
    records = max(1, math.ceil(fixed / left))
    if records > min(_MAX_BATCH_RECORDS, DEFAULT_BATCH_BYTES * 16 / work.record_bytes):
        return None
    seconds = costs.batch_s(records, work.record_bytes, tasks, tasks)
    # A record waits for the batch before it, and then for its own.
    return _Batch(records, seconds, (records / work.connector_rate + seconds) * 1000)


def _frame_rate(work: Workload, costs: Costs, tasks: int) -> float:
    records = min(_MAX_BATCH_RECORDS, DEFAULT_BATCH_BYTES / work.record_bytes)
    seconds = min(work.latency_ms / 2000, costs.batch_s(records, work.record_bytes, tasks, tasks))
    fixed = (costs.batch_ms + costs.task_ms * tasks) / 1000
    held = max(0.0, seconds - fixed) * 1e6 * tasks / costs.task_us(work.record_bytes)
    return min(held, records) / max(seconds, 1e-9)


def _busy_cores(work: Workload, costs: Costs, measured: Measurements, batch: _Batch | None) -> float:
    busy = work.rate * costs.cpu_us(work.record_bytes) / 1e6
    if batch is not None:
        busy += work.rate / batch.records * costs.cpu_batch_ms / 1000
    busy += work.connectors * measured.connector_ms / 1000
    return busy + (work.topics * work.partitions * costs.partition_ms / 1000 if work.kind.has_topics else 0.0)


def _batch_limits(work: Workload, batch: _Batch | None) -> tuple[int, int]:
    """`seamark.batch.max.records` and `.ms`: room for a backlog, without making records older than wanted."""
    if not work.kind.is_frame:
        return DEFAULT_BATCH_RECORDS, 60_000
    half_ms = max(100, int(work.latency_ms / 2))
    in_half = work.connector_rate * half_ms / 1000
    wanted = max(SMALLEST_BATCH, in_half, 0 if batch is None else 2 * batch.records)
    most = max(1, DEFAULT_BATCH_BYTES / work.record_bytes)
    return _two_digits(min(wanted, most, _MAX_BATCH_RECORDS)), half_ms


def _advice(
    work: Workload, tasks: int, binding: str, is_enough: bool, usable_rate: float, batch: _Batch | None
) -> list[str]:
    said: list[str] = []
    if binding == "partitions":
        needed = math.ceil(work.connector_partitions * work.connector_rate / max(usable_rate, 1e-9) - 1e-9)
        said.append(
            f"Each connector needs about {needed} partitions to keep up and has {work.connector_partitions}: add "
            "partitions, or share the topics out among more connectors."
        )
    if binding == "latency" and batch is not None:
        said.append(
            f"Batches of a frame connector make records up to {batch.latency_ms:,.0f} ms old at this rate, more than "
            f"the {work.latency_ms:,.0f} ms wanted; a sink task (--connector-kind sink) hands records on at once."
        )
    if not is_enough and binding not in ("partitions", "latency"):
        said.append(f"With these settings {usable_rate * work.connectors:,.0f} records/s are moved, no more.")
    if not work.kind.is_frame and work.connectors * tasks > 64:
        said.append(
            f"{work.connectors * tasks} tasks run at the same time: in local mode set seamark.local.slots to at least "
            "that, on a cluster it is a core each."
        )
    return said


def _rounded(megabytes: float) -> int:
    return max(_STEP_MB, math.ceil(megabytes / _STEP_MB) * _STEP_MB)


def _two_digits(number: float) -> int:
    """Rounded up to two digits: more would pretend to a precision that no model has."""
    if number < 10:
        return max(1, math.ceil(number))
    step = 10 ** (int(math.log10(number)) - 1)
    return math.ceil(number / step) * step


def _need(name: str, value: float, least: float, *, most: float = math.inf, above: bool = False) -> None:
    is_number = isinstance(value, int | float) and math.isfinite(value)
    if is_number and (value > least if above else value >= least) and value <= most:
        return
    bounds = f"more than {least:g}" if above else f"{least:g} or more"
    bounds += f" and at most {most:,g}" if math.isfinite(most) else ""
    raise BadRequestError(f"{name} is {value:g}; it must be {bounds}.")
