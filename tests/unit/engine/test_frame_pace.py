"""A batch of a frame connector holds what fits into its time at the pace of the last ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from seamark.config.worker import WorkerConfig
from seamark.engine.frame_stage import SMALLEST_BATCH, FrameStage


class Paced(FrameStage):
    def run_batch(self) -> bool:
        return False

    def has_work(self) -> bool | None:
        return None


def stage(**settings: str) -> Paced:
    worker = WorkerConfig({f"seamark.batch.max.{name}": value for name, value in settings.items()})
    return Paced(cast(Any, SimpleNamespace(name="orders", worker=worker, config={}, task_configs=[{}])))


def test_the_first_batch_is_limited_by_records_and_bytes_alone() -> None:
    limit = stage(records="50000", bytes="1000000", ms="1000").limit
    assert (limit.records, limit.bytes) == (50_000, 1_000_000)


@pytest.mark.parametrize(
    ("records", "took_s", "expected"), [(20_000, 10.0, 2_000), (20_000, 0.1, 50_000), (20_000, 1000.0, SMALLEST_BATCH)]
)
def test_later_batches_fit_into_their_time(records: int, took_s: float, expected: int) -> None:
    paced = stage(records="50000", ms="1000")
    paced._note_pace(records, took_s)
    assert paced.limit.records == expected


def test_a_small_batch_says_nothing_about_the_pace() -> None:
    paced = stage(records="50000", ms="1000")
    paced._note_pace(SMALLEST_BATCH - 1, 60.0)
    assert paced.limit.records == 50_000
