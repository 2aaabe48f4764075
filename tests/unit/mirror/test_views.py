from __future__ import annotations

import pytest

from seamark.kafka.topic_partitions import TopicPartition
from seamark.mirror.views import FlowView, PartitionView, SourceLook, committed_positions, look, partition_views
from seamark.mirror.wire import Checkpoint, OffsetSync

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
NOW = 1_000_000


def seen(
    position: int | None, start: int = 0, end: int = 10, timestamps: dict[TopicPartition, int | None] | None = None
) -> PartitionView:
    look_ = SourceLook({P0: start}, {P0: end}, {} if position is None else {P0: position}, timestamps or {})
    (view,) = partition_views(look_, {"orders": "a.orders"}, {P0: OffsetSync("orders", 0, 4, 7)}, NOW)
    return view


def test_lag_is_what_lies_between_position_and_end() -> None:
    view = seen(6, timestamps={P0: NOW - 250})
    assert (view.lag, view.lag_ms, view.problem) == (4, 250, None)
    assert (view.remote_topic, view.sync) == ("a.orders", OffsetSync("orders", 0, 4, 7))


def test_without_lag_nothing_is_late() -> None:
    assert (seen(10).lag, seen(10).lag_ms) == (0, 0)


def test_offsets_without_records_are_no_lag() -> None:
    assert (seen(9, timestamps={P0: None}).lag, seen(9, timestamps={P0: None}).lag_ms) == (0, 0)


def test_an_age_that_was_not_learnt_in_time_is_not_known() -> None:
    assert (seen(9).lag, seen(9).lag_ms) == (1, None)
    assert seen(9, timestamps={P0: -1}).lag_ms is None


def test_a_clock_that_is_ahead_makes_no_negative_age() -> None:
    assert seen(9, timestamps={P0: NOW + 5}).lag_ms == 0


def test_deleted_records_are_no_lag_but_a_problem() -> None:
    view = seen(2, start=5, timestamps={P0: NOW})
    assert view.lag == 5
    assert view.problem == "Records 2 to 4 were deleted before they were copied."


def test_a_position_behind_the_end_is_a_problem() -> None:
    view = seen(12)
    assert view.lag == 0
    assert view.problem is not None and "ends at 10" in view.problem


def test_a_position_that_is_not_known_has_no_lag() -> None:
    assert (seen(None).lag, seen(None).lag_ms) == (None, None)


@pytest.mark.parametrize(("position", "is_synced"), [(None, True), (0, True), (5, True), (6, False)])
def test_whether_the_last_record_is_synced(position: int | None, is_synced: bool) -> None:
    assert seen(position).is_synced is is_synced


def test_positions_come_from_offsets_of_the_flow_alone() -> None:
    offsets = [
        ({"cluster": "a", "topic": "orders", "partition": 0}, {"offset": 41}),
        ({"cluster": "other", "topic": "orders", "partition": 1}, {"offset": 7}),
        ({"cluster": "a", "topic": "orders", "partition": 1}, None),
        ({"filename": "x"}, {"position": 1}),
    ]
    assert committed_positions("a", offsets) == {P0: 42}


def test_totals_and_groups() -> None:
    partitions = [seen(6, timestamps={P0: NOW - 250}), seen(8, timestamps={P0: NOW - 900}), seen(10)]
    checkpoints = [Checkpoint("g", "a.orders", 1, 5, 3), Checkpoint("g", "a.orders", 0, 9, 9)]
    view = FlowView("m", "RUNNING", "a", "b", {"RUNNING": 2}, partitions, checkpoints, "id")
    assert view.summary() == {
        "connector": "m",
        "state": "RUNNING",
        "enabled": True,
        "source": "a",
        "target": "b",
        "tasks": {"RUNNING": 2},
        "topics": 1,
        "partitions": 3,
        "lag": 6,
        "lag_ms": 900,
        "error": None,
    }
    detail = view.detail()
    assert detail["totals"] == {"topics": 1, "partitions": 3, "lag": 6, "lag_ms": 900}
    assert [row["partition"] for row in detail["groups"][0]["partitions"]] == [0, 1]
    assert detail["partitions"][0]["last_sync"] == {"upstream": 4, "downstream": 7}


def test_the_lag_of_a_flow_whose_source_is_away_is_not_known() -> None:
    summary = FlowView("m", "RUNNING", "a", "b", error="away").summary()
    assert (summary["lag"], summary["lag_ms"]) == (None, None)


def test_a_config_that_cannot_be_read_is_the_error_of_the_view() -> None:
    view = look({"source.cluster.alias": "a", "offset.lag.max": "x"}, [], connector="m", state="RUNNING", tasks={},
                is_detailed=True)  # fmt: skip
    assert view.error is not None and "offset.lag.max" in view.error


def test_a_flow_that_is_not_enabled_is_not_looked_at() -> None:
    config = {"source.cluster.alias": "a", "enabled": "false", "source.cluster.bootstrap.servers": "127.0.0.1:1"}
    view = look(config, [], connector="m", state="RUNNING", tasks={}, is_detailed=True)
    assert (view.is_enabled, view.error, view.lag) == (False, None, 0)
