"""SparkSink on a disk that is full: a clear error, nothing lost, and it goes on when there is room again."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixtures.frame_data import JSON, STRING, produce
from fixtures.spark import Frames, run_until_idle
from fixtures.tables import DeltaFolder, IcebergTable, ParquetFolder, Table, settings
from seamark.connectors.spark_sink.connector import SparkSinkConnector
from seamark.engine.stage import Ending

pytestmark = pytest.mark.timeout(900)
Make = Callable[..., Frames]
BLOCK = b"\0" * 4096


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"A small file system cannot be mounted here, which takes root's rights: {done.stderr.strip()}")
    yield disk
    # Lazily: Spark's JVM closes files of a failed task when its garbage is collected.
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Take all room that is left."""
    file = disk / "filler"
    with file.open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(BLOCK)
        except OSError:
            os.sync()
    return file


@pytest.mark.parametrize("kind", [ParquetFolder, DeltaFolder, IcebergTable])
def test_a_full_disk_is_told_and_the_batch_is_written_once_there_is_room(
    frames: Make, topic_name: str, small_disk: Path, kind: type[Table]
) -> None:
    world = frames()
    more = [world.spark] if kind is IcebergTable else []
    table = kind(small_disk / "out", *more)  # type: ignore[call-arg]
    topic = world.topic()
    config = settings(table, topics=topic, key__converter=STRING, **JSON)
    stage = world.stage(SparkSinkConnector(), topic_name, **config)

    def send(first: int, count: int) -> None:
        produce(world, topic, [(b"k", json.dumps({"id": n}).encode()) for n in range(first, first + count)])

    send(0, 50)
    run_until_idle(stage)
    filler = fill(small_disk)
    send(50, 50)
    outcome = stage.run()
    assert outcome.ending is Ending.FAILED
    assert "No space left on device" in next(iter(outcome.failures.values()))
    assert table.ids() == list(range(50)), "readers see a part of the batch"
    filler.unlink()
    run_until_idle(stage)
    assert table.ids() == list(range(100))
