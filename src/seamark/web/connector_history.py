"""What has happened to a connector: lines of the workers' logs, and events."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Final

from nicegui import ui

from seamark.client import ConnectorEvent, LogLine
from seamark.web import fields
from seamark.web.figures import clock, moment
from seamark.web.live import Feed
from seamark.web.session import Session
from seamark.web.table import Column, Facet, Table
from seamark.web.widgets import card

LOGS_S: Final = 3.0
LEVELS: Final = ("ERROR", "WARN", "INFO", "DEBUG")
_MOST: Final = 300
_KINDS: Final = {
    "state": "State",
    "config": "Configuration",
    "offsets": "Offsets",
    "restart": "Restart",
    "task": "Task",
    "rebalance": "Rebalance",
    "created": "Created",
    "deleted": "Deleted",
    "audit": "Request",
}


_EVENTS: Final = (
    Column("at", "When"),
    Column("kind", "Kind"),
    Column("message", "What", is_sortable=False),
    Column("who", "Who"),
)


class LogsTab:
    """The lines of all logs that are about a connector."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self._level, self._filter = "INFO", ""
        self._lines: Sequence[LogLine] = ()
        self._feed: Feed[list[LogLine]] | None = None

    async def build(self) -> None:
        """Build it in the present slot."""
        with card("Logs of this connector") as head:
            with head:
                fields.entry(on_input=self._search, name="Filter lines", placeholder="Filter lines", kind="search")
                fields.choice(LEVELS, self._level, self._set_level, name="Level and above")
            self._box = ui.html("", sanitize=False).classes("sm-log")
            self._box.props.update({"tabindex": "0", "role": "log", "aria-label": "Lines, newest first"})
        self._show([])
        await self._watch()

    async def _watch(self) -> None:
        level = self._level

        def show(lines: list[LogLine]) -> None:
            if level == self._level:
                self._show(lines)

        await self._session.watch(
            ("logs", self._name, level),
            lambda: self._session.client.logs(self._name, _MOST, level),
            show,
            interval_s=LOGS_S,
        )

    def _search(self, text: str) -> None:
        self._filter = text.strip().lower()
        self._show(self._lines)

    async def _set_level(self, level: str) -> None:
        self._level = level
        self._show([])
        await self._watch()

    def _show(self, lines: Sequence[LogLine]) -> None:
        self._lines = lines
        wanted = [line for line in lines if self._filter in f"{line.message} {line.logger}".lower()]
        empty = "No line matches." if self._filter and lines else "Nothing has been logged yet."
        self._box.set_content("".join(map(_log_line, reversed(wanted))) or f'<p class="sm-muted">{empty}</p>')


def _log_line(line: LogLine) -> str:
    kind = {"ERROR": "bad", "CRITICAL": "bad", "FATAL": "bad", "WARN": "warn", "WARNING": "warn"}.get(line.level, "off")
    task = "" if line.task is None else f' <span class="sm-log-task">task {line.task}</span>'
    return (
        f'<div class="sm-log-line"><time title="{moment(line.at)}">{clock(line.at)}</time> '
        f'<span class="sm-log-level sm-log-{kind}">{html.escape(line.level)}</span>{task} '
        f'<span class="sm-log-text" title="{html.escape(f"{line.logger} on {line.worker}")}">'
        f"{html.escape(line.message)}</span></div>"
    )


class EventsTab:
    """What was done to a connector and what happened to it, newest first."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name

    async def build(self) -> None:
        """Build it in the present slot."""
        with card("Events"):
            self._table = Table(
                _EVENTS,
                label="Events, newest first",
                facets=[Facet("kind", "Kind")],
                search="Search events",
                empty="Nothing has happened since the worker was started.",
            )
        client = self._session.client
        await self._session.watch(("events", self._name), lambda: client.events(self._name, _MOST), self._show)

    def _show(self, events: Sequence[ConnectorEvent]) -> None:
        self._table.show([_event(event, place) for place, event in enumerate(reversed(events))][::-1])


def _event(event: ConnectorEvent, place: int) -> dict[str, Any]:
    kind = _KINDS.get(event.kind, event.kind)
    return {
        "id": f"{event.at}-{place}",
        "at": {"text": moment(event.at), "sort": event.at},
        "kind": kind,
        "message": event.message,
        "who": event.who or "-",
        "facets": {"kind": kind},
    }
