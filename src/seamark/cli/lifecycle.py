"""`seamark pause|resume|stop|restart|delete`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from seamark.cli.connection import ContextName, TimeoutS, Url, Yes, connect
from seamark.cli.names import Names

if TYPE_CHECKING:
    from seamark.client import ConnectClient

Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is so.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (pause, resume, stop, restart, delete):
        app.command()(command)


def pause(
    names: Names,
    wait: Wait = True,
    timeout_s: TimeoutS = 60.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Pause connectors: their tasks keep what they have, and do nothing."""
    with connect(url, context) as client:
        _change(client, names, "pause", client.pause, "PAUSED", wait, timeout_s, yes)


def resume(
    names: Names,
    wait: Wait = True,
    timeout_s: TimeoutS = 60.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Let connectors go on that are paused or stopped."""
    with connect(url, context) as client:
        _change(client, names, "resume", client.resume, "RUNNING", wait, timeout_s, yes)


def stop(
    names: Names,
    wait: Wait = True,
    timeout_s: TimeoutS = 60.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Stop connectors: no task is left, offsets may be changed."""
    with connect(url, context) as client:
        _change(client, names, "stop", client.stop, "STOPPED", wait, timeout_s, yes)


def restart(
    names: Names,
    tasks: Annotated[bool, typer.Option("--tasks/--no-tasks", help="Restart tasks, too.")] = True,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Only what has failed.")] = False,
    task: Annotated[int | None, typer.Option(min=0, metavar="NUMBER", help="This task alone.")] = None,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Restart connectors and their tasks."""
    with connect(url, context) as client:
        for name in _chosen(client, names, "restart", yes):
            if task is not None:
                client.restart_task(name, task)
                typer.echo(f"task {name}-{task} is restarted")
                continue
            status = client.restart(name, include_tasks=tasks, only_failed=only_failed)
            again = [task for task in status.tasks if task.state == "RESTARTING"] if status else []
            is_whole = status is None or status.connector.state == "RESTARTING"
            parts = [
                *(["it"] if is_whole else []),
                *([f"{len(again)} of {len(status.tasks)} tasks"] if status and again else []),
            ]
            typer.echo(f"connector {name}: " + (f"restarting {' and '.join(parts)}" if parts else "nothing to restart"))


def delete(
    names: Names,
    include_offsets: Annotated[
        bool, typer.Option("--include-offsets", help="Reset their offsets, too; with Seamark's workers.")
    ] = False,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Delete connectors; their offsets stay, for a connector of the same name, unless they are included."""
    from seamark.cli.names import resolve
    from seamark.cli.offset_operations import require_operations
    from seamark.cli.shown import confirm

    with connect(url, context) as client:
        if include_offsets:
            # A worker that does not know the option would leave them, and not say so.
            require_operations(client)
        chosen = resolve(client, names)
        _preview(client, chosen, "delete, with its offsets," if include_offsets else "delete")
        confirm(yes)
        for name in chosen:
            client.delete(name, include_offsets=include_offsets)
            typer.echo(f"connector {name} is deleted" + (" with its offsets" if include_offsets else ""))


def _chosen(client: ConnectClient, names: Sequence[str], verb: str, is_confirmed: bool) -> list[str]:
    """The connectors; a pattern is shown with what it stands for, and asked about."""
    from seamark.cli.names import is_pattern, resolve
    from seamark.cli.shown import confirm

    chosen = resolve(client, names)
    if any(is_pattern(name) and name not in chosen for name in names):
        _preview(client, chosen, verb)
        confirm(is_confirmed)
    return chosen


def _preview(client: ConnectClient, chosen: Sequence[str], verb: str) -> None:
    from seamark.cli.shown import note

    found = client.expanded(info=False)
    for name in chosen:
        status = found[name].status if name in found else None
        note(f"{verb} {name}" + (f" ({status.connector.state})" if status else ""))


def _change(
    client: ConnectClient,
    names: Sequence[str],
    verb: str,
    change: Callable[[str], None],
    state: str,
    is_awaited: bool,
    timeout_s: float,
    is_confirmed: bool,
) -> None:
    from seamark.cli.shown import waiting

    chosen = _chosen(client, names, verb, is_confirmed)
    for name in chosen:
        change(name)
    for name in chosen:
        if is_awaited:
            with waiting(f"waiting until {name} is {state}"):
                client.await_state(name, state, timeout_s)
            typer.echo(f"connector {name} is {state}")
        else:
            typer.echo(f"connector {name} shall be {state}")
