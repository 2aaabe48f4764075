"""`seamark describe`: all about one connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import typer

from seamark.cli.connection import ContextName, Form, Output, Url, connect
from seamark.cli.names import Name

if TYPE_CHECKING:
    from seamark.cli.offset_views import Behind
    from seamark.client import ConnectClient, ConnectorProgress

_INDENT: Final = "  "


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(describe)


def describe(
    name: Name,
    output: Form = Output.table,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Show all about a connector: state, failures, configuration, topics, offsets, and with Seamark its lag."""
    from seamark.cli.get import without_nulls
    from seamark.cli.names import resolve
    from seamark.cli.offset_views import behind
    from seamark.cli.shown import print_data
    from seamark.client import Forbidden, NotFound, encode

    with connect(url, context) as client:
        resolve(client, [name])
        info = client.connector(name)
        try:
            status = client.status(name)
        except NotFound:  # it was only just created
            status = None
        try:
            topics = sorted(client.topics(name))
        except Forbidden:  # the worker does not track them
            topics = []
        offsets = client.offsets(name)
        progress = progress_of(client, name)
        known = behind(client, name) if offsets else {}
    if output in (Output.json, Output.yaml):
        found = {
            "name": name,
            "type": info.type,
            "config": dict(info.config),
            "status": without_nulls(encode(status)),
            "topics": topics,
            "offsets": encode(offsets),
            "progress": encode(progress),
        }
        print_data(found, output)
        return
    typer.echo(f"Name:    {name}")
    typer.echo(f"Type:    {info.type}")
    typer.echo(f"State:   {status.connector.state if status else 'not known yet'}")
    if status:
        typer.echo(f"Worker:  {status.connector.worker_id}")
        if status.auto_restart:
            again = status.auto_restart.next_at or "-"
            typer.echo(f"Restart: attempt {status.auto_restart.attempts}, next at {again}")
        _trace(status.connector.trace)
        typer.echo("Tasks:" + ("" if status.tasks else "   none"))
        for task in status.tasks:
            typer.echo(f"{_INDENT}{task.id}  {task.state}  {task.worker_id}")
            _trace(task.trace)
    _section("Config", [f"{key} = {value}" for key, value in sorted(info.config.items())])
    _section("Topics", topics)
    _offsets(offsets, known)


def progress_of(client: ConnectClient, name: str) -> ConnectorProgress | None:
    """Lag and rates; None if the worker does not know them or cannot say."""
    from seamark.client import ClientError

    if not client.capabilities().has("GET", "/connectors/{connector}/progress"):
        return None
    try:
        return client.progress(name)
    except ClientError:  # it moves to another worker, or is gone
        return None


def _section(title: str, lines: Sequence[str]) -> None:
    typer.echo(f"{title}:" + ("" if lines else "  none"))
    for line in lines:
        typer.echo(_INDENT + line)


def _trace(trace: str | None) -> None:
    for line in (trace or "").strip().splitlines():
        typer.echo(f"{_INDENT}{_INDENT}{line}")


def _offsets(offsets: Sequence[Any], known: Mapping[str, Behind]) -> None:
    from seamark.cli.offset_views import offset_table
    from seamark.cli.shown import print_table

    typer.echo("Offsets:" + ("" if offsets else "  none"))
    if offsets:
        print_table(*offset_table(offsets, known), empty="")
