"""Frame sinks whose Kafka is killed in the middle of a batch, and comes back: nothing is lost, nor written twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from fixtures.spark import Frames, frame_worker
from seamark.connector import FrameSink, SinkBatch, TopicPartition
from seamark.connectors.parquet_sink import ParquetSinkConnector
from seamark.engine.frame_sink import FrameSinkStage
from seamark.engine.frame_stage import FrameStage
from seamark.engine.sink_ledger import SinkIntent, SinkLedger
from seamark.engine.stage import Ending
from seamark.kafka.broker import EmbeddedBroker
from seamark.kafka.clients import worker_client_config
from seamark.kafka.group_offsets import GroupOffsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

RECORDS = 30
Loss = Callable[[], None]


class MortalBroker:
    """A broker that is killed on demand and comes back meanwhile."""

    def __init__(self, directory: Path) -> None:
        self.broker = EmbeddedBroker(directory)
        self.broker.start()
        self._comeback: threading.Thread | None = None

    def lose(self) -> None:
        """Kill it; whoever goes on does so without a broker for a while."""
        self.broker.kill()
        self._comeback = threading.Thread(target=self.broker.start)
        self._comeback.start()

    def close(self) -> None:
        if self._comeback is not None:
            self._comeback.join()
        self.broker.stop()


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[MortalBroker]:
    made = MortalBroker(tmp_path / "broker")
    yield made
    made.close()


@pytest.fixture
def world(spark: SparkSession, mortal: MortalBroker) -> Iterator[Frames]:
    made = Frames(spark, frame_worker(mortal.broker.bootstrap_servers, seamark_batch_max_records="10"))
    yield made
    made.close()


def losing(lose: Loss, step: str) -> type[FrameSinkStage]:
    """A stage that loses its broker at a step of its second batch: before that step talks to the broker."""

    class Losing(FrameSinkStage):
        steps: list[str]

        def _take(self, this: str) -> None:
            self.steps = [*getattr(self, "steps", []), this]
            if this == step and self.steps.count(step) == 2:
                lose()

        def begin_batch(self, ledger: SinkLedger, intent: SinkIntent, resets: Mapping[TopicPartition, int]) -> None:
            self._take("begin_batch")
            super().begin_batch(ledger, intent, resets)

        def end_batch(self, ledger: SinkLedger, intent: SinkIntent) -> None:
            self._take("end_batch")
            super().end_batch(ledger, intent)

        def run_batch(self) -> bool:
            self._take("run_batch")
            return super().run_batch()

    return Losing


def run_through_losses(stage: FrameStage, within_s: float = 200.0) -> int:
    """Run batches until there are none, again after what passes, as a runner does; returns how many failed."""
    deadline, failed = time.monotonic() + within_s, 0
    while True:
        outcome = stage.run()
        if outcome.ending is Ending.IDLE:
            return failed
        if outcome.ending is Ending.FAILED:
            assert outcome.retriable, outcome.failures
            failed += 1
        assert time.monotonic() < deadline, outcome


def texts() -> list[str]:
    return [f"v{number:02}" for number in range(RECORDS)]


def committed(world: Frames, name: str, topic: str) -> dict[TopicPartition, int]:
    group = GroupOffsets(worker_client_config("consumer", world.worker.raw), f"connect-{name}")
    try:
        return group.read([TopicPartition(topic, 0)])
    finally:
        group.close()


@pytest.mark.parametrize("step", ["run_batch", "begin_batch", "end_batch"])
def test_an_idempotent_sink_has_each_record_once(
    world: Frames, mortal: MortalBroker, topic_name: str, tmp_path: Path, step: str
) -> None:
    topic, path = world.topic(), tmp_path / "out"
    world.send(topic, texts())
    stage_class = losing(mortal.lose, step)
    stage = world.stage(ParquetSinkConnector(), topic_name, stage_class=stage_class, topics=topic, path=str(path))
    run_through_losses(stage)
    files = [file for file in path.rglob("*.parquet") if "_seamark" not in file.parts]
    assert sorted(row["value"] for file in files for row in pq.ParquetFile(file).read().to_pylist()) == texts()
    assert committed(world, topic_name, topic) == {TopicPartition(topic, 0): RECORDS}


@pytest.mark.parametrize("step", ["run_batch", "end_batch"])
def test_another_sink_loses_no_record(world: Frames, mortal: MortalBroker, topic_name: str, step: str) -> None:
    topic = world.topic()
    world.send(topic, texts())
    written: list[str] = []

    class Collecting(FrameSink):
        def write(self, frame: DataFrame, batch: SinkBatch) -> None:
            written.extend(row["value"].decode() for row in frame.select("value").collect())

    run_through_losses(
        world.stage(Collecting(), topic_name, stage_class=losing(mortal.lose, step), topics=topic),
    )
    assert set(written) == set(texts())
    assert committed(world, topic_name, topic) == {TopicPartition(topic, 0): RECORDS}
