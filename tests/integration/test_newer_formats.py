"""Batches that a newer Seamark has begun: nothing of them is written by one that does not know all that they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.spark import Frames, run_until_idle
from seamark.connector import TopicPartition
from seamark.connector.frame import SinkBatch
from seamark.connectors.batch_files import write_files
from seamark.connectors.parquet_sink import ParquetSinkConnector
from seamark.engine.sink_ledger import SINK_INTENT, SinkIntent
from seamark.engine.stage import Ending
from seamark.errors import NewerFormatError
from seamark.storage.intents import IntentStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.timeout(600)


def test_an_intent_of_a_later_version_fails_the_sink_and_nothing_is_written(
    frames: Callable[..., Frames], topic_name: str, tmp_path: Path
) -> None:
    world = frames()
    topic = world.topic()
    world.send(topic, ["a", "b"])
    first = TopicPartition(topic, 0)
    world.admin.alter_group_offsets(f"connect-{topic_name}", {first: 0})
    intent = SinkIntent(1, {first: 0}, {first: 1})
    intents = IntentStore(world.store)
    intents.write(topic_name, SINK_INTENT, {**intent.value(), "version": 2})
    stage = world.stage(ParquetSinkConnector(), topic_name, topics=topic, path=str(tmp_path / "out"))
    outcome = stage.run()
    assert outcome.ending is Ending.FAILED
    assert "was written by a newer Seamark" in str(outcome.failures)
    assert not (tmp_path / "out").exists()
    # One without a version is an earlier worker's.
    intents.write(topic_name, SINK_INTENT, {k: v for k, v in intent.value().items() if k != "version"})
    again = world.stage(ParquetSinkConnector(), topic_name, topics=topic, path=str(tmp_path / "out"))
    run_until_idle(again)
    assert (tmp_path / "out/_seamark/commits/1.json").exists()
    stored = intents.read(topic_name, SINK_INTENT)
    assert stored is not None and stored["version"] == 1


def test_a_claim_of_a_later_version_is_refused_and_one_without_a_version_is_finished(
    spark: SparkSession, tmp_path: Path
) -> None:
    batch = SinkBatch("orders", 3, {TopicPartition("t", 0): 0}, {TopicPartition("t", 0): 1}, True)
    staged, claim = tmp_path / "_seamark/staging/3-x/part-0.json", tmp_path / "_seamark/claims/3.json"
    staged.parent.mkdir(parents=True)
    claim.parent.mkdir()
    staged.write_text('{"a": 1}\n')
    content: dict[str, Any] = {"connector": "orders", "batch": 3, "start": {"t-0": 0}, "end": {"t-0": 1}}
    content["moves"] = [[staged.as_uri(), "batch-3-part-00000.json"]]

    def save(frame: DataFrame, folder: str) -> None:
        pytest.fail("the batch is written already")

    claim.write_text(json.dumps({**content, "version": 2}))
    with pytest.raises(NewerFormatError, match=r"claims/3.json was written by a newer Seamark"):
        write_files(spark.range(1).toDF("a"), str(tmp_path), batch, save)
    assert staged.exists()
    claim.write_text(json.dumps(content))
    write_files(spark.range(1).toDF("a"), str(tmp_path), batch, save)
    assert (tmp_path / "batch-3-part-00000.json").read_text() == '{"a": 1}\n'
    assert json.loads((tmp_path / "_seamark/commits/3.json").read_text())["files"] == ["batch-3-part-00000.json"]
