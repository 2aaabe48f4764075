"""Checkpoints as Spark writes them, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.checkpoints import Written, line


@pytest.fixture
def written(tmp_path: Path) -> Written:
    (tmp_path / "checkpoint").mkdir()
    return Written(tmp_path / "checkpoint")


@pytest.fixture
def orders(written: Written) -> Written:
    """Two partitions, three committed batches."""
    written.began(0, line(orders={0: 1, 1: 2}))
    for number in range(3):
        written.batch(number, line(orders={0: 10 * number + 10, 1: 20 * number + 20}), watermark=77)
    return written
