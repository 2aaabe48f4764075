"""The changes of a connector's positions so far, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from seamark.client import ClientError, OffsetOperation, Unsupported
from seamark.web.dialogs import dialog
from seamark.web.figures import count
from seamark.web.live import Feed
from seamark.web.offset_change import Progress, move_rows, moves_table, what_happens
from seamark.web.previews import preview_of, reversed_moves
from seamark.web.session import Session
from seamark.web.table import Column, Table
from seamark.web.widgets import button, notice, tag

_COLUMNS: Final = (
    Column("when", "When"),
    Column("what", "What", is_sortable=False),
    Column("state", "Result", "state"),
    Column("who", "Who"),
    Column("actions", "Undo", "actions", is_sortable=False),
)
_TONES: Final = {"DONE": "ok", "ROLLED_BACK": "warn", "FAILED": "bad"}
HISTORY_S: Final = 5.0


class History:
    """The changes, newest first, in the present slot."""

    def __init__(self, session: Session, name: str, progress: Progress) -> None:
        self._session, self._name, self._progress = session, name, progress
        self._known: list[OffsetOperation] = []
        self._feed: Feed[list[OffsetOperation]] | None = None
        self._missing = tag("div")
        self._table = Table(_COLUMNS, label="Changes of positions", empty="Nobody has moved it yet.", page_size=10)
        self._table.on_action(self._undo)

    async def watch(self) -> None:
        """Show what is new, from now on."""
        client, name = self._session.client, self._name
        self._feed = await self._session.watch(
            ("offset-history", name),
            lambda: client.offset_history(name),
            self._show,
            interval_s=HISTORY_S,
            on_error=self._is_missing,
        )

    def refresh(self) -> None:
        """Something was moved."""
        if self._feed is not None:
            self._feed.refresh()

    def _is_missing(self, error: ClientError) -> bool:
        if not isinstance(error, Unsupported):
            return False
        self._missing.clear()
        with self._missing:
            notice("This worker keeps no history.")
        return True

    def _show(self, found: Sequence[OffsetOperation]) -> None:
        self._known = list(found)
        self._table.show([self._row(each) for each in found])

    def _row(self, each: OffsetOperation) -> dict[str, Any]:
        why_not = self._session.why_not("editor")
        if why_not is None and not (each.is_done and each.changes):
            why_not = "It has changed nothing" if each.finished else "It is not over yet"
        what = {"text": _words(each), "sub": each.error or each.reason}
        return {
            "id": each.id,
            "when": f"{each.created[:19].replace('T', ' ')} UTC",
            "what": what if what["sub"] else what["text"],
            "state": {"text": each.phase, "tone": _TONES.get(each.phase, "wait")},
            "who": each.who or "-",
            "actions": [
                {"id": "undo", "label": "Undo", "why_not": why_not, "name": f"Undo the change of {each.created}"}
            ],
        }

    async def _undo(self, key: str, action: str) -> None:
        chosen = next((each for each in self._known if each.id == key), None)
        if chosen is None or self._session.why_not("editor"):
            return
        known = [each for each in self._known if each.is_done and each.changes]
        later = known.index(chosen) if chosen in known else 0
        try:
            status = await self._session.client.status(self._name)
        except ClientError as error:
            self._session.say(str(error), is_bad=True)
            return
        if await _ask(self._name, chosen, later, status.connector.state):
            await self._progress.follow(self._session.client.undo_offsets(self._name, chosen.id))


def _words(each: OffsetOperation) -> str:
    many = "" if not each.changes else f" of {count(len(each.changes), 'partition')}"
    positions = each.request.get("positions")
    if isinstance(positions, str):
        return f"{each.kind.capitalize()}{many} to {positions}"
    if isinstance(positions, dict) and len(positions) == 1:
        where, position = next(iter(positions.items()))
        return f"{each.kind.capitalize()}{many} of {where} to {position}" if not many else f"{where} to {position}"
    return f"{each.kind.capitalize()}{many}"


async def _ask(name: str, chosen: OffsetOperation, later: int, state: str) -> bool:
    preview = preview_of(reversed_moves(chosen.changes or ()))
    with dialog(f"Undo the change of {name}?", is_wide=True) as opened:
        tag("p", f"Back to where it was before {chosen.created[:19].replace('T', ' ')} UTC. {what_happens(state)}")
        if later:
            notice(f"With it, {count(later, 'later change is', 'later changes are')} undone.", "warn")
        tag("p", " ".join(preview.sentences))
        moves_table("Where partitions would go").show(move_rows(preview))
        with tag("div", classes="sm-dialog-actions"):
            button("Cancel", lambda: opened.submit(False), kind="quiet")
            button("Undo", lambda: opened.submit(True), kind="primary")
    try:
        return bool(await opened)
    finally:
        opened.delete()
