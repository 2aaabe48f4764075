"""A connector's configuration to fill in, validated by the worker while it is typed.

Fields come and go with what is typed: a transform brings its keys. Those that stay are left alone, so that whoever
types is not interrupted.
"""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Callable
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from seamark.client import ClientError, ConfigEntry
from seamark.web import fields, forms
from seamark.web.dialogs import ask_text
from seamark.web.forms import Config, Field, Kind, Section
from seamark.web.session import Session
from seamark.web.widgets import button, notice, tag

_SWITCH: Final = ("true", "false")
_LONG: Final = 60
_CODE: Final = re.compile(r"`([^`]+)`")


class FormView:
    """The fields of a configuration, in the present slot.

    Args:
        session: of the page.
        before: the configuration that there is; with a connector's class.
        why_not: why nothing can be changed; None if it can.
        on_change: called after every validation.
        is_new: what is missing is no error yet, until `reveal` is called.

    Attributes:
        values: what the fields have; secrets are masked.
        errors: the worker's messages, by key.
        problem: why the worker could not judge the configuration at all.
    """

    def __init__(
        self,
        session: Session,
        before: Config,
        *,
        why_not: str | None = None,
        on_change: Callable[[], Any] | None = None,
        is_new: bool = False,
    ) -> None:
        self._session, self._why_not, self._on_change = session, why_not, on_change
        self._typed: set[str] | None = set() if is_new else None
        self.before = dict(before)
        self.values: dict[str, str] = {}
        self.errors: dict[str, list[str]] = {}
        self.problem: str | None = None
        self._entries: list[ConfigEntry] = []
        self._sections: list[Section] = []
        self._shows_all, self._filter = False, ""
        self._turn = asyncio.Lock()
        self._judged: dict[str, str | None] | None = None
        self._views: dict[str, _FieldView] = {}
        self._groups: dict[str, tuple[Element, Element]] = {}
        self._tools()
        self._problem = notice("", "bad")
        self._problem.props["hidden"] = ""
        self._box = tag("div", classes="sm-form")
        self._none = tag("p", "No key matches.", "sm-muted", hidden="")

    def _tools(self) -> None:
        with tag("div", classes="sm-row sm-form-tools"):
            fields.entry(on_input=self._search, name="Filter keys", placeholder="Filter keys", kind="search")
            self._all = fields.check("Show all keys", self._show_all)
            if not self._why_not:
                button("Add a key", self._add, kind="quiet", title="For keys that the worker does not know")

    @property
    def secrets(self) -> frozenset[str]:
        """Keys whose values are not shown."""
        return forms.secrets_in(self._entries, {**self.before, **self.values})

    @property
    def config(self) -> dict[str, str | None]:
        """What the fields stand for, secrets included."""
        fixed = {name: self.before[name] for name in forms.FIXED if self.before.get(name)}
        return {**fixed, **forms.config_of(self.values, self.before)}

    @property
    def changes(self) -> list[forms.Change]:
        """What differs from before."""
        return forms.changes_of(self.before, self.config, self.secrets)

    @property
    def is_valid(self) -> bool:
        """Whether the worker had nothing against it."""
        return not self.errors and self.problem is None

    async def load(self) -> None:
        """Ask the worker for the first time, and show the fields."""
        await self._judge({name: value for name, value in self.before.items() if value or name not in forms.FIXED})
        hidden = forms.secrets_in(self._entries, self.before)
        given = forms.shown(self.before, hidden)
        self.values = {name: value for name, value in given.items() if name not in forms.FIXED}
        self._draw()

    async def validate(self) -> None:
        """Ask the worker about what is there now, unless that was the last thing that it was asked about."""
        async with self._turn:
            if self._judged != self.config:
                await self._judge(self.config)
        self._draw()
        if self._on_change is not None:
            self._on_change()

    async def set_fixed(self, name: str, value: str) -> None:
        """Set a key that has no field."""
        self.before[name] = value
        await self.validate()

    async def _judge(self, config: Config) -> None:
        plugin = config.get("connector.class") or ""
        try:
            found = await self._session.client.validate(plugin, config)
        except ClientError as error:
            self._judged = None
            self.problem = forms.without_secrets(str(error), config, self.secrets)
            return
        self._judged, self.problem, self._entries = dict(config), None, list(found.configs)
        secrets = forms.secrets_in(self._entries, config)
        self.errors = {
            name: [forms.without_secrets(each, config, secrets) for each in messages]
            for name, messages in forms.messages_of(found).items()
        }
        self._sections = forms.sections_of(self._entries, config, found.groups)

    # what is shown

    def _search(self, text: str) -> None:
        self._filter = text.strip().lower()
        self._draw()

    def _show_all(self, is_on: bool) -> None:
        self._shows_all = is_on
        self._draw()

    def _is_shown(self, field: Field) -> bool:
        if self._filter:
            return self._filter in field.name.lower() or self._filter in field.label.lower()
        return field.is_basic or self._shows_all or bool(self.values.get(field.name))

    def _draw(self) -> None:
        fields.set_message(self._problem, self.problem or "")
        self._problem.classes("sm-notice sm-bad")
        wanted = {section.title: section for section in self._sections}
        for title in set(self._groups) - set(wanted):
            self._groups.pop(title)[0].delete()
        for place, section in enumerate(self._sections):
            whole, body = self._group(section.title)
            if whole.parent_slot is not None and whole.parent_slot.children.index(whole) != place:
                whole.move(target_index=place)
            shown = [field for field in section.fields if self._is_shown(field)]
            self._fill(body, section, shown)
            fields.set_hidden(whole, not shown)
        fields.set_hidden(
            self._none, not self._sections or any("hidden" not in each.props for each, _ in self._groups.values())
        )

    def _group(self, title: str) -> tuple[Element, Element]:
        if title not in self._groups:
            with self._box, tag("fieldset", classes="sm-fieldset") as whole:
                tag("legend", title)
                self._groups[title] = whole, tag("div", classes="sm-fields")
        return self._groups[title]

    def _fill(self, body: Element, section: Section, shown: list[Field]) -> None:
        names = [field.name for field in section.fields]
        for name in [name for name, view in self._views.items() if view.body is body and name not in names]:
            self._views.pop(name).whole.delete()
        for field in section.fields:
            view = self._views.get(field.name)
            if view is None and field in shown:
                with body:
                    view = self._views[field.name] = _FieldView(self, body, field)
            if view is not None:
                fields.set_hidden(view.whole, field not in shown)
                view.say(self.messages(field.name))
        order = [self._views[name].whole for name in names if name in self._views]
        for place, whole in enumerate(order):
            if body.default_slot.children.index(whole) != place:
                whole.move(target_index=place)

    def messages(self, name: str) -> list[str]:
        """What is to be said at a field."""
        is_early = self._typed is not None and name not in self._typed and not self.values.get(name)
        return [] if is_early else self.errors.get(name, [])

    def reveal(self) -> None:
        """Say all that is wrong, and go to the first field of it."""
        self._typed = None
        self._draw()
        first = next((each.name for part in self._sections for each in part.fields if self.errors.get(each.name)), None)
        if first in self._views:
            self._views[first].focus()

    # what is typed

    async def typed(self, name: str, value: str) -> None:
        """Something was typed into a field."""
        self.values[name] = value
        if self._typed is not None:
            self._typed.add(name)
        await self.validate()

    @property
    def why_not(self) -> str | None:
        """Why nothing can be changed."""
        return self._why_not

    async def _add(self) -> None:
        name = await ask_text("Add a key", "Name of the key", "Add")
        if name and name not in forms.FIXED:
            self.values.setdefault(name.strip(), "")
            field = Field(name.strip(), name.strip(), Kind.SECRET if forms.is_secret(name) else Kind.TEXT)
            if all(field.name != each.name for section in self._sections for each in section.fields):
                self._add_other(field)
            self._draw()
            self._views[field.name].focus()

    def _add_other(self, field: Field) -> None:
        for place, section in enumerate(self._sections):
            if section.title == forms.OTHER:
                self._sections[place] = Section(section.title, [*section.fields, field])
                return
        self._sections.append(Section(forms.OTHER, [field]))


class _FieldView:
    """A field: label, key, what is typed, help and messages."""

    def __init__(self, form: FormView, body: Element, field: Field) -> None:
        self.body = body
        value = form.values.get(field.name, "")
        with tag("div", classes=f"sm-form-field{' sm-wide' if _is_wide(field, value) else ''}") as self.whole:
            with tag("label", classes="sm-form-label") as label:
                tag("span", field.label if field.label != field.name else field.name)
                if field.is_required:
                    tag("span", "required", "sm-required")
            if field.label != field.name:
                tag("code", field.name, "sm-form-key")
            self._input = _input(form, field, value)
            label.props["for"] = self._input.html_id
            self._message = tag("p", "", "sm-form-error", role="alert", hidden="", id=f"{self._input.html_id}-error")
            if field.help:
                text = ui.html(_CODE.sub(r"<code>\1</code>", html.escape(field.help)), sanitize=False, tag="p")
                text.classes("sm-form-help").props["id"] = f"{self._input.html_id}-help"
        self._input.props["aria-describedby"] = f"{self._input.html_id}-error {self._input.html_id}-help"
        self._input.props["data-key"] = field.name
        self._said: list[str] = []

    def say(self, messages: list[str]) -> None:
        """Show what is wrong."""
        if messages == self._said:
            return
        self._said = list(messages)
        fields.set_message(self._message, "\n".join(messages))
        if messages:
            self._input.props["aria-invalid"] = "true"
        else:
            self._input.props.pop("aria-invalid", None)
        self._input.update()

    def focus(self) -> None:
        """Let the user type here."""
        ui.run_javascript(f"document.getElementById('{self._input.html_id}')?.focus()")


def _input(form: FormView, field: Field, value: str) -> Element:
    def typed(text: str) -> Any:
        return form.typed(field.name, text)

    default = f"{field.default}" if field.default else None
    if field.kind is Kind.SWITCH:
        options = {"": f"default ({default})" if default else "default", **{each: each for each in _SWITCH}}
        return fields.choice(options, value, typed, why_not=form.why_not)
    if field.kind is Kind.SECRET:
        return fields.entry(value, typed, kind="password", why_not=form.why_not, placeholder=default)
    return fields.entry(
        value,
        typed,
        placeholder=default or ("separated by commas" if field.kind is Kind.LIST else None),
        why_not=form.why_not,
        suggestions=field.choices,
        inputmode="numeric" if field.kind is Kind.NUMBER else None,
        classes="sm-mono" if field.kind is not Kind.NUMBER else "sm-num",
    )


def _is_wide(field: Field, value: str) -> bool:
    return len(value) > _LONG
