"""Frame sources on a real broker and a real Spark: each row once, whatever dies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.spark import Frames, run_until_idle
from seamark.connector import Offsets
from seamark.engine.stage import Ending

PLUGINS = Path(__file__).parents[1] / "fixtures" / "plugins"
sys.path.insert(0, str(PLUGINS))

from frame_plugins import TABLE, NumbersSource, StableNumbersSource  # noqa: E402

pytestmark = pytest.mark.timeout(240)
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
