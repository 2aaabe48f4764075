"""The buttons that change what a connector does, each with what will happen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from nicegui.element import Element

from seamark.client import ConnectorStatus
from seamark.web.dialogs import ask_deletion
from seamark.web.fields import go_to
from seamark.web.live import Feed
from seamark.web.session import Session
from seamark.web.widgets import button, confirm, disable, tag

_GONE: Final = "It was deleted"


class Actions:
    """Start, pause, stop, restart and delete, in the present slot; greyed out where they make no sense."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self._buttons: dict[str, Element] = {}
        self._status: ConnectorStatus | None = None
        self.feed: Feed[ConnectorStatus] | None = None
        """Of the state, to be asked anew after an action."""
        with tag("div", classes="sm-actions", role="group", aria_label="Actions"):
            self._add("Start", self._start, "operator", "primary")
            self._add("Pause", self._pause, "operator")
            self._add("Stop", self._stop, "operator")
            self._add("Restart", self._restart, "operator")
            self._add("Delete", self._delete, "editor", "danger")

    def _add(self, label: str, handler: Callable[[], Awaitable[Any]], needs: str, kind: str = "") -> None:
        self._buttons[label] = made = button(label, handler, needs=needs, kind=kind)
        made.props["data-needs"] = needs

    def show(self, status: ConnectorStatus) -> None:
        """Offer what makes sense in a state."""
        self._status = status
        state = status.connector.state
        self._allow("Start", "It runs already" if state not in ("PAUSED", "STOPPED") else None)
        self._allow("Pause", f"It is {state}" if state in ("PAUSED", "STOPPED") else None)
        self._allow("Stop", "It is STOPPED" if state == "STOPPED" else None)
        self._allow("Restart", "It is STOPPED: start it instead" if state == "STOPPED" else None)

    def gone(self) -> None:
        """Offer nothing any more."""
        for label in self._buttons:
            self._allow(label, _GONE)

    def _allow(self, label: str, why_not: str | None) -> None:
        made = self._buttons[label]
        if self._session.may(made.props["data-needs"]):
            disable(made, why_not)

    async def _start(self) -> None:
        await self._session.act(self._session.client.resume(self._name), f"{self._name} is being started")
        self._look_again()

    async def _pause(self) -> None:
        say = "Its tasks stay where they are and read nothing more until it is started again. Nothing is lost."
        if await confirm(f"Pause {self._name}?", say=say, do="Pause"):
            await self._session.act(self._session.client.pause(self._name), f"{self._name} is being paused")
            self._look_again()

    async def _stop(self) -> None:
        say = (
            "Its tasks commit what they have done and end; what they needed is free for others. "
            "When it is started again it goes on where it was."
        )
        if await confirm(f"Stop {self._name}?", say=say, do="Stop"):
            await self._session.act(self._session.client.stop(self._name), f"{self._name} is being stopped")
            self._look_again()

    async def _restart(self) -> None:
        failed = len(self._status.failed) if self._status else 0
        if failed:
            say = "Only what has failed is started anew; the rest goes on."
        else:
            say = "The connector and its tasks are started anew, and go on from the last committed positions."
        if await confirm(f"Restart {self._name}?", say=say, do="Restart"):
            work = self._session.client.restart(self._name, include_tasks=True, only_failed=bool(failed))
            await self._session.act(work, f"{self._name} is being restarted")
            self._look_again()

    async def _delete(self) -> None:
        wanted = await ask_deletion(self._name)
        if wanted is None:
            return
        work = self._session.client.delete(self._name, include_offsets=wanted.include_offsets)
        if await self._session.act(work, f"{self._name} is deleted"):
            go_to(self._session.href())

    def _look_again(self) -> None:
        if self.feed is not None:
            self.feed.refresh()
