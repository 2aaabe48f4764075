"""`seamark apply` and `seamark validate`: connectors as files say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seamark.cli.connection import ContextName, Form, Output, TimeoutS, Url, Yes, connect
from seamark.cli.exits import REFUSED, RefusedError

if TYPE_CHECKING:
    from seamark.cli.resources import ResourceChange
    from seamark.client import ConnectClient
    from seamark.config.connector_files import ConnectorFile

Files = Annotated[
    list[str],
    typer.Option("-f", "--file", metavar="PATH", help="File or directory: JSON, YAML, properties; - for stdin."),
]
Recursive = Annotated[bool, typer.Option("-R", "--recursive", help="Directories with all that is below them.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(apply)
    app.command()(validate)


def apply(
    files: Files,
    recursive: Recursive = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show and validate what would be done.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until new and changed connectors run.")] = False,
    timeout_s: TimeoutS = 60.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Create and change connectors as files say. What would change is shown first, and nothing if one is invalid."""
    from seamark.cli.resources import read_resources
    from seamark.cli.shown import confirm, note

    resources = read_resources(files, is_recursive=recursive)
    with connect(url, context) as client:
        changes = _changes(client, resources)
        for change in changes:
            _show(change)
        needed = [change for change in changes if change.is_needed]
        _require_valid(client, [change.resource for change in needed])
        if dry_run:
            note("Nothing was changed: it is a dry run.")
            return
        if not needed:
            return
        confirm(yes)
        for change in needed:
            _carry_out(client, change)
        if wait:
            _await(client, needed, timeout_s)


def validate(
    files: Files,
    recursive: Recursive = False,
    output: Form = Output.table,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Let a worker check connectors in files, without creating them."""
    from seamark.cli.resources import read_resources
    from seamark.cli.shown import print_data, print_table

    resources = read_resources(files, is_recursive=recursive)
    with connect(url, context) as client:
        found = [(resource, _errors(client, resource)) for resource in resources]
    if output in (Output.json, Output.yaml):
        shown: list[dict[str, Any]] = [
            {"name": each.name, "file": each.path, "errors": [{"key": key, "message": text} for key, text in errors]}
            for each, errors in found
        ]
        print_data(shown, output)
    else:
        rows = [(each.name, key, text) for each, errors in found for key, text in errors]
        if rows:
            print_table(("CONNECTOR", "KEY", "ERROR"), rows, empty="")
        for each, errors in found:
            if not errors:
                typer.echo(f"connector {each.name} is valid")
    if any(errors for _, errors in found):
        raise typer.Exit(REFUSED)


def _changes(client: ConnectClient, resources: Sequence[ConnectorFile]) -> list[ResourceChange]:
    from seamark.cli.resources import change_of

    known = set(client.connectors())
    return [change_of(each, client.config(each.name) if each.name in known else None) for each in resources]


def _show(change: ResourceChange) -> None:
    from seamark.cli.shown import note

    name, state = change.resource.name, change.resource.initial_state
    if not change.is_needed:
        note(f"connector {name} is unchanged")
        return
    note(f"{'create' if change.is_new else 'change'} connector {name} ({change.resource.path})")
    for line in change.lines:
        note(f"  {line}", "green" if line.startswith("+") else "red")
    if state is not None:
        is_new = change.is_new
        note(f"  initial_state: {_state(change.resource)}" + ("" if is_new else " (for new connectors only: ignored)"))


def _state(resource: ConnectorFile) -> str | None:
    from seamark.config.connector_files import INITIAL_STATES

    return next((word for word, state in INITIAL_STATES.items() if state is resource.initial_state), None)


def _errors(client: ConnectClient, resource: ConnectorFile) -> list[tuple[str, str]]:
    from seamark.cli.resources import wanted_config

    class_name = resource.config.get("connector.class")
    if not class_name:
        return [("connector.class", 'Missing required configuration "connector.class" which has no default value.')]
    errors = client.validate(class_name, wanted_config(resource)).errors
    return list(dict.fromkeys(errors))


def _require_valid(client: ConnectClient, resources: Sequence[ConnectorFile]) -> None:
    lines = [
        f"{each.path}: connector {each.name}: {key}: {text}"
        for each in resources
        for key, text in _errors(client, each)
    ]
    if lines:
        count = f"{len(lines)} error" + ("s" if len(lines) > 1 else "")
        raise RefusedError("\n".join([f"The configuration is invalid, with {count}; nothing was changed", *lines]))


def _carry_out(client: ConnectClient, change: ResourceChange) -> None:
    from seamark.cli.resources import wanted_config

    resource = change.resource
    if change.is_new:
        client.create(resource.name, wanted_config(resource), _state(resource))
    else:
        client.put_config(resource.name, wanted_config(resource))
    typer.echo(f"connector {resource.name} is {'created' if change.is_new else 'changed'}")


def _await(client: ConnectClient, changes: Sequence[ResourceChange], timeout_s: float) -> None:
    from seamark.cli.shown import waiting

    for change in changes:
        name, state = change.resource.name, _state(change.resource) if change.is_new else None
        if state is None and not change.is_new:
            state = client.status(name).connector.state
            state = state if state in ("PAUSED", "STOPPED") else "RUNNING"
        with waiting(f"waiting until {name} is {state or 'RUNNING'}"):
            client.await_state(name, state or "RUNNING", timeout_s)
        typer.echo(f"connector {name} is {state or 'RUNNING'}")
