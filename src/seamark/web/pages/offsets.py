"""Where a connector is in each partition, and how it is moved: a position is picked by looking, and tried before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from seamark.client import ClientError, NotFound, OffsetPreview, OffsetTable, OffsetTableRow
from seamark.web import fields
from seamark.web import session as sessions
from seamark.web.figures import count, moment
from seamark.web.live import Feed
from seamark.web.offset_change import ChangeView
from seamark.web.offset_history import History
from seamark.web.offset_peek import Peek
from seamark.web.offset_picker import Picker
from seamark.web.offset_raw import RawOffsets
from seamark.web.pages.connector import Head, missing
from seamark.web.previews import offset_text, partition_text, topic_partition
from seamark.web.session import Session
from seamark.web.shell import page
from seamark.web.table import Column, Facet, Table
from seamark.web.timelines import Pick
from seamark.web.widgets import button, card, notice, set_text, tag

POSITIONS_S: Final = 3.0
TIMES_S: Final = 15.0
_LAST: Final = 2**53
_LOGS: Final = (
    Column("partition", "Partition"),
    Column("position", "Position", "number"),
    Column("start", "Start of log", "number"),
    Column("end", "End of log", "number"),
    Column("lag", "Lag", "number"),
    Column("time", "Next record is of"),
    Column("actions", "Records", "actions", is_sortable=False),
)
_RAW: Final = (
    Column("partition", "Partition", "code"),
    Column("offset", "Offset", "code", is_sortable=False),
    Column("actions", "Change", "actions", is_sortable=False),
)


@page("/connectors/{name}/offsets", "Offsets", active="Overview")
async def offsets(name: str) -> None:
    """Build the page."""
    session = sessions.current()
    try:
        info, table = await asyncio.gather(
            session.client.connector(name), session.client.offset_table(name, with_times=False)
        )
    except NotFound:
        missing(session, name)
        return
    except ClientError as error:
        tag("h1", name)
        notice(str(error), "bad")
        return
    head = Head(session, name, None)
    head.describe(info.type, info.config.get("connector.class"))
    view = OffsetsView(session, name, table)
    head.actions.feed, *_ = await asyncio.gather(
        session.watch(("status", name), lambda: session.client.status(name), head.show, on_error=_is_gone(head)),
        view.watch(table),
    )


def _is_gone(head: Head) -> Callable[[ClientError], bool]:
    def is_gone(error: ClientError) -> bool:
        if isinstance(error, NotFound):
            head.gone()
        return isinstance(error, NotFound)

    return is_gone


class OffsetsView:
    """The positions of a connector, in the present slot."""

    def __init__(self, session: Session, name: str, table: OffsetTable) -> None:
        self._session, self._name, self._kind = session, name, table.kind
        self._rows: dict[str, OffsetTableRow] = {}
        self._times: dict[tuple[str, int | None], int | None] = {}
        self._feeds: list[Feed[OffsetTable]] = []
        self._can_peek = table.can_peek
        self._picker: Picker | None = None
        why_not = table.why_not if not table.can_move else session.why_not("editor")
        self._summary = tag("p", "", "sm-summary", role="status")
        self._error = notice("", "warn")
        self._error.props["hidden"] = ""
        self._looking(table, why_not)
        with card("Partitions") as card_head:
            self._table = Table(
                _RAW if table.kind == "source" else _LOGS,
                label="Partitions",
                facets=[Facet("topic", "Topic")] if len(table.topics) > 1 else [],
                search="Search partitions" if table.total.partitions > 10 else None,
                empty="It has no positions yet.",
                page_size=25,
            )
            self._table.on_action(self._act)
            self.raw = RawOffsets(session, name, self._done)
            with card_head:
                button("Reset …", self.raw.reset, kind="danger", needs="editor", title="Forget all positions")
        with card("History"):
            self._history = History(session, name, self.raw.progress)

    def _looking(self, table: OffsetTable, why_not: str | None) -> None:
        with card("Move by time") as card_head:
            if table.kind != "source":
                with card_head:
                    button("Refresh", self._refresh, kind="quiet")
            self._picker = Picker(self._session, self._name, why_not=why_not, on_pick=self._picked)
        if table.kind == "source":
            return
        with tag("div", classes="sm-columns sm-halves"):
            with card("What would happen"):
                self._change = ChangeView(
                    self._session, self._name, why_not=why_not, on_preview=self._previewed, on_done=self._done
                )
            with card("Records there"):
                peek_why_not = None if table.can_peek else "Records may not be looked at on this worker."
                self._peek = Peek(self._session, self._name, peek_why_not)

    # looking

    async def watch(self, table: OffsetTable) -> None:
        """Show what is new, from now on."""
        self._show(table)
        loads: list[Awaitable[Any]] = [self._history.watch(), self._watch("offset-table", False, POSITIONS_S)]
        if self._picker is not None:
            loads.append(self._picker.load(table))
        if self._kind != "source":
            loads.append(self._watch("offset-times", True, TIMES_S))
        await asyncio.gather(*loads)

    async def _watch(self, key: str, with_times: bool, interval_s: float) -> None:
        client, name = self._session.client, self._name
        feed = await self._session.watch(
            (key, name),
            lambda: client.offset_table(name, with_times=with_times),
            self._show_times if with_times else self._show,
            interval_s=interval_s,
        )
        self._feeds.append(feed)

    def _show_times(self, table: OffsetTable) -> None:
        self._times = {(_id(row), row.position): row.time for row in table.partitions}
        self._show(table)
        if self._picker is not None:
            self._picker.show_positions(table)

    def _show(self, table: OffsetTable) -> None:
        self._rows = {_id(row): row for row in table.partitions}
        total = table.total
        words = [count(total.partitions, "partition")]
        if total.lag is not None:
            words.append(f"{count(total.lag, 'record')} behind" if total.lag else "nothing left to read")
        set_text(self._summary, ", ".join(words))
        fields.set_message(self._error, table.error or "")
        make = self._raw_row if self._kind == "source" else self._row
        self._table.show([make(key, row) for key, row in self._rows.items()])

    def _row(self, key: str, row: OffsetTableRow) -> dict[str, Any]:
        time_ms = self._times.get((key, row.position))
        if row.position is None:
            when: Any = "-"
        elif row.lag == 0:
            when = {"text": "at the end", "sort": _LAST}
        else:
            when = {"text": moment(time_ms), "sort": time_ms or 0} if time_ms else "-"
        why_not = None if self._can_peek and row.position is not None else "There is nothing to look at"
        partition = {"text": key, "sort": f"{row.topic}:{row.number or 0:09d}"}
        if row.problem:
            partition |= {"sub": row.problem, "subtone": "bad"}
        return {
            "id": key,
            "partition": partition,
            "position": "none yet" if row.position is None else row.position,
            "start": row.start,
            "end": row.end,
            "lag": row.lag,
            "time": when,
            "actions": [{"id": "peek", "label": "Look", "why_not": why_not, "name": f"Look at records of {key}"}],
            "facets": {"topic": row.topic},
        }

    def _raw_row(self, key: str, row: OffsetTableRow) -> dict[str, Any]:
        why_not = self._session.why_not("editor")
        return {
            "id": key,
            "partition": partition_text(row.partition),
            "offset": offset_text(row.offset, "none yet"),
            "actions": [{"id": "raw", "label": "Change …", "why_not": why_not, "name": f"Change the offset of {key}"}],
        }

    # moving

    async def _picked(self, pick: Pick) -> None:
        await self._change.preview(pick.change)

    async def _previewed(self, preview: OffsetPreview) -> None:
        """Look at where reading would begin, in the first partition that moves."""
        moved = [move for move in preview.changes if move.replayed or move.skipped]
        for move in [*moved, *preview.changes][:1]:
            where = topic_partition(move.partition)
            if where is not None and move.new is not None:
                await self._peek.look(*where, move.new, begin=move.new)

    async def _act(self, key: str, action: str) -> None:
        row = self._rows.get(key)
        if row is None:
            return
        if action == "raw":
            await self.raw.change(row.partition, row.offset)
        elif row.topic is not None and row.number is not None and row.position is not None:
            await self._peek.look(row.topic, row.number, row.position, begin=row.position)

    async def _refresh(self) -> None:
        if self._picker is not None:
            await self._picker.refresh()

    async def _done(self) -> None:
        """Something was moved: everything is looked at again."""
        for feed in self._feeds:
            feed.refresh()
        self._history.refresh()
        await self._refresh()


def _id(row: OffsetTableRow) -> str:
    return partition_text(row.partition)
