"""What is counted, repeated, reported and tolerated when a record fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seamark.connector.records import SourceRecord
from seamark.engine.tolerance import ErrorCounts, ErrorPolicy, Failure, Step, Tolerance, ToleranceExceededError
from seamark.errors import DataError, RetriableError

RECORD = SourceRecord("t", "v", source_partition={"p": 1}, source_offset={"n": 2})


class Reporter:
    def __init__(self) -> None:
        self.failures: list[Failure] = []

    def report(self, failure: Failure) -> None:
        self.failures.append(failure)

    def flush(self, timeout_s: float) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing to release."""


def failing(times: int, error: Exception) -> Callable[[], str]:
    """Raises so often, then works."""
    left = [times]

    def operation() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return "done"

    return operation


def counts_of(counts: ErrorCounts) -> dict[str, int]:
    """The counts that are not 0; the time of the last error as 1."""
    found = {name: getattr(counts, name) for name in ErrorCounts.__slots__}
    return {name: 1 if name == "last_error_timestamp" else count for name, count in found.items() if count}


@pytest.mark.parametrize("step", [Step.TRANSFORMATION, Step.KEY_CONVERTER, Step.VALUE_CONVERTER, Step.HEADER_CONVERTER])
def test_a_tolerated_failure_is_counted_once_and_reported(step: Step) -> None:
    reporter = Reporter()
    tolerance = Tolerance(ErrorPolicy(tolerates_all=True), [reporter])
    assert tolerance.recover(failing(1, DataError("bad")), DataError("bad"), step, "x.Y", RECORD) is None
    assert counts_of(tolerance.counts) == {
        "total_record_failures": 1,
        "total_record_errors": 1,
        "total_records_skipped": 1,
        "last_error_timestamp": 1,
    }
    assert [(each.step, each.executing_class, each.original) for each in reporter.failures] == [(step, "x.Y", RECORD)]


def test_a_failure_that_is_not_tolerated_is_reported_and_ends_the_task() -> None:
    reporter = Reporter()
    tolerance = Tolerance(ErrorPolicy(), [reporter])
    with pytest.raises(ToleranceExceededError, match=r"Tolerance exceeded in error handler.*bad"):
        tolerance.recover(failing(1, DataError("bad")), DataError("bad"), Step.TRANSFORMATION, "x.Y", RECORD)
    assert counts_of(tolerance.counts) == {
        "total_record_failures": 1,
        "total_record_errors": 1,
        "last_error_timestamp": 1,
    }
    assert len(reporter.failures) == 1


def test_a_retriable_failure_is_repeated_until_it_works() -> None:
    waited: list[float] = []
    tolerance = Tolerance(ErrorPolicy(retry_timeout_ms=-1, retry_delay_max_ms=1), rest=waited.append)
    again = RetriableError("not yet")
    assert tolerance.recover(failing(2, again), again, Step.VALUE_CONVERTER, "x.Y", RECORD) == "done"
    assert counts_of(tolerance.counts) == {"total_record_failures": 3, "total_retries": 3}


@pytest.mark.parametrize("tolerates", [True, False])
def test_what_a_sink_task_reports_is_an_error_only_if_it_ends_the_task(tolerates: bool) -> None:
    reporter = Reporter()
    tolerance = Tolerance(ErrorPolicy(tolerates_all=tolerates), [reporter])
    failure = Failure(Step.TASK_PUT, "x.Task", ValueError("no"), RECORD)
    if tolerates:
        tolerance.failed(failure)
    else:
        with pytest.raises(ToleranceExceededError, match="no"):
            tolerance.failed(failure)
    expected = {"total_record_failures": 1, "last_error_timestamp": 1}
    assert counts_of(tolerance.counts) == (expected if tolerates else {**expected, "total_record_errors": 1})
    assert reporter.failures == [failure]


def test_elsewhere_only_retriable_failures_are_tolerated() -> None:
    tolerance = Tolerance(ErrorPolicy(tolerates_all=True))
    with pytest.raises(ToleranceExceededError, match="Unhandled exception in error handler"):
        tolerance.recover(failing(1, DataError("bad")), DataError("bad"), Step.KAFKA_CONSUME, "x.Y", RECORD)
    assert tolerance.counts.total_records_skipped == 0
