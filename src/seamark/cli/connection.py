"""Which worker a command is sent to, and options that most commands have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from seamark.cli import certificates, credentials
from seamark.cli.contexts import read_contexts
from seamark.cli.exits import RefusedError

if TYPE_CHECKING:
    from seamark.client import ConnectClient, Settings


class Output(StrEnum):
    """Forms of output."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"


Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="REST address of a worker. Default: $SEAMARK_URL, else the context's."),
]
ContextName = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="A cluster of `seamark context list`. Default: the one in use."),
]
Form = Annotated[Output, typer.Option("-o", "--output", help="A table, a wider one, JSON or YAML.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before doing it.")]
TimeoutS = Annotated[float, typer.Option("--timeout", min=1, metavar="SECONDS", help="How long to wait.")]


@contextmanager
def connect(url: str | None, context: str | None) -> Iterator[ConnectClient]:
    """A client of the worker that these options name."""
    from seamark.client import ConnectClient

    with ConnectClient(settings_for(url, context)) as client:
        yield client


def settings_for(url: str | None, context: str | None) -> Settings:
    """What is said on the command line counts first, then the environment, then the context in use.

    Raises:
        RefusedError: both options are given, or the contexts cannot be read.
        UnknownError: there is no such context.
    """
    found = _with_certificates(_settings_for(url, context))
    given = credentials.of_command_line()
    if given is None and found.auth is None and "Authorization" not in found.headers:
        given = credentials.of_environment()
    if given is None:
        return found
    headers = {name: value for name, value in found.headers.items() if name.lower() != "authorization"}
    return replace(found, auth=given.auth, token=given.token, headers=headers)


def worker_settings() -> Settings:
    """Certificates and credentials of the command line, else of the environment, for whatever worker is meant.

    Raises:
        RefusedError: they do not go together, or a file cannot be read.
    """
    from seamark.client import Settings

    found = _with_certificates(Settings())
    given = credentials.of_command_line() or credentials.of_environment()
    return found if given is None else replace(found, auth=given.lasting_auth, token=None)


def _with_certificates(found: Settings) -> Settings:
    given = certificates.of_command_line()
    if not given and found.verify is True:
        given = certificates.of_environment()
    return replace(found, verify=given.verify()) if given else found


def _settings_for(url: str | None, context: str | None) -> Settings:
    from seamark.client import Settings

    if url is not None and context is not None:
        raise RefusedError("Give --url or --context, not both")
    if context is None and url is None:
        context = os.environ.get("SEAMARK_CONTEXT") or None
        url = None if context else os.environ.get("SEAMARK_URL") or None
    if url is not None:
        return Settings(url)
    contexts = read_contexts()
    name = context or contexts.current
    return Settings() if name is None else contexts.get(name).settings()
