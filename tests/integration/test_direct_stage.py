"""The direct stage on a real broker and a real Spark: commands, failures, idling, sharing, leases."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fixtures.worker import GrowingFile, Topics, assert_each_once_in_order, file_source
from seamark.runtime.states import State, TargetState
from seamark.runtime.worker import Worker
from seamark.testing.waiting import eventually

pytestmark = pytest.mark.timeout(180)

PROMPTLY_S = 2.0


@pytest.fixture
def lines(tmp_path: Path) -> GrowingFile:
    return GrowingFile(tmp_path / "lines.txt")


@pytest.mark.parametrize("target", [TargetState.STOPPED, TargetState.PAUSED])
@pytest.mark.parametrize("exactly_once", [True, False])
def test_stop_and_pause_take_effect_promptly_and_commit(
    shared_workers: dict[bool, Worker],
    topics: Topics,
    topic_name: str,
    lines: GrowingFile,
    target: TargetState,
    exactly_once: bool,
) -> None:
    worker = shared_workers[exactly_once]
    topics.create(topic_name, 2)
    lines.start()
    worker.start_connector(topic_name, file_source(lines.path, topic_name))
    try:
        eventually(lambda: topics.committed_end(topic_name) > 100, 60)
        asked = time.monotonic()
        worker.set_target(topic_name, target)
        assert worker.wait_for(topic_name, State(target.value), 30)
        assert time.monotonic() - asked < PROMPTLY_S
        lines.stop()
        # What was committed is exactly what is there: neither records without their offset nor the other way round.
        there = topics.values(topic_name)
        (offset,) = worker.connector_offsets(topic_name).read(topic_name).values()
        assert offset is not None
        assert lines.path.read_text()[: offset["position"]].splitlines() == sorted(there, key=number_of)
        worker.set_target(topic_name, TargetState.STARTED)
        eventually(lambda: len(topics.values(topic_name)) == lines.written, 30)
        assert_each_once_in_order(topics.records(topic_name), [lines])
    finally:
        lines.stop()
        worker.stop_connector(topic_name)


def number_of(line: str) -> int:
    return int(line.rpartition("-")[2])
