"""Log lines that say whose they are, ``[orders|task-0|offsets]``, and that show no secrets.

As in Kafka Connect, a thread that works for a connector or task says so once, and every line that it writes begins
with it, whoever writes the line::

    with for_task("orders", 0):
        log.info("started")          # [...] INFO [orders|task-0] started (seamark...:12)

A thread does not inherit the context of the one that starts it.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from seamark.config.providers import secrets
from seamark.runtime.loggers import LEVELS

_ASSIGNED: Final = re.compile(
    r"""(?ix) ( (?: password | passwd | passphrase | secret | token | credentials? | private[._-]?key | jaas\.config )
    [\w.-]* ["']? \s* [=:] \s* ) ( "[^"]*" | '[^']*' | [^\s,;"'}\])]+ )"""
)


@dataclass(frozen=True, slots=True)
class LogContext:
    """What a thread works for."""

    connector: str
    task: int | None = None
    scope: str | None = None
    """``worker``, ``offsets`` or ``validate``; None for a task itself."""

    def __str__(self) -> str:
        parts = [self.connector]
        if self.task is not None:
            parts.append(f"task-{self.task}")
        if self.scope is not None:
            parts.append(self.scope)
        return f"[{'|'.join(parts)}]"


_current: ContextVar[LogContext | None] = ContextVar("log_context", default=None)


def current() -> LogContext | None:
    """What this thread works for; None if for no connector."""
    return _current.get()


@contextmanager
def _within(context: LogContext) -> Iterator[None]:
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)


def for_connector(name: str) -> Any:
    """Lines within are about a connector itself."""
    return _within(LogContext(name, scope="worker"))


def for_task(name: str, task: int) -> Any:
    """Lines within are about a task."""
    return _within(LogContext(name, task))


def for_offsets(name: str, task: int | None = None) -> Any:
    """Lines within are about commits, or changes, of offsets."""
    return _within(LogContext(name, task, "offsets"))


def for_validation(name: str) -> Any:
    """Lines within are about a config that is being judged."""
    return _within(LogContext(name, scope="validate"))


def redact(text: str) -> str:
    """The text without what config providers gave, and without values that are called passwords or the like."""
    return _ASSIGNED.sub(rf"\1{secrets.HIDDEN}", secrets.hide(text))


def level_of(record: logging.LogRecord) -> str:
    """The name of its level, as Kafka Connect has it."""
    return {logging.WARNING: "WARN", logging.CRITICAL: "FATAL"}.get(record.levelno, record.levelname)


class TextFormatter(logging.Formatter):
    """Lines in the form of Kafka Connect's own."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created).astimezone().strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        context = current()
        message = record.getMessage()
        # Older lines of the engine name the connector themselves.
        prefix = "" if context is None or message.startswith(f"[{context.connector}") else f"{context} "
        line = f"[{when}] {level_of(record)} {prefix}{message} ({record.name}:{record.lineno})"
        return redact("\n".join([line, *_traces(self, record)]))


class JsonFormatter(logging.Formatter):
    """One JSON object per line, for log collectors."""

    def format(self, record: logging.LogRecord) -> str:
        context = current()
        fields: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": level_of(record),
            "logger": record.name,
            "thread": record.threadName,
            "message": redact(record.getMessage()),
        }
        if context is not None:
            fields |= {"connector": context.connector, "task": context.task, "scope": context.scope}
        traces = _traces(self, record)
        if traces:
            fields["trace"] = redact("\n".join(traces))
        return json.dumps({name: value for name, value in fields.items() if value is not None}, ensure_ascii=False)


def _traces(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    traces = []
    if record.exc_info:
        traces.append(formatter.formatException(record.exc_info))
    if record.stack_info:
        traces.append(formatter.formatStack(record.stack_info))
    return traces


def formatter(style: str) -> logging.Formatter:
    """For `seamark.log.format`: ``text`` or ``json``."""
    logging.addLevelName(LEVELS["TRACE"], "TRACE")
    return JsonFormatter() if style == "json" else TextFormatter()
