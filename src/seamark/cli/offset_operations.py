"""`seamark offsets rewind|history|undo`, `seamark migrate` and `seamark operations`: for Seamark's own workers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from seamark.cli.connection import ContextName, Form, Output, TimeoutS, Url, Yes, connect
from seamark.cli.exits import FAILED, RefusedError, UnsupportedError
from seamark.cli.names import Name, complete_names
from seamark.cli.rest_client import CommandError

if TYPE_CHECKING:
    from seamark.client import ConnectClient, OffsetMove, OffsetOperation

CHANGE: Final = ("POST", "/connectors/{connector}/offsets/change")
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why; it is kept in the history.")]
Clamp = Annotated[bool, typer.Option("--clamp", help="Go to the nearest record that there is, instead of refusing.")]
_LOOK_S: Final = 0.2


class OperationFailedError(CommandError):
    """An operation did not end well."""

    exit_code = FAILED


def register(app: typer.Typer) -> None:
    """Add the commands; those of `seamark offsets` are added there."""
    app.command()(migrate)
    app.command("operations")(list_operations)


def add_to(commands: typer.Typer) -> None:
    """Add the commands below `seamark offsets`."""
    # -2h is no option, but looks like one.
    commands.command(context_settings={"ignore_unknown_options": True})(rewind)
    commands.command()(history)
    commands.command()(undo)


def rewind(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The connector, or a pattern as 'orders-*' for several.",
            autocompletion=complete_names,
            show_default=False,
        ),
    ],
    to: Annotated[
        list[str],
        typer.Argument(
            metavar="[TOPIC[:PARTITION]=]POSITION...",
            help="earliest, latest, a time, -2h, +100, -100, 42; before = what it is for.",
        ),
    ],
    clamp: Clamp = False,
    reason: Reason = None,
    dry_run: DryRun = False,
    timeout_s: TimeoutS = 120.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Move a connector in one step: it is stopped, moved, and goes on as before, whatever happens to this command."""
    from seamark.cli.names import resolve

    with connect(url, context) as client:
        require_operations(client)
        names = resolve(client, [name])
        body = {"positions": positions_of(to), **({"clamp": True} if clamp else {})}
        change_in_one_step(client, names, body, reason, is_dry=dry_run, is_confirmed=yes, timeout_s=timeout_s)


def history(name: Name, output: Form = Output.table, url: Url = None, context: ContextName = None) -> None:
    """Show the changes of a connector's offsets: when, who, why, and what came of them."""
    from seamark.cli.shown import print_data, print_table
    from seamark.client import encode

    with connect(url, context) as client:
        require_operations(client)
        found = client.offset_history(name)
    if output in (Output.json, Output.yaml):
        print_data({"history": encode(found)}, output)
        return
    print_table(*_operation_table(found, output), empty=f"The offsets of connector {name} were never changed.")


def undo(
    name: Name,
    entry: Annotated[str | None, typer.Argument(metavar="[ENTRY]", help="Back to before it; the last one.")] = None,
    reason: Reason = None,
    timeout_s: TimeoutS = 120.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Take a connector back to where it was before a change of its offsets, in one step."""
    from seamark.cli.names import resolve
    from seamark.cli.shown import confirm, note

    with connect(url, context) as client:
        require_operations(client)
        resolve(client, [name])
        known = [each for each in client.offset_history(name) if each.is_done and each.changes]
        chosen = known[0] if known and entry is None else next((each for each in known if each.id == entry), None)
        if chosen is None:
            what = "There is no change to undo" if entry is None else f"There is no change {entry!r} to undo"
            raise RefusedError(what, f"See `seamark offsets history {name}`.")
        later = known[: known.index(chosen) + 1]
        note(f"connector {name}: back to before {chosen.id} of {chosen.created}")
        if len(later) > 1:
            note(f"  with it, {len(later) - 1} later changes are undone")
        _show_moves([_reversed(move) for move in chosen.changes or ()])
        confirm(yes)
        follow(client, client.undo_offsets(name, chosen.id, reason), timeout_s)


def migrate(
    name: Name,
    to_name: Annotated[str | None, typer.Option("--name", help="Its new name.")] = None,
    to_url: Annotated[str | None, typer.Option("--to-url", help="The worker that it moves to.")] = None,
    config: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A key that changes; KEY= removes it.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the old one stopped instead of deleting it.")] = False,
    reason: Reason = None,
    timeout_s: TimeoutS = 120.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Give a connector another name, or move it to another worker, with its offsets: nothing is lost or doubled."""
    from seamark.cli.names import resolve
    from seamark.cli.shown import confirm, note

    changed: dict[str, str | None] = {}
    for each in config or ():
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            raise RefusedError(f"--set {each!r} should be KEY=VALUE, or KEY= to remove the key")
        changed[key.strip()] = value or None
    if to_name is None and to_url is None:
        raise RefusedError("Say where to: --name NEW-NAME, --to-url http://other-worker:8083, or both")
    where: dict[str, Any] = {"name": to_name, "url": to_url, "config": changed or None, "keep": keep or None}
    with connect(url, context) as client:
        require_operations(client)
        resolve(client, [name])
        note(f"connector {name} becomes {to_name or name}" + (f" at {to_url}" if to_url else ""))
        note("  it is stopped, created anew with its offsets and started; " + _end_of_old(name, keep))
        confirm(yes)
        sent = {key: value for key, value in where.items() if value is not None}
        follow(client, client.migrate(name, sent, reason), timeout_s)


def _end_of_old(name: str, is_kept: bool) -> str:
    return f"{name} is left stopped" if is_kept else f"{name} is deleted then"


def list_operations(
    operation: Annotated[str | None, typer.Argument(metavar="[ID]", help="One of them.")] = None,
    output: Form = Output.table,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Show operations on offsets: those under way, and how others ended."""
    from seamark.cli.shown import print_data, print_table
    from seamark.client import encode

    with connect(url, context) as client:
        require_operations(client)
        found = client.operations() if operation is None else [client.operation(operation)]
    if output in (Output.json, Output.yaml):
        print_data(encode(found if operation is None else found[0]), output)
        return
    print_table(*_operation_table(found, output), empty="There are no operations.")
    if operation is not None:
        for text in (found[0].message, found[0].error):
            if text:
                typer.echo(text)


# steps of all of them


def require_operations(client: ConnectClient) -> None:
    """Raises UnsupportedError unless the worker has operations."""
    if not has_operations(client):
        raise UnsupportedError(
            f"The worker at {client.url} has no operations on offsets",
            "Kafka Connect's own workers lack them: use `seamark offsets set --stop`, `export` and `import` there.",
        )


def has_operations(client: ConnectClient) -> bool:
    """Whether the worker is one of Seamark's that has them."""
    return client.capabilities().has(*CHANGE)


def positions_of(rules: Sequence[str]) -> Any:
    """``TOPIC=POSITION`` and the like as JSON has it. Raises PositionError."""
    from seamark.config.positions import parse_rule, unambiguous

    return {str(rule.selector): str(rule.position) for rule in unambiguous(parse_rule(each) for each in rules)}


def change_in_one_step(
    client: ConnectClient,
    names: Sequence[str],
    body: dict[str, Any],
    reason: str | None,
    *,
    is_dry: bool,
    is_confirmed: bool,
    timeout_s: float,
) -> None:
    """Show what will be done to each, ask once, have it done by the worker, and follow it.

    A connector that cannot be moved so refuses all of them before anything is done. After that each is on its own.

    Raises:
        OperationFailedError: of some it did not end well.
    """
    from seamark.cli.shown import confirm, note

    wanted = []
    for shown in [client.preview_change(name, body) for name in names]:
        moves = [move for move in shown.changes if move.before != move.after]
        if not moves:
            note(f"Nothing to change: connector {shown.connector} is there already.")
            continue
        note(f"connector {shown.connector} ({shown.state}):")
        _show_moves(moves)
        wanted.append(shown.connector)
    if is_dry and wanted:
        note("Nothing was changed: it is a dry run.")
    if is_dry or not wanted:
        return
    confirm(is_confirmed)
    begun = [client.change_offsets(name, body, reason) for name in wanted]
    failed: list[OperationFailedError] = []
    for operation in begun:
        try:
            follow(client, operation, timeout_s)
        except OperationFailedError as error:
            if len(begun) == 1:
                raise
            note(f"connector {operation.connector}: {error}")
            failed.append(error)
    if failed:
        raise OperationFailedError(f"{len(failed)} of {len(begun)} connectors could not be moved; see above")


def follow(client: ConnectClient, operation: OffsetOperation, timeout_s: float) -> None:
    """Show each step of an operation until it ends.

    Raises:
        OperationFailedError: it did not end well.
    """
    from seamark.cli.shown import note, waiting
    from seamark.client import StateNotReached

    deadline, shown = time.monotonic() + timeout_s, 0
    note(f"operation {operation.id} of connector {operation.connector}")
    while True:
        for step in operation.steps[shown:]:
            note(f"  {step.phase}")
        shown = len(operation.steps)
        if operation.finished:
            break
        if time.monotonic() > deadline:
            raise StateNotReached(
                f"Operation {operation.id} is still {operation.phase} after {timeout_s:g} s; it goes on. "
                f"`seamark operations {operation.id}` shows how it ends."
            )
        with waiting(f"{operation.connector}: {operation.phase}"):
            time.sleep(_LOOK_S)
            operation = client.operation(operation.id)
    if not operation.is_done:
        text = " ".join(part for part in (operation.error, operation.message) if part)
        raise OperationFailedError(f"{operation.phase}: {text}")
    typer.echo(operation.message or "done")


def _show_moves(moves: Sequence[OffsetMove]) -> None:
    from seamark.cli.offset_views import change_table
    from seamark.cli.shown import note, preview_table
    from seamark.client import ConnectorOffset

    before = [ConnectorOffset(move.partition, move.before) for move in moves]
    after = [ConnectorOffset(move.partition, move.after) for move in moves]
    preview_table(*change_table(before, after))
    for text in dict.fromkeys(move.clamped for move in moves if move.clamped):
        note(f"  {text}")


def _reversed(move: OffsetMove) -> OffsetMove:
    from seamark.client import OffsetMove

    return OffsetMove(move.partition, move.after, move.before)


def _operation_table(found: Sequence[OffsetOperation], output: Output) -> tuple[list[str], list[list[str]]]:
    headers = ["ID", "CONNECTOR", "KIND", "PHASE", "CREATED", "WHO", "PARTITIONS>", "REASON"]
    rows = [
        [
            each.id,
            each.connector,
            each.kind,
            each.phase,
            each.created.partition(".")[0] + "Z",
            each.who or "-",
            "-" if each.changes is None else str(len(each.changes)),
            each.reason or "-",
        ]
        for each in found
    ]
    if output is Output.wide:
        headers.append("RESULT")
        for row, each in zip(rows, found, strict=True):
            row.append(each.error or each.message or "-")
    return headers, rows
