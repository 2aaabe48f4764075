"""`seamark mirror`: what is decided without a worker."""

from __future__ import annotations

from typing import Any

import pytest

from seamark.cli.mirror import _age, show_detail
from seamark.cli.mirror_failover import _is_synced, _require_drainable
from seamark.cli.mirror_steps import Plan, Step, carry_out
from seamark.cli.rest_client import CommandError


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "-"),
        (0, "0 ms"),
        (999, "999 ms"),
        (1500, "1.5 s"),
        (119_000, "119.0 s"),
        (120_000, "2 min"),
        (7_200_000, "2 h"),
        (200_000_000, "2 d"),
    ],
)
def test_ages(milliseconds: int | None, text: str) -> None:
    assert _age(milliseconds) == text


def view(state: str = "RUNNING", lag: int | None = 0, failed: int = 0, **more: Any) -> dict[str, Any]:
    tasks = {"FAILED": failed} if failed else {}
    totals = {"topics": 1, "partitions": 1, "lag": lag, "lag_ms": 0}
    return {
        "connector": "m",
        "source": "a",
        "target": "b",
        "state": state,
        "enabled": True,
        "tasks": tasks,
        "totals": totals,
        "error": None if lag is not None else "away",
        "partitions": [],
        "groups": [],
        **more,
    }


def test_a_flow_without_lag_may_be_in_any_state() -> None:
    for state in ("RUNNING", "STOPPED", "PAUSED", "FAILED"):
        _require_drainable(view(state))
    _require_drainable(view(lag=5))


@pytest.mark.parametrize("found", [view("PAUSED", 5), view(lag=5, failed=1), view(lag=None)])
def test_a_flow_that_will_not_drain_is_refused(found: dict[str, Any]) -> None:
    with pytest.raises(CommandError) as caught:
        _require_drainable(found)
    assert "--no-drain" in (caught.value.hint or "")


def partition(position: int | None, upstream: int | None) -> dict[str, Any]:
    return {"position": position, "last_sync": None if upstream is None else {"upstream": upstream, "downstream": 0}}


@pytest.mark.parametrize(
    ("rows", "is_synced"),
    [
        ([], True),
        ([partition(5, 4), partition(0, None)], True),
        ([partition(5, 4), partition(5, 3)], False),
        ([partition(5, 4), partition(5, None)], False),
        ([partition(5, None)], True),  # the flow writes no offset syncs
    ],
)
def test_whether_last_syncs_are_told(rows: list[dict[str, Any]], is_synced: bool) -> None:
    assert _is_synced(view(partitions=rows)) is is_synced


def test_details_of_a_flow_whose_source_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    show_detail(view(lag=None))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "topics: 1, partitions: 1, records behind: -, age: 0 ms",
        "error: away",
    ]


def test_a_step_that_fails_ends_it_and_says_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(say: object) -> str:
        raise CommandError("broken", "mend it")

    def never(say: object) -> str:
        raise AssertionError

    plan = Plan("title", [Step("first", lambda say: "one\ntwo"), Step("second", fail), Step("third", never)])
    with pytest.raises(CommandError) as caught:
        carry_out([plan], is_confirmed=True)
    assert caught.value.message == "Step 2 of 3 failed: broken The steps before it are done."
    assert caught.value.hint == "mend it"
    assert "     two" in capsys.readouterr().out
