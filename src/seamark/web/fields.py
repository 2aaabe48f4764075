"""Fields to fill in: the browser's own, with a label, help and messages.

What is typed stays as it is when something else on the page changes: values are given to the browser as attributes
(``^``), which it takes as a beginning, and not as properties, which would be set again whenever anything is drawn.
"""

from __future__ import annotations

import html
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from seamark.web.widgets import set_text, tag

OnText = Callable[[str], Awaitable[Any] | Any]
TYPING_S: Final = 0.3
"""What is typed within this time is taken together."""
_VALUE: Final = "(event) => emit(event.target.value)"


def on_text(element: Element, event: str, handler: OnText, *, throttle: float = 0.0) -> None:
    """Call a handler with the element's value."""

    def handle(arguments: GenericEventArguments) -> Awaitable[Any] | Any:
        value = arguments.args[0] if isinstance(arguments.args, list) else arguments.args
        return handler("" if value is None else str(value))

    element.on(event, handle, js_handler=_VALUE, throttle=throttle, leading_events=False)


def entry(
    value: str = "",
    on_input: OnText | None = None,
    *,
    name: str | None = None,
    kind: str = "text",
    placeholder: str | None = None,
    why_not: str | None = None,
    suggestions: Iterable[str] = (),
    classes: str = "",
    **attributes: Any,
) -> Element:
    """A line to type into; `name` is for readers of the screen if it has no label."""
    made = tag("input", classes=f"sm-field {classes}", type=kind, placeholder=placeholder or None, aria_label=name)
    made.props["^value"] = value
    made.props["autocomplete"] = "new-password" if kind == "password" else "off"
    made.props["spellcheck"] = "false"
    for key, given in attributes.items():
        if given is not None:
            made.props[key.replace("_", "-")] = given
    words = list(suggestions)
    if words:
        made.props["list"] = f"list-{made.id}"
        with tag("datalist", id=f"list-{made.id}"):
            for word in words:
                tag("option", value=word)
    if why_not is not None:
        made.props.update({"disabled": "", "title": why_not})
    elif on_input is not None:
        _on_typing(made, value, on_input)
    return made


def _on_typing(element: Element, value: str, handler: OnText) -> None:
    """Tell what is typed: after a pause, and before the field is left, so that a click elsewhere comes later."""
    told = [value]

    def tell(text: str) -> Awaitable[Any] | Any:
        if text == told[0]:
            return None
        told[0] = text
        return handler(text)

    on_text(element, "input", tell, throttle=TYPING_S)
    on_text(element, "change", tell)


def area(value: str = "", on_input: OnText | None = None, *, name: str | None = None, rows: int = 6) -> Element:
    """Several lines to type into."""
    made = tag(
        "textarea", classes="sm-field sm-area-field sm-mono", rows=str(rows), aria_label=name, spellcheck="false"
    )
    with made:
        # Its content is where it begins, as the value of a line is.
        ui.html(html.escape(value), sanitize=False, tag="span")
    if on_input is not None:
        _on_typing(made, value, on_input)
    return made


def choice(
    options: Mapping[str, str] | Iterable[str],
    value: str,
    on_change: OnText | None = None,
    *,
    name: str | None = None,
    why_not: str | None = None,
    classes: str = "",
    **attributes: Any,
) -> Element:
    """One of several; `options` are values and what they are called."""
    made = tag("select", classes=f"sm-field {classes}", aria_label=name)
    labels = options if isinstance(options, Mapping) else {each: each for each in options}
    with made:
        for key, label in labels.items():
            tag("option", label, value=key, selected="" if key == value else None)
    for key, given in attributes.items():
        if given is not None:
            made.props[key.replace("_", "-")] = given
    if why_not is not None:
        made.props.update({"disabled": "", "title": why_not})
    elif on_change is not None:
        on_text(made, "change", on_change)
    return made


def check(label: str, on_change: Callable[[bool], Any], *, is_on: bool = False, why_not: str | None = None) -> Element:
    """Yes or no."""
    with tag("label", classes="sm-check") as whole:
        made = tag("input", type="checkbox")
        if is_on:
            made.props["^checked"] = ""
        tag("span", label)
    if why_not is not None:
        made.props["disabled"] = ""
        whole.props["title"] = why_not
    else:

        def handle(arguments: GenericEventArguments) -> Any:
            value = arguments.args[0] if isinstance(arguments.args, list) else arguments.args
            return on_change(bool(value))

        made.on("change", handle, js_handler="(event) => emit(event.target.checked)")
    return made


def set_value(element: Element, value: str | float) -> None:
    """Put something into a field that may have been typed into."""
    element.props["^value"] = str(value)
    element.update()
    element.client.run_javascript(
        f"const it = document.getElementById('{element.html_id}'); if (it) it.value = {json.dumps(value)}"
    )


def set_message(element: Element, text: str) -> None:
    """Show a message at a field; nothing hides it."""
    set_text(element, text)
    set_hidden(element, not text)


def set_hidden(element: Element, is_hidden: bool) -> None:
    """Hide an element, or show it again."""
    if ("hidden" in element.props) == is_hidden:
        return
    if is_hidden:
        element.props["hidden"] = ""
    else:
        element.props.pop("hidden", None)
    element.update()


def go_to(address: str) -> None:
    """Leave for another page."""
    ui.run_javascript(f"location.assign({json.dumps(address)})")
