"""Frame sinks on a real broker and a real Spark: Parquet files that hold each record once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from fixtures.drivers import Doomed, eventually, run_deadly_drivers
from fixtures.spark import Frames, run_until_idle
from seamark.connector import FrameSink, SinkBatch, TopicPartition
from seamark.connectors.parquet_sink import ParquetSinkConnector
from seamark.engine.frame_sink import FrameSinkStage
from seamark.engine.sink_ledger import SinkIntent
from seamark.engine.stage import Ending, StageOutcome

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]
PARQUET = "seamark.connectors.parquet_sink:ParquetSinkConnector"


def texts(count: int, start: int = 0) -> list[str]:
    return [f"v{number}" for number in range(start, start + count)]


def rows(path: Path) -> list[dict[str, Any]]:
    """Everything a reader of the folder sees: all files but those under names with an underscore."""
    files = [file for file in path.rglob("*.parquet") if "_seamark" not in file.parts]
    return [row for file in sorted(files) for row in pq.ParquetFile(file).read().to_pylist()]


def values(path: Path) -> list[str]:
    return sorted(row["value"] for row in rows(path))


def group(world: Frames, name: str) -> dict[TopicPartition, int]:
    return world.admin.group_offsets(f"connect-{name}")


def test_batches_become_files_and_the_group_moves(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames(seamark_batch_max_records="400")
    topic = world.topic(partitions=2)
    world.send(topic, texts(500), partition=0)
    world.send(topic, texts(500, 500), partition=1)
    stage = world.stage(ParquetSinkConnector(), topic_name, topics=topic, path=str(tmp_path / "out"))
    assert run_until_idle(stage) == [Ending.WORKED] * 3 + [Ending.IDLE]
    assert values(tmp_path / "out") == sorted(texts(1000))
    assert group(world, topic_name) == {TopicPartition(topic, 0): 500, TopicPartition(topic, 1): 500}
    manifests = [json.loads(file.read_text()) for file in (tmp_path / "out/_seamark/commits").glob("*.json")]
    assert sum(sum(m["end"].values()) - sum(m["start"].values()) for m in manifests) == 1000
    assert not list((tmp_path / "out/_seamark/staging").iterdir())
    assert sum(task.records for task in stage.progress()) == 1000
    assert sum(task.bytes for task in stage.progress()) == sum(map(len, texts(1000)))
    assert stage.has_work() is False
    world.send(topic, ["late"])
    assert stage.has_work() is True


def test_a_read_committed_sink_skips_aborted_records_and_ends_behind_markers(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic = world.topic()
    for number in range(5):
        world.send(topic, [f"v{number}"], transactional_id=f"{topic}-writer")
    settings = {"topics__regex": f"{topic[:-1]}.", "consumer__override__isolation__level": "read_committed"}
    stage = world.stage(ParquetSinkConnector(), topic_name, path=str(tmp_path / "out"), **settings)
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    assert values(tmp_path / "out") == texts(5)
    assert group(world, topic_name) == {TopicPartition(topic, 0): 10}  # every transaction ends with a marker


STEPS = ["begin_batch:after", "write_batch:after", "end_batch:after"]


@pytest.fixture(scope="module")
def killed(
    module_frames: Make, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Frames, str, dict[str, str]]]:
    """Worlds, names and configs of sinks whose driver was killed at a step."""
    scenes = {}
    for step in STEPS:
        world = module_frames(seamark_batch_max_records="400")
        topic = world.topic(partitions=2)
        world.send(topic, texts(1000))
        path = tmp_path_factory.mktemp("killed") / "out"
        scenes[step] = (world, f"killed-{topic}", {"topics": topic, "path": str(path)})
    run_deadly_drivers(
        [
            Doomed(world, {"name": name, "connector.class": PARQUET, **config}, step)
            for step, (world, name, config) in scenes.items()
        ]
    )
    return scenes


@pytest.mark.parametrize("die", STEPS)
def test_a_killed_driver_leaves_each_record_once(
    killed: dict[str, tuple[Frames, str, dict[str, str]]], die: str
) -> None:
    world, name, config = killed[die]
    world.send(config["topics"], texts(100, 1000))  # a replay must not take these in
    run_until_idle(world.stage(ParquetSinkConnector(), name, **config))
    assert values(Path(config["path"])) == sorted(texts(1100))


def test_a_replay_has_the_same_id_and_range_and_says_so(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()
    world.send(topic, texts(10))
    seen: list[tuple[SinkBatch, int]] = []

    class FailsOnce(FrameSink):
        idempotent = True

        def write(self, frame: DataFrame, batch: SinkBatch) -> None:
            seen.append((batch, frame.count()))
            if len(seen) == 1:
                raise OSError("the target is away")

    stage = world.stage(FailsOnce(), topic_name, topics=topic)
    outcome = stage.run()
    assert outcome.ending is Ending.FAILED
    assert "the target is away" in next(iter(outcome.failures.values()))
    assert group(world, topic_name) == {TopicPartition(topic, 0): 0}
    world.send(topic, texts(5))
    assert stage.run().ending is Ending.WORKED
    first, again = seen[0][0], seen[1][0]
    assert (again.id, again.start, again.end) == (first.id, first.start, first.end)
    assert [(batch.replay, count) for batch, count in seen] == [(False, 10), (True, 10)]
    run_until_idle(stage)
    assert seen[-1][1] == 5
    assert seen[-1][0].id > first.id


def test_moved_group_offsets_make_a_batch_that_was_not_ended_void(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic = world.topic()
    world.send(topic, texts(10))

    class Interrupted(FrameSinkStage):
        def write_batch(self, intent: SinkIntent, *, replay: bool, readable_from: Mapping[TopicPartition, int]) -> None:
            raise OSError("interrupted")

    config = {"topics": topic, "path": str(tmp_path / "out")}
    assert (
        world.stage(ParquetSinkConnector(), topic_name, stage_class=Interrupted, **config).run().ending is Ending.FAILED
    )
    world.admin.alter_group_offsets(f"connect-{topic_name}", {TopicPartition(topic, 0): 8})
    run_until_idle(world.stage(ParquetSinkConnector(), topic_name, **config))
    assert values(tmp_path / "out") == ["v8", "v9"]


def test_a_driver_that_was_replaced_unawares_moves_neither_files_nor_the_group(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames(seamark_batch_max_records="50")
    topic = world.topic()
    world.send(topic, texts(100))
    config = {"topics": topic, "path": str(tmp_path / "out")}

    class Replaced(FrameSinkStage):
        """Stands still after its batch was recorded, until another driver has done it and the next one."""

        is_replaced = False

        def write_batch(self, intent: SinkIntent, *, replay: bool, readable_from: Mapping[TopicPartition, int]) -> None:
            if not self.is_replaced:
                self.is_replaced = True
                run_until_idle(world.stage(ParquetSinkConnector(), topic_name, **config))
            super().write_batch(intent, replay=replay, readable_from=readable_from)

    zombie = world.stage(ParquetSinkConnector(), topic_name, stage_class=Replaced, **config)
    outcome = zombie.run()
    assert (outcome.ending, outcome.retriable) == (Ending.FAILED, True)
    assert group(world, topic_name) == {TopicPartition(topic, 0): 100}
    assert zombie.run().ending is Ending.IDLE
    assert values(tmp_path / "out") == sorted(texts(100))


@pytest.mark.alone
def test_a_stop_ends_a_batch_within_two_seconds_and_commits_nothing(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic = world.topic(partitions=2)
    world.send(topic, texts(40))
    is_writing = threading.Event()

    class Slow(ParquetSinkConnector):
        def write(self, frame: DataFrame, batch: SinkBatch) -> None:
            from pyspark.sql import functions as F

            is_writing.set()
            super().write(frame.where(F.expr("java_method('java.lang.Thread', 'sleep', 500L) is null")), batch)

    config = {"topics": topic, "path": str(tmp_path / "out")}
    stage = world.stage(Slow(), topic_name, **config)
    outcomes: list[StageOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(stage.run()))
    thread.start()
    eventually(is_writing.is_set)
    eventually(lambda: bool(world.spark and world.spark.sparkContext.statusTracker().getActiveJobsIds()))
    started = time.monotonic()
    stage.request_stop()
    thread.join()
    assert time.monotonic() - started < 2
    assert [outcome.ending for outcome in outcomes] == [Ending.STOPPED]
    assert values(tmp_path / "out") == []
    assert set(group(world, topic_name).values()) == {0}
    run_until_idle(world.stage(ParquetSinkConnector(), topic_name, **config))
    assert values(tmp_path / "out") == sorted(texts(40))


def test_a_sink_that_begins_at_the_latest_offset_misses_nothing_from_then_on(
    frames: Make, topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic = world.topic()
    world.send(topic, ["old"])
    config = {"topics": topic, "path": str(tmp_path / "out"), "consumer__override__auto__offset__reset": "latest"}
    stage = world.stage(ParquetSinkConnector(), topic_name, **config)
    assert stage.run().ending is Ending.IDLE
    world.send(topic, ["new"])
    run_until_idle(world.stage(ParquetSinkConnector(), topic_name, **config))
    assert values(tmp_path / "out") == ["new"]


def test_json_values_become_columns_in_folders_by_topic(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic = world.topic()
    world.send(topic, ['{"id": 1, "name": "a"}', '{"id": 2, "name": "b"}'])
    settings = {"topics": topic, "path": str(tmp_path / "out"), "value__format": "json", "partition__by": "topic"}
    run_until_idle(world.stage(ParquetSinkConnector(), topic_name, **settings))
    assert {file.parent.name for file in (tmp_path / "out").rglob("batch-*.parquet")} == {f"topic={topic}"}
    assert sorted(row["value"]["name"] for row in rows(tmp_path / "out")) == ["a", "b"]
    bad = {**settings, "path": str(tmp_path / "bad"), "schema": "id long, name string"}
    world.send(topic, ["not json"])
    outcome = world.stage(ParquetSinkConnector(), f"{topic_name}-bad", **bad).run()
    assert outcome.ending is Ending.FAILED
    assert rows(tmp_path / "bad") == []
