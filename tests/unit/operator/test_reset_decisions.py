from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seamark.client import ConnectorOffset
from seamark.config.position_plans import LogRange, TimedOffset
from seamark.operator import reset_plans, reset_states
from seamark.operator.passes import delay_after
from seamark.operator.reset_offsets import MirrorOffsets, SinkOffsets
from seamark.operator.reset_plans import Logs, Move, ResetRefusedError
from seamark.operator.reset_states import ACQUIRED, REF_MAPPED, STARTED, STEPS, STOPPED, SUCCEEDED, UPDATED

HOUR = 3_600_000


def text(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def statuses(conditions: list[dict[str, str]]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in conditions}


def test_six_conditions_begin_unknown_and_known_ones_stay() -> None:
    begun = reset_states.initialised([], "t1")
    assert statuses(begun) == dict.fromkeys([*STEPS, SUCCEEDED], "Unknown")
    assert [each["type"] for each in begun] == sorted([*STEPS, SUCCEEDED])
    later = reset_states.marked_true(begun, REF_MAPPED, "t2")
    again = reset_states.initialised(later, "t3")
    assert again == later


def test_succeeded_follows_from_the_steps() -> None:
    known = reset_states.initialised([], "t")
    for step in STEPS:
        assert statuses(known)[SUCCEEDED] == "Unknown"
        known = reset_states.marked_true(known, step, "t")
    assert statuses(known) == dict.fromkeys([*STEPS, SUCCEEDED], "True")


def test_a_failure_is_copied_and_goes_with_its_cause() -> None:
    known = reset_states.marked_true(reset_states.initialised([], "t1"), REF_MAPPED, "t1")
    failed = reset_states.marked_false(known, ACQUIRED, "no answer", "t2")
    by = {each["type"]: each for each in failed}
    assert by[ACQUIRED]["reason"] == by[SUCCEEDED]["reason"] == "FailedToAcquireDataPlaneServices"
    assert by[ACQUIRED]["message"] == by[SUCCEEDED]["message"]
    assert by[STOPPED]["status"] == "Unknown"
    assert by[REF_MAPPED]["lastTransitionTime"] == "t1"
    assert reset_states.marked_false(failed, ACQUIRED, "no answer", "t3") == failed
    healed = reset_states.marked_true(failed, ACQUIRED, "t4")
    assert statuses(healed)[SUCCEEDED] == "Unknown"
    assert "reason" not in {each["type"]: each for each in healed}[SUCCEEDED]


def test_another_failure_stays_in_view() -> None:
    known = reset_states.initialised([], "t1")
    known = reset_states.marked_false(known, UPDATED, "ink", "t2")
    known = reset_states.marked_true(known, STOPPED, "t3")
    assert {each["type"]: each for each in known}[SUCCEEDED]["reason"] == "FailedToUpdateOffsets"
    assert reset_states.event_message(STARTED, "x") == "failed to restart one or more ConsumerGroups: x"


def test_what_a_reset_holds() -> None:
    held = {"namespace": "ns", "cluster": "c", "connector": "sink", "state": "RUNNING", "started": False}
    resource = {"status": {"consumers": [held], "conditions": []}}
    assert reset_states.holds(resource, "ns", "sink", "http://w")
    assert not reset_states.holds(resource, "other", "sink", "http://w")
    assert not reset_states.holds({"status": {"consumers": [{**held, "started": True}]}}, "ns", "sink", "http://w")
    assert not reset_states.holds({}, "ns", "sink", "http://w")


def test_a_connector_is_held_on_its_worker_whoever_owns_it() -> None:
    held = {"namespace": "ns", "connector": "sink", "state": "RUNNING", "started": False, "url": "http://w"}
    resource = {"status": {"consumers": [held], "conditions": []}}
    assert reset_states.holds(resource, "other", "sink", "http://w")
    assert not reset_states.holds(resource, "other", "sink", "http://elsewhere")
    assert not reset_states.holds(resource, "other", "another", "http://w")
    assert [each.entry() for each in reset_states.held(resource["status"])] == [{**held, "cluster": ""}]


LOGS = Logs(
    {("t", 0): LogRange(0, 3), ("t", 1): LogRange(0, 2), ("t", 2): LogRange(4, 4)},
    {("t", 0): TimedOffset(0, 5 * HOUR), ("t", 1): TimedOffset(0, 8 * HOUR), ("t", 2): None},
    {("t", 0): TimedOffset(1, 7 * HOUR), ("t", 1): TimedOffset(0, 8 * HOUR), ("t", 2): None},
)


def test_ends_of_the_log() -> None:
    assert [move.new for move in reset_plans.plan("earliest", LOGS, {})] == [0, 0, 4]
    assert [move.new for move in reset_plans.plan("latest", LOGS, {("t", 0): 1})] == [3, 2, 4]
    with pytest.raises(ResetRefusedError):
        reset_plans.plan("latest", Logs({}), {})


def test_a_time_within_the_window() -> None:
    moves = reset_plans.plan(text(6 * HOUR), LOGS, {("t", 0): 3})
    assert moves == [Move("t", 0, 3, 1), Move("t", 1, None, 0), Move("t", 2, None, 4)]
    assert [move.entry(reset_plans.BEGINNING)["oldOffset"] for move in moves] == [3, -2, -2]
    assert reset_plans.moves_of([move.entry(reset_plans.END) for move in moves]) == moves


def test_a_time_before_everything_is_refused() -> None:
    with pytest.raises(ResetRefusedError, match="outside the retention window"):
        reset_plans.plan(text(5 * HOUR - 1), LOGS, {})
    reset_plans.plan(text(5 * HOUR), LOGS, {})


def test_a_time_before_what_a_partition_still_has_is_refused() -> None:
    logs = Logs(
        {**LOGS.ranges, ("t", 1): LogRange(7, 9)},
        {**LOGS.first, ("t", 1): TimedOffset(7, 8 * HOUR)},
        {**LOGS.at, ("t", 1): TimedOffset(7, 8 * HOUR)},
    )
    with pytest.raises(ResetRefusedError, match="t:1 is offset 7"):
        reset_plans.plan(text(6 * HOUR), logs, {})


def test_topics_have_windows_of_their_own() -> None:
    logs = Logs(
        {("a", 0): LogRange(0, 1), ("b", 0): LogRange(0, 1)},
        {("a", 0): TimedOffset(0, HOUR), ("b", 0): TimedOffset(0, 5 * HOUR)},
        {("a", 0): None, ("b", 0): TimedOffset(0, 5 * HOUR)},
    )
    with pytest.raises(ResetRefusedError, match="topic b"):
        reset_plans.plan(text(2 * HOUR), logs, {})


def test_the_future_is_judged_by_when_the_resource_was_made() -> None:
    created = "2026-05-01T12:00:00Z"
    reset_plans.require_past("2026-05-01T12:00:00.900Z", created)  # fractions are cut off by the API server
    reset_plans.require_past("latest", created)
    with pytest.raises(ResetRefusedError, match="future"):
        reset_plans.require_past("2026-05-01T12:00:01Z", created)
    with pytest.raises(ResetRefusedError, match="future"):
        reset_plans.require_past("2026-05-01T13:00:02+01:00", created)


@pytest.mark.parametrize(
    "value", ["Latest", "", "2026-05-01", "2026-05-01T12:00:00", "2026-05-01t12:00:00z", "2026-02-30T00:00:00Z", "12"]
)
def test_other_times_are_refused(value: str) -> None:
    with pytest.raises(ResetRefusedError, match="invalid value"):
        reset_plans.parse_time(value)


def test_times_are_cut_to_milliseconds() -> None:
    assert reset_plans.parse_time("1970-01-01T00:00:01.9999999Z") == 1999
    assert reset_plans.parse_time("1970-01-01T02:00:00+01:00") == HOUR


def test_offsets_of_sinks_are_next_to_read() -> None:
    forms = SinkOffsets({"consumer.override.auto.offset.reset": "latest"})
    row = ConnectorOffset({"kafka_topic": "t", "kafka_partition": 1}, {"kafka_offset": 5})
    assert forms.read([row]) == {("t", 1): 5}
    assert forms.write(("t", 1), 5) == row
    assert forms.write(("t", 1), None).offset is None
    assert forms.beginning == reset_plans.END


def test_offsets_of_mirrors_are_those_of_the_last_copied_record() -> None:
    forms = MirrorOffsets({"source.cluster.alias": "a"})
    row = ConnectorOffset({"cluster": "a", "topic": "t", "partition": 1}, {"offset": 5})
    other = ConnectorOffset({"cluster": "b", "topic": "t", "partition": 1}, {"offset": 7})
    assert forms.read([row, other]) == {("t", 1): 6}
    assert forms.write(("t", 1), 6) == row
    assert forms.write(("t", 1), 0).offset is None
    assert forms.is_at(None, 0)
    assert not forms.is_at(1, 0)
    forms.check([Move("t", 0, 4, 0)])
    late = MirrorOffsets({"source.cluster.alias": "a", "source.consumer.auto.offset.reset": "latest"})
    with pytest.raises(ResetRefusedError, match="t:0"):
        late.check([Move("t", 0, 4, 0)])


def test_delays_grow_to_a_limit() -> None:
    assert [delay_after(n, 0.5, 1000) for n in (1, 2, 3, 12, 13, 10_000)] == [0.5, 1, 2, 1000, 1000, 1000]
