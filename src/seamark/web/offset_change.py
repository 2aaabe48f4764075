"""What a change of positions would do, and how far it is once it was asked for."""

from __future__ import annotations

import asyncio
import html
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from nicegui import ui

from seamark.client import ClientError, OffsetOperation, OffsetPreview
from seamark.web import fields
from seamark.web.previews import MoveRow, Preview, preview_of
from seamark.web.session import Session
from seamark.web.table import Column, Table
from seamark.web.widgets import button, confirm, disable, notice, tag

LOOK_S: Final = 0.3
_COLUMNS: Final = (
    Column("partition", "Partition"),
    Column("old", "Now", "number"),
    Column("new", "New", "number"),
    Column("replayed", "Read again", "number"),
    Column("skipped", "Skipped", "number"),
)
_PHASES: Final = {
    "QUEUED": "Asked for",
    "STOPPING": "Stopping",
    "CHANGING": "Moving",
    "RESUMING": "Starting again",
    "DONE": "Done",
}
_NOTHING: Final = "Pick a position first"


def moves_table(label: str) -> Table:
    """A table of where partitions go."""
    return Table(_COLUMNS, label=label, page_size=10)


def move_rows(preview: Preview) -> list[dict[str, Any]]:
    """The rows of it: what moves farthest first is not what one looks for, so they stand in their order."""
    return [_row(row) for row in preview.rows]


def _row(row: MoveRow) -> dict[str, Any]:
    return {
        "id": row.partition,
        "partition": {"text": row.partition, "sub": row.note} if row.note else row.partition,
        "old": row.old,
        "new": row.new,
        "replayed": "unknown" if row.replayed is None else row.replayed,
        "skipped": "unknown" if row.skipped is None else row.skipped,
    }


class ChangeView:
    """Preview, reason, and the button that does it, in the present slot.

    Args:
        session: of the page.
        name: of the connector.
        why_not: why nothing can be moved.
        on_preview: called with each preview.
        on_done: called when an operation has ended.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        *,
        why_not: str | None,
        on_preview: Callable[[OffsetPreview], Awaitable[Any]],
        on_done: Callable[[], Awaitable[Any]],
    ) -> None:
        self._session, self._name, self._why_not = session, name, why_not
        self._on_preview, self._on_done = on_preview, on_done
        self._asked = 0
        self._change: Mapping[str, Any] | None = None
        self._found: OffsetPreview | None = None
        self._reason = ""
        self._said = ui.html('<p class="sm-muted">What would happen is shown here first.</p>', sanitize=False)
        self._said.props["aria-live"] = "polite"
        self._table = moves_table("Where partitions would go")
        fields.set_hidden(self._table, True)
        with tag("div", classes="sm-row sm-apply"):
            with tag("label", "Why (kept in the history)", "sm-label sm-grow"):
                fields.entry(on_input=self._set_reason, why_not=why_not)
            self._button = button("Move it …", self._apply, kind="primary", why_not=why_not)
        self.progress = Progress(session, on_done)
        self._allow(_NOTHING)

    def _allow(self, why_not: str | None) -> None:
        if self._why_not is None:
            disable(self._button, why_not)

    def _set_reason(self, text: str) -> None:
        self._reason = text.strip()

    async def preview(self, change: Mapping[str, Any]) -> None:
        """Ask what a change would do, and show it; of several only the last one asked for."""
        self._asked += 1
        turn = self._asked
        try:
            found = await self._session.client.preview_change(self._name, change)
        except ClientError as error:
            if turn == self._asked:
                self._refused(str(error))
            return
        if turn != self._asked:
            return
        self._change, self._found = change, found
        preview = preview_of(found.changes)
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in [*preview.sentences, *preview.notes])
        self._said.set_content(f'<div class="sm-notice {"sm-warn" if preview.moved else "sm-off"}">{lines}</div>')
        self._table.show(move_rows(preview))
        fields.set_hidden(self._table, False)
        self._allow(None if preview.moved else "Nothing would change")
        await self._on_preview(found)

    def _refused(self, text: str) -> None:
        self._change = self._found = None
        self._said.set_content(f'<div class="sm-notice sm-bad" style="white-space: pre-line">{html.escape(text)}</div>')
        fields.set_hidden(self._table, True)
        self._allow("The worker refuses it")

    async def _apply(self) -> None:
        change, found = self._change, self._found
        if change is None or found is None:
            return
        sentences = preview_of(found.changes).sentences
        if not await confirm(f"Move {self._name}?", say=what_happens(found.state), lines=sentences, do="Move"):
            return
        await self.progress.follow(self._session.client.change_offsets(self._name, change, self._reason or None))
        self._change = self._found = None
        self._said.set_content("")
        fields.set_hidden(self._table, True)
        self._allow(_NOTHING)


def what_happens(state: str) -> str:
    """In which steps a connector is moved."""
    if state == "STOPPED":
        return "It is stopped, so it is moved at once and stays STOPPED."
    return f"It is stopped, moved, and goes on as it was: {state}. If that fails it is left where it was."


class Progress:
    """How far an operation is, in the present slot."""

    def __init__(self, session: Session, on_done: Callable[[], Awaitable[Any]]) -> None:
        self._session, self._on_done = session, on_done
        self._box = tag("div", classes="sm-progress", role="status", aria_live="polite", hidden="")

    async def follow(self, begin: Awaitable[OffsetOperation]) -> None:
        """Begin an operation and show each of its steps until it ends."""
        try:
            operation = await begin
            self._show(operation)
            while not operation.finished:
                await asyncio.sleep(LOOK_S)
                operation = await self._session.client.operation(operation.id)
                self._show(operation)
        except ClientError as error:
            self._refused(str(error))
        await self._on_done()

    def _refused(self, text: str) -> None:
        fields.set_hidden(self._box, False)
        self._box.clear()
        with self._box:
            notice(text, "bad")

    def _show(self, operation: OffsetOperation) -> None:
        fields.set_hidden(self._box, False)
        self._box.clear()
        taken = [step.phase for step in operation.steps]
        with self._box:
            with tag("ol", classes="sm-phases"):
                for phase, label in _PHASES.items():
                    is_now = phase == operation.phase and not operation.finished
                    kind = "now" if is_now else "done" if phase in taken else "open"
                    tag("li", label, f"sm-phase-{kind}", aria_current="step" if is_now else None)
            if operation.finished:
                text = " ".join(part for part in (operation.error, operation.message) if part)
                kind = "ok" if operation.is_done else "bad"
                notice(text or operation.phase, kind)
