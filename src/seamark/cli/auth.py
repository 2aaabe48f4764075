"""`seamark auth`: the file of users of a worker with basic authentication, and who the worker takes us for."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seamark.cli.connection import ContextName, Form, Output, Url, connect
from seamark.cli.credentials import read_secret
from seamark.cli.exits import RefusedError, UnknownError

if TYPE_CHECKING:
    from seamark.config.passwords import User


class RoleName(StrEnum):
    """What a user may do."""

    viewer = "viewer"
    operator = "operator"
    editor = "editor"


UsersFile = Annotated[Path, typer.Argument(metavar="FILE", help="The worker's seamark.auth.basic.users.file.")]
UserName = Annotated[str, typer.Argument(metavar="USER", help="The user.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(help="Users of a worker, and who it takes you for.", no_args_is_help=True)
    commands.command("add-user")(add_user)
    commands.command("remove-user")(remove_user)
    commands.command("list-users")(list_users)
    commands.command("whoami")(whoami)
    app.add_typer(commands, name="auth")


def add_user(
    file: UsersFile,
    user: UserName,
    role: Annotated[RoleName, typer.Option(help="viewer reads, operator changes states, editor everything.")],
    password_file: Annotated[
        Path | None, typer.Option(help="Holds the password. Default: it is asked for, or read from a pipe.")
    ] = None,
) -> None:
    """Add a user to a file of users, or give one another role and password; running workers see it in seconds."""
    from seamark.config.passwords import User, check_user_name, hash_password, write_users

    check_user_name(user)
    found = _read(file) if file.exists() else {}
    password = read_secret(password_file) if password_file is not None else _asked(user)
    if not password:
        raise RefusedError("The password is empty")
    verb = "changed" if user in found else "added"
    found[user] = User(user, role.value, hash_password(password))
    write_users(file, found)
    typer.echo(f"user {user} is {verb}: {role.value}")


def remove_user(file: UsersFile, user: UserName) -> None:
    """Take a user out of a file of users."""
    from seamark.config.passwords import write_users

    found = _read(file)
    if user not in found:
        raise UnknownError(f"There is no user {user!r} in {file}; there are: {', '.join(sorted(found)) or 'none'}")
    del found[user]
    write_users(file, found)
    typer.echo(f"user {user} is removed")


def list_users(file: UsersFile) -> None:
    """Show the users of a file and their roles."""
    from seamark.cli.shown import print_table

    rows = [(each.name, each.role) for each in sorted(_read(file).values(), key=lambda each: each.name)]
    print_table(("USER", "ROLE"), rows, empty=f"There is no user in {file}.")


def whoami(url: Url = None, context: ContextName = None, output: Form = Output.table) -> None:
    """Show who the worker takes you for, and what you may do."""
    from seamark.cli.shown import print_data, print_table
    from seamark.client import encode

    with connect(url, context) as client:
        found = client.whoami()
    if output in (Output.json, Output.yaml):
        print_data(encode(found), output)
    else:
        print_table(("USER", "ROLE", "AUTH"), [(found.user or "", found.role, found.auth)], empty="")


def _read(file: Path) -> dict[str, User]:
    from seamark.config.passwords import read_users

    return read_users(file)


def _asked(user: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    found: str = typer.prompt(f"Password of {user}", hide_input=True, confirmation_prompt=True, err=True)
    return found
