"""The `seamark` command.

Every module of this package that has a function ``register(app)`` adds its commands, so a new command is a new file.
Such a module imports what it needs inside its functions: `seamark --help` must not wait for Spark.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import sys
from typing import Annotated

import typer

from seamark import cli
from seamark.errors import ConnectError

app = typer.Typer(
    name="seamark",
    help="A Kafka Connect-compatible runtime on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"seamark {importlib.metadata.version('seamark')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the command as a whole."""


def _register_commands() -> None:
    for found in pkgutil.iter_modules(cli.__path__):
        if found.name != "main":
            module = importlib.import_module(f"{cli.__name__}.{found.name}")
            if hasattr(module, "register"):
                module.register(app)


_register_commands()


def main() -> None:
    """Run the command; errors that Seamark raises on purpose are one line on stderr and exit code 1."""
    try:
        app()
    except ConnectError as error:
        print(f"error: {error}", file=sys.stderr)
        hint = getattr(error, "hint", None)
        if hint:
            print(f"\nhint: {hint}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
