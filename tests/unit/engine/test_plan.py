from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.connector import Offsets, ReadLimit, TopicPartition
from seamark.engine.plan import fair_shares, plan_sink, plan_source, record_limit
from seamark.errors import ConnectError

NO_LIMIT = ReadLimit()


def tp(partition: int, topic: str = "orders") -> TopicPartition:
    return TopicPartition(topic, partition)


partitions = st.integers(0, 7).map(tp)
logs = st.dictionaries(partitions, st.tuples(st.integers(0, 50), st.integers(0, 50)).map(sorted), max_size=8)
limits = st.builds(ReadLimit, st.none() | st.integers(1, 200), st.none() | st.integers(1, 5000))


@given(logs, st.dictionaries(partitions, st.integers(0, 60)), limits, st.sampled_from(["earliest", "latest"]))
def test_a_batch_lies_within_the_log_and_begins_where_the_group_is(
    log: dict[TopicPartition, tuple[int, int]], committed: dict[TopicPartition, int], limit: ReadLimit, reset: str
) -> None:
    first = {partition: low for partition, (low, _) in log.items()}
    last = {partition: high for partition, (_, high) in log.items()}
    plan = plan_sink(committed, first, last, limit, reset=reset, record_bytes=10)
    assert plan.start.keys() == plan.end.keys()
    for partition, start in plan.start.items():
        assert first[partition] <= start < plan.end[partition] <= last[partition]
        assert start == plan.resets.get(partition, committed.get(partition))
    allowed = record_limit(limit, 10)
    available = sum(last[p] - plan.resets.get(p, committed.get(p, 0)) for p in log)
    assert plan.records == (available if allowed is None else min(available, allowed))


@given(logs, st.integers(1, 30))
def test_batch_after_batch_reads_every_offset_once(log: dict[TopicPartition, tuple[int, int]], most: int) -> None:
    first = {partition: low for partition, (low, _) in log.items()}
    last = {partition: high for partition, (_, high) in log.items()}
    committed: dict[TopicPartition, int] = {}
    seen: list[tuple[TopicPartition, int]] = []
    while not (plan := plan_sink(committed, first, last, ReadLimit(records=most))).is_empty:
        assert plan.records <= most
        seen += [(p, offset) for p in plan.start for offset in range(plan.start[p], plan.end[p])]
        committed |= plan.resets | plan.end
    assert sorted(seen) == sorted((p, offset) for p in log for offset in range(first[p], last[p]))


@given(st.dictionaries(partitions, st.integers(0, 1000), min_size=1), st.integers(0, 3000))
def test_shares_are_full_and_fair(available: dict[TopicPartition, int], total: int) -> None:
    shares = fair_shares(available, total)
    assert sum(shares.values()) == min(total, sum(available.values()))
    unsatisfied = [share for partition, share in shares.items() if share < available[partition]]
    assert all(share <= min(unsatisfied, default=share) + len(available) for share in shares.values())
    assert all(0 <= share <= available[partition] for partition, share in shares.items())


def test_what_cannot_be_divided_goes_to_the_largest_backlog() -> None:
    assert fair_shares({tp(0): 3, tp(1): 900, tp(2): 0}, 1) == {tp(0): 0, tp(1): 1, tp(2): 0}


def test_a_limit_in_bytes_counts_records_of_the_size_last_seen() -> None:
    plan = plan_sink({}, {tp(0): 0}, {tp(0): 1000}, ReadLimit(records=500, bytes=10_000), record_bytes=100)
    assert plan.end == {tp(0): 100}
    assert plan_sink({}, {tp(0): 0}, {tp(0): 9}, ReadLimit(bytes=1), record_bytes=100).end == {tp(0): 1}


@pytest.mark.parametrize(
    ("committed", "reset", "start"),
    [
        (None, "earliest", 10),
        (None, "latest", 20),
        (5, "earliest", 10),
        (5, "latest", 20),
        (25, "earliest", 10),
        (12, "none", 12),
    ],
)
def test_a_position_outside_the_log_is_reset_as_configured(committed: int | None, reset: str, start: int) -> None:
    group = {} if committed is None else {tp(0): committed}
    plan = plan_sink(group, {tp(0): 10}, {tp(0): 20}, NO_LIMIT, reset=reset)
    assert plan.resets == ({} if start == committed else {tp(0): start})
    assert plan.start == ({tp(0): start} if start < 20 else {})


@pytest.mark.parametrize("committed", [{}, {tp(0): 5}])
def test_without_a_reset_policy_a_lost_position_is_an_error_that_names_the_way_out(
    committed: dict[TopicPartition, int],
) -> None:
    with pytest.raises(ConnectError, match=r"orders-0.*auto\.offset\.reset"):
        plan_sink(committed, {tp(0): 10}, {tp(0): 20}, NO_LIMIT, reset="none")


def test_a_source_has_work_only_if_a_partition_moved() -> None:
    start = Offsets([({"file": "a"}, {"row": 4}), ({"file": "b"}, {"row": 9})])
    assert plan_source(start, start) is None
    assert plan_source(start, Offsets([({"file": "a"}, {"row": 4})])) is None
    moved = Offsets([({"file": "a"}, {"row": 5})])
    plan = plan_source(start, moved)
    assert plan is not None
    assert (plan.start, plan.end) == (start, moved)
    assert plan_source(Offsets(), Offsets([({"file": "a"}, {"row": 0})])) is not None
