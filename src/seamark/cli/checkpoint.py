"""`seamark checkpoint show|set|reset|restore|import`."""

from __future__ import annotations

import time

import typer

from seamark.cli.checkpoint_access import Bootstrap, CommandConfig, Location, SourceName, SparkConf, Wait
from seamark.cli.connection import Form, Output, Yes
from seamark.cli.offsets import DryRun


def register(app: typer.Typer) -> None:
    """Add the commands."""
    from seamark.cli.checkpoint_import import import_positions
    from seamark.cli.checkpoint_moves import reset, set_positions

    commands = typer.Typer(
        help="Where Spark's own streaming queries are: show, set, reset, restore and import their checkpoints.",
        no_args_is_help=True,
    )
    commands.command("show")(show)
    commands.command("set")(set_positions)
    commands.command("reset")(reset)
    commands.command("restore")(restore)
    commands.command("import")(import_positions)
    app.add_typer(commands, name="checkpoint")


def show(
    path: Location,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    source: SourceName = None,
    output: Form = Output.table,
    spark_conf: SparkConf = None,
) -> None:
    """Show where a query's Kafka sources are; with a Kafka how far behind, too."""
    from seamark.checkpoint.activity import last_change_ms
    from seamark.checkpoint.logs import log_ranges
    from seamark.checkpoint.planning import choose_sources
    from seamark.checkpoint.reading import read_checkpoint
    from seamark.cli.checkpoint_access import open_files, open_kafka
    from seamark.cli.checkpoint_views import checkpoint_value, position_table, tell_about
    from seamark.cli.shown import note, print_data, print_table

    with open_files(path, spark_conf) as files:
        checkpoint = read_checkpoint(files)
        changed_ms = last_change_ms(files)
    chosen = choose_sources(checkpoint, path, source) if source or checkpoint.kafka_sources else ()
    logs = None
    if bootstrap is not None or command_config is not None:
        with open_kafka(bootstrap, command_config) as admin:
            logs = log_ranges(admin, [where for each in chosen for where in each.partitions])
    problem = None
    if checkpoint.guard is not None:
        problem = f"a change is under way or was interrupted: run `seamark checkpoint restore {path}`"
    if output not in (Output.table, Output.wide):
        print_data(checkpoint_value(path, checkpoint, logs, changed_ms, problem), output)
        return
    print_table(
        *position_table(checkpoint, chosen, logs),
        empty="It has no positions of Kafka: the query has not begun to read.",
    )
    tell_about(checkpoint, changed_ms, int(time.time() * 1000))
    if problem:
        note(f"warning: {problem}", "yellow")


def restore(
    path: Location,
    dry_run: DryRun = False,
    yes: Yes = False,
    force: bool = typer.Option(False, "--force", help="Also undo a change that another machine may have under way."),
    wait: Wait = None,
    output: Form = Output.table,
    spark_conf: SparkConf = None,
) -> None:
    """Undo the last change, or one that was interrupted, if the query has not run since."""
    from seamark.checkpoint.changing import last_change, put_right, undo
    from seamark.checkpoint.reading import read_checkpoint, read_guard
    from seamark.cli.checkpoint_access import open_files, require_stopped
    from seamark.cli.shown import confirm, note, print_data
    from seamark.cli.signals import undone_when_terminated

    with open_files(path, spark_conf) as files:
        if read_guard(files) is not None:
            if dry_run:
                note("A change was interrupted: it would be undone.")
                return
            undone = put_right(files, is_forced=force)
        else:
            checkpoint = read_checkpoint(files)
            undone = last_change(files, checkpoint)
            note(f"To undo: {undone.what}, at {undone.made_at}")
            if dry_run:
                note("Nothing was changed: it is a dry run.")
                return
            require_stopped(files, checkpoint, wait)
            confirm(yes)
            with undone_when_terminated():
                undo(files, checkpoint, undone)
        if undone is None:
            return
        if output in (Output.table, Output.wide):
            typer.echo(f"{path} is as it was before {undone.made_at} ({undone.what})")
        else:
            print_data({"path": path, "undone": undone.what, "made_at": undone.made_at}, output)
