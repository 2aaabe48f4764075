"""`seamark up`, as a newcomer runs it: records move, it stops cleanly, and it goes on after kill -9."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pyarrow.dataset
import pytest

from seamark.testing.waiting import eventually

pytestmark = pytest.mark.slow


class Up:
    """A running `seamark up`."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.log = data_dir.parent / "up.log"
        command = [sys.executable, "-m", "seamark.cli.main", "up", "--port", "0", "--data-dir", str(data_dir)]
        with self.log.open("a") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        self.descendants: set[psutil.Process] = set()

    def rows(self) -> list[int]:
        path = self.data_dir / "example" / "orders.parquet"
        if not path.exists():
            return []
        orders = pyarrow.dataset.dataset(path, format="parquet").to_table(columns=["value"])["value"]
        return sorted(order["id"] for order in orders.to_pylist())

    def lines(self) -> list[int]:
        text = (self.data_dir / "example" / "orders.jsonl").read_text()
        return [json.loads(line)["id"] for line in text.splitlines()]

    def note_descendants(self) -> None:
        self.descendants |= set(psutil.Process(self.process.pid).children(recursive=True))

    def all_are_gone(self) -> bool:
        return not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in self.descendants)

    def end(self, number: signal.Signals) -> int:
        self.note_descendants()
        self.process.send_signal(number)
        return self.process.wait(60)


@pytest.mark.timeout(900)
def test_records_move_it_stops_cleanly_and_goes_on_after_kill_9(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    first = Up(data_dir)
    try:
        eventually(lambda: len(first.rows()) >= 5, within_s=300, message=f"see {first.log}")
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
        eventually(first.all_are_gone, within_s=30, message="nothing may outlive a killed worker")
    finally:
        _kill(first)
    seen = len(first.rows())

    second = Up(data_dir)
    try:
        eventually(lambda: len(second.rows()) > seen + 5, within_s=300, message=f"see {second.log}")
        assert second.end(signal.SIGTERM) == 0
        eventually(second.all_are_gone, within_s=30, message="a clean stop leaves nothing behind")
    finally:
        _kill(second)
    rows, lines = second.rows(), second.lines()
    assert rows == list(range(1, len(rows) + 1)), "each order once, none missing"
    assert len(rows) <= len(lines)
    text = second.log.read_text()
    assert "exactly once" in text
    assert "Traceback" not in text


def _kill(up: Up) -> None:
    if up.process.poll() is None:
        os.killpg(up.process.pid, signal.SIGKILL)
        up.process.wait()
