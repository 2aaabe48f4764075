"""Where positions bring a checkpoint's sources, and how long a checkpoint is watched."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fixtures.checkpoints import Written, line
from seamark.checkpoint.activity import needed_s, quiet_time_s, watch
from seamark.checkpoint.changing import carry_out
from seamark.checkpoint.errors import CheckpointError, QueryRunningError
from seamark.checkpoint.moves import plan_files
from seamark.checkpoint.planning import SourceChange, choose_sources, initial_rules, moved_by_source, plan_changes
from seamark.checkpoint.reading import read_checkpoint
from seamark.config.position_plans import LogRange, Partition, PositionsRefusedError, TimedOffset
from seamark.config.positions import PositionRule, parse_rule

LOGS = {("orders", 0): LogRange(5, 100), ("orders", 1): LogRange(0, 90), ("orders", 2): LogRange(0, 10)}


def no_times(wanted: Mapping[Partition, int]) -> Mapping[Partition, TimedOffset | None]:
    raise AssertionError("no times are asked for")


def plan(written: Written, *rules: str | PositionRule, source: str | None = None) -> list[SourceChange]:
    sources = choose_sources(read_checkpoint(written.files), "here", source)
    parsed = [rule if isinstance(rule, PositionRule) else parse_rule(rule) for rule in rules]
    return plan_changes(sources, parsed, LOGS, no_times, now_ms=0)


def test_positions_are_found_for_partitions_of_the_checkpoint(orders: Written) -> None:
    assert moved_by_source(plan(orders, "-10", "orders:1=latest")) == {"0": {("orders", 0): 20, ("orders", 1): 90}}
    assert plan(orders, "orders:0=30") == [], "it is there already"


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("payments=earliest", "There is no topic 'payments' here. Valid: orders."),
        ("orders:2=earliest", "Topic 'orders' has no partition 2 here. Valid: 0 to 1."),
        ("orders:0=101", "Offset 101 is behind the end of the log. Valid: offsets 5 to 100."),
        ("orders:0=4", "before the first record that is still there. Valid: offsets 5 to 100"),
    ],
)
def test_refusals_list_what_is_valid(orders: Written, rule: str, says: str) -> None:
    with pytest.raises(PositionsRefusedError) as caught:
        plan(orders, rule)
    assert says in str(caught.value)


def test_a_partition_that_kafka_lost_cannot_move(written: Written) -> None:
    written.batch(0, line(orders={0: 10, 7: 10}, gone={0: 1}))
    with pytest.raises(PositionsRefusedError) as caught:
        plan(written, "earliest")
    assert [str(refusal.selector) for refusal in caught.value.refusals] == ["gone:0", "orders:7"]
    assert "its partitions there: 0, 1, 2" in str(caught.value)
    assert "nor is its topic" in str(caught.value)
    assert moved_by_source(plan(written, "orders:0=earliest")) == {"0": {("orders", 0): 5}}


def test_sources_are_chosen_by_number(written: Written) -> None:
    for source in (0, 1):
        written.began(source, line(orders={0: 10}))
    written.batch(0, line(orders={0: 10}), line(orders={0: 20}), '{"logOffset":1}')
    with pytest.raises(CheckpointError) as caught:
        plan(written, "earliest")
    assert "'orders' is read by sources 0, 1" in str(caught.value)
    assert caught.value.hint == "Choose one with --source. Valid: 0, 1"
    assert moved_by_source(plan(written, "+1", source="1")) == {"1": {("orders", 0): 21}}
    with pytest.raises(CheckpointError, match=r'Source 2 is no Kafka source, but is at {"logOffset":1}. Valid: 0, 1'):
        plan(written, "+1", source="2")
    with pytest.raises(CheckpointError, match=r"There is no source 7. Valid: 0, 1"):
        plan(written, "+1", source="7")


def test_without_kafka_there_is_nothing_to_move(written: Written) -> None:
    with pytest.raises(CheckpointError, match="has not begun to read"):
        plan(written, "earliest")
    written.batch(0, '{"logOffset":1}')
    with pytest.raises(CheckpointError, match=r'no Kafka source: source 0 is at {"logOffset":1}'):
        plan(written, "earliest")


def test_back_to_where_it_began(orders: Written) -> None:
    sources = choose_sources(read_checkpoint(orders.files), "here", None)
    assert [str(rule) for rule in initial_rules(sources, "here")] == ["orders:0=1", "orders:1=2"]
    with pytest.raises(PositionsRefusedError, match="before the first record"):
        plan(orders, *initial_rules(sources, "here"))


def test_without_a_beginning_it_cannot_go_there(written: Written) -> None:
    written.batch(0, line(orders={0: 10}))
    with pytest.raises(CheckpointError, match="does not say where source 0 began"):
        initial_rules(choose_sources(read_checkpoint(written.files), "here", None), "here")


def test_it_is_watched_for_as_long_as_batches_took() -> None:
    paced = [10_000 * number for number in range(8)]
    assert needed_s(paced, 70_000, 71_000, is_unfinished=False) == 19, "two batches of ten seconds, one has passed"
    assert needed_s(paced, 70_000, 500_000, is_unfinished=False) == 2
    assert needed_s([], None, 0, is_unfinished=False) == 2
    assert needed_s([], 0, 1_000, is_unfinished=True) == 9, "somebody may be at work on it"
    assert needed_s([0, 3_600_000], 3_600_000, 3_600_000, is_unfinished=False) == 30
    assert needed_s(paced, 90_000, 70_000, is_unfinished=False) == 20, "the clocks differ"


def test_a_move_is_no_unfinished_work(orders: Written) -> None:
    now_ms = max(path.stat().st_mtime_ns for path in orders.root.rglob("*")) // 1_000_000 + 20_000
    assert quiet_time_s(read_checkpoint(orders.files), orders.files, now_ms) == 2
    checkpoint = read_checkpoint(orders.files)
    changes = plan_files(checkpoint, {"0": {("orders", 0): 9}}, now_ms=1)
    carry_out(orders.files, checkpoint, changes, "a move")
    assert quiet_time_s(read_checkpoint(orders.files), orders.files, 0) == 2


@pytest.mark.parametrize("path", ["offsets/3", "commits/3", "offsets/.3.9b8.tmp"])
def test_a_query_at_work_is_seen(orders: Written, path: str) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if now[0] > 1:
            orders.write(path, "v1")

    with pytest.raises(QueryRunningError, match=f"{path} changed while it was watched"):
        watch(orders.files, 3, sleep=sleep, clock=lambda: now[0])
    assert now[0] < 2


def test_a_quiet_checkpoint_passes(orders: Written) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    watch(orders.files, 3, sleep=sleep, clock=lambda: now[0])
    assert now[0] >= 3
    watch(orders.files, 0)
