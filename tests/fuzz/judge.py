"""One input, one verdict."""

from __future__ import annotations

from fuzz.target import Target
from fuzz.watchdog import LIMIT_S, HangError, watchdog


class DefectError(AssertionError):
    """The parser did what it must not do; the cause says where."""


def judge(target: Target, data: bytes, limit_s: float = LIMIT_S) -> bool:
    """Whether the parser accepts an input.

    Raises:
        DefectError: it crashed, took too long, gave no reason, or accepted what it should have refused.
    """
    try:
        with watchdog(limit_s):
            try:
                found = target.parse(data)
            except target.errors as error:
                if not target.may_raise(error):
                    raise
                if not str(error).strip():
                    raise DefectError(f"{target.name} refused {shown(data)} without a reason") from error
                return False
            if target.check is not None:
                target.check(data, found)
            return True
    except HangError as error:
        raise DefectError(f"{target.name} hangs on {shown(data)}: {error}") from error
    except DefectError:
        raise
    except AssertionError as error:
        raise DefectError(f"{target.name} accepted {shown(data)}: {error}") from error
    except Exception as error:
        raise DefectError(f"{target.name} crashed on {shown(data)}: {type(error).__name__}: {error}") from error


def shown(data: bytes) -> str:
    """An input in a message."""
    return repr(data) if len(data) <= 200 else f"{data[:150]!r}... ({len(data)} bytes)"
