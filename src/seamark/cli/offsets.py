"""`seamark offsets list|set|reset|export|import`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seamark.cli import offset_operations
from seamark.cli.connection import ContextName, Form, Output, TimeoutS, Url, Yes, connect
from seamark.cli.exits import RefusedError
from seamark.cli.names import Name

if TYPE_CHECKING:
    from seamark.client import ConnectClient, ConnectorOffset

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Stop = Annotated[bool, typer.Option("--stop", help="Stop it for the change, and let it go on after as it did before.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(help="Where connectors are: list, set, reset, export and import.", no_args_is_help=True)
    commands.command("list")(list_offsets)
    commands.command("set")(set_offsets)
    commands.command("reset")(reset)
    commands.command("export")(export)
    commands.command("import")(import_offsets)
    offset_operations.add_to(commands)
    app.add_typer(commands, name="offsets")


def list_offsets(name: Name, output: Form = Output.table, url: Url = None, context: ContextName = None) -> None:
    """Show where a connector is; with Seamark how far behind, too."""
    from seamark.cli.names import resolve
    from seamark.cli.offset_views import behind, offset_table
    from seamark.cli.shown import print_data, print_table
    from seamark.client import encode

    with connect(url, context) as client:
        resolve(client, [name])
        offsets = client.offsets(name)
        is_table = output in (Output.table, Output.wide)
        known = behind(client, name) if is_table and offsets else {}
    if is_table:
        print_table(*offset_table(offsets, known), empty=f"Connector {name} has no offsets.")
    else:
        print_data({"offsets": encode(offsets)}, output)


def set_offsets(
    name: Name,
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[TOPIC[:PARTITION]=]POSITION",
            help="42, +100, -100, orders:3=42; with Seamark also earliest, latest, -2h or a time, and for mirrors.",
        ),
    ] = None,
    partition: Annotated[
        list[str] | None, typer.Option(metavar="JSON", help="For sources: the partition; with --offset.")
    ] = None,
    offset: Annotated[list[str] | None, typer.Option(metavar="JSON", help="For sources: its offset, or null.")] = None,
    clamp: offset_operations.Clamp = False,
    reason: offset_operations.Reason = None,
    stop: Stop = False,
    dry_run: DryRun = False,
    timeout_s: TimeoutS = 60.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Move a stopped connector. Old and new offsets are shown first."""
    from seamark.cli.names import resolve
    from seamark.cli.offset_changes import parse_object, plan_sink_offsets, without_unchanged
    from seamark.client import ConnectorOffset
    from seamark.config.positions import parse_rule, unambiguous

    rules = unambiguous(parse_rule(each) for each in to or ())
    if len(partition or ()) != len(offset or ()):
        raise RefusedError("Give one --offset for each --partition")
    exact = [
        ConnectorOffset(
            parse_object(where, "--partition"), None if what.strip() == "null" else parse_object(what, "--offset")
        )
        for where, what in zip(partition or (), offset or (), strict=True)
    ]
    if bool(rules) == bool(exact):
        raise RefusedError("Say where to go: --to POSITION for sinks, or --partition and --offset for sources")
    with connect(url, context) as client:
        resolve(client, [name])
        if offset_operations.has_operations(client) and rules:
            body = {"positions": offset_operations.positions_of(to or ()), **({"clamp": True} if clamp else {})}
            if not stop and not dry_run:
                _require_stopped(client, name)
            offset_operations.change_in_one_step(
                client, [name], body, reason, is_dry=dry_run, is_confirmed=yes, timeout_s=timeout_s
            )
            return
        if clamp:
            offset_operations.require_operations(client)
        _change(
            client,
            name,
            lambda current: without_unchanged(exact or plan_sink_offsets(rules, current), current),
            lambda changed: client.alter_offsets(name, changed),
            _How(stop, dry_run, yes, timeout_s),
        )


def reset(
    name: Name,
    only: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC[:PARTITION]", help="For sinks: only these. Default: all.")
    ] = None,
    stop: Stop = False,
    dry_run: DryRun = False,
    timeout_s: TimeoutS = 60.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Forget where a stopped connector is: it starts anew, as its configuration says."""
    from seamark.cli.names import resolve
    from seamark.cli.offset_changes import select_partitions, to_reset
    from seamark.config.positions import parse_selector

    selectors = [parse_selector(each) for each in only or ()]
    with connect(url, context) as client:
        resolve(client, [name])
        _change(
            client,
            name,
            lambda current: select_partitions(selectors, current) if selectors else to_reset((), current),
            lambda changed: client.alter_offsets(name, changed) if selectors else client.reset_offsets(name),
            _How(stop, dry_run, yes, timeout_s),
        )


def export(
    name: Name,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Where to write it. Default: stdout.")] = None,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Write the offsets of a connector as JSON, for `seamark offsets import` or the REST API."""
    from seamark.cli.names import resolve
    from seamark.cli.offset_changes import EXPORT_VERSION
    from seamark.cli.shown import note
    from seamark.client import encode
    from seamark.formats import VERSION

    with connect(url, context) as client:
        resolve(client, [name])
        content = {
            VERSION: EXPORT_VERSION,
            "connector": name,
            "kafka_cluster_id": client.server_info().kafka_cluster_id,
            "exported_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "offsets": encode(client.offsets(name)),
        }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    if file is None:
        typer.echo(text, nl=False)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RefusedError(f"{file} cannot be written: {error.strerror}") from error
    note(f"{len(content['offsets'])} offsets of {name} are in {file}")


def import_offsets(
    name: Name,
    file: Annotated[str, typer.Option("-f", "--file", metavar="FILE", help="What was exported; - for stdin.")],
    replace: Annotated[bool, typer.Option("--replace", help="Reset partitions that the file does not have.")] = False,
    stop: Stop = False,
    dry_run: DryRun = False,
    timeout_s: TimeoutS = 60.0,
    yes: Yes = False,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Bring a stopped connector to offsets that were exported, of itself or of another one."""
    from seamark.cli.names import resolve
    from seamark.cli.offset_changes import parse_export, to_reset, without_unchanged

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RefusedError(f"{file} cannot be read: {error}") from error
    wanted = parse_export(text, file)
    with connect(url, context) as client:
        resolve(client, [name])
        _change(
            client,
            name,
            lambda current: without_unchanged([*wanted, *(to_reset(wanted, current) if replace else ())], current),
            lambda changed: client.alter_offsets(name, changed),
            _How(stop, dry_run, yes, timeout_s),
        )


# steps of all changes


@dataclass(frozen=True, slots=True)
class _How:
    """What the options say of how to do it."""

    is_stopped_for_it: bool
    is_dry: bool
    is_confirmed: bool
    timeout_s: float


def _change(
    client: ConnectClient,
    name: str,
    plan: Callable[[list[ConnectorOffset]], list[ConnectorOffset]],
    carry_out: Callable[[list[ConnectorOffset]], str],
    how: _How,
) -> None:
    """Show what will be done, ask, and do it; if wanted, with the connector stopped for it."""
    from seamark.cli.shown import confirm, note
    from seamark.cli.signals import undone_when_terminated

    current = client.offsets(name)
    changed = plan(current)
    if not changed:
        note(f"Nothing to change: connector {name} is there already.")
        return
    _show(name, current, changed)
    if how.is_dry:
        note("Nothing was changed: it is a dry run.")
        return
    state = client.status(name).connector.state if how.is_stopped_for_it else _require_stopped(client, name)
    confirm(how.is_confirmed)
    if state == "STOPPED":
        typer.echo(carry_out(changed))
        return
    with undone_when_terminated(), _stopped(client, name, state, how.timeout_s):
        now = client.offsets(name)
        if now != current:  # it has gone on meanwhile, and a shift begins where it is
            changed = plan(now)
            _show(name, now, changed)
        typer.echo(carry_out(changed))


def _require_stopped(client: ConnectClient, name: str) -> str:
    """Its state, which is STOPPED. Raises RefusedError."""
    state = client.status(name).connector.state
    if state != "STOPPED":
        raise RefusedError(
            f"Connector {name} is {state}; its offsets can change only while it is STOPPED",
            f"Run `seamark stop {name}` first, or add --stop to stop it for as long as the change takes.",
        )
    return state


def _show(name: str, current: Sequence[ConnectorOffset], changed: Sequence[ConnectorOffset]) -> None:
    from seamark.cli.offset_views import change_table
    from seamark.cli.shown import note, preview_table

    note(f"connector {name}:")
    preview_table(*change_table(current, changed))


@contextmanager
def _stopped(client: ConnectClient, name: str, before: str, timeout_s: float) -> Iterator[None]:
    """Stop a connector for as long as it takes. Whatever happens, it is said if it is left stopped."""
    from seamark.cli.shown import note, waiting
    from seamark.errors import ConnectError

    client.stop(name)
    try:
        with waiting(f"waiting until {name} is STOPPED"):
            client.await_state(name, "STOPPED", timeout_s)
        yield
    finally:
        try:
            (client.pause if before == "PAUSED" else client.resume)(name)
            note(f"connector {name} goes on: it was {before}")
        except ConnectError:
            note(f"connector {name} is left STOPPED: it was {before}; run `seamark resume {name}`")
            raise
