"""`seamark watch`: a line for everything that changes about connectors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from seamark.cli.connection import ContextName, Url, connect
from seamark.cli.names import MaybeNames

if TYPE_CHECKING:
    import threading

    from seamark.client import ConnectClient, ConnectorStatus

_GONE: Final = "gone"

Interval = Annotated[float, typer.Option("--interval", min=0.1, metavar="SECONDS", help="How often to look.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(watch)


def watch(
    names: MaybeNames = None,
    until: Annotated[
        str | None, typer.Option(metavar="STATE", help="End when all of them are in this state, or `gone`.")
    ] = None,
    interval_s: Interval = 1.0,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="End then; an error with --until.")
    ] = None,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Print a line whenever a connector or a task changes its state, until Ctrl-C."""
    from seamark.cli.signals import run_until_told

    def run(stopping: threading.Event) -> None:
        with connect(url, context) as client:
            _watch(client, list(names or ()), until, interval_s, timeout_s, stopping)

    run_until_told(run)


def _watch(
    client: ConnectClient,
    names: Sequence[str],
    until: str | None,
    interval_s: float,
    timeout_s: float | None,
    stopping: threading.Event,
) -> None:
    from seamark.cli.names import resolve
    from seamark.client import StateNotReached

    wanted = None if until is None else until if until == _GONE else until.upper()
    if names and wanted != _GONE:
        resolve(client, names)
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    before: dict[str, str] = {}
    while True:
        now = look(client, names)
        for line in differences(before, now):
            typer.echo(f"{time.strftime('%H:%M:%S')}  {line}")
        before = now
        if wanted is not None and is_reached(now, wanted):
            return
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            if wanted is None:
                return
            raise StateNotReached(f"Not everything is {wanted} after {timeout_s:g} s")
        if stopping.wait(interval_s if left is None else min(interval_s, left)):
            return


def look(client: ConnectClient, names: Sequence[str]) -> dict[str, str]:
    """The state of each connector and task, and what is wrong with it."""
    from fnmatch import fnmatchcase

    found: dict[str, str] = {}
    for name, each in sorted(client.expanded(info=False).items()):
        if each.status is not None and (not names or any(name == n or fnmatchcase(name, n) for n in names)):
            found.update(_states(name, each.status))
    return found


def _states(name: str, status: ConnectorStatus) -> Iterator[tuple[str, str]]:
    from seamark.errors import cause_of

    yield name, status.connector.state + _because(cause_of(status.connector.trace or ""))
    for task in status.tasks:
        yield f"{name} task {task.id}", task.state + _because(cause_of(task.trace or ""))


def _because(cause: str) -> str:
    return f": {cause}" if cause else ""


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """A line for each that is new, has changed or is gone."""
    lines = []
    for what in dict.fromkeys((*before, *now)):
        old, new = before.get(what), now.get(what, _GONE)
        if old != new:
            lines.append(f"{what}  {new}" if old is None else f"{what}  {old.partition(':')[0]} -> {new}")
    return lines


def is_reached(now: Mapping[str, str], wanted: str) -> bool:
    """Whether all connectors and tasks are in a state; if it is STOPPED, tasks are gone."""
    if wanted == _GONE:
        return not now
    return bool(now) and all(state.partition(":")[0] == wanted for state in now.values())
