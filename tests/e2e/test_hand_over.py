"""The same connectors by turns in the real Kafka Connect and in Seamark: no record is lost or repeated."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fixtures.worker import GrowingFile, Topics, assert_each_once_in_order, file_sink, file_source, worker_properties
from seamark.config.worker import WorkerConfig
from seamark.connector import TopicPartition
from seamark.kafka.broker import EmbeddedBroker
from seamark.runtime.worker import Worker
from seamark.testing.java_connect import JavaConnect
from seamark.testing.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(900)]


class HandOver:
    """A file, a topic and a copy of the file, with a source and a sink that two runtimes take turns to run."""

    def __init__(
        self, directory: Path, broker: EmbeddedBroker, spark: SparkSession, topics: Topics, exactly_once: bool
    ) -> None:
        self.group = f"hand-over-{uuid.uuid4().hex[:8]}"
        self.topics, self.spark, self.broker = topics, spark, broker
        self.topic = topics.create(f"{self.group}-lines")
        self.lines, self.copy = GrowingFile(directory / "lines.txt"), directory / "copy.txt"
        self.source, self.sink = f"{self.group}-source", f"{self.group}-sink"
        self.configs = {self.source: file_source(self.lines.path, self.topic)}
        self.configs[self.sink] = file_sink(self.copy, self.topic)
        self.support = "enabled" if exactly_once else "disabled"
        # The Java task reads its file a second after it saw nothing, and commits every `offset.flush.interval.ms`.
        common = {"exactly.once.source.support": self.support, "offset.flush.interval.ms": "500"}
        self.java = JavaConnect(
            directory / "java", broker.bootstrap_servers, group_id=self.group, config=common, heap="256m"
        )
        self.is_known_to_java = False

    def run_java(self, lines: int) -> None:
        """Append lines, let Kafka Connect copy them, and stop it."""
        self.lines.append(lines)
        self.java.start()
        if not self.is_known_to_java:
            for name, config in self.configs.items():
                self.java.create(name, config)
            self.is_known_to_java = True
        self.await_copy()
        self.java.stop()

    def run_seamark(self, lines: int) -> None:
        """Append lines, let Seamark copy them, and stop it."""
        self.lines.append(lines)
        settings = worker_properties(
            self.broker.bootstrap_servers,
            group__id=self.group,
            offset__storage__topic=f"{self.group}-offsets",
            exactly__once__source__support=self.support,
        )
        worker = Worker(WorkerConfig(settings), spark=self.spark)
        worker.start()
        try:
            for name, config in self.configs.items():
                worker.start_connector(name, config)
            self.await_copy()
        finally:
            worker.stop()

    def await_copy(self) -> None:
        wanted = self.lines.path.read_text()
        eventually(lambda: self.copy.read_text() == wanted, 60, "the copy is not like the file")

    def check(self) -> None:
        assert_each_once_in_order(self.topics.records(self.topic), [self.lines])
        assert self.copy.read_text() == self.lines.path.read_text()
        end = self.topics.admin.list_offsets({TopicPartition(self.topic, 0): "latest"})
        committed = self.topics.group_offsets(f"connect-{self.sink}")
        # Behind the last record there may be the marker of its transaction, which nobody reads.
        assert 0 <= end[TopicPartition(self.topic, 0)] - committed[TopicPartition(self.topic, 0)] <= 1


@pytest.fixture(params=[False, True], ids=["at-least-once", "exactly-once"])
def hand_over(
    request: pytest.FixtureRequest, tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession, topics: Topics
) -> Iterator[HandOver]:
    made = HandOver(tmp_path, broker, spark, topics, request.param)
    yield made
    made.java.kill()


def test_connectors_go_from_java_to_seamark_and_back(hand_over: HandOver) -> None:
    hand_over.run_java(50)
    hand_over.run_seamark(60)
    hand_over.run_java(70)
    hand_over.check()


def test_connectors_begin_in_seamark_and_go_on_in_java(hand_over: HandOver) -> None:
    hand_over.run_seamark(50)
    hand_over.run_java(60)
    hand_over.run_seamark(70)
    hand_over.check()
