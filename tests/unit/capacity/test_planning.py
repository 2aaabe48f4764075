from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.capacity import model
from seamark.capacity.model import Costs, Kind, Measurements, key_of, read_measurements
from seamark.capacity.planning import LIMITS, Workload, plan, predicted_rate
from seamark.errors import BadRequestError

DIRECT = Costs(record_us=10.0, byte_ns=10.0, cpu_record_us=20.0, cpu_byte_ns=0.0, partition_ms=1.0, python_mb=100)
FRAME = Costs(record_us=4.0, byte_ns=10.0, cpu_record_us=8.0, cpu_byte_ns=0.0, batch_ms=400, task_ms=50)
KINDS = {
    **{key_of(kind, exactly_once=once): DIRECT for kind in (Kind.SOURCE, Kind.SINK, Kind.MIRROR) for once in (0, 1)},
    **{key_of(kind, exactly_once=once): FRAME for kind in (Kind.TABLE, Kind.TABLE_SOURCE) for once in (0, 1)},
}
MEASURED = Measurements("a machine", "versions", "2026-01-01", "none", KINDS, 600.0, 3.0, 0.5)


def work(kind: Kind = Kind.SINK, **settings: object) -> Workload:
    return Workload(**{"kind": kind, "rate": 1000, "record_bytes": 1000, "partitions": 100, **settings})  # type: ignore[arg-type]


def test_tasks_are_the_time_that_records_take_with_room_to_spare() -> None:
    # 1000 bytes take a task 10 + 10 us, so it moves 50,000 records/s; of that 70 % are used.
    assert plan(work(rate=35_000), MEASURED).tasks == 1
    found = plan(work(rate=35_001), MEASURED)
    assert (found.tasks, found.binding, found.is_enough) == (2, "rate", True)
    assert found.capacity == pytest.approx(100_000)


def test_one_task_is_said_to_be_enough() -> None:
    assert plan(work(rate=10), MEASURED).binding == "one-task"


def test_no_more_tasks_than_partitions_and_what_would_be_needed_is_told() -> None:
    found = plan(work(rate=350_000, partitions=4), MEASURED)
    assert (found.tasks, found.binding, found.is_enough) == (4, "partitions", False)
    assert "10 partitions" in found.advice[0]


def test_partitions_do_not_bound_a_source_that_reads_no_topic() -> None:
    found = plan(work(Kind.SOURCE, rate=350_000, partitions=4), MEASURED)
    assert (found.tasks, found.is_enough) == (10, True)


def test_connectors_share_rate_and_partitions() -> None:
    found = plan(work(rate=350_000, topics=10, partitions=2, connectors=10), MEASURED)
    assert (found.tasks, found.slots, found.executors) == (1, 10, 3)


def test_cores_are_processor_time_of_records_connectors_and_partitions() -> None:
    found = plan(work(rate=35_000, topics=2, partitions=50, connectors=2), MEASURED)
    assert found.busy_cores == pytest.approx(35_000 * 20e-6 + 2 * 0.5e-3 + 100 * 1e-3)
    assert found.cores == math.ceil(found.busy_cores / 0.7)


def test_requests_bound_an_http_sink() -> None:
    found = plan(work(Kind.HTTP_SINK, rate=7000, request_ms=10, request_records=10), MEASURED)
    # 10 ms for 10 records: 1,000 records/s of a task, less what conversion takes.
    assert (found.tasks, found.binding) == (11, "requests")


def test_a_batch_is_done_when_the_next_one_has_gathered() -> None:
    found = plan(work(Kind.TABLE, rate=10_000), MEASURED)
    assert (found.tasks, found.binding, found.is_enough) == (1, "one-task", True)
    # Fixed 450 ms; 70 % of 100 us per record, less 14 us of work, leave 56 us of each record for it.
    gathered = math.ceil(0.450 / 56e-6)
    assert found.latency_ms == pytest.approx((gathered / 10_000 + 0.450 + gathered * 14e-6) * 1000, rel=1e-6)
    assert found.batch_records >= gathered


def test_a_table_gets_more_tasks_with_the_rate() -> None:
    found = plan(work(Kind.TABLE, rate=100_000), MEASURED)
    assert found.tasks > 1
    assert found.binding == "rate"
    assert found.latency_ms is not None and found.latency_ms <= 10_000


def test_a_latency_that_batches_cannot_have_is_said_to_bind() -> None:
    found = plan(work(Kind.TABLE, rate=1000, latency_ms=200), MEASURED)
    assert (found.binding, found.is_enough) == ("latency", False)
    assert "--connector-kind sink" in found.advice[0]


def test_batches_stay_below_the_limit_in_bytes() -> None:
    found = plan(work(Kind.TABLE, rate=1000, record_bytes=1_000_000, latency_ms=600_000), MEASURED)
    assert found.batch_records * 1_000_000 <= 1.1 * found.batch_bytes


def test_a_table_without_enough_partitions_is_bound_by_them() -> None:
    found = plan(work(Kind.TABLE, rate=200_000, partitions=2), MEASURED)
    assert (found.tasks, found.binding, found.is_enough) == (2, "partitions", False)


def test_predictions_are_bounded_by_tasks_and_by_cores() -> None:
    by_tasks = predicted_rate(work(), MEASURED, tasks=1, batch_records=0, cores=100)
    assert by_tasks == pytest.approx(50_000)
    by_cores = predicted_rate(work(partitions=1), MEASURED, tasks=100, batch_records=0, cores=0.501)
    assert by_cores == pytest.approx(0.5 * 50_000)
    frame = predicted_rate(work(Kind.TABLE), MEASURED, tasks=2, batch_records=100_000, cores=2)
    assert frame == pytest.approx(100_000 / (0.5 + 100_000 * 7e-6))


def test_a_broker_on_the_same_cores_takes_its_part() -> None:
    shared = {"sink": replace(DIRECT, broker_record_us=20.0)}
    measured = replace(MEASURED, kinds=shared)
    alone = predicted_rate(work(partitions=50), measured, tasks=50, batch_records=0, cores=1.05)
    beside = predicted_rate(work(partitions=50), measured, tasks=50, batch_records=0, cores=1.05, with_broker=True)
    assert alone == pytest.approx(2 * beside)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": 0}, "--rate is 0; it must be more than 0"),
        ({"rate": float("nan")}, "--rate"),
        ({"record_bytes": 0.5}, "--record-size is 0.5; it must be 1 or more"),
        ({"record_bytes": 1e12}, "at most"),
        ({"topics": 0}, "--topics"),
        ({"partitions": -1}, "--partitions"),
        ({"connectors": 101}, "101 connectors cannot share 100 partitions"),
        ({"headroom": 1.0}, "--headroom"),
        ({"latency_ms": 0}, "--max-latency-ms"),
        ({"exactly_once": True}, "at-least-once"),
        ({"request_ms": 5}, "http-sink"),
        ({"kind": Kind.HTTP_SINK}, "--request-ms"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        work(**settings)  # type: ignore[arg-type]


@given(
    kind=st.sampled_from([kind for kind in Kind if kind is not Kind.HTTP_SINK]),
    rate=st.floats(0.01, 1e7),
    size=st.floats(1, 1e7),
    partitions=st.integers(1, 500),
    connectors=st.integers(1, 20),
    latency=st.floats(1, 1e6),
    headroom=st.floats(0, 0.9),
)
def test_every_plan_makes_sense(
    kind: Kind, rate: float, size: float, partitions: int, connectors: int, latency: float, headroom: float
) -> None:
    wanted = Workload(
        kind, rate, size, topics=connectors, partitions=partitions, connectors=connectors, latency_ms=latency,
        headroom=headroom,
    )  # fmt: skip
    found = plan(wanted, MEASURED)
    assert 1 <= found.tasks <= wanted.most_tasks
    assert found.binding in LIMITS
    assert found.batch_records >= 1 and found.batch_ms >= 1
    assert found.executors * wanted.cores_per_executor >= found.slots >= found.tasks
    assert found.is_enough or found.advice
    if found.is_enough:
        assert found.capacity * (1 - headroom) >= rate * (1 - 1e-6)


@pytest.mark.parametrize("path", sorted(Path(model.__file__).parent.glob("*.json")), ids=lambda path: path.name)
def test_what_comes_along_has_every_kind(path: Path) -> None:
    measured = read_measurements(path)
    for kind in Kind:
        for once in (False, True):
            assert measured.costs(kind, exactly_once=once).record_us > 0


def test_a_build_without_measurements_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "SHIPPED", "none.json")
    with pytest.raises(BadRequestError, match="bench capacity --measurements FILE"):
        read_measurements()


def test_measurements_are_written_as_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_text(json.dumps(MEASURED.to_json()))
    assert read_measurements(path) == MEASURED
    path.write_text(json.dumps({name: value for name, value in MEASURED.to_json().items() if name != "version"}))
    assert read_measurements(path) == MEASURED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "holds no measurements"),
        ("{}", "holds no measurements"),
        (json.dumps({**MEASURED.to_json(), "worker_mb": -1}), "negative"),
        (json.dumps({**MEASURED.to_json(), "kinds": {"sink": {"record_us": 1}}}), "holds no measurements"),
        (json.dumps({**MEASURED.to_json(), "more": 1}), "holds no measurements"),
        (json.dumps({**MEASURED.to_json(), "version": 2}), "was written by a newer Seamark"),
    ],
)
def test_files_that_hold_something_else_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "costs.json"
    path.write_text(text)
    with pytest.raises(BadRequestError, match=message):
        read_measurements(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match=r"none\.json"):
        read_measurements(tmp_path / "none.json")


def test_a_kind_that_was_not_measured_is_refused() -> None:
    with pytest.raises(BadRequestError, match="bench capacity"):
        plan(work(Kind.TABLE), replace(MEASURED, kinds={"sink": DIRECT}))
