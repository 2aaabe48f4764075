"""A topic's records over time, and the positions in it: to pick a new position by looking.

A slider has whole steps from the first to the last record of the topic; the step after the last one stands for the end
of the log. What lies between where a connector is and where it would go is told apart by colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from seamark.config.positions import AtTime, BeforeNow, parse_position
from seamark.errors import BadRequestError
from seamark.web.charts import nice_ceiling
from seamark.web.figures import count, moment, rfc3339, short

STEPS: Final = 400
"""Of the slider, without the one for the end."""

WIDTH: Final = 960.0
_HEIGHT: Final = 130.0
_TOP: Final = 10.0
_BOTTOM: Final = 1.0
_LEAST_BAR: Final = 1.5
_MOST_MARKS: Final = 200


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many records there are of a stretch of time, in milliseconds since 1970."""

    start: float
    end: float
    records: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The records of a topic over time, and the times of the records that the connector reads next."""

    buckets: Sequence[Bucket]
    positions: Sequence[float] = ()

    @property
    def first(self) -> float:
        """The beginning."""
        return self.buckets[0].start

    @property
    def last(self) -> float:
        """The end."""
        return self.buckets[-1].end

    @property
    def records(self) -> int:
        """All together."""
        return sum(bucket.records for bucket in self.buckets)

    def time_of(self, step: float) -> float | None:
        """The time that a step of the slider stands for; None is the end of the log."""
        if step > STEPS:
            return None
        return round(self.first + step / STEPS * (self.last - self.first))

    def step_of(self, at: float | None) -> int:
        """The step of the slider that is next to a time."""
        if at is None or at > self.last:
            return STEPS + 1
        length = self.last - self.first
        return round(max(0.0, at - self.first) / length * STEPS) if length > 0 else 0

    def position_of(self, step: float) -> str:
        """The position that a step stands for, as the API takes it."""
        if step <= 0:
            return "earliest"
        at = self.time_of(step)
        return "latest" if at is None else rfc3339(at)

    def records_from(self, at: float | None) -> int:
        """About how many records are of a time or later; buckets are taken as even."""
        if at is None:
            return 0
        total = 0.0
        for bucket in self.buckets:
            length = bucket.end - bucket.start
            share = 1.0 if length <= 0 else min(1.0, max(0.0, (bucket.end - at) / length))
            total += bucket.records * share
        return round(total)


@dataclass(frozen=True, slots=True)
class Pick:
    """Where to go, and which partitions."""

    position: str
    topic: str | None = None
    partition: int | None = None

    @property
    def change(self) -> dict[str, Any]:
        """As the API takes it. The nearest record there is will do: what becomes of it is shown before."""
        if self.topic is None:
            return {"positions": self.position, "clamp": True}
        where = self.topic if self.partition is None else f"{self.topic}:{self.partition}"
        return {"positions": {where: self.position}, "clamp": True}


def time_of_position(position: str, timeline: Timeline, now_ms: float) -> float | None:
    """The time that a position is about, if it is about one: None for the end of the log, and for offsets."""
    if position == "earliest":
        return timeline.first
    try:
        found = parse_position(position)
    except BadRequestError:
        return None
    return found.at_ms(round(now_ms)) if isinstance(found, AtTime | BeforeNow) else None


def drawing(timeline: Timeline, chosen: float | None = None, *, is_chosen: bool = False) -> str:
    """The timeline as SVG; with `is_chosen`, the chosen time is marked, None for the end of the log."""
    highest = nice_ceiling(max(bucket.records for bucket in timeline.buckets))
    parts = [*_bars(timeline, highest, chosen if is_chosen else None, is_chosen), *_marks(timeline), *_labels(timeline)]
    if is_chosen:
        parts += _choice(timeline, chosen)
    text = escape(_summary(timeline, chosen, is_chosen))
    return (
        f'<svg class="sm-timeline" viewBox="0 0 {WIDTH:g} {_HEIGHT:g}" preserveAspectRatio="none" role="img" '
        f'aria-label="{text}">{"".join(parts)}</svg>'
    )


def _summary(timeline: Timeline, chosen: float | None, is_chosen: bool) -> str:
    text = f"{count(timeline.records, 'record')} from {moment(timeline.first)} to {moment(timeline.last)}"
    if timeline.positions:
        text += f"; the connector is between {moment(min(timeline.positions))} and {moment(max(timeline.positions))}"
    if is_chosen:
        text += f"; chosen: {'the end' if chosen is None else moment(chosen)}"
    return text


def _x(timeline: Timeline, at: float) -> float:
    length = timeline.last - timeline.first
    share = (at - timeline.first) / length if length > 0 else 0.0
    return min(1.0, max(0.0, share)) * WIDTH


def _bars(timeline: Timeline, highest: float, chosen: float | None, is_chosen: bool) -> Iterator[str]:
    depth = _HEIGHT - _TOP - _BOTTOM
    slot = WIDTH / len(timeline.buckets)
    for place, bucket in enumerate(timeline.buckets):
        size = bucket.records / highest * depth
        height = max(size, _LEAST_BAR) if bucket.records else 0.0
        is_read = is_chosen and chosen is not None and bucket.end > chosen
        name = "sm-bar sm-bar-read" if is_read else "sm-bar"
        hint = escape(f"{moment(bucket.start)}: {count(bucket.records, 'record')}")
        yield (
            f'<g><rect class="sm-hint" x="{place * slot:.1f}" y="0" width="{slot:.1f}" height="{_HEIGHT - _BOTTOM:g}"/>'
            f'<rect class="{name}" x="{place * slot + 1:.1f}" y="{_HEIGHT - _BOTTOM - height:.1f}" '
            f'width="{max(1.0, slot - 2):.1f}" height="{height:.1f}"/><title>{hint}</title></g>'
        )


def _marks(timeline: Timeline) -> Iterator[str]:
    # Hundreds of partitions at the same place are one line.
    places = sorted({min(max(round(_x(timeline, at)), 1), round(WIDTH) - 1) for at in timeline.positions})
    for x in places[:_MOST_MARKS]:
        yield f'<line class="sm-mark" x1="{x}" x2="{x}" y1="2" y2="{_HEIGHT - _BOTTOM:g}"/>'


def _choice(timeline: Timeline, chosen: float | None) -> Iterator[str]:
    x = WIDTH - 1 if chosen is None else min(max(_x(timeline, chosen), 1.0), WIDTH - 1)
    yield f'<line class="sm-choice" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{_HEIGHT - _BOTTOM:g}"/>'


def _labels(timeline: Timeline) -> Iterator[str]:
    y = _HEIGHT - _BOTTOM
    yield f'<line class="sm-rule" x1="0" x2="{WIDTH:g}" y1="{y:g}" y2="{y:g}"/>'


def axis(timeline: Timeline) -> tuple[str, str, str]:
    """What is written below the timeline: its beginning, its middle and its end; and what a full bar stands for."""
    return (
        moment(timeline.first),
        f"{count(timeline.records, 'record')}, highest bar {short(max(bucket.records for bucket in timeline.buckets))}",
        moment(timeline.last),
    )
