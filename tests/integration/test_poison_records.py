"""Poison records at random positions: a task ends exactly there and goes on after a fix, or passes over them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from fixtures.worker import STRING, Topics, file_source
from seamark.runtime.states import State
from seamark.runtime.worker import Worker
from seamark.testing.waiting import eventually

LINES, POISONED = 400, 3
POISON = "poison"
FIXED = "900000"  # as long as the poison, so that all positions stay
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}
CAST = {
    "transforms": "cast",
    "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.cast.spec": "int32",
    "value.converter": STRING,
}


@pytest.fixture(params=[False, True], ids=["at least once", "exactly once"])
def some_worker(request: pytest.FixtureRequest) -> Worker:
    return request.getfixturevalue("exactly_once_worker" if request.param else "worker")


def poisoned_positions(seed: int) -> list[int]:
    return sorted(random.Random(seed).sample(range(LINES), POISONED))


def wait_until_failed(worker: Worker, name: str) -> str:
    eventually(lambda: worker.status(name).tasks[0].state is State.FAILED, within_s=60)
    return worker.status(name).tasks[0].trace or ""


def mend(file: Path, line: int, text: list[str]) -> None:
    """Write over the poison, in place."""
    with file.open("r+") as opened:
        opened.seek(sum(len(each) + 1 for each in text[:line]))
        opened.write(FIXED)
    text[line] = FIXED


@pytest.mark.parametrize("seed", [1, 2])
def test_a_source_ends_at_each_poison_and_after_a_fix_nothing_is_lost_or_repeated(
    seed: int, some_worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    poisoned = poisoned_positions(seed)
    text = [POISON if number in poisoned else str(number) for number in range(LINES)]
    file, topic = tmp_path / "lines.txt", topics.create(topic_name)
    file.write_text("".join(f"{line}\n" for line in text))
    config = {**file_source(file, topic), **CAST, "batch.size": "64"}
    exactly_once = some_worker.config.exactly_once
    for position in poisoned:
        some_worker.start_connector(topic_name, config)
        trace = wait_until_failed(some_worker, topic_name)
        assert "Tolerance exceeded in error handler" in trace
        assert POISON in trace
        arrived = topics.values(topic)
        # With exactly-once a poll is a transaction, which the poison in it spoils.
        assert arrived == text[: len(arrived)]
        assert position - 64 <= len(arrived) <= position if exactly_once else len(arrived) == position
        some_worker.stop_connector(topic_name)
        mend(file, position, text)
    some_worker.start_connector(topic_name, config)
    eventually(lambda: len(topics.values(topic)) >= LINES, within_s=60)
    assert topics.values(topic) == text
    assert some_worker.status(topic_name).tasks[0].state is State.RUNNING


def test_a_source_that_tolerates_passes_over_the_poison(
    some_worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    poisoned = poisoned_positions(3)
    text = [POISON if number in poisoned else str(number) for number in range(LINES)]
    file, topic = tmp_path / "lines.txt", topics.create(topic_name)
    file.write_text("".join(f"{line}\n" for line in text))
    some_worker.start_connector(topic_name, {**file_source(file, topic), **CAST, "errors.tolerance": "all"})
    eventually(lambda: len(topics.values(topic)) >= LINES - POISONED, within_s=60)
    assert topics.values(topic) == [line for line in text if line != POISON]
    eventually(lambda: some_worker.progress(topic_name)[0].errors.get("total_records_skipped") == POISONED, within_s=20)
    counts = some_worker.progress(topic_name)[0].errors
    assert counts["total_record_failures"] == counts["total_record_errors"] == POISONED
    assert counts["last_error_timestamp"] > 0


@pytest.mark.parametrize("seed", [4, 5])
def test_a_sink_ends_at_the_first_poison_and_after_a_fix_nothing_is_lost_or_repeated(
    seed: int, worker: Worker, topics: Topics, topic_name: str, tmp_path: Path
) -> None:
    poisoned = poisoned_positions(seed)
    values = [POISON if number in poisoned else json.dumps({"n": number}) for number in range(LINES)]
    topic, out = topics.create(topic_name), tmp_path / "out.txt"
    topics.send(topic, values)
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(out), **JSON}
    worker.start_connector(topic_name, config)
    trace = wait_until_failed(worker, topic_name)
    assert f"the record at offset {poisoned[0]} of {topic}-0" in trace
    worker.stop_connector(topic_name)
    expected = [f"{{n={number}}}" for number in range(LINES) if number not in poisoned]
    before = out.read_text().splitlines()
    # Records of one read are put together, so those right before the poison wait for the fix.
    assert before == expected[: len(before)]
    assert len(before) <= poisoned[0]

    dead = f"{topic_name}-dead"
    worker.start_connector(
        topic_name,
        {
            **config,
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": dead,
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        },
    )
    eventually(lambda: len(out.read_text().splitlines()) >= len(expected), within_s=60)
    assert out.read_text().splitlines() == expected
    eventually(lambda: topics.values(dead) == [POISON] * POISONED, within_s=60)
