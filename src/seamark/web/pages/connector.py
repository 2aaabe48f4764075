"""A connector: what is wrong with it, what it does, and how it is changed."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Final

from nicegui import ui
from nicegui.element import Element

from seamark.client import ClientError, ConnectorStatus, NotFound
from seamark.web import session as sessions
from seamark.web.connector_actions import Actions
from seamark.web.connector_config import ConfigTab
from seamark.web.connector_history import EventsTab, LogsTab
from seamark.web.connector_status import StatusTab
from seamark.web.session import Session
from seamark.web.shell import page
from seamark.web.widgets import link, notice, state_html, tag

TABS: Final = {"status": "Status", "configuration": "Configuration", "logs": "Logs", "events": "Events"}


@page("/connectors/{name}", "Connector", active="Overview")
async def connector(name: str, tab: str = "status") -> None:
    """Build the page."""
    session = sessions.current()
    try:
        info = await session.client.connector(name)
    except NotFound:
        missing(session, name)
        return
    except ClientError as error:
        tag("h1", name)
        notice(str(error), "bad")
        return
    head = Head(session, name, "status" if tab not in TABS else tab)
    head.describe(info.type, info.config.get("connector.class"))
    panels = {key: tag("div", classes="sm-panel", role="tabpanel", id=f"panel-{key}", hidden="") for key in TABS}
    with panels["status"]:
        status_tab = StatusTab(session, name, info.type)

    def show_status(status: ConnectorStatus) -> None:
        head.show(status)
        status_tab.show_status(status)

    builders = {
        "configuration": lambda: ConfigTab(session, name).build(),
        "logs": lambda: LogsTab(session, name).build(),
        "events": lambda: EventsTab(session, name).build(),
    }

    async def choose(key: str) -> None:
        for each, panel in panels.items():
            if each == key:
                panel.props.pop("hidden", None)
            else:
                panel.props["hidden"] = ""
            panel.update()
        build = builders.pop(key, None)
        if build is not None:
            with panels[key]:
                await build()

    def gone(error: ClientError) -> bool:
        if isinstance(error, NotFound):
            head.gone()
            return True
        return False

    head.on_tab = choose
    head.actions.feed, *_ = await asyncio.gather(
        session.watch(("status", name), lambda: session.client.status(name), show_status, on_error=gone),
        status_tab.watch(),
    )
    await choose(head.chosen)


def missing(session: Session, name: str) -> None:
    """Say that there is no such connector."""
    tag("h1", name)
    notice(f"There is no connector {name}.", "warn")
    link("To all connectors", session.href())


class Head:
    """Name, state, actions and what there is to see of a connector."""

    def __init__(self, session: Session, name: str, chosen: str | None) -> None:
        self._session, self._name, self.chosen = session, name, chosen or ""
        self.on_tab: Callable[[str], object] | None = None
        with tag("nav", classes="sm-crumbs", aria_label="Where this is"):
            link("Connectors", session.href())
            tag("span", "/", aria_hidden="true")
            tag("span", name)
        with tag("div", classes="sm-head"):
            with tag("div", classes="sm-title"):
                tag("h1", name)
                self._state = ui.html("", sanitize=False, tag="span")
            self.actions = Actions(session, name)
        self._about = tag("p", "", "sm-muted sm-about")
        self._tabs: dict[str, Element] = {}
        with tag("nav", classes="sm-tabs", aria_label=f"Parts of {name}"):
            for key, label in TABS.items():
                current = "page" if key == chosen else None
                made = tag("a", label, href=session.href("connectors", name, tab=key), aria_current=current)
                if chosen is not None:
                    made.on("click.prevent", functools.partial(self._choose, key))
                self._tabs[key] = made
            current = "page" if chosen is None else None
            tag("a", "Offsets", href=session.href("connectors", name, "offsets"), aria_current=current)

    def describe(self, type_name: str | None, class_name: str | None) -> None:
        """Say what it is."""
        with self._about:
            tag("span", f"{(type_name or 'connector').capitalize()} · {class_name or 'unknown class'}")

    def show(self, status: ConnectorStatus) -> None:
        """Show its state."""
        self._state.set_content(state_html(shown_state(status)))
        self.actions.show(status)

    def gone(self) -> None:
        """It was deleted."""
        self._state.set_content(state_html("DESTROYED"))
        self.actions.gone()

    async def _choose(self, key: str) -> None:
        self.chosen = key
        for each, made in self._tabs.items():
            if each == key:
                made.props["aria-current"] = "page"
            else:
                made.props.pop("aria-current", None)
            made.update()
        address = self._session.href("connectors", self._name, tab=key)
        ui.run_javascript(f"history.replaceState(null, '', {address!r})")
        if self.on_tab is not None:
            result = self.on_tab(key)
            if asyncio.iscoroutine(result):
                await result


def shown_state(status: ConnectorStatus) -> str:
    """Its state in one word: a connector whose task has failed does not run, whatever it says of itself."""
    if status.connector.state == "RUNNING" and any(task.state == "FAILED" for task in status.tasks):
        return "FAILED"
    return status.connector.state
