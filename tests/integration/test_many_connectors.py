"""A hundred connectors in one worker: what they cost while idle, and that they wake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from fixtures.worker import MakeWorker, Topics, active_jobs, file_sink, file_source
from seamark.testing.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PAIRS = 50
PER_CONNECTOR = 3  # open files of the driver; a client each for Kafka would be a dozen


def test_a_hundred_idle_connectors_share_clients_and_wake(
    make_worker: MakeWorker, spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    worker = make_worker(exactly__once__source__support="enabled", seamark__idle__ms="500")
    me = psutil.Process()
    before = me.num_fds()
    for number in range(PAIRS):
        source, topic = tmp_path / f"{number}.txt", topics.create(f"many-{number}")
        source.write_text(f"first {number}\n")
        worker.start_connector(f"source-{number}", file_source(source, topic))
        worker.start_connector(f"sink-{number}", file_sink(tmp_path / f"{number}.out", topic))
    eventually(
        lambda: (
            all((tmp_path / f"{number}.out").exists() for number in range(PAIRS))
            and worker.idle == 2 * PAIRS
            and not active_jobs(spark)
        ),
        within_s=300,
        message="all connectors have worked and are idle",
    )
    # Connections of threads that have ended are given up when Python collects them.
    eventually(lambda: me.num_fds() - before <= PER_CONNECTOR * 2 * PAIRS, within_s=60, message="few open files")

    for number in (0, PAIRS - 1):
        with (tmp_path / f"{number}.txt").open("a") as out:
            out.write(f"second {number}\n")

    def second_lines_are_there() -> bool:
        outs = {number: (tmp_path / f"{number}.out").read_text() for number in (0, PAIRS - 1)}
        return outs == {number: f"first {number}\nsecond {number}\n" for number in outs}

    eventually(second_lines_are_there, within_s=60)
