"""The `seamark` command.

Every module of this package that has a function ``register(app)`` adds its commands, so a new command is a new file.
Such a module imports what it needs inside its functions: `seamark --help` must not wait for Spark.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from seamark import cli
from seamark.cli import certificates, credentials
from seamark.cli.exits import exit_code_of, hint_of
from seamark.errors import ConnectError

app = typer.Typer(
    name="seamark",
    help="A Kafka Connect-compatible runtime on Spark.",
    no_args_is_help=True,
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
    user: Annotated[
        str | None, typer.Option(metavar="USER", help="Log in to the worker as this user. Default: $SEAMARK_USER.")
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Holds the password. Default: $SEAMARK_PASSWORD_FILE.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Holds a bearer token. Default: $SEAMARK_TOKEN_FILE.")
    ] = None,
    ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificates to trust for https, PEM. Default: $SEAMARK_CA.")
    ] = None,
    certificate: Annotated[
        str | None, typer.Option(metavar="FILE", help="Our own certificate, PEM. Default: $SEAMARK_CERTIFICATE.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="FILE", help="The key of our certificate, PEM. Default: $SEAMARK_KEY.")
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Do not check the worker's certificate.")] = False,
) -> None:
    """Options of the command as a whole."""
    credentials.remember(user, password_file, token_file)
    certificates.remember(certificates.Certificates(ca, certificate, key, insecure))


def _register_commands() -> None:
    for found in pkgutil.iter_modules(cli.__path__):
        if found.name != "main":
            module = importlib.import_module(f"{cli.__name__}.{found.name}")
            if hasattr(module, "register"):
                module.register(app)


_register_commands()


def main() -> None:
    """Run the command; errors that Seamark raises on purpose are told on stderr, with the exit code of their class."""
    try:
        app()
    except ConnectError as error:
        print(f"error: {error}", file=sys.stderr)
        hint = hint_of(error)
        if hint:
            print(f"\nhint: {hint}", file=sys.stderr)
        sys.exit(exit_code_of(error))


if __name__ == "__main__":
    main()
