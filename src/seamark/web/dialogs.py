"""Questions that take more than yes or no: a text, what differs, and whether offsets go, too."""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from nicegui import ui

from seamark.client import ClientError
from seamark.web import fields
from seamark.web.forms import Change
from seamark.web.widgets import button, dialog_box, disable, notice, tag


@contextmanager
def dialog(title: str, *, is_wide: bool = False) -> Iterator[ui.dialog]:
    """A dialog with a heading, to be filled; it is not open yet."""
    with dialog_box(title, is_wide=is_wide) as made:
        tag("h2", title)
        yield made


async def ask_text(title: str, label: str, do: str, value: str = "") -> str | None:
    """A text; None if there was second thought."""
    typed = [value]
    with dialog(title) as opened:
        with tag("label", label, "sm-label"):
            field = fields.entry(value, lambda text: typed.__setitem__(0, text), autofocus="")
        field.on(
            "keydown.enter", lambda: opened.submit(typed[0]), throttle=fields.TYPING_S + 0.05, leading_events=False
        )
        with tag("div", classes="sm-dialog-actions"):
            button("Cancel", lambda: opened.submit(None), kind="quiet")
            button(do, lambda: opened.submit(typed[0]), kind="primary")
    try:
        answer = await opened
    finally:
        opened.delete()
    return str(answer) if answer else None


@dataclass(frozen=True, slots=True)
class Deletion:
    """What shall be deleted along with a connector."""

    include_offsets: bool


async def ask_deletion(name: str) -> Deletion | None:
    """Whether a connector shall be deleted, and its offsets with it; its name must be typed."""
    with_offsets = [False]
    with dialog(f"Delete {name}?") as opened:
        tag("p", "Its tasks end and its configuration is gone. Topics and what it has written stay.")
        fields.check(
            "Delete its offsets, too: a connector of the same name begins anew, not where this one was",
            lambda is_on: with_offsets.__setitem__(0, is_on),
        )
        with tag("label", f"Type {name} to go on", "sm-label"):
            typed = fields.entry(autofocus="")
        with tag("div", classes="sm-dialog-actions"):
            button("Cancel", lambda: opened.submit(None), kind="quiet")
            action = button("Delete", lambda: opened.submit(Deletion(with_offsets[0])), kind="danger")
        disable(action, f"Type {name} first")
        fields.on_text(typed, "input", lambda text: disable(action, None if text == name else f"Type {name} first"))
    try:
        answer = await opened
    finally:
        opened.delete()
    return answer if isinstance(answer, Deletion) else None


def difference_html(changes: Sequence[Change]) -> str:
    """What changes, line by line."""
    lines = [
        f'<span class="sm-diff-{"new" if line.startswith("+") else "old"}">{html.escape(line)}</span>'
        for change in changes
        for line in change.lines
    ]
    return f'<pre class="sm-diff" tabindex="0" aria-label="What changes">{"".join(lines)}</pre>'


async def ask_changes(
    title: str, say: str, changes: Sequence[Change], do: str, work: Callable[[], Awaitable[object]]
) -> bool:
    """Show what differs and carry it out if that is wanted; a refusal is shown in place. Whether it was done."""
    with dialog(title, is_wide=True) as opened:
        tag("p", say)
        ui.html(difference_html(changes), sanitize=False)
        refusal = notice("", "bad")
        refusal.props["hidden"] = ""

        async def carry_out() -> None:
            try:
                await work()
            except ClientError as error:
                fields.set_message(refusal, str(error))
            else:
                opened.submit(True)

        with tag("div", classes="sm-dialog-actions"):
            button("Cancel", lambda: opened.submit(False), kind="quiet")
            button(do, carry_out, kind="primary")
    try:
        return bool(await opened)
    finally:
        opened.delete()
