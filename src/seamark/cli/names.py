"""Names of connectors on the command line: exact ones, patterns, and completion."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from seamark.cli.exits import UnknownError

if TYPE_CHECKING:
    from seamark.client import ConnectClient

_MOST_LISTED: Final = 20
_COMPLETION_S: Final = 2.0


def complete_names(context: typer.Context, incomplete: str) -> list[str]:
    """Connectors whose names begin so; none if no worker answers soon."""
    import dataclasses

    from seamark.cli.connection import settings_for
    from seamark.client import ConnectClient, Retry
    from seamark.errors import ConnectError

    given: dict[str, Any] = context.params
    try:
        settings = settings_for(given.get("url"), given.get("context"))
        settings = dataclasses.replace(settings, timeout_s=_COMPLETION_S, retry=Retry(deadline_s=0))
        with ConnectClient(settings) as client:
            return sorted(name for name in client.connectors() if name.startswith(incomplete))
    except ConnectError:
        return []


Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The connector.", autocompletion=complete_names, show_default=False)
]
Names = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="Connectors, or patterns as 'orders-*'.", autocompletion=complete_names),
]
MaybeNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME...]", help="Connectors, or patterns as 'orders-*'.", autocompletion=complete_names),
]


def is_pattern(name: str) -> bool:
    """Whether it can stand for several."""
    return any(letter in name for letter in "*?[")


def resolve(client: ConnectClient, wanted: Sequence[str]) -> list[str]:
    """The connectors that are meant, each once, in the order of what was given.

    Raises:
        UnknownError: a name or pattern has none; lists those that there are.
    """
    known = sorted(client.connectors())
    found: dict[str, None] = {}
    for each in wanted:
        if each in known:  # a name may look like a pattern
            found[each] = None
            continue
        matching = [name for name in known if fnmatchcase(name, each)] if is_pattern(each) else []
        if not matching:
            raise _unknown(each, known)
        found.update(dict.fromkeys(matching))
    return list(found)


def _unknown(name: str, known: Sequence[str]) -> UnknownError:
    what = "No connector matches" if is_pattern(name) else "There is no connector"
    listed = ", ".join(known[:_MOST_LISTED]) or "none"
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else None
    return UnknownError(f"{what} {name!r}; there are: {listed}{more}", hint)
