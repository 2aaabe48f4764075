"""`seamark logs level`: what a worker, or all of them, write to their logs."""

from __future__ import annotations

from typing import Annotated

import typer

from seamark.cli.connection import ContextName, Form, Output, Url, connect


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(help="Levels of workers' loggers.", no_args_is_help=True)
    commands.command()(level)
    # With a single command typer would leave its name away.
    commands.callback()(lambda: None)
    app.add_typer(commands, name="logs")


def level(
    logger: Annotated[str | None, typer.Argument(metavar="[LOGGER]", help="One logger; `root` for all.")] = None,
    wanted: Annotated[str | None, typer.Argument(metavar="[LEVEL]", help="DEBUG, INFO, WARN ...: set it.")] = None,
    cluster: Annotated[bool, typer.Option("--cluster", help="On all workers, not only the one that is asked.")] = False,
    output: Form = Output.table,
    url: Url = None,
    context: ContextName = None,
) -> None:
    """Show the levels of loggers, or set one."""
    from seamark.cli.shown import print_data, print_table
    from seamark.client import encode

    with connect(url, context) as client:
        if logger is not None and wanted is not None:
            if cluster:
                client.set_cluster_logger(logger, wanted)
                typer.echo(f"logger {logger} is {wanted.upper()} on all workers")
                return
            changed = client.set_logger(logger, wanted)
            typer.echo(f"logger {logger} is {wanted.upper()}; {len(changed)} loggers have changed")
            return
        found = client.loggers() if logger is None else {logger: client.logger(logger)}
    if output in (Output.json, Output.yaml):
        print_data(encode(found), output)
        return
    rows = [(name, each.level or "-", _time(each.last_modified)) for name, each in sorted(found.items())]
    print_table(("LOGGER", "LEVEL", "CHANGED"), rows, empty="No logger has a level of its own.")


def _time(timestamp_ms: int | None) -> str:
    from seamark.config.position_plans import show_time

    return "-" if timestamp_ms is None else show_time(timestamp_ms)
