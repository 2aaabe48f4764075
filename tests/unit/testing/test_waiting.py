"""Waiting for conditions."""

from __future__ import annotations

import pytest

from seamark.testing.waiting import eventually


def test_returns_the_first_true_value() -> None:
    values = iter([0, None, [], "there", "later"])
    assert eventually(lambda: next(values), 5) == "there"


def test_an_exception_means_not_yet() -> None:
    outcomes = iter([OSError("away"), ValueError("odd"), None])

    def attempt() -> bool:
        outcome = next(outcomes)
        if outcome is not None:
            raise outcome
        return True

    assert eventually(attempt, 5) is True


def test_says_what_was_waited_for_and_seen_last() -> None:
    with pytest.raises(AssertionError, match=r"the lamp is on within 0 s; the last value was \[\]"):
        eventually(lambda: [], 0, "the lamp is on")
    with pytest.raises(AssertionError, match="it raised KeyError") as failed:
        eventually(lambda: {}["x"], 0)
    assert isinstance(failed.value.__cause__, KeyError)
