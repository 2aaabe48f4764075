"""Actions on several connectors at once: what each would do is told before, what came of each afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from seamark.client import AsyncConnectClient, ClientError, OverviewConnector
from seamark.web.overview_rows import health_of

AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Action:
    """Something that can be done to a connector.

    Attributes:
        label: of its button.
        doing: what is being done, as in "3 connectors are being paused".
        role: that doing it takes.
        warning: what to know before.
        is_danger: whether it cannot be undone.
        skips: why it does nothing for a connector, None if it does something.
        do: does it.
    """

    label: str
    doing: str
    role: str
    warning: str
    skips: Callable[[OverviewConnector], str | None]
    do: Callable[[AsyncConnectClient, str], Awaitable[Any]]
    is_danger: bool = False


def _unless(*states: str) -> Callable[[OverviewConnector], str | None]:
    return lambda each: f"{each.state} already" if each.state in states else None


def _unless_failed(each: OverviewConnector) -> str | None:
    return None if health_of(each) == "FAILED" else "not failed"


ACTIONS: Final = (
    Action(
        "Restart failed",
        "restarted",
        "operator",
        "What has failed of them is started again; tasks that run are left alone.",
        _unless_failed,
        lambda client, name: client.restart(name, include_tasks=True, only_failed=True),
    ),
    Action(
        "Resume",
        "resumed",
        "operator",
        "They go on where they were.",
        _unless("RUNNING"),
        lambda client, name: client.resume(name),
    ),
    Action(
        "Pause",
        "paused",
        "operator",
        "They stop copying and keep their tasks and positions.",
        _unless("PAUSED", "STOPPED"),
        lambda client, name: client.pause(name),
    ),
    Action(
        "Stop",
        "stopped",
        "operator",
        "They stop copying and give their tasks up; positions stay and can be changed.",
        _unless("STOPPED"),
        lambda client, name: client.stop(name),
    ),
    Action(
        "Delete",
        "deleted",
        "editor",
        "Their configurations are removed. Positions stay in Kafka, under their names.",
        lambda each: None,
        lambda client, name: client.delete(name),
        is_danger=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Preview:
    """Which connectors an action would change, and why not the others."""

    changed: list[str]
    skipped: list[tuple[str, str]]


def preview(action: Action, chosen: Sequence[OverviewConnector]) -> Preview:
    """What an action would do."""
    reasons = [(each.name, action.skips(each)) for each in chosen]
    return Preview(
        [name for name, reason in reasons if reason is None],
        [(name, reason) for name, reason in reasons if reason is not None],
    )


async def apply(
    action: Action, client: AsyncConnectClient, names: Sequence[str], tell: Callable[[int], None]
) -> dict[str, ClientError]:
    """Do it, several at once; errors by name. `tell` hears how many are done."""
    failed: dict[str, ClientError] = {}
    turn = asyncio.Semaphore(AT_ONCE)
    done = 0

    async def one(name: str) -> None:
        nonlocal done
        async with turn:
            try:
                await action.do(client, name)
            except ClientError as error:
                failed[name] = error
            done += 1
            tell(done)

    await asyncio.gather(*(one(name) for name in names))
    return failed
