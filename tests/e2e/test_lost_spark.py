"""The JVM of a worker's Spark dies, as it does first when memory runs out: the worker starts another and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from compat.client import Connect
from compat.targets import SeamarkDistributed
from fixtures.worker import GrowingFile, Topics, assert_each_once_in_order, file_sink, file_source
from seamark.kafka.broker import EmbeddedBroker
from seamark.testing.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


class OneWorker(SeamarkDistributed):
    worker_count = 1


@pytest.fixture
def worker(tmp_path: Path, broker: EmbeddedBroker) -> Iterator[OneWorker]:
    target = OneWorker(tmp_path / "worker", broker.bootstrap_servers)
    target.start()
    yield target
    target.kill()


def spark_of(target: OneWorker) -> psutil.Process:
    """The JVM, once there is one."""

    def found() -> psutil.Process | None:
        process = target.workers[0].process
        assert process is not None
        assert process.pid is not None
        children = psutil.Process(process.pid).children(recursive=True)
        return next((child for child in children if child.name() == "java"), None)

    process = eventually(found, 60, "the worker has no Spark")
    assert process is not None
    return process


def test_a_worker_starts_another_spark_and_nothing_is_lost_or_doubled(
    worker: OneWorker, topics: Topics, tmp_path: Path, topic_name: str
) -> None:
    connect = Connect(worker)
    topics.create(topic_name)
    file, output = GrowingFile(tmp_path / "lines.txt"), tmp_path / "lines.out"
    connect.create("lost-source", file_source(file.path, topic_name))
    connect.create("lost-sink", file_sink(output, topic_name))
    file.start(lines=5)
    seen = topics.follow(topic_name)

    def flows() -> None:
        wanted = file.written + 50

        def has_come() -> bool:
            seen.read()
            lines = output.read_text().splitlines() if output.exists() else []
            return seen.newest.get("lines", 0) > wanted and f"lines-{wanted}" in lines

        eventually(has_come, 90, "records do not flow")

    try:
        for _ in range(2):
            flows()
            lost = spark_of(worker)
            lost.kill()
            flows()
            assert spark_of(worker).pid != lost.pid
    finally:
        file.stop()
    for name in ("lost-source", "lost-sink"):
        connect.await_state(name, "RUNNING")
    eventually(lambda: [seen.read(), seen.newest.get("lines", 0) == file.written][1], 60)
    assert_each_once_in_order(seen.records, [file])
    seen.close()
