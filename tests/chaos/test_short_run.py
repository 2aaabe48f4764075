"""The fault suite in its short form; `make chaos` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.report import details, violations
from chaos.run import Order, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FAULTS = ("kill-worker", "kill-executor", "freeze-worker", "cut-off", "loss", "foreign-records", "kill-broker")


def test_faults_break_no_promise(tmp_path: Path) -> None:
    order = Order("seamark", seed=11, seconds=50, faults=FAULTS, workers=2, sources=2, sinks=1, per_second=100)
    result = run(order, tmp_path / "run")
    assert violations(result) == 0, details(result)
    assert sum(result.strikes.values()) >= 3, result.strikes
    assert result.findings.of["lost"].checks > 100
