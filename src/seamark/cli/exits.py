"""Exit codes: one per class of error, so that scripts need not read messages.

====  ==========================================================================================
0     done
1     anything else, also a question that was answered with no
2     the command line is wrong
3     not found: a connector, task, plugin, logger, context or checkpoint of that name does not exist
4     conflict: it exists, or the workers are rebalancing
5     refused: the request, a file or a configuration is wrong, or the state does not allow it
6     the worker or a plugin failed
7     no worker answers
8     the worker does not have this: it is no Seamark worker, or an older one
9     not allowed
10    waited in vain
====  ==========================================================================================
"""

from __future__ import annotations

from typing import Final

from seamark.cli.rest_client import CommandError
from seamark.errors import BadRequestError, ConnectError

FAILED: Final = 1
NOT_FOUND: Final = 3
CONFLICT: Final = 4
REFUSED: Final = 5
SERVER_FAILED: Final = 6
UNREACHABLE: Final = 7
UNSUPPORTED: Final = 8
FORBIDDEN: Final = 9
NOT_REACHED: Final = 10

_UNAUTHORIZED: Final = 401
_NOT_STOPPED: Final = "must be in the STOPPED state"


class RefusedError(CommandError):
    """What was asked for cannot be done as it is."""

    exit_code = REFUSED


class UnknownError(CommandError):
    """There is none of that name."""

    exit_code = NOT_FOUND


class UnsupportedError(CommandError):
    """The worker does not have this."""

    exit_code = UNSUPPORTED


def exit_code_of(error: ConnectError) -> int:
    """The exit code that stands for an error."""
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        return code
    from seamark import client
    from seamark.checkpoint.errors import MissingCheckpointError

    codes: dict[type[ConnectError], int] = {
        client.NotFound: NOT_FOUND,
        MissingCheckpointError: NOT_FOUND,
        client.Conflict: CONFLICT,
        BadRequestError: REFUSED,
        client.ServerError: SERVER_FAILED,
        client.Unreachable: UNREACHABLE,
        client.Unsupported: UNSUPPORTED,
        client.Forbidden: FORBIDDEN,
        client.StateNotReached: NOT_REACHED,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), FAILED)


def hint_of(error: ConnectError) -> str | None:
    """What would help."""
    hint = getattr(error, "hint", None)
    if isinstance(hint, str):
        return hint
    code = exit_code_of(error)
    if code == UNREACHABLE:
        return "Name the REST address of a worker with --url, or choose one of `seamark context list` with --context."
    if code == UNSUPPORTED:
        return "Kafka Connect's own workers lack this; Seamark's have it."
    if code == FORBIDDEN:
        if getattr(error, "status", None) == _UNAUTHORIZED:
            return "Log in: `seamark --user NAME --password-file FILE ...`, or see `seamark context set --help`."
        return "`seamark auth whoami` shows who the worker takes you for. Credentials are kept per context."
    if code == CONFLICT and error.retriable:
        return "The workers are still rebalancing: try again in a moment."
    if _NOT_STOPPED in error.message:
        return "Run `seamark stop NAME` first, or add --stop to stop it for as long as the change takes."
    return None
