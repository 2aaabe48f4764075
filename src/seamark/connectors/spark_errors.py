"""What a Spark job or its JVM says went wrong, in one sentence: the rest is a trace of several thousand characters."""

from __future__ import annotations

import re
from typing import Any, Final

from seamark.errors import cause_of

# What Spark puts around the message of a `raise_error` of ours.
_FRAME: Final = re.compile(r"^\[USER_RAISED_EXCEPTION\] | SQLSTATE: \w{5}$")
_AN_ERROR: Final = "An error occurred while calling"
_MALFORMED: Final = "MALFORMED_RECORD_IN_PARSING"
_MOST_CAUSES: Final = 50


def real_cause(error: BaseException) -> str:
    """What an error of Spark or Java comes from: the last of its causes that says something."""
    from py4j.protocol import Py4JError

    try:
        found = [told for told in _chain(error) if told is not None]
    except Py4JError:  # the JVM is gone, and with it all but the text
        found = []
    return found[-1] if found else first_words(error)


def first_words(error: BaseException) -> str:
    """What a Java or Spark error says, without its trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("at ", _AN_ERROR))]
    return (telling or lines or [type(error).__name__])[0].lstrip(": ")


def is_malformed(error: BaseException) -> bool:
    """Whether Spark could not read a text as what it should be."""
    return _MALFORMED in str(error) or (error.__cause__ is not None and is_malformed(error.__cause__))


def _chain(error: BaseException) -> list[str | None]:
    """What each cause says, beginning with the outermost; those of Java, whatever PySpark has made of it."""
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    told: list[str | None] = []
    while java is not None and len(told) < _MOST_CAUSES:
        told.append(_told(str(java.getClass().getSimpleName()), java.getMessage()))
        java = java.getCause()
    return told


def _told(kind: str, message: str | None) -> str | None:
    lines = [line.strip() for line in (message or "").splitlines() if line.strip()]
    if not lines:
        return None
    if any(line.startswith("at ") for line in lines):  # an executor's trace, as text
        return cause_of("\n".join(lines)).removeprefix("Caused by: ")
    first = _FRAME.sub("", lines[0])
    return first if first != lines[0] else f"{kind}: {first}"
