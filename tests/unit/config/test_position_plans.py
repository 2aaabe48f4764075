"""Which offsets positions stand for."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.config.position_plans import (
    LogRange,
    Partition,
    PositionPlan,
    PositionsRefusedError,
    TimedOffset,
    plan_positions,
    ranges,
    show_time,
)
from seamark.config.positions import parse_rule, parse_rules

NOW_MS = 1_777_636_800_000  # 2026-05-01T12:00:00Z
HOUR_MS = 3_600_000


class Log:
    """Records with their times, as Kafka would be asked for them."""

    def __init__(self, **topics: list[tuple[int, list[int]]]) -> None:
        """Per topic and partition: the first offset, and the time of each record."""
        self.records: dict[Partition, list[TimedOffset]] = {}
        self.ranges: dict[Partition, LogRange] = {}
        self.questions: list[dict[Partition, int]] = []
        for topic, partitions in topics.items():
            for number, (start, times) in enumerate(partitions):
                self.records[topic, number] = [TimedOffset(start + at, time) for at, time in enumerate(times)]
                self.ranges[topic, number] = LogRange(start, start + len(times))

    def find(self, wanted: Mapping[Partition, int]) -> dict[Partition, TimedOffset | None]:
        self.questions.append(dict(wanted))
        assert all(at_ms >= 0 for at_ms in wanted.values())
        return {
            partition: next((each for each in self.records[partition] if each.timestamp_ms >= at_ms), None)
            for partition, at_ms in wanted.items()
        }

    def plan(
        self, *rules: str, current: Mapping[Partition, int | None] | None = None, clamp: bool = False
    ) -> PositionPlan:
        parsed = [parse_rule(rule) for rule in rules]
        return plan_positions(parsed, current or {}, self.ranges, self.find, now_ms=NOW_MS, clamp=clamp)


def new(plan: PositionPlan) -> dict[Partition, int]:
    return {(change.topic, change.partition): change.new for change in plan.require()}


def ago(*hours: float) -> list[int]:
    return [NOW_MS - int(each * HOUR_MS) for each in hours]


@pytest.fixture
def log() -> Log:
    """`a` has lost 100 records to retention, `b` none; the third partition of `a` is empty."""
    return Log(a=[(100, ago(5, 4, 3, 2, 1)), (100, ago(9, 8)), (100, [])], b=[(0, ago(5, 4))])


def test_the_ends_of_the_log(log: Log) -> None:
    assert new(log.plan("earliest")) == {("a", 0): 100, ("a", 1): 100, ("a", 2): 100, ("b", 0): 0}
    assert new(log.plan("latest")) == {("a", 0): 105, ("a", 1): 102, ("a", 2): 100, ("b", 0): 2}
    assert log.questions == []


def test_the_more_exact_rule_wins_in_any_order(log: Log) -> None:
    rules = ["latest", "a=earliest", "a:1=101"]
    wanted = {("a", 0): 100, ("a", 1): 101, ("a", 2): 100, ("b", 0): 2}
    assert new(log.plan(*rules)) == new(log.plan(*reversed(rules))) == wanted
    assert new(log.plan("a:1=101")) == {("a", 1): 101}


def test_times_are_the_first_record_of_then_or_later(log: Log) -> None:
    assert new(log.plan("a:0=-3h")) == {("a", 0): 102}
    assert new(log.plan("a:0=-150m")) == {("a", 0): 103}
    assert new(log.plan("-2h")) == {("a", 0): 103, ("a", 1): 102, ("a", 2): 100, ("b", 0): 2}
    assert new(log.plan("a:0=2026-05-01T09:00:00Z")) == {("a", 0): 102}


def test_a_time_before_everything_in_a_topic_is_refused(log: Log) -> None:
    assert new(log.plan("b=-5h")) == {("b", 0): 0}
    with pytest.raises(
        PositionsRefusedError, match=r"b:0: .* is before the first record .* clamp, which would go to 0"
    ):
        log.plan("b=-6h").require()
    assert new(log.plan("b=-6h", clamp=True)) == {("b", 0): 0}


def test_partitions_may_begin_later_than_their_topic() -> None:
    log = Log(t=[(0, ago(9, 8)), (0, ago(2)), (0, [])])
    assert new(log.plan("-5h")) == {("t", 0): 2, ("t", 1): 0, ("t", 2): 0}
    assert new(log.plan("-9h")) == {("t", 0): 0, ("t", 1): 0, ("t", 2): 0}
    assert [str(refusal.selector) for refusal in log.plan("-10h").refusals] == ["t:0", "t:1"]
    assert [str(refusal.selector) for refusal in log.plan("t:1=-5h").refusals] == ["t:1"]


def test_a_time_before_the_first_record_that_was_not_deleted_is_refused(log: Log) -> None:
    assert new(log.plan("a:0=-5h")) == {("a", 0): 100}
    plan = log.plan("a:0=-6h", "a:1=-6h")
    assert [str(refusal.selector) for refusal in plan.refusals] == ["a:0"]
    with pytest.raises(PositionsRefusedError) as caught:
        plan.require()
    assert str(caught.value) == (
        "a:0: 2026-05-01T06:00:00Z is before the first record that is still there, offset 100 of 2026-05-01T07:00:00Z. "
        "Valid: offsets 100 to 105, or clamp, which would go to 100."
    )
    clamped = log.plan("a:0=-6h", clamp=True).require()[0]
    assert (clamped.new, clamped.clamped is not None) == (100, True)


def test_a_time_before_1970_is_asked_for_as_a_time(log: Log) -> None:
    assert new(log.plan("b=-9999w", clamp=True)) == {("b", 0): 0}
    assert new(log.plan("a:0=-9999w", clamp=True)) == {("a", 0): 100}


def test_times_are_found_with_two_questions_for_all_partitions() -> None:
    log = Log(t=[(7, ago(3, 1)) for _ in range(50)])
    assert set(new(log.plan("-2h")).values()) == {8}
    assert len(log.questions) == 2
    assert {len(question) for question in log.questions} == {50}


def test_the_future_is_refused(log: Log) -> None:
    with pytest.raises(PositionsRefusedError, match="is in the future; now it is 2026-05-01T12:00:00Z"):
        log.plan("b=2026-05-01T12:00:01Z").require()
    assert new(log.plan("b=2027-05-01T12:00:01Z", clamp=True)) == {("b", 0): 2}


def test_offsets_must_be_in_the_log(log: Log) -> None:
    assert new(log.plan("a:0=100", "b=2")) == {("a", 0): 100, ("b", 0): 2}
    for clamp in (False, True):
        with pytest.raises(
            PositionsRefusedError, match=r"a:0: Offset 106 is behind the end .* Valid: offsets 100 to 105"
        ):
            log.plan("a:0=106", clamp=clamp).require()
    with pytest.raises(PositionsRefusedError, match="Offset 99 is before the first record that is still there"):
        log.plan("a:0=99").require()
    assert new(log.plan("a:0=99", clamp=True)) == {("a", 0): 100}


def test_shifts_begin_where_it_is(log: Log) -> None:
    current = {("a", 0): 103, ("a", 1): 101, ("a", 2): None}
    plan = log.plan("a=-1", current=current)
    assert [(change.old, change.new, change.by) for change in plan.changes] == [(103, 102, -1), (101, 100, -1)]
    assert [str(refusal.selector) for refusal in plan.refusals] == ["a:2"]
    assert "no position yet" in plan.refusals[0].message
    with pytest.raises(PositionsRefusedError, match=r"Offset 98, which is 103 - 5, is before the first record"):
        log.plan("a:0=-5", current=current).require()
    with pytest.raises(PositionsRefusedError, match=r"Offset 106, which is 103 \+ 3, is behind the end"):
        log.plan("a:0=+3", current=current).require()
    assert new(log.plan("a:0=-5", "a:1=+5", current=current, clamp=True)) == {("a", 0): 100, ("a", 1): 102}


def test_what_does_not_exist_is_answered_with_what_does(log: Log) -> None:
    with pytest.raises(PositionsRefusedError) as caught:
        log.plan("c=earliest", "a:3=earliest", "b=earliest").require()
    assert str(caught.value).splitlines() == [
        "c: There is no topic 'c' here. Valid: a, b.",
        "a:3: Topic 'a' has no partition 3 here. Valid: 0 to 2.",
    ]
    with pytest.raises(PositionsRefusedError, match="There is no partition that could be moved"):
        Log().plan("earliest").require()


def test_very_many_refusals_are_shortened() -> None:
    log = Log(**{f"t{number}": [(0, [])] for number in range(30)})
    with pytest.raises(PositionsRefusedError) as caught:
        log.plan("5").require()
    assert str(caught.value).splitlines()[-1] == "and 10 more"
    assert len(caught.value.refusals) == 30


def test_words() -> None:
    assert ranges([3, 0, 1, 2, 7, 9, 10]) == "0 to 3, 7, 9 to 10"
    assert ranges([]) == "none"
    assert show_time(NOW_MS + 5) == "2026-05-01T12:00:00.005Z"
    assert show_time(2**62) == f"{2**62} ms since 1970"


PARTITIONS = st.lists(
    st.tuples(st.integers(0, 50), st.lists(st.integers(0, NOW_MS), max_size=8)), min_size=1, max_size=4
)
POSITIONS = st.one_of(
    st.sampled_from(["earliest", "latest"]),
    st.integers(0, 70).map(str),
    st.integers(-70, 70).map(lambda by: f"{by:+d}"),
    st.integers(0, NOW_MS // 1000 + 10).map(lambda seconds: f"-{seconds}s"),
)


@given(
    PARTITIONS,
    PARTITIONS,
    st.dictionaries(st.sampled_from(["*", "a", "b", "a:0", "b:1"]), POSITIONS, min_size=1),
    st.data(),
)
def test_every_plan_stays_in_the_log_and_forgets_no_partition(
    a: list[tuple[int, list[int]]], b: list[tuple[int, list[int]]], rules: dict[str, str], data: st.DataObject
) -> None:
    log = Log(a=a, b=b)
    current = {each: data.draw(st.none() | st.integers(0, 60)) for each in log.ranges}
    parsed = parse_rules(rules)

    def plan(clamp: bool) -> PositionPlan:
        return plan_positions(parsed, current, log.ranges, log.find, now_ms=NOW_MS, clamp=clamp)

    strict, clamped = plan(False), plan(True)
    selected = {each for each in log.ranges if any(rule.selector.selects(*each) for rule in parsed)}
    for found in (strict, clamped):
        changed = {(change.topic, change.partition) for change in found.changes}
        refused = {(refusal.selector.topic, refusal.selector.partition) for refusal in found.refusals}
        assert changed | (refused & set(log.ranges)) == selected
        assert not changed & refused
        for change in found.changes:
            its = log.ranges[change.topic, change.partition]
            assert its.start <= change.new <= its.end
            assert change.old == current[change.topic, change.partition]
    # To clamp only adds changes, and those say why they are not quite what was asked for.
    assert set(strict.changes) <= set(clamped.changes)
    assert all(change.clamped for change in set(clamped.changes) - set(strict.changes))
    assert not any(change.clamped for change in strict.changes)


@given(st.integers(1, 50), st.lists(st.integers(0, NOW_MS), min_size=1, max_size=8), st.integers(0, NOW_MS // 1000))
def test_a_time_that_is_not_refused_loses_no_record_that_was_there(start: int, times: list[int], seconds: int) -> None:
    log = Log(a=[(start, times)])
    plan = log.plan(f"-{seconds}s")
    at_ms = NOW_MS - seconds * 1000
    if plan.refusals:
        assert times[0] > at_ms, "the oldest record is younger than the time"
        return
    position = plan.changes[0].new
    assert all(each.timestamp_ms < at_ms for each in log.records["a", 0] if each.offset < position)
    if position < log.ranges["a", 0].end:
        assert log.records["a", 0][position - start].timestamp_ms >= at_ms
