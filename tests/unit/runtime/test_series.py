"""Rings of figures: what is known of which step, and how much memory that takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.runtime.series import MEASURES, STEP_MS, STEP_S, STEPS, Ring, SeriesBook, Sums


def test_a_ring_has_the_last_hour() -> None:
    ring = Ring(1000)
    for step in range(1000, 1000 + STEPS + 5):
        ring.put(step, {"records_per_second": step})
    assert ring.values("records_per_second", 3) == [1362, 1363, 1364]
    found = ring.points(10_000)
    assert len(found) == STEPS
    assert found[0]["records_per_second"] == 1005
    assert found[-1]["at"] == (1364 + 1) * STEP_MS


def test_what_was_never_measured_takes_no_memory_and_has_a_default() -> None:
    ring = Ring(5)
    for step in (5, 6):
        ring.put(step, {"records_per_second": 0.0, "lag": None, "batch_ms": None, "errors": 0.0})
    assert ring.size == 0
    assert ring.points(2)[1] == {
        "at": 7 * STEP_MS,
        "records_per_second": 0.0,
        "bytes_per_second": 0.0,
        "lag": None,
        "batch_ms": None,
        "commit_ms": None,
        "errors": 0.0,
    }
    ring.put(7, {"lag": 3})
    assert ring.values("lag", 4) == [None, None, None, 3]
    assert ring.size == 8 * STEPS


def test_steps_that_were_missed_are_unknown() -> None:
    ring = Ring(0)
    ring.put(0, {"records_per_second": 1.0})
    ring.put(3, {"records_per_second": 4.0})
    ring.put(2, {"records_per_second": 9.0})  # the clock was set back
    assert ring.values("records_per_second", 5) == [None, 1.0, None, None, 4.0]
    assert ring.values("errors", 4) == [0.0, None, None, None]


@given(st.lists(st.integers(1, 2 * STEPS), min_size=1, max_size=30))
def test_a_ring_shows_what_was_put_and_nothing_else(gaps: list[int]) -> None:
    ring, step, put = Ring(0), -1, {}
    for gap in gaps:
        step += gap
        put[step] = float(step % 1000)
        ring.put(step, {"lag": put[step]})
    found = ring.values("lag", STEPS)
    assert found == [put.get(each) for each in range(step - STEPS + 1, step + 1)]


def test_rates_and_times_are_those_of_the_step() -> None:
    book = SeriesBook()
    book.take(100.0, {"c": Sums(records=50)}, {})  # what it did before is of no known time
    book.take(110.0, {"c": Sums(150, 2000, 4, 40.0, 2, 10.0, 3)}, {"c": 7})
    first, second = book.points("c", 10)
    assert first["records_per_second"] == 0
    assert second == {
        "at": 110_000,
        "records_per_second": 10.0,
        "bytes_per_second": 200.0,
        "lag": 7.0,
        "batch_ms": 10.0,
        "commit_ms": 5.0,
        "errors": 3.0,
    }
    assert book.recent("c", 3) == ([None, 0.0, 10.0], [None, None, 7.0])
    assert book.recent("unknown", 2) == ([None, None], [None, None])


def test_a_step_is_written_once() -> None:
    book = SeriesBook()
    assert book.is_due(105.0)
    book.take(105.0, {"c": Sums()}, {})
    assert not book.is_due(109.9)
    assert book.is_due(110.0)


def test_the_rate_of_now_is_that_since_the_last_step_once_that_says_enough() -> None:
    book = SeriesBook()
    book.take(100.0, {"c": Sums()}, {})
    book.take(110.0, {"c": Sums(records=100)}, {})
    assert book.rate("c", Sums(records=100), 111.0) == 10.0
    assert book.rate("c", Sums(records=400), 115.0) == 60.0
    assert book.rate("unknown", Sums(), 115.0) == 0.0


def test_connectors_that_are_gone_are_forgotten() -> None:
    book = SeriesBook()
    book.take(100.0, {"a": Sums(), "b": Sums()}, {})
    book.take(110.0, {"b": Sums()}, {})
    assert book.points("a", 5) == []
    assert len(book.points("b", 5)) == 2


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_thousand_connectors_stay_small(is_busy: bool) -> None:
    book = SeriesBook()
    names = [f"c{number}" for number in range(1000)]
    for step in range(3):
        done = Sums(*[step * 10] * len(MEASURES), 0) if is_busy else Sums()
        book.take(100.0 + step * STEP_S, dict.fromkeys(names, done), dict.fromkeys(names, 5) if is_busy else {})
    assert book.size < (20_000_000 if is_busy else 1)
