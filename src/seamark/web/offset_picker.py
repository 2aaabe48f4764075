"""A position is picked by looking: the records of a topic over time, where the connector is, and a slider."""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from seamark.client import ClientError, OffsetTable, OffsetTimeline
from seamark.web import fields, timelines
from seamark.web.figures import ago, moment
from seamark.web.session import Session
from seamark.web.timelines import STEPS, Bucket, Pick, Timeline
from seamark.web.widgets import button, set_text, tag

POINTS: Final = 96
ALL: Final = "*"
_DRAG_S: Final = 0.1
_SHORTCUTS: Final = {
    "Earliest": "earliest",
    "1 day ago": "-1d",
    "1 hour ago": "-1h",
    "15 minutes ago": "-15m",
    "Latest": "latest",
}


class Picker:
    """The timeline of a topic with its slider, in the present slot.

    Args:
        session: of the page.
        name: of the connector.
        why_not: why nothing can be moved; the timeline is shown all the same.
        on_pick: called with what was picked.
    """

    def __init__(
        self, session: Session, name: str, *, why_not: str | None, on_pick: Callable[[Pick], Awaitable[Any] | Any]
    ) -> None:
        self._session, self._name, self._why_not, self._on_pick = session, name, why_not, on_pick
        self._timeline: Timeline | None = None
        self._topics: Sequence[str] = ()
        self._topic: str | None = None
        self._position: str | None = None
        self._partition: int | None = None
        self._scope = "topic"
        with tag("div", classes="sm-row sm-picker-tools"):
            self._tools = tag("div", classes="sm-row")
        self._drawing = ui.html("", sanitize=False).classes("sm-timeline-box")
        self._slider = self._make_slider()
        with tag("div", classes="sm-timeline-axis sm-muted"):
            self._axis = [tag("span"), tag("span"), tag("span")]
        self._problem = tag("p", "", "sm-muted", hidden="")
        with tag("div", classes="sm-legend sm-muted") as self._legend:
            ui.html('<i class="sm-key-mark"></i> where it is', sanitize=False, tag="span")
            ui.html('<i class="sm-key-choice"></i> where it would go', sanitize=False, tag="span")
            ui.html('<i class="sm-key-read"></i> what it would read from there', sanitize=False, tag="span")
        with tag("div", classes="sm-picker-words"):
            self._chosen = tag("output", why_not or "Move the slider to pick a time.", "sm-chosen", aria_live="polite")
            with tag("div", classes="sm-row"):
                for label, position in _SHORTCUTS.items():
                    button(label, functools.partial(self._take, position), why_not=why_not)
            with tag("div", classes="sm-row"), tag("label", "Or write a position", "sm-label sm-grow"):
                self._entry = fields.entry(
                    placeholder="2026-05-01T12:00:00Z, -2h, +100, -100, 42",
                    why_not=why_not,
                    on_input=self._typed,
                    classes="sm-mono",
                )

    def _make_slider(self) -> Element:
        made = tag(
            "input",
            classes="sm-slider",
            type="range",
            min="0",
            max=str(STEPS + 1),
            step="1",
            aria_label="Time to go to",
        )
        made.props["^value"] = str(STEPS + 1)
        if self._why_not is not None:
            made.props.update({"disabled": "", "title": self._why_not})
        else:
            fields.on_text(made, "input", self._slide, throttle=_DRAG_S)
        return made

    # what there is

    async def load(self, table: OffsetTable) -> None:
        """Show the first topic, if it reads any."""
        if table.kind == "source":  # its log is not one of Kafka's
            fields.set_hidden(self._legend, True)
            return
        self._topics = table.topics
        self._topic = self._topics[0] if self._topics else None
        self._fill_tools()
        await self.refresh()

    def _fill_tools(self) -> None:
        self._tools.clear()
        with self._tools:
            if len(self._topics) > 1:
                with tag("label", "Topic", "sm-label"):
                    fields.choice(self._topics, self._topic or "", self._set_topic)
            with tag("label", "Move", "sm-label"):
                fields.choice(self._scopes(), self._scope, self._set_scope, why_not=self._why_not)
            if self._scope == "partition":
                with tag("label", "Partition", "sm-label"):
                    value = "" if self._partition is None else str(self._partition)
                    fields.entry(value, self._set_partition, kind="number", min="0", classes="sm-short")

    def _scopes(self) -> dict[str, str]:
        if len(self._topics) > 1:
            return {"topic": "this topic", ALL: "all topics", "partition": "one partition"}
        return {"topic": "all partitions", "partition": "one partition"}

    async def refresh(self) -> None:
        """Ask for the timeline again."""
        try:
            found = await self._session.client.offset_timeline(self._name, self._topic, POINTS)
        except ClientError as error:
            self._show_problem(str(error))
            return
        self._show(found)

    def show_positions(self, table: OffsetTable) -> None:
        """Mark where the connector is now."""
        if self._timeline is None:
            return
        times = [row.time for row in table.partitions if row.topic == self._topic and row.time is not None]
        ends = [row for row in table.partitions if row.topic == self._topic and row.time is None and row.lag == 0]
        positions = [*times, *([self._timeline.last] if ends else [])]
        if positions:
            self._timeline = Timeline(self._timeline.buckets, positions)
            self._draw()

    def _show_problem(self, text: str) -> None:
        fields.set_message(self._problem, text)
        self._timeline = None
        self._drawing.set_content("")

    def _show(self, found: OffsetTimeline) -> None:
        if found.from_ms is None or not found.buckets:
            self._show_problem(f"The topic {found.topic} has no records.")
            return
        fields.set_message(self._problem, "")
        buckets = [Bucket(each.from_ms, each.to_ms, each.records) for each in found.buckets]
        last = buckets[-1].end
        positions = [last if each.time is None else each.time for each in found.positions if each.position is not None]
        is_first = self._timeline is None
        self._timeline = Timeline(buckets, positions)
        if is_first and self._position is None and positions:
            fields.set_value(self._slider, self._timeline.step_of(min(positions)))
        for element, text in zip(self._axis, timelines.axis(self._timeline), strict=True):
            set_text(element, text)
        self._draw()

    def _draw(self) -> None:
        if self._timeline is None:
            return
        at = self._time()
        is_chosen = self._position is not None and (at is not None or self._position == "latest")
        self._drawing.set_content(timelines.drawing(self._timeline, at, is_chosen=is_chosen))

    def _time(self) -> float | None:
        """Of the picked position, if it can be told without asking."""
        if self._timeline is None or self._position is None:
            return None
        return timelines.time_of_position(self._position, self._timeline, time.time() * 1000)

    # what is picked

    async def _slide(self, value: str) -> None:
        if self._timeline is None:
            return
        await self._pick(self._timeline.position_of(float(value or 0)))

    async def _take(self, position: str) -> None:
        self._position = position
        if self._timeline is not None:
            at = self._time()
            fields.set_value(self._slider, self._timeline.step_of(None if position == "latest" else at))
        await self._pick(position)

    async def _typed(self, text: str) -> None:
        if text.strip():
            await self._pick(text.strip())

    async def _pick(self, position: str) -> None:
        self._position = position
        set_text(self._chosen, self._words(position))
        self._draw()
        await self._tell()

    def _words(self, position: str) -> str:
        if position == "earliest":
            return "To the first record that is still there"
        if position == "latest":
            return "To the end: only what comes from now on is read"
        at = self._time()
        now = time.time() * 1000
        return f"To {moment(at)} ({ago(at, now)})" if at is not None else f"To {position}"

    async def _tell(self) -> None:
        if self._position is None or (self._scope == "partition" and self._partition is None):
            return
        topic = None if self._scope == ALL or (self._scope == "topic" and len(self._topics) == 1) else self._topic
        pick = Pick(self._position, topic, self._partition if self._scope == "partition" else None)
        result = self._on_pick(pick)
        if isinstance(result, Awaitable):
            await result

    async def _set_topic(self, topic: str) -> None:
        self._topic = topic
        self._timeline = None
        await self.refresh()
        await self._tell()

    async def _set_scope(self, scope: str) -> None:
        self._scope = scope
        self._fill_tools()
        await self._tell()

    async def _set_partition(self, text: str) -> None:
        self._partition = int(text) if text.isdecimal() else None
        await self._tell()
