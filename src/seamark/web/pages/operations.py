"""Operations: changes of offsets that were asked for, how far each is, and what came of it."""

from __future__ import annotations

from typing import Any, Final

from seamark.client import ClientError, OffsetOperation, Unsupported
from seamark.web import session as sessions
from seamark.web.figures import count
from seamark.web.session import Session
from seamark.web.shell import page
from seamark.web.table import Column, Facet, Table
from seamark.web.widgets import button, card, dialog_box, link, notice, tag

_COLUMNS: Final = (
    Column("what", "Operation"),
    Column("state", "State", "state"),
    Column("connector", "Connector"),
    Column("who", "Who"),
    Column("created", "Asked for"),
    Column("actions", "Actions", "actions", is_sortable=False),
)
_MOVES: Final = (
    Column("partition", "Partition"),
    Column("before", "Before", "code"),
    Column("after", "After", "code"),
    Column("records", "Records", "number", title="Offsets forward, or back if negative"),
)
_KINDS: Final = {"DONE": "ok", "ROLLED_BACK": "warn", "FAILED": "bad"}
_NOT_HERE: Final = "This worker keeps no operations: it has no topics to keep them in."


@page("/operations", "Operations")
async def operations() -> None:
    """Build the page."""
    view = _Operations(sessions.current())
    await view.watch()


class _Operations:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, OffsetOperation] = {}
        tag("h1", "Operations")
        tag(
            "p",
            "Changes of offsets: a worker stops the connector, changes its offsets and starts it again.",
            "sm-muted",
        )
        self._problem = tag("div")
        with card():
            self._table = Table(
                _COLUMNS,
                label="Operations",
                facets=[Facet("state", "State"), Facet("kind", "Kind")],
                search="Search operations",
                empty="Nobody has changed offsets yet.",
            )
            self._table.on_action(self._open)

    async def watch(self) -> None:
        await self._session.watch("operations", self._session.client.operations, self._show, on_error=self._is_missing)

    def _is_missing(self, error: ClientError) -> bool:
        if not isinstance(error, Unsupported):
            return False
        self._problem.clear()
        with self._problem:
            notice(_NOT_HERE)
        return True

    def _show(self, found: list[OffsetOperation]) -> None:
        self._known = {each.id: each for each in found}
        newest = sorted(found, key=lambda each: (each.finished, _reversed(each.created)))
        self._table.show([self._row(each) for each in newest])

    def _row(self, operation: OffsetOperation) -> dict[str, Any]:
        what: dict[str, Any] = {"text": operation.kind.lower().replace("_", " ")}
        if operation.error:
            what |= {"sub": operation.error, "subtone": "bad"}
        elif operation.reason:
            what["sub"] = operation.reason
        return {
            "id": operation.id,
            "tone": "bad" if operation.phase == "FAILED" else None,
            "facets": {"state": operation.phase, "kind": operation.kind},
            "search": operation.id,
            "what": what,
            "state": {"text": operation.phase, "tone": _KINDS.get(operation.phase, "wait")},
            "connector": {
                "text": operation.connector,
                "href": self._session.href("connectors", operation.connector, "offsets"),
            },
            "who": operation.who,
            "created": shown_time(operation.created),
            "actions": [{"id": "open", "label": "Details", "name": f"Details of {operation.id}"}],
        }

    async def _open(self, key: str, action: str) -> None:
        operation = self._known.get(key)
        if operation is None:
            return
        with dialog_box("Operation", is_wide=True) as dialog:
            _details(operation, self._session)
            with tag("div", classes="sm-dialog-actions"):
                button("Close", lambda: dialog.submit(None), kind="primary")
        await dialog
        dialog.delete()


def _details(operation: OffsetOperation, session: Session) -> None:
    tag("h2", f"{operation.kind.lower().replace('_', ' ').capitalize()} of {operation.connector}")
    if operation.error:
        notice(operation.error, "bad")
    facts = {
        "State": operation.phase,
        "Asked for": f"{shown_time(operation.created)} by {operation.who}",
        "Reason": operation.reason,
        "Result": operation.message,
        "Id": operation.id,
    }
    with tag("dl", classes="sm-facts"):
        for name, value in facts.items():
            if value:
                tag("dt", name)
                tag("dd", value)
    tag("h3", "Steps")
    with tag("ol", classes="sm-steps"):
        for step in operation.steps:
            with tag("li"):
                tag("strong", step.phase)
                tag("span", f" {shown_time(step.at)}", "sm-muted")
    moves = operation.changes or ()
    if moves:
        tag("h3", count(len(moves), "partition"))
        table = Table(_MOVES, label="Moves", page_size=20)
        table.show([_move_row(index, move) for index, move in enumerate(moves)])
    link("Offsets of the connector", session.href("connectors", operation.connector, "offsets"))


def _move_row(index: int, move: Any) -> dict[str, Any]:
    return {
        "id": str(index),
        "partition": _plain(move.partition),
        "before": _plain(move.before) if move.before else "none",
        "after": _plain(move.after) if move.after else "reset",
        "records": move.records,
    }


def _plain(values: Any) -> str:
    return ", ".join(f"{key.removeprefix('kafka_')} {value}" for key, value in values.items())


def shown_time(text: str) -> str:
    """A time of the API, as the page writes times."""
    return f"{text[:19].replace('T', ' ')} UTC" if len(text) >= 19 and text[10:11] == "T" else text


def _reversed(text: str) -> tuple[int, ...]:
    """For sorting by a text, the last first."""
    return tuple(-ord(letter) for letter in text)
