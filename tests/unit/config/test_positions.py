"""Positions as users write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.config.positions import (
    MAX_OFFSET,
    AtOffset,
    AtTime,
    BeforeNow,
    Earliest,
    Latest,
    Position,
    PositionError,
    PositionRule,
    Selector,
    Shift,
    parse_position,
    parse_rule,
    parse_rules,
    parse_selector,
    unambiguous,
)

NOON_MS = 1_777_636_800_000  # 2026-05-01T12:00:00Z


@pytest.mark.parametrize(
    ("written", "position"),
    [
        ("earliest", Earliest()),
        (" LATEST ", Latest()),
        ("42", AtOffset(42)),
        (42, AtOffset(42)),
        (0, AtOffset(0)),
        ("007", AtOffset(7)),
        ("+5", Shift(5)),
        ("-5", Shift(-5)),
        ("-0", Shift(0)),
        (str(MAX_OFFSET), AtOffset(MAX_OFFSET)),
        ("2026-05-01T12:00:00Z", AtTime(NOON_MS, "2026-05-01T12:00:00Z")),
        ("2026-05-01T14:00:00.5+02:00", AtTime(NOON_MS + 500, "2026-05-01T14:00:00.5+02:00")),
        ("-2h", BeforeNow(7_200_000, "-2h")),
        ("-30m", BeforeNow(1_800_000, "-30m")),
        ("-1d12h", BeforeNow(129_600_000, "-1d12h")),
        ("-10s", BeforeNow(10_000, "-10s")),
        ("-1w", BeforeNow(604_800_000, "-1w")),
    ],
)
def test_positions(written: object, position: Position) -> None:
    assert parse_position(written) == position


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("", "''"),
        ("soon", "'soon'"),
        ("2h", "'2h'"),
        ("-2x", "'-2x'"),
        ("- 2h", "'- 2h'"),
        ("-2H", "'-2H'"),
        ("-1.5h", "'-1.5h'"),
        ("1.0", "'1.0'"),
        ("1_000", "'1_000'"),
        ("٤", "'٤'"),
        ("2026-05-01", "2026-05-01"),
        ("2026-05-01T12:00:00", "no RFC 3339 time"),
        ("2026-13-01T12:00:00Z", "month must be in 1..12"),
        (None, "None"),
        (True, "True"),
        (1.5, "1.5"),
        ([], r"\[\]"),
    ],
)
def test_what_is_no_position_is_answered_with_what_is(written: object, words: str) -> None:
    with pytest.raises(PositionError, match=words) as caught:
        parse_position(written)
    for valid in ("'earliest'", "'latest'", "2026-05-01T12:00:00Z", "-2h", "+100", "42"):
        assert valid in str(caught.value)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (-5, 'with its sign: "-5"'),
        ("+2h", "in the future. A time before now begins with a minus: -2h"),
        (str(MAX_OFFSET + 1), "too large"),
        ("9" * 5000, "too large"),
        ("-" + "9" * 5000, "too large"),
        ("-" + "9" * 5000 + "w", "too large"),
        (2**63, "too large"),
    ],
)
def test_slips_are_explained(written: object, words: str) -> None:
    with pytest.raises(PositionError, match=words) as caught:
        parse_position(written)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("-2h", PositionRule(Selector(), BeforeNow(7_200_000, "-2h"))),
        ("orders=earliest", PositionRule(Selector("orders"), Earliest())),
        ("a.b-c_d:3=+5", PositionRule(Selector("a.b-c_d", 3), Shift(5))),
        ("*=7", PositionRule(Selector(), AtOffset(7))),
        (
            "orders:0=2026-05-01T12:00:00Z",
            PositionRule(Selector("orders", 0), AtTime(NOON_MS, "2026-05-01T12:00:00Z")),
        ),
    ],
)
def test_rules(written: str, rule: PositionRule) -> None:
    assert parse_rule(written) == rule
    assert parse_rule(str(rule)) == rule


@pytest.mark.parametrize(
    "written", ["", "a b", "a/b", "..", "a:", "a:x", "a:-1", "a:1:2", "ü", "x" * 250, "a:2147483648"]
)
def test_what_selects_nothing_is_answered_with_what_would(written: str) -> None:
    with pytest.raises(PositionError, match="Valid"):
        parse_selector(written)


def test_rules_of_a_body() -> None:
    assert parse_rules("latest") == (PositionRule(Selector(), Latest()),)
    assert parse_rules({"*": "latest", "a": 3, "a:1": "-1"}) == (
        PositionRule(Selector(), Latest()),
        PositionRule(Selector("a"), AtOffset(3)),
        PositionRule(Selector("a", 1), Shift(-1)),
    )
    for nothing in ({}, [], None):
        with pytest.raises(PositionError):
            parse_rules(nothing)


def test_two_positions_for_the_same_are_refused() -> None:
    with pytest.raises(PositionError, match="a:1 is given two positions: 3 and 4"):
        parse_rules({"a:1": 3, "a:01": 4})
    assert len(unambiguous([parse_rule("a=3"), parse_rule("a=3")])) == 1


@given(st.text())
def test_any_text_is_a_position_or_refused(text: str) -> None:
    try:
        position = parse_position(text)
    except PositionError:
        return
    assert parse_position(str(position)) == position


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from("smhdw")), min_size=1, max_size=4),
    st.integers(0, 2**45),
)
def test_times_before_now_add_up(parts: list[tuple[int, str]], now_ms: int) -> None:
    seconds = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
    position = parse_position("-" + "".join(f"{number}{unit}" for number, unit in parts))
    assert isinstance(position, BeforeNow)
    assert now_ms - position.at_ms(now_ms) == 1000 * sum(number * seconds[unit] for number, unit in parts)
