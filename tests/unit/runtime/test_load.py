"""What the processes of a worker take."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from seamark.runtime import load
from seamark.runtime.load import ProcessTree
from seamark.testing.waiting import eventually


def test_processor_and_memory_of_children_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "FRESH_S", 0.0)
    monkeypatch.setattr(load, "MEMORY_S", 0.0)
    tree = ProcessTree()
    before = tree.load()
    assert before.memory_bytes > 5_000_000
    assert before.threads >= 1
    busy = "x = bytearray(80_000_000)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", busy]) as child:
        try:
            eventually(lambda: tree.load().memory_bytes > before.memory_bytes + 70_000_000, 20)
            eventually(lambda: tree.load().cpu_percent > 5, 20)
        finally:
            child.kill()
    assert tree.started_at <= time.time()


def test_figures_of_a_moment_ago_are_good_enough() -> None:
    tree = ProcessTree()
    assert tree.load() is tree.load()
