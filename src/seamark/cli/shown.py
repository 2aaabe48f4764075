"""Output for people and for programs: tables, JSON and YAML. Data goes to stdout, all else to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import typer

from seamark.cli.connection import Output
from seamark.cli.rest_client import CommandError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDE: Final = 10_000
_COLOURS: Final = {
    "RUNNING": "green",
    "FAILED": "bold red",
    "PAUSED": "yellow",
    "STOPPED": "dim",
    "UNASSIGNED": "cyan",
    "RESTARTING": "cyan",
}


def console() -> Console:
    """Stdout; without colours and of any width if it is no terminal."""
    from rich.console import Console

    made = Console(highlight=False, markup=False, soft_wrap=True)
    # A file or a pipe has no width that could cut columns.
    return made if made.is_terminal else Console(highlight=False, markup=False, soft_wrap=True, width=_WIDE)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table without lines; a ``>`` behind a header aligns its column to the right."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for header in headers:
        made.add_column(header.removesuffix(">"), justify="right" if header.endswith(">") else "left", no_wrap=True)
    for row in rows:
        made.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    return made


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """A table, or a sentence if it has no rows; the sentence is no data."""
    if rows:
        out = console()
        if out.is_terminal:
            out.print(table(headers, rows))
        else:
            # Without the blanks that fill up the last column.
            with out.capture() as captured:
                out.print(table(headers, rows))
            typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
    else:
        note(empty)


def preview_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table that is no data: of what is asked about."""
    from rich.console import Console

    err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    if not err.is_terminal:
        err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True, width=_WIDE)
    with err.capture() as captured:
        err.print(table(headers, rows))
    note("\n".join(f"  {line.rstrip()}" for line in captured.get().splitlines()))


def print_data(value: Any, form: Output) -> None:
    """JSON or YAML."""
    if form is Output.yaml:
        import yaml

        typer.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
    else:
        typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def note(text: str, colour: str | None = None) -> None:
    """Something that is no data."""
    typer.secho(text, fg=None if os.environ.get("NO_COLOR") else colour, err=True)


def compact(value: Any) -> str:
    """JSON in one line."""
    return "-" if value is None else json.dumps(value, ensure_ascii=False)


def count(number: float | None) -> str:
    """With separators; a dash if it is not known."""
    return "-" if number is None else f"{number:,.0f}"


def confirm(is_confirmed: bool) -> None:
    """Ask whether to go ahead, unless that is said already.

    Raises:
        CommandError: the answer was no, or there was none.
    """
    if is_confirmed:
        return
    typer.echo("Go ahead? [y/N]: ", nl=False, err=True)
    answer = sys.stdin.readline()
    if answer.strip().lower() not in ("y", "yes"):
        if not answer:
            note("")
        raise CommandError("Nothing was changed: it was not confirmed", "Add --yes to do it without asking.")


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something is waited for, if there is a terminal to show it on."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True, highlight=False, markup=False).status(what):
        yield
