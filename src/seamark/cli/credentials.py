"""Who a command acts as: options of `seamark` itself, else the environment, else the context in use.

``SEAMARK_USER`` goes with ``SEAMARK_PASSWORD_FILE`` or ``SEAMARK_PASSWORD``; ``SEAMARK_TOKEN_FILE`` or
``SEAMARK_TOKEN`` has a bearer token. There is no option that takes a secret itself: others could see it in the list of
processes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seamark.cli.exits import RefusedError

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class Credentials:
    """Name and password, or a token."""

    user: str | None = None
    password: str = ""
    token: str | None = None
    token_file: Path | None = None
    """Where the token is from; tokens in files are renewed there."""

    @property
    def auth(self) -> tuple[str, str] | None:
        """As a client wants it."""
        return None if self.user is None else (self.user, self.password)

    @property
    def lasting_auth(self) -> tuple[str, str] | httpx.Auth | None:
        """As a client wants it that lives longer than a token."""
        if self.token is None:
            return self.auth
        from seamark.client import BearerAuth

        token, file = self.token, self.token_file
        return BearerAuth(lambda: token if file is None else read_secret(file))


@dataclass(slots=True)
class _Options:
    user: str | None = None
    password_file: Path | None = None
    token_file: Path | None = None


_given = _Options()


def remember(user: str | None, password_file: Path | None, token_file: Path | None) -> None:
    """What the command line says."""
    _given.user, _given.password_file, _given.token_file = user, password_file, token_file


def of_command_line() -> Credentials | None:
    """Those of the command line; None if it has none.

    Raises:
        RefusedError: they do not go together, or a file cannot be read.
    """
    if _given.token_file is not None:
        if _given.user is not None or _given.password_file is not None:
            raise RefusedError("Give --user with --password-file, or --token-file, not both")
        return Credentials(token=read_secret(_given.token_file), token_file=_given.token_file)
    if _given.user is None:
        if _given.password_file is not None:
            raise RefusedError("--password-file goes with --user")
        return None
    if _given.password_file is not None:
        return Credentials(_given.user, read_secret(_given.password_file))
    return Credentials(_given.user, _environment("SEAMARK_PASSWORD") or _asked(_given.user))


def of_environment() -> Credentials | None:
    """Those of the environment; None if it has none."""
    token = _environment("SEAMARK_TOKEN")
    if token is not None:
        file = os.environ.get("SEAMARK_TOKEN_FILE")
        return Credentials(token=token, token_file=Path(file) if file else None)
    user = os.environ.get("SEAMARK_USER")
    return Credentials(user, _environment("SEAMARK_PASSWORD") or "") if user else None


def read_secret(path: Path) -> str:
    """The first line of a file.

    Raises:
        RefusedError: it cannot be read.
    """
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RefusedError(f"The secret in {path} cannot be read: {error}") from error
    return text.partition("\n")[0].rstrip("\r")


def _environment(name: str) -> str | None:
    file = os.environ.get(f"{name}_FILE")
    return read_secret(Path(file)) if file else os.environ.get(name) or None


def _asked(user: str) -> str:
    import sys

    import typer

    if not sys.stdin.isatty():
        raise RefusedError(f"The password of {user} is missing: give --password-file, or set SEAMARK_PASSWORD_FILE")
    found: str = typer.prompt(f"Password of {user}", hide_input=True, err=True)
    return found
