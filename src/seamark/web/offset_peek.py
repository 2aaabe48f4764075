"""The records around a place of a partition, to see whether it is the right one."""

from __future__ import annotations

import functools
import html
from typing import Final

from nicegui import ui

from seamark.client import ClientError, OffsetRecords, PeekedRecord
from seamark.web import fields
from seamark.web.figures import UNKNOWN, moment, number
from seamark.web.session import Session
from seamark.web.widgets import button, set_text, tag

BEFORE: Final = 2
AFTER: Final = 7
MAX_BYTES: Final = 2000
_STEP: Final = BEFORE + AFTER + 1


class Peek:
    """Shows records, in the present slot; nothing until `look` is called."""

    def __init__(self, session: Session, name: str, why_not: str | None) -> None:
        self._session, self._name, self._why_not = session, name, why_not
        self._topic, self._partition, self._offset = "", 0, 0
        self._begin: int | None = None
        self._where = tag("p", why_not or "Pick a position, or a partition in the table below.", "sm-muted")
        with tag("div", classes="sm-row", hidden="") as self._tools:
            button("Earlier", functools.partial(self._step, -_STEP), kind="quiet")
            button("Later", functools.partial(self._step, _STEP), kind="quiet")
        self._box = ui.html("", sanitize=False).classes("sm-records")

    async def look(self, topic: str, partition: int, offset: int, *, begin: int | None = None) -> None:
        """Show what is around an offset; at `begin` reading would begin."""
        if self._why_not is not None:
            return
        self._topic, self._partition, self._offset, self._begin = topic, partition, offset, begin
        try:
            found = await self._session.client.offset_records(
                self._name, topic, partition, offset, before=BEFORE, after=AFTER, max_bytes=MAX_BYTES
            )
        except ClientError as error:
            set_text(self._where, str(error))
            self._box.set_content("")
            return
        self._show(found)

    async def _step(self, by: int) -> None:
        await self.look(self._topic, self._partition, max(0, self._offset + by), begin=self._begin)

    def _show(self, found: OffsetRecords) -> None:
        self._offset = min(max(self._offset, found.start), found.end)
        fields.set_hidden(self._tools, False)
        text = f"{found.topic}:{found.partition}, around offset {number(self._offset)}"
        if not found.records:
            text += ": there are no records here"
        elif not found.is_complete:
            text += "; not all could be read in time"
        set_text(self._where, text)
        lines = [_record(record, is_begin=record.offset == self._begin) for record in found.records]
        last = found.records[-1].offset if found.records else found.end
        if last + 1 >= found.end:
            is_begin = self._begin is not None and self._begin >= found.end
            mark = '<strong class="sm-begin">Reading begins here</strong> ' if is_begin else ""
            lines.append(f'<li class="sm-record-end">{mark}End of the log: what is written next comes here.</li>')
        self._box.set_content(f'<ol class="sm-record-list">{"".join(lines)}</ol>')


def _record(record: PeekedRecord, *, is_begin: bool) -> str:
    mark = '<strong class="sm-begin">Reading begins here</strong>' if is_begin else ""
    key = "" if record.key is None else f'<span class="sm-record-key">{_text(record.key, record.key_encoding)}</span>'
    headers = "".join(
        f"<span>{html.escape(str(each[0]))}: {html.escape(str(each[1]))}</span>"
        for each in record.headers
        if len(each) > 1
    )
    cut = f' <span class="sm-muted">… {number(record.value_bytes)} bytes in all</span>' if record.is_truncated else ""
    value = '<em class="sm-muted">null</em>' if record.value is None else _text(record.value, record.value_encoding)
    return (
        f'<li class="{"sm-record sm-record-begin" if is_begin else "sm-record"}">{mark}'
        f'<div class="sm-record-head"><b class="sm-num">{number(record.offset)}</b>'
        f"<time>{moment(record.timestamp) if record.timestamp else UNKNOWN}</time>{key}</div>"
        f'<pre class="sm-record-value">{value}{cut}</pre>'
        + (f'<div class="sm-record-headers">{headers}</div>' if headers else "")
        + "</li>"
    )


def _text(text: str, encoding: str | None) -> str:
    shown = html.escape(text)
    return shown if encoding != "base64" else f'<span class="sm-muted">base64</span> {shown}'
