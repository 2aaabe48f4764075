"""Loggers: their levels, and changing one on this worker or on all."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from seamark.client import LoggerLevel
from seamark.web import session as sessions
from seamark.web.fields import choice, entry, on_text, set_value
from seamark.web.figures import count, moment
from seamark.web.session import Session
from seamark.web.shell import page
from seamark.web.table import Column, Facet, Table
from seamark.web.widgets import button, card, tag

LEVELS: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")
SCOPES: Final = {"cluster": "All workers", "worker": "This worker only"}
_COLUMNS: Final = (
    Column("name", "Logger", "code"),
    Column("level", "Level"),
    Column("changed", "Changed"),
    Column("actions", "Actions", "actions", is_sortable=False),
)
_TONES: Final = {"TRACE": "warn", "DEBUG": "warn", "OFF": "off"}


@page("/loggers", "Loggers")
async def loggers() -> None:
    """Build the page."""
    view = _Loggers(sessions.current())
    await view.watch()


class _Loggers:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._name, self._level, self._scope = "root", "DEBUG", "cluster"
        self._why_not = session.why_not("editor")
        tag("h1", "Loggers")
        with card("Set a level"):
            tag(
                "p",
                "It counts for a logger and all below it, until the worker restarts. root is above all.",
                "sm-muted",
            )
            with tag("div", classes="sm-form-row"):
                with tag("label", "Logger", "sm-label sm-grow"):
                    self._field = entry(self._name, name="Logger", why_not=self._why_not, list="sm-loggers")
                    on_text(self._field, "input", lambda text: setattr(self, "_name", text))
                self._known = tag("datalist", id="sm-loggers")
                with tag("label", "Level", "sm-label"):
                    self._levels = choice(
                        LEVELS,
                        self._level,
                        lambda text: setattr(self, "_level", text),
                        name="New level",
                        why_not=self._why_not,
                    )
                with tag("label", "Where", "sm-label"):
                    choice(
                        SCOPES,
                        self._scope,
                        lambda text: setattr(self, "_scope", text),
                        name="Where",
                        why_not=self._why_not,
                    )
                button("Set the level", self._set, kind="primary", needs="editor")
        with card("Levels of this worker"):
            self._table = Table(
                _COLUMNS,
                label="Loggers",
                facets=[Facet("level", "Level")],
                search="Search loggers",
                empty="No logger has a level of its own.",
            )
            self._table.on_action(self._take)

    async def watch(self) -> None:
        self._feed = await self._session.watch("loggers", self._session.client.loggers, self._show, interval_s=3.0)

    def _show(self, found: dict[str, LoggerLevel]) -> None:
        self._table.show([self._row(name, level) for name, level in sorted(found.items(), key=_notable_first)])
        self._known.clear()
        with self._known:
            for name in sorted(found):
                tag("option", value=name)

    def _row(self, name: str, level: LoggerLevel) -> dict[str, Any]:
        return {
            "id": name,
            "facets": {"level": level.level},
            "name": name,
            "level": {"text": level.level, "tone": _TONES.get(level.level or "")},
            "changed": {
                "text": "as configured" if level.last_modified is None else moment(level.last_modified),
                "sort": level.last_modified,
            },
            "actions": [{"id": "change", "label": "Change", "why_not": self._why_not}],
        }

    def _take(self, name: str, action: str) -> None:
        self._name = name
        set_value(self._field, name)
        ui.run_javascript(f"document.getElementById('{self._levels.html_id}').focus()")

    async def _set(self) -> None:
        name, level = self._name.strip() or "root", self._level
        client = self._session.client
        if self._scope == "cluster":
            went_well = await self._session.act(
                client.set_cluster_logger(name, level), f"{name} is set to {level} on all workers"
            )
        else:
            changed: list[str] = []

            async def set_here() -> None:
                changed.extend(await client.set_logger(name, level))

            went_well = await self._session.act(set_here())
            if went_well:
                self._session.say(f"{name} is {level} on this worker; {count(len(changed), 'logger')} changed")
        if went_well:
            self._feed.refresh()


def _notable_first(item: tuple[str, LoggerLevel]) -> tuple[bool, bool, str]:
    """All of them together, then those that somebody has changed."""
    return item[0] != "root", item[1].last_modified is None, item[0]
