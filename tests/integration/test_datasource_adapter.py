"""Data sources that PySpark users write, run as connectors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.drivers import PLUGINS
from fixtures.spark import Frames, run_until_idle
from seamark.connector import ConfigError, DataError, Offsets
from seamark.connectors.datasource import DataSourceSinkConnector, DataSourceSourceConnector
from seamark.engine.stage import Ending
from seamark.errors import PluginError

sys.path.insert(0, str(PLUGINS))

Make = Callable[..., Frames]
PLAIN_JSON = {"value__converter": "JsonConverter", "value__converter__schemas__enable": "false"}


def test_a_stream_reader_is_a_source_whose_offsets_are_ours(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic, limit = world.topic(partitions=2), tmp_path / "limit"
    limit.write_text("50")
    settings = {"topic": topic, "datasource__class": "counting_datasource:Counting", "datasource__key__column": "name"}
    settings |= {"datasource__option__limit": str(limit), **PLAIN_JSON}
    stage = world.stage(DataSourceSourceConnector(), topic_name, **settings)
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    limit.write_text("80")
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    records = world.records(topic)
    assert sorted(json.loads(value)["id"] for _, value in records) == list(range(80))
    assert all(key == json.loads(value)["name"].encode() for key, value in records)
    assert world.store.read(topic_name) == Offsets([({"datasource": "counting"}, {"offset": '{"n": 80}'})])


def test_a_simple_stream_reader_is_a_source_too(frames: Make, topic_name: str) -> None:
    world = frames()
    topic = world.topic()
    settings = {"topic": topic, "datasource__class": "counting_datasource:Simple"}
    stage = world.stage(DataSourceSourceConnector(), topic_name, **settings)
    assert run_until_idle(stage) == [Ending.WORKED] * 3 + [Ending.IDLE]
    assert sorted(world.values(topic)) == [f"simple-{number}" for number in range(6)]


def test_a_writer_is_a_sink(frames: Make, topic_name: str, tmp_path: Path) -> None:
    world = frames()
    topic = world.topic(partitions=2)
    world.send(topic, ["a", "b", "c"], partition=1)
    settings = {"topics": topic, "datasource__class": "counting_datasource:JsonLines"}
    stage = world.stage(DataSourceSinkConnector(), topic_name, datasource__option__path=str(tmp_path), **settings)
    assert run_until_idle(stage) == [Ending.WORKED, Ending.IDLE]
    lines = [json.loads(line) for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert sorted(lines) == [[topic, 0, "a"], [topic, 1, "b"], [topic, 2, "c"]]


def test_offsets_that_the_reader_could_not_take_are_refused() -> None:
    config = {"datasource.class": "counting_datasource:Simple"}
    connector = DataSourceSourceConnector()
    assert connector.alter_offsets(config, Offsets([({"datasource": "simple"}, {"offset": '{"n": 4}'})]))
    for partition, offset in (({"datasource": "other"}, '{"n": 4}'), ({"datasource": "simple"}, "4")):
        with pytest.raises(DataError):
            connector.alter_offsets(config, Offsets([(partition, {"offset": offset})]))


def test_offsets_that_the_reader_cannot_plan_from_are_refused_in_its_words(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "limit").write_text("50")
    config = {"datasource.class": "counting_datasource:Counting", "datasource.option.limit": str(tmp_path / "limit")}
    connector, partition = DataSourceSourceConnector(), {"datasource": "counting"}
    assert connector.alter_offsets(config, Offsets([(partition, {"offset": '{"n": 4}'})]))
    with pytest.raises(DataError, match=r'from the offset {"m": 4}: KeyError: \'n\''):
        connector.alter_offsets(config, Offsets([(partition, {"offset": '{"m": 4}'})]))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("no_such_module:Class", PluginError),
        ("json:JSONDecoder", ConfigError),
        ("counting_datasource:JsonLines", ConfigError),
    ],
)
def test_a_class_that_is_no_source_is_a_clear_error(name: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=name.rpartition(":")[0] if error is PluginError else r"DataSource"):
        DataSourceSourceConnector().start({"datasource.class": name})
