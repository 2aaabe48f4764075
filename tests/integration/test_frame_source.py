"""Frame sources on a real broker and a real Spark: each row once, whatever dies."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.drivers import PLUGINS, Doomed, eventually, run_deadly_drivers
from fixtures.spark import Frames, run_until_idle
from seamark.connector import ConnectError, Offsets, SourcePartition
from seamark.engine.frame_source import FrameSourceStage
from seamark.engine.frame_stage import FrameStage
from seamark.engine.source_ledger import SourceIntent
from seamark.engine.stage import Ending, StageOutcome
from seamark.engine.writer import Ledger

sys.path.insert(0, str(PLUGINS))

from frame_plugins import TABLE, NumbersSource, StableNumbersSource

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]


def numbers(count: int) -> list[str]:
    return sorted(str(number) for number in range(count))


@pytest.mark.parametrize("source", [NumbersSource, StableNumbersSource])
@pytest.mark.parametrize("exactly_once", [True, False])
def test_every_row_is_written_once_and_the_offsets_follow(
    frames: Make, topic_name: str, source: type[NumbersSource], exactly_once: bool
) -> None:
    world = frames(seamark_batch_max_records="400")
    topic = world.topic(partitions=3)
    stage = world.stage(source(), topic_name, exactly_once=exactly_once, rows="1000", topic=topic)
    assert run_until_idle(stage) == [Ending.WORKED] * 3 + [Ending.IDLE]
    assert sorted(world.values(topic)) == numbers(1000)
    assert world.store.read(topic_name) == Offsets([(TABLE, {"row": 1000})])
    assert stage.has_work() is False
    assert sum(task.records for task in stage.progress()) == 1000
    assert stage.progress()[0].positions == [{"partition": TABLE, "offset": {"row": 1000}}]


def driver_config(name: str, topic: str) -> dict[str, str]:
    return {"name": name, "connector.class": "frame_plugins:NumbersSource", "rows": "1000", "topic": topic}


def numbers_of(world: Frames, topic: str, expected: int) -> None:
    """Fail unless each number below `expected` is there once, and those of a key are in order."""
    records = world.records(topic)
    assert sorted(value for _, value in records) == numbers(expected)
    for digit in range(10):
        of_key = [int(value) for key, value in records if key == str(digit).encode()]
        assert of_key == sorted(of_key)


def test_a_killed_python_worker_is_retried_without_a_trace_in_the_topic(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames(plugin_path=str(PLUGINS))
    topic, flag = world.topic(partitions=2), tmp_path / "killed"
    settings = {"struct": "1", "value__converter": "frame_plugins.DeadlyConverter"}
    settings |= {"value__converter__at": "700", "value__converter__flag": str(flag)}
    stage = world.stage(NumbersSource(), topic_name, rows="1000", topic=topic, **settings)
    run_until_idle(stage)
    assert flag.exists()
    numbers_of(world, topic, 1000)


def test_a_failed_job_leaves_committed_writers_alone_when_it_is_run_again(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames(plugin_path=str(PLUGINS))
    topic, flag = world.topic(partitions=2), tmp_path / "cured"
    settings = {"struct": "1", "value__converter": "frame_plugins.DeadlyConverter", "value__converter__always": "1"}
    settings |= {"value__converter__at": "700", "value__converter__flag": str(flag)}
    stage = world.stage(NumbersSource(), topic_name, rows="1000", topic=topic, tasks=4, **settings)
    outcome = stage.run()
    assert outcome.ending is Ending.FAILED
    assert not outcome.retriable
    assert "number 700 cannot be converted" in next(iter(outcome.failures.values()))
    before = world.values(topic)
    assert "700" not in before
    assert world.store.read(topic_name) == Offsets()
    flag.touch()
    run_until_idle(stage)
    numbers_of(world, topic, 1000)


STEPS = ["begin_batch:before", "begin_batch:after", "write_batch:after", "end_batch:before", "end_batch:after"]
REPEATS = "store_offsets:before"


@pytest.fixture(scope="module")
def killed(module_frames: Make) -> dict[str, tuple[Frames, str, str]]:
    """Worlds, names and topics of connectors whose driver was killed at a step; the last one without exactly-once."""
    scenes = {}
    for step in (*STEPS, REPEATS):
        world = module_frames(plugin_path=str(PLUGINS), seamark_batch_max_records="400" if step in STEPS else "1000")
        topic = world.topic(partitions=2)
        scenes[step] = (world, f"killed-{topic}", topic)
    run_deadly_drivers(
        [
            Doomed(world, driver_config(name, topic), step, exactly_once=step != REPEATS)
            for step, (world, name, topic) in scenes.items()
        ]
    )
    return scenes


@pytest.mark.parametrize("die", STEPS)
def test_a_batch_goes_on_where_a_killed_driver_left_it(killed: dict[str, tuple[Frames, str, str]], die: str) -> None:
    world, name, topic = killed[die]
    run_until_idle(world.stage(NumbersSource(), name, rows="1000", topic=topic))
    numbers_of(world, topic, 1000)


def test_without_exactly_once_a_killed_driver_repeats_but_loses_nothing(
    killed: dict[str, tuple[Frames, str, str]],
) -> None:
    world, name, topic = killed[REPEATS]
    run_until_idle(world.stage(NumbersSource(), name, rows="1000", topic=topic, exactly_once=False))
    assert sorted(world.values(topic)) == sorted(numbers(1000) * 2)


def test_a_driver_that_was_replaced_unawares_can_neither_write_nor_commit(frames: Make, topic_name: str) -> None:
    world = frames(seamark_batch_max_records="500")
    topic = world.topic(partitions=2)
    taken_over = threading.Event()

    class Replaced(FrameSourceStage):
        """Stands still after its batch was recorded, until another driver has done it and the next one."""

        def write_batch(self, frame: Any, intent: SourceIntent, ledger: Ledger) -> list[Any]:
            if not taken_over.is_set():
                run_until_idle(world.stage(NumbersSource(), topic_name, rows="1000", topic=topic))
                taken_over.set()
            return super().write_batch(frame, intent, ledger)

    zombie = world.stage(NumbersSource(), topic_name, rows="1000", topic=topic, stage_class=Replaced)
    outcome = zombie.run()
    assert (outcome.ending, outcome.retriable) == (Ending.FAILED, True)
    assert world.store.read(topic_name) == Offsets([(TABLE, {"row": 1000})])
    assert zombie.run().ending is Ending.IDLE
    numbers_of(world, topic, 1000)


def test_two_drivers_that_keep_replacing_each_other_write_each_row_once(frames: Make, topic_name: str) -> None:
    world = frames(seamark_batch_max_records="250")
    topic = world.topic(partitions=2)
    drivers = [world.stage(NumbersSource(), topic_name, rows="1000", topic=topic) for _ in range(2)]

    def drive(stage: FrameStage) -> None:
        for _ in range(30):
            if stage.run().ending is Ending.IDLE:
                return

    threads = [threading.Thread(target=drive, args=(stage,)) for stage in drivers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run_until_idle(drivers[0])
    numbers_of(world, topic, 1000)


@pytest.mark.alone
def test_a_stop_ends_a_batch_within_two_seconds_and_the_batch_is_done_later(frames: Make, topic_name: str) -> None:
    world = frames(plugin_path=str(PLUGINS))
    topic = world.topic()
    settings = {"struct": "1", "value__converter": "frame_plugins.SlowConverter", "rows": "200", "topic": topic}
    slow = world.stage(NumbersSource(), topic_name, **settings, value__converter__delay__s="0.5")
    outcomes: list[StageOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(slow.run()))
    thread.start()
    eventually(lambda: bool(world.spark and world.spark.sparkContext.statusTracker().getActiveJobsIds()))
    started = time.monotonic()
    slow.request_stop()
    thread.join()
    assert time.monotonic() - started < 2
    assert [outcome.ending for outcome in outcomes] == [Ending.STOPPED]
    assert world.store.read(topic_name) == Offsets()
    run_until_idle(world.stage(NumbersSource(), topic_name, **settings))
    numbers_of(world, topic, 200)


def test_moved_offsets_make_a_batch_that_was_not_ended_void(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()

    class Interrupted(FrameSourceStage):
        def write_batch(self, frame: Any, intent: SourceIntent, ledger: Ledger) -> list[Any]:
            raise ConnectError("interrupted")

    stage = world.stage(NumbersSource(), topic_name, rows="100", topic=topic, stage_class=Interrupted)
    assert stage.run().ending is Ending.FAILED
    world.store.write(topic_name, {SourcePartition(TABLE): {"row": 90}})
    run_until_idle(world.stage(NumbersSource(), topic_name, rows="100", topic=topic))
    assert sorted(world.values(topic)) == [str(number) for number in range(90, 100)]
