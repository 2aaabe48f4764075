"""The checker finds what it is there to find: each promise is broken once, on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from chaos.checker import check
from chaos.evidence import Evidence, SinkLine, Written
from chaos.history import Event, Outcome
from chaos.lines import length, line, number_of

NAME = "source0"
SINK = "sink0"


def written(numbers: Sequence[int], at: float = 0.0, owner: str = "w0.1") -> list[Written]:
    """Records a hundredth of a second apart."""
    return [Written(number, at + place / 100, owner) for place, number in enumerate(numbers)]


def event(
    what: str, began: float, ended: float, outcome: Outcome = Outcome.DONE, who: str = NAME, **more: Any
) -> Event:
    return Event(who, what, began, ended, outcome, more)


def alter(to: int, began: float, ended: float, outcome: Outcome = Outcome.DONE, **more: Any) -> Event:
    return event("alter", began, ended, outcome, to=to, **more)


def source(records: list[Written], events: Sequence[Event] = (), fed: int | None = None, **more: Any) -> set[str]:
    """The promises that are broken by a source that wrote these records."""
    last = records[-1].number + 1 if records else 0
    evidence = Evidence(
        fed={NAME: last if fed is None else fed},
        written={NAME: records},
        runners={NAME: ["a:1", "b:1"]},
        workers={"a:1": 0, "b:1": 1},
        states={NAME: {}},
        **more,
    )
    return {finding.promise for finding in check(events, evidence) if finding.violations}


def sink(numbers: Sequence[int | None], events: Sequence[Event] = (), fed: int | None = None) -> set[str]:
    """The promises that are broken by a sink that wrote these lines, ten bytes each."""
    lines = [SinkLine(number, place * 10) for place, number in enumerate(numbers)]
    last = max((number for number in numbers if number is not None), default=-1) + 1
    evidence = Evidence(fed={SINK: last if fed is None else fed}, lines={SINK: lines}, states={SINK: {}})
    mine = [Event(SINK, each.what, each.began, each.ended, each.outcome, each.details) for each in events]
    return {finding.promise for finding in check(mine, evidence) if finding.violations}


def test_lines_have_one_length_and_a_number() -> None:
    assert number_of(line("s0", 17)) == 17
    assert length("s0") == len(line("s0", 3)) + 1
    assert number_of(b"half a li") is None


def test_nothing_is_found_where_all_is_well() -> None:
    assert source(written(range(10))) == set()
    moved = [*written(range(5)), *written(range(2, 9), at=10)]
    assert source(moved, [alter(2, 5, 6), event("resume", 7, 8)]) == set()
    assert sink([0, 1, 2, 3]) == set()


@pytest.mark.parametrize(
    ("numbers", "fed", "broken"),
    [
        ([0, 1, 3, 4], None, "lost"),
        ([0, 1, 2], 4, "lost"),
        ([0, 1, 1, 2], None, "twice"),
        ([0, 1, 2, 0, 1, 2, 3], None, "twice"),
        ([0, -1, 0], 1, "order"),
    ],
)
def test_records_that_are_lost_repeated_or_foreign(numbers: list[int], fed: int | None, broken: str) -> None:
    assert broken in source(written(numbers), fed=fed)


def test_a_change_without_effect() -> None:
    stays = [*written(range(5)), *written(range(5, 9), at=10)]
    assert source(stays, [alter(2, 5, 6), event("resume", 7, 8)]) == {"moved"}


def test_a_change_of_unknown_outcome_may_have_happened_or_not() -> None:
    stays = [*written(range(5)), *written(range(5, 9), at=10)]
    moves = [*written(range(5)), *written(range(2, 9), at=10)]
    neither = [*written(range(5)), *written(range(3, 9), at=10)]
    events = [alter(2, 5, 6, Outcome.UNKNOWN), event("resume", 7, 8)]
    assert source(stays, events) == set()
    assert source(moves, events) == set()
    assert source(neither, events) == {"twice"}


def test_a_change_that_comes_true_only_after_the_connector_runs_again() -> None:
    late = [*written(range(5)), *written(range(5, 9), at=10), *written(range(2, 9), at=20)]
    assert source(late, [alter(2, 5, 6, Outcome.UNKNOWN), event("resume", 7, 8)]) == {"twice"}


def test_a_refused_change_must_not_happen() -> None:
    moves = [*written(range(5)), *written(range(2, 9), at=10)]
    assert source(moves, [alter(2, 5, 6, Outcome.REFUSED), event("resume", 7, 8)]) == {"twice"}


def test_records_between_a_change_and_the_resume() -> None:
    early = [*written(range(5)), *written(range(2, 9), at=6.5)]
    assert source(early, [alter(2, 5, 6), event("resume", 7, 8)]) == {"quiet"}


def test_records_while_stopped_is_shown() -> None:
    late = [*written(range(5)), *written(range(5, 9), at=6.5)]
    assert source(late, [event("stopped", 5, 6), event("resume", 7, 8)]) == {"stopped"}


def test_offsets_that_are_not_those_that_were_set() -> None:
    answer = {"offsets": [{"partition": {}, "offset": {"position": 4 * length(NAME)}}]}
    moves = [*written(range(5)), *written(range(2, 9), at=10)]
    events = [alter(2, 5, 6), event("offsets", 6.1, 6.2, answer=answer), event("resume", 7, 8)]
    assert source(moves, events) == {"read"}


def test_offsets_that_move_by_themselves() -> None:
    def sample(number: int, at: float) -> Event:
        answer = {"offsets": [{"partition": {}, "offset": {"position": number * length(NAME)}}]}
        return event("sample", at, at, who="observer", of=NAME, answer=answer)

    assert source(written(range(10)), [sample(3, 1), sample(5, 2)]) == set()
    assert source(written(range(10)), [sample(5, 1), sample(3, 2)]) == {"offsets"}
    moves = [*written(range(5)), *written(range(2, 9), at=10)]
    assert source(moves, [sample(5, 1), alter(2, 5, 6), sample(2, 6.5), event("resume", 7, 8)]) == set()


def test_two_owners() -> None:
    handed_over = [*written(range(5)), *written(range(5, 9), at=10, owner="w1.1")]
    assert source(handed_over) == set()
    back = [*handed_over, *written(range(9, 12), at=20, owner="w0.1")]
    assert source(back) == {"owner"}


def test_sinks_may_repeat_but_not_leave_out() -> None:
    assert sink([0, 1, 2, 1, 2, 3]) == set()
    assert sink([0, 1, None, 2, 3]) == set()
    assert sink([0, 1, 3]) == {"sink"}
    assert sink([0, 1, 2], fed=5) == {"sink"}


def test_sinks_go_on_where_they_were_put() -> None:
    moved = alter(7, 5, 6, size=30)
    assert sink([0, 1, 2, 7, 8], [moved]) == set()
    assert sink([0, 1, 2, 3, 4], [moved]) == {"sink-moved"}
    assert sink([0, 1, 2, 6, 7], [moved]) == {"sink-moved"}
    maybe = alter(7, 5, 6, Outcome.UNKNOWN, size=30)
    assert sink([0, 1, 2, 3, 4], [maybe]) == set()
    assert sink([0, 1, 2, 7, 8], [maybe]) == set()
    assert sink([0, 1, 2, 5, 6], [maybe]) == {"sink-moved"}


def test_requests_without_effect() -> None:
    configured = event("configure", 1, 2, config={"a": "2"})
    assert source(written(range(3)), [configured], configs={NAME: {"name": NAME, "a": "2"}}) == set()
    assert source(written(range(3)), [configured], configs={NAME: {"name": NAME, "a": "1"}}) == {"effect"}
    assert source(written(range(3)), [event("stopped", 1, 2, Outcome.UNKNOWN)]) == {"effect"}


def test_workers_that_end() -> None:
    assert source(written(range(3)), [event("worker-ended", 1, 1, who="faults", tail="Killed")]) == {"alive"}
