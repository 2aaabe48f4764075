"""`seamark mirror`: how far mirrors are, and moving clients from one cluster to the other and back."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seamark.cli.rest_client import DEFAULT_URL, RestClient, mirror_path

if TYPE_CHECKING:
    from rich.table import Table

Url = Annotated[str, typer.Option("--url", envvar="SEAMARK_URL", help="REST address of a worker that runs the flow.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before doing it.")]
Connectors = Annotated[list[str], typer.Argument(metavar="CONNECTOR...", help="MirrorSourceConnectors.")]
TimeoutS = Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait for each connector.")]


class Output(StrEnum):
    """Forms of output."""

    table = "table"
    json = "json"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(help="Mirrors: status, failover and failback.", no_args_is_help=True)
    commands.command()(status)
    commands.command()(failover)
    commands.command()(failback)
    app.add_typer(commands, name="mirror")


def status(
    connector: Annotated[str | None, typer.Argument(help="One MirrorSourceConnector in detail.")] = None,
    url: Url = DEFAULT_URL,
    output: Annotated[Output, typer.Option("-o", "--output", help="As a table for people, or JSON.")] = Output.table,
) -> None:
    """Show how far mirrors are: positions, lag in records and time, last offset syncs, groups that translate."""
    client = RestClient(url)
    try:
        found = client.get("/mirrors" if connector is None else mirror_path(connector))
    finally:
        client.close()
    if output is Output.json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif connector is None:
        _show_list(found)
    else:
        show_detail(found)


def failover(
    connectors: Connectors,
    url: Url = DEFAULT_URL,
    drain: Annotated[
        bool,
        typer.Option(help="Wait until everything is copied; --no-drain if the source cluster is away for good."),
    ] = True,
    timeout_s: TimeoutS = 600.0,
    yes: Yes = False,
) -> None:
    """Move clients to the target: drain and stop flows, bring consumer groups to their translated offsets."""
    from seamark.cli.mirror_failover import plan_failover
    from seamark.cli.mirror_steps import carry_out

    client = RestClient(url)
    try:
        plans = [plan_failover(client, name, is_drained=drain, timeout_s=timeout_s) for name in connectors]
        carry_out(plans, is_confirmed=yes)
    finally:
        client.close()


def failback(
    connectors: Connectors,
    url: Url = DEFAULT_URL,
    target_url: Annotated[
        str | None,
        typer.Option("--target-url", help="REST address of a worker that runs the reverse flow. Default: --url."),
    ] = None,
    timeout_s: TimeoutS = 120.0,
    yes: Yes = False,
) -> None:
    """Start the reverse of flows that were stopped, so that nothing is copied back to where it came from."""
    from seamark.cli.mirror_failback import plan_failback
    from seamark.cli.mirror_steps import carry_out

    client, other = RestClient(url), RestClient(target_url or url)
    try:
        carry_out([plan_failback(client, other, name, timeout_s=timeout_s) for name in connectors], is_confirmed=yes)
    finally:
        client.close()
        other.close()


# tables


def _show_list(rows: list[dict[str, Any]]) -> None:
    table = _table("CONNECTOR", "FLOW", "STATE", "TASKS", "TOPICS>", "PARTITIONS>", "LAG>", "AGE>")
    for row in rows:
        table.add_row(
            row["connector"],
            f"{row['source']}->{row['target']}",
            row["state"],
            _tasks(row),
            f"{row['topics']:,}",
            f"{row['partitions']:,}",
            _count(row["lag"]),
            _age(row["lag_ms"]),
        )
    _print(table if rows else "There is no MirrorSourceConnector.")
    for row in rows:
        if row["error"]:
            _print(f"\n{row['connector']}: {row['error']}")


def show_detail(found: dict[str, Any]) -> None:
    """Print a flow as `GET /mirrors/{connector}` describes it."""
    totals = found["totals"]
    _print(f"{found['connector']}  {found['source']}->{found['target']}  {found['state']}, tasks: {_tasks(found)}")
    _print(
        f"topics: {totals['topics']:,}, partitions: {totals['partitions']:,}, "
        f"records behind: {_count(totals['lag'])}, age: {_age(totals['lag_ms'])}"
    )
    if found["error"]:
        _print(f"error: {found['error']}")
    if found["partitions"]:
        table = _table("TOPIC", "PARTITION>", "COPY", "POSITION>", "END>", "LAG>", "AGE>", "LAST SYNC>")
        for row in found["partitions"]:
            sync = row["last_sync"]
            table.add_row(
                row["topic"],
                str(row["partition"]),
                row["remote_topic"],
                _count(row["position"]),
                _count(row["end"]),
                _count(row["lag"]),
                _age(row["lag_ms"]),
                "-" if sync is None else f"{sync['upstream']:,} -> {sync['downstream']:,}",
            )
        _print("")
        _print(table)
    for row in found["partitions"]:
        if row["problem"]:
            _print(f"{row['topic']}-{row['partition']}: {row['problem']}")
    if found["groups"]:
        table = _table("GROUP", "COPY", "PARTITION>", "UPSTREAM>", "DOWNSTREAM>")
        for group in found["groups"]:
            for row in group["partitions"]:
                table.add_row(
                    group["group"],
                    row["remote_topic"],
                    str(row["partition"]),
                    _count(row["upstream"]),
                    _count(row["downstream"]),
                )
        _print("")
        _print(table)


def _table(*headers: str) -> Table:
    """A table without lines; a ``>`` behind a header aligns its column to the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for header in headers:
        table.add_column(header.removesuffix(">"), justify="right" if header.endswith(">") else "left", no_wrap=True)
    return table


def _print(what: object) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, soft_wrap=True)
    if not console.is_terminal:  # a file or a pipe has no width that could cut columns
        console = Console(highlight=False, markup=False, soft_wrap=True, width=250)
    console.print(what)


def _tasks(flow: dict[str, Any]) -> str:
    if not flow["enabled"]:
        return "not enabled"
    return ", ".join(f"{count} {state}" for state, count in sorted(flow["tasks"].items())) or "none"


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _age(milliseconds: int | None) -> str:
    """Short, in the largest unit that says enough."""
    if milliseconds is None:
        return "-"
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{milliseconds} ms"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s"
