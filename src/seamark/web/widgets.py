"""The few parts that all pages are made of: buttons with a reason when they cannot be used, states, cards, dialogs."""

from __future__ import annotations

import html
import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.element import Element

from seamark.web import session as sessions
from seamark.web.states import SHAPES, STATES

Handler = Callable[[], Awaitable[Any] | Any]


def tag(name: str, text: str = "", classes: str = "", **attributes: Any) -> Element:
    """An HTML element; ``_`` in attributes stands for ``-``, None leaves one out."""
    made = ui.element(name)
    if classes:
        made.classes(classes)
    for key, value in attributes.items():
        if value is not None:
            made.props[key.strip("_").replace("_", "-")] = value
    if text:
        made._text = text  # noqa: SLF001 - NiceGUI offers it on labels only, which are no headings, cells or links
    return made


def set_text(element: Element, text: str) -> None:
    """Replace what an element of `tag` says, and all that it holds."""
    element.clear()
    element._text = text  # noqa: SLF001 - as above
    element.update()


def set_html(element: Element, text: str, *, is_html: bool = False) -> None:
    """Replace what an element of `tag` holds, if it differs; `text` is escaped unless it says that it is HTML."""
    content = text if is_html else html.escape(text)
    children = list(element.default_slot.children)
    if len(children) == 1 and isinstance(children[0], ui.html):
        if children[0].content != content:
            children[0].set_content(content)
        return
    element.clear()
    with element:
        ui.html(content, sanitize=False, tag="div" if is_html else "span").classes("sm-contents")


def state_html(state: str) -> str:
    """A state as HTML."""
    kind = STATES.get(state, "wait")
    shape = f'<span aria-hidden="true">{SHAPES[kind]}</span>'
    return f'<span class="sm-state sm-{kind}">{shape} {html.escape(state)}</span>'


def state(name: str) -> Element:
    """A state."""
    return ui.html(state_html(name), sanitize=False, tag="span")


def button(
    label: str,
    on_click: Handler | None = None,
    *,
    kind: str = "",
    needs: str | None = None,
    why_not: str | None = None,
    title: str | None = None,
    name: str | None = None,
) -> Element:
    """A button.

    Args:
        label: what it says.
        on_click: what it does; while it works, the button is busy and cannot be used again.
        kind: ``primary``, ``danger``, ``quiet`` or nothing.
        needs: the role that using it takes.
        why_not: why it cannot be used now; it stays where it is, greyed out, and says so.
        title: explains it.
        name: for readers of the screen, if the label alone says too little.
    """
    reason = why_not or (sessions.current().why_not(needs) if needs else None)
    made = tag("button", label, f"sm-button {f'sm-{kind}' if kind else ''}", type="button", aria_label=name)
    if reason is not None:
        disable(made, reason)
        return made
    if title:
        made.props["title"] = title
    if on_click is not None:
        made.on("click", _once(made, on_click))
    return made


def disable(element: Element, reason: str | None) -> None:
    """Grey a button out and say why; None makes it usable again, if it ever was."""
    for key, value in (("aria-disabled", "true"), ("title", reason)):
        if reason is None:
            element.props.pop(key, None)
        else:
            element.props[key] = value
    element.update()


def _once(element: Element, handler: Handler) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        if "aria-disabled" in element.props or "aria-busy" in element.props:
            return
        element.props["aria-busy"] = "true"
        element.update()
        try:
            result = handler()
            if inspect.isawaitable(result):
                await result
        finally:
            if not element.is_deleted:
                element.props.pop("aria-busy", None)
                element.update()

    return run


def link(text: str, href: str, classes: str = "") -> Element:
    """A link."""
    return tag("a", text, classes, href=href)


@contextmanager
def card(title: str | None = None, *, classes: str = "") -> Iterator[Element]:
    """A part of a page, with a heading; put what belongs beside the heading into the yielded element."""
    with tag("section", classes=f"sm-card {classes}"):
        with tag("div", classes="sm-card-head") as head:
            if title:
                tag("h2", title)
        with tag("div", classes="sm-card-body"):
            yield head


def notice(text: str, kind: str = "off") -> Element:
    """A sentence that stands out; `kind` as in `STATES`."""
    return tag("p", text, f"sm-notice sm-{kind}")


@contextmanager
def dialog_box(title: str, *, is_wide: bool = False) -> Iterator[ui.dialog]:
    """A dialog, to be awaited; what is made inside is its content."""
    with ui.dialog() as dialog:
        dialog.props["aria-label"] = title
        with tag("div", classes=f"sm-dialog {'sm-dialog-wide' if is_wide else ''}"):
            yield dialog


async def confirm(
    title: str,
    *,
    say: str,
    lines: list[str] | None = None,
    do: str,
    kind: str = "primary",
    type_in: str | None = None,
) -> bool:
    """Ask before something is done; whether it shall be.

    Args:
        title: the question.
        say: what will happen.
        lines: what it will happen to.
        do: what the button says that does it.
        kind: of that button.
        type_in: must be typed before the button works, for what cannot be undone.
    """
    with dialog_box(title) as dialog:
        tag("h2", title)
        tag("p", say)
        if lines:
            with tag("ul", classes="sm-dialog-list"):
                for line in lines:
                    tag("li", line)
        typed = None
        if type_in is not None:
            with tag("label", f"Type {type_in} to go on", "sm-label"):
                typed = ui.input().props("outlined dense autofocus").classes("sm-input")
        with tag("div", classes="sm-dialog-actions"):
            cancel = button("Cancel", lambda: dialog.submit(False), kind="quiet")
            action = button(do, lambda: dialog.submit(True), kind=kind)
        if typed is None:
            # Quasar gives it the focus: what cannot be undone takes more than a key that is pressed twice.
            (cancel if kind == "danger" else action).props["data-autofocus"] = ""
        if typed is not None:
            disable(action, f"Type {type_in} first")
            typed.on_value_change(lambda event: disable(action, None if event.value == type_in else "Not yet the same"))
    try:
        return bool(await dialog)
    finally:
        dialog.delete()
