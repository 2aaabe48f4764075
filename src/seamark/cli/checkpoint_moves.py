"""`seamark checkpoint set|reset`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from seamark.cli.checkpoint_access import Bootstrap, CommandConfig, Force, Location, SourceName, SparkConf, Wait
from seamark.cli.connection import Form, Output, Yes
from seamark.cli.exits import RefusedError
from seamark.cli.offsets import DryRun

if TYPE_CHECKING:
    from seamark.checkpoint.files import Files
    from seamark.checkpoint.planning import SourceChange
    from seamark.checkpoint.reading import Checkpoint, Source
    from seamark.config.positions import PositionRule

Clamp = Annotated[bool, typer.Option("--clamp", help="Go to the nearest record there is, if it is not there any more.")]
NoFence = Annotated[
    bool,
    typer.Option("--no-fence", help="Plan no empty batch, which makes a query fail that runs unnoticed."),
]
_STATE: Final = (
    "What it remembers (aggregates, joins, keys it has seen) stays as it is: records that are read again count twice "
    "or are dropped as duplicates or late, skipped ones are missing from it."
)


def set_positions(
    path: Location,
    to: Annotated[
        list[str],
        typer.Option(
            metavar="[TOPIC[:PARTITION]=]POSITION",
            help="earliest, latest, 2026-05-01T12:00:00Z, -2h, +100, -100, 42, orders:3=42; repeat it for more.",
        ),
    ],
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    source: SourceName = None,
    clamp: Clamp = False,
    force: Force = False,
    no_fence: NoFence = False,
    wait: Wait = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Form = Output.table,
    spark_conf: SparkConf = None,
) -> None:
    """Move a stopped query. Old and new positions are shown first; the old ones are kept for `restore`."""
    from seamark.config.positions import parse_rule, unambiguous

    rules = unambiguous(parse_rule(each) for each in to)
    what = f"set --to {' --to '.join(to)}"
    how = _How(bootstrap, command_config, source, clamp, force, not no_fence, wait, dry_run, yes, output, what)
    _move(path, lambda _sources: rules, how, spark_conf)


def reset(
    path: Location,
    only: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC[:PARTITION]", help="Only these. Default: all.")
    ] = None,
    initial: Annotated[
        bool, typer.Option("--initial", help="To where the query once began, not to the first records there are.")
    ] = False,
    bootstrap: Bootstrap = None,
    command_config: CommandConfig = None,
    source: SourceName = None,
    clamp: Clamp = False,
    force: Force = False,
    no_fence: NoFence = False,
    wait: Wait = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    output: Form = Output.table,
    spark_conf: SparkConf = None,
) -> None:
    """Move a stopped query back to the first records that are still there."""
    from seamark.checkpoint.planning import initial_rules
    from seamark.config.positions import Earliest, PositionRule, Selector, parse_selector

    if initial and only:
        raise RefusedError("Give --initial or --only, not both")
    selectors = [parse_selector(each) for each in only or ()] or [Selector()]
    to_earliest = [PositionRule(selector, Earliest()) for selector in dict.fromkeys(selectors)]
    what = "reset --initial" if initial else "reset"
    how = _How(bootstrap, command_config, source, clamp, force, not no_fence, wait, dry_run, yes, output, what)
    _move(path, partial(initial_rules, root=path) if initial else lambda _sources: to_earliest, how, spark_conf)


@dataclass(frozen=True, slots=True)
class _How:
    """What the options say of how to do it."""

    bootstrap: str | None
    command_config: Path | None
    source: str | None
    is_clamped: bool
    is_forced: bool
    is_fenced: bool
    wait_s: float | None
    is_dry: bool
    is_confirmed: bool
    output: Output
    what: str


def _move(
    path: str,
    rules_for: Callable[[Sequence[Source]], Sequence[PositionRule]],
    how: _How,
    spark_conf: list[str] | None,
) -> None:
    """Show what will be done, ask, and do it."""
    from seamark.checkpoint.changing import carry_out
    from seamark.checkpoint.moves import plan_files
    from seamark.checkpoint.planning import moved_by_source
    from seamark.cli.checkpoint_access import open_files, read_settled, refuse_stateful, require_stopped
    from seamark.cli.shown import confirm, note
    from seamark.cli.signals import undone_when_terminated

    with open_files(path, spark_conf) as files:
        checkpoint = read_settled(files, is_dry=how.is_dry)
        changes = _plan(path, checkpoint, rules_for, how)
        if not changes:
            note("Nothing to change: the query is there already.")
            _tell(path, checkpoint, (), None, how)
            return
        _preview(checkpoint, changes)
        if how.is_dry:
            if checkpoint.is_stateful:
                note(f"warning: the query is stateful. {_STATE}", "yellow")
            note("Nothing was changed: it is a dry run.")
            _tell(path, checkpoint, changes, None, how)
            return
        refuse_stateful(checkpoint, _STATE, is_forced=how.is_forced)
        require_stopped(files, checkpoint, how.wait_s)
        confirm(how.is_confirmed)
        planned = plan_files(
            checkpoint, moved_by_source(changes), now_ms=int(time.time() * 1000), is_fenced=how.is_fenced
        )
        with undone_when_terminated():
            backup = carry_out(files, checkpoint, planned, how.what)
        _tell(path, _reread(files), changes, backup.path, how)


def _plan(
    path: str,
    checkpoint: Checkpoint,
    rules_for: Callable[[Sequence[Source]], Sequence[PositionRule]],
    how: _How,
) -> list[SourceChange]:
    from seamark.checkpoint.logs import find_times, log_ranges
    from seamark.checkpoint.planning import choose_sources, plan_changes
    from seamark.cli.checkpoint_access import open_kafka

    sources = choose_sources(checkpoint, path, how.source)
    rules = rules_for(sources)
    with open_kafka(how.bootstrap, how.command_config) as admin:
        logs = log_ranges(admin, [where for each in sources for where in each.partitions])
        return plan_changes(
            sources,
            rules,
            logs,
            lambda wanted: find_times(admin, wanted),
            now_ms=int(time.time() * 1000),
            clamp=how.is_clamped,
        )


def _preview(checkpoint: Checkpoint, changes: Sequence[SourceChange]) -> None:
    from seamark.cli.checkpoint_views import change_rows
    from seamark.cli.shown import note, preview_table

    note(f"query {checkpoint.query_id}:")
    preview_table(*change_rows(changes, has_sources=len(checkpoint.sources) > 1))
    for each in changes:
        if each.change.clamped:
            note(f"  {each.change.topic}:{each.change.partition}: {each.change.clamped}")
    if checkpoint.unfinished is not None and not checkpoint.is_fenced:
        note(f"Batch {checkpoint.unfinished} is unfinished: it will be run without the records of what is moved.")


def _reread(files: Files) -> Checkpoint:
    from seamark.checkpoint.reading import read_checkpoint

    return read_checkpoint(files)


def _tell(path: str, checkpoint: Checkpoint, changes: Sequence[SourceChange], backup: str | None, how: _How) -> None:
    from seamark.cli.checkpoint_views import change_values
    from seamark.cli.shown import note, print_data

    if how.output not in (Output.table, Output.wide):
        content: dict[str, Any] = {
            "path": path,
            "query_id": checkpoint.query_id,
            "changes": change_values(changes),
            "unfinished_batch": checkpoint.unfinished,
            "backup": backup,
        }
        print_data(content, how.output)
        return
    if backup is None:
        return
    typer.echo(f"{len(changes)} {'partition' if len(changes) == 1 else 'partitions'} of {path} moved")
    if checkpoint.is_fenced:
        note(f"When the query starts, it runs batch {checkpoint.unfinished} without records, then goes on from there.")
    note(f"To undo it before the query runs: seamark checkpoint restore {path}")
