"""A new connector: choose a plugin, fill in what it needs, say how and where it begins."""

from __future__ import annotations

import functools
from typing import Any, Final

from nicegui.element import Element

from seamark.client import ClientError, Plugin
from seamark.web import fields, forms
from seamark.web import session as sessions
from seamark.web.dialogs import ask_changes
from seamark.web.form_view import FormView
from seamark.web.session import Session
from seamark.web.shell import page
from seamark.web.widgets import button, card, notice, tag

_STATES: Final = {"RUNNING": "Running", "PAUSED": "Paused", "STOPPED": "Stopped"}
_STARTS: Final = {
    "": "As it does by itself",
    "earliest": "The first record there is",
    "latest": "Only what comes from now on",
    "position": "A time or position …",
}
_NO_POSITIONS: Final = (
    "Only sinks and mirrors can be told where to begin: this one keeps positions of its own. "
    "Create it stopped and change its offsets, if it shall not begin at the beginning."
)
_MIRROR: Final = "MirrorSourceConnector"


@page("/create", "Create")
async def create(plugin: str = "") -> None:
    """Build the page."""
    session = sessions.current()
    tag("h1", "Create a connector")
    why_not = session.why_not("editor")
    if why_not:
        notice(why_not, "off")
    try:
        plugins = await session.client.plugins()
    except ClientError as error:
        notice(str(error), "bad")
        return
    view = _Create(session, plugins, why_not)
    chosen = next((each for each in plugins if plugin and each.class_name.endswith(plugin)), None)
    if chosen is not None:
        await view.choose(chosen)


class _Create:
    """The steps, in the present slot; the second and third appear when a plugin is chosen."""

    def __init__(self, session: Session, plugins: list[Plugin], why_not: str | None) -> None:
        self._session, self._why_not = session, why_not
        self._name, self._state, self._start, self._position = "", "RUNNING", "", ""
        self._plugin: Plugin | None = None
        self._form: FormView | None = None
        self._buttons: dict[str, Element] = {}
        with card("1. Choose a plugin") as head:
            with head:
                fields.entry(on_input=self._search, name="Search plugins", placeholder="Search plugins", kind="search")
            for type_name, title in (("sink", "Sinks: from Kafka to elsewhere"), ("source", "Sources: into Kafka")):
                self._list(title, [each for each in plugins if each.type == type_name])
        self._rest = tag("div", classes="sm-panel")

    def _list(self, title: str, plugins: list[Plugin]) -> None:
        if not plugins:
            return
        tag("h3", title, "sm-plugin-kind")
        with tag("ul", classes="sm-plugins"):
            for each in plugins:
                with tag("li"), tag("button", classes="sm-plugin", type="button", aria_pressed="false") as made:
                    tag("strong", _short(each.class_name))
                    tag("small", " · ".join(filter(None, (each.class_name.rpartition(".")[0], each.version))))
                made.on("click", functools.partial(self.choose, each))
                self._buttons[each.class_name] = made

    def _search(self, text: str) -> None:
        wanted = text.strip().lower()
        for class_name, made in self._buttons.items():
            if made.parent_slot is not None:
                fields.set_hidden(made.parent_slot.parent, wanted not in class_name.lower())

    async def choose(self, plugin: Plugin) -> None:
        """Show what a plugin needs."""
        self._plugin = plugin
        for class_name, made in self._buttons.items():
            made.props["aria-pressed"] = "true" if class_name == plugin.class_name else "false"
            made.update()
        self._rest.clear()
        with self._rest:
            with card("2. Fill it in"):
                self._name_field()
                before = {"connector.class": plugin.class_name, "name": self._name}
                self._form = FormView(
                    self._session, before, why_not=self._why_not, on_change=self._show_name_errors, is_new=True
                )
            with card("3. How it begins"):
                self._beginning(plugin)
            with tag("div", classes="sm-savebar", role="region", aria_label="Create"):
                tag("span", f"A new {_short(plugin.class_name)}", "sm-grow")
                button("Review and create", self._review, kind="primary", needs="editor")
        await self._form.load()

    def _name_field(self) -> None:
        with tag("div", classes="sm-form-field"):
            with tag("label", classes="sm-form-label") as label:
                tag("span", "Name")
                tag("span", "required", "sm-required")
            made = fields.entry(self._name, self._set_name, why_not=self._why_not, classes="sm-mono")
            made.props["data-key"] = "name"
            label.props["for"] = made.html_id
            self._name_error = tag("p", "", "sm-form-error", role="alert", hidden="")

    async def _set_name(self, text: str) -> None:
        self._name = text.strip()
        if self._form is not None:
            await self._form.set_fixed("name", self._name)

    def _show_name_errors(self) -> None:
        if self._form is not None:
            messages = self._form.errors.get("name", []) if self._name else []
            fields.set_message(self._name_error, "\n".join(messages))

    def _beginning(self, plugin: Plugin) -> None:
        with tag("div", classes="sm-fields"):
            with tag("label", "State", "sm-label"):
                fields.choice(_STATES, self._state, lambda state: setattr(self, "_state", state), why_not=self._why_not)
            can_start = plugin.type == "sink" or plugin.class_name.endswith(_MIRROR)
            why_not = self._why_not or (None if can_start else _NO_POSITIONS)
            self._start = ""
            with tag("div"):
                with tag("label", "Where it begins", "sm-label"):
                    fields.choice(_STARTS, "", self._set_start, why_not=why_not)
                if not can_start:
                    tag("p", _NO_POSITIONS, "sm-form-help")
                with tag("label", "Position", "sm-label", hidden="") as self._position_field:
                    fields.entry(
                        on_input=lambda text: setattr(self, "_position", text.strip()),
                        placeholder="2026-05-01T12:00:00Z, -2h, 42",
                        classes="sm-mono",
                    )

    def _set_start(self, start: str) -> None:
        self._start = start
        fields.set_hidden(self._position_field, start != "position")

    @property
    def _positions(self) -> str | None:
        return (self._position if self._start == "position" else self._start) or None

    async def _review(self) -> None:
        form = self._form
        if form is None:
            return
        await form.validate()
        if not self._name:
            fields.set_message(self._name_error, "A connector needs a name.")
        if not form.is_valid or not self._name:
            form.reveal()
            return
        config = form.config
        start: dict[str, Any] = {} if self._positions is None else {"positions": self._positions, "clamp": True}
        say = f"It will be {_STATES[self._state].lower()}"
        say += f", and begin at {self._positions}, or at the nearest record there is." if start else "."
        work = functools.partial(self._session.client.create, self._name, config, self._state, start)
        changes = forms.changes_of({}, config, form.secrets)
        if await ask_changes(f"Create {self._name}?", say, changes, "Create", work):
            fields.go_to(self._session.href("connectors", self._name))


def _short(class_name: str) -> str:
    return class_name.rpartition(".")[2]
