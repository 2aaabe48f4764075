"""Offsets as they are: for connectors whose positions only they understand, and to forget all of them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from seamark.client import ClientError
from seamark.web import fields
from seamark.web.dialogs import dialog
from seamark.web.offset_change import Progress, what_happens
from seamark.web.previews import partition_text, preview_of
from seamark.web.session import Session
from seamark.web.widgets import button, confirm, notice, tag


class RawOffsets:
    """Changes offsets as they are written, and resets them; in the present slot it shows how far that is."""

    def __init__(self, session: Session, name: str, on_done: Callable[[], Awaitable[Any]]) -> None:
        self._session, self._name = session, name
        self.progress = Progress(session, on_done)

    async def reset(self) -> None:
        """Forget all positions, if that is wanted."""
        say = "It forgets all positions, and begins as its configuration says: usually with everything there is."
        await self._carry_out(f"Reset {self._name}?", say, {"reset": True}, "Reset", "danger")

    async def change(self, partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> None:
        """Ask for the offset of a partition, and set it."""
        wanted = await _ask(partition, offset)
        if wanted is not None:
            change = {"offsets": [{"partition": dict(partition), "offset": wanted}]}
            await self._carry_out(f"Move {self._name}?", "", change, "Move", "primary")

    async def _carry_out(self, title: str, say: str, change: Mapping[str, Any], do: str, kind: str) -> None:
        try:
            found = await self._session.client.preview_change(self._name, change)
        except ClientError as error:
            self._session.say(str(error), is_bad=True)
            return
        rows = preview_of(found.changes).rows
        lines = [f"{row.partition}: {row.old} → {row.new}" for row in rows[:20]]
        if len(rows) > len(lines):
            lines.append(f"and {len(rows) - len(lines)} more")
        words = " ".join(part for part in (say, what_happens(found.state)) if part)
        if await confirm(title, say=words, lines=lines, do=do, kind=kind):
            await self.progress.follow(self._session.client.change_offsets(self._name, change))


async def _ask(partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> dict[str, Any] | None:
    typed = [json.dumps(offset or {}, indent=2)]
    with dialog(f"Offset of {partition_text(partition)}", is_wide=True) as opened:
        tag("p", "As the connector writes it, in JSON. What would happen is shown before anything is changed.")
        fields.area(typed[0], lambda text: typed.__setitem__(0, text), name="Offset")
        wrong = notice("", "bad")
        wrong.props["hidden"] = ""

        def submit() -> None:
            try:
                found = json.loads(typed[0])
            except ValueError as error:
                fields.set_message(wrong, f"This is not JSON: {error}")
                return
            if isinstance(found, dict) and found:
                opened.submit(found)
            else:
                fields.set_message(wrong, 'It should be an object, such as {"position": 42}')

        with tag("div", classes="sm-dialog-actions"):
            button("Cancel", lambda: opened.submit(None), kind="quiet")
            button("Next", submit, kind="primary")
    try:
        answer = await opened
    finally:
        opened.delete()
    return answer if isinstance(answer, dict) else None
