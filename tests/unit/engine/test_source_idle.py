"""When a source task counts as idle, so that its Spark slot can be given to others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from seamark.engine.source_task import SourceLoop
from seamark.testing.waiting import eventually


def loop(*, hook: bool = False, in_flight: bool = False, pending: bool = False) -> SourceLoop:
    committer: Any = SimpleNamespace(has_hook=hook, has_pending=in_flight)
    task: Any = SimpleNamespace(has_pending=pending)
    lease: Any = SimpleNamespace()
    return SourceLoop("c", task, committer, lease)


def test_a_task_without_records_is_idle_for_longer_and_longer() -> None:
    idle = loop()
    eventually(lambda: idle.idle_ms >= 20, 5)


@pytest.mark.parametrize("reason", ["hook", "in_flight", "pending"])
def test_a_task_that_is_at_work_is_not_idle(reason: str) -> None:
    idle, busy = loop(), loop(**{reason: True})
    eventually(lambda: idle.idle_ms >= 20, 5)
    assert busy.idle_ms == 0
