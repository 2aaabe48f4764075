"""Charts as SVG, drawn here: the browser runs no code for them and loads nothing.

Colours come from the page's theme by classes (`styles`), so that a chart follows light and dark by itself. Each chart
carries its summary as text, for those who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from seamark.web.figures import clock, short

Value = float | None
"""None where nothing is known: a gap in the line."""

_LEFT: Final = 40.0
_BOTTOM: Final = 20.0
_TOP: Final = 8.0
_MOST_POINTS: Final = 120
_TICKS: Final = 3
_SHORT_MS: Final = 300_000


@dataclass(frozen=True, slots=True)
class Sample:
    """A value and its time, in milliseconds since 1970."""

    at: float
    value: Value


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle to draw in, and the ranges that it stands for."""

    width: float
    height: float
    first: float
    last: float
    highest: float

    def x(self, at: float) -> float:
        """Where a time is."""
        length = self.last - self.first
        share = (at - self.first) / length if length > 0 else 1.0
        return _LEFT + min(1.0, max(0.0, share)) * (self.width - _LEFT - 2)

    def y(self, value: float) -> float:
        """Where a value is; zero is at the bottom."""
        depth = self.height - _BOTTOM - _TOP
        return _TOP + depth - min(1.0, max(0.0, value / self.highest)) * depth


def line_chart(
    samples: Sequence[Sample], label: str, unit: str = "", *, width: float = 380, height: float = 140
) -> str:
    """A line over time. Text if there is nothing to draw."""
    known = [each for each in samples if each.value is not None]
    if not known:
        return _nothing(label)
    shown = thinned(samples, _MOST_POINTS)
    highest = nice_ceiling(max(each.value or 0.0 for each in known))
    frame = Frame(width, height, samples[0].at, samples[-1].at, highest)
    parts = [*_rules(frame), *_area(frame, shown), *_hints(frame, shown, unit), *_times(frame)]
    values = [each.value for each in known if each.value is not None]
    summary = (
        f"{label}: now {short(values[-1])}{unit}, highest {short(max(values))}{unit}, lowest {short(min(values))}{unit}"
    )
    return _svg(width, height, summary, parts, "sm-chart")


def nice_ceiling(value: float) -> float:
    """The next number at or above a value that reads well on an axis: 1, 2, 4, 5, 8 or 10 times a power of ten."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in (1, 2, 4, 5, 8) if step * power >= value * (1 - 1e-9)), 10 * power)


def thinned(samples: Sequence[Sample], most: int) -> list[Sample]:
    """At most so many, each the highest of those it stands for: a peak stays a peak."""
    if len(samples) <= most:
        return list(samples)
    size = math.ceil(len(samples) / most)
    groups = [samples[start : start + size] for start in range(0, len(samples), size)]
    return [max(group, key=lambda each: -1.0 if each.value is None else each.value) for group in groups]


# parts of a chart


def _svg(width: float, height: float, summary: str, parts: Sequence[str], name: str) -> str:
    box = f"0 0 {_n(width)} {_n(height)}"
    return (
        f'<svg class="{name}" width="{_n(width)}" height="{_n(height)}" viewBox="{box}" role="img" '
        f'aria-label="{escape(summary)}">{"".join(parts)}</svg>'
    )


def _nothing(label: str) -> str:
    return f'<p class="sm-chart-empty" role="img" aria-label="{escape(label)}: no figures yet">No figures yet.</p>'


def _rules(frame: Frame) -> Iterator[str]:
    for tick in range(_TICKS):
        value = frame.highest * tick / (_TICKS - 1)
        y = _n(frame.y(value))
        yield f'<line class="sm-rule" x1="{_n(_LEFT)}" x2="{_n(frame.width)}" y1="{y}" y2="{y}"/>'
        yield f'<text class="sm-axis" x="{_n(_LEFT - 6)}" y="{y}" dy="4" text-anchor="end">{short(value)}</text>'


def _times(frame: Frame) -> Iterator[str]:
    y = _n(frame.height - 4)
    letters = 8 if frame.last - frame.first < _SHORT_MS else 5
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        at = frame.first + share * (frame.last - frame.first)
        text = clock(at)[:letters] + (" UTC" if anchor == "end" else "")
        yield f'<text class="sm-axis" x="{_n(frame.x(at))}" y="{y}" text-anchor="{anchor}">{text}</text>'


def _area(frame: Frame, samples: Sequence[Sample]) -> Iterator[str]:
    places = [None if each.value is None else (frame.x(each.at), frame.y(each.value)) for each in samples]
    bottom = _n(frame.y(0))
    for run in _runs(places):
        if len(run) > 1:
            line = " L".join(f"{_n(x)} {_n(y)}" for x, y in run)
            yield f'<path class="sm-area" d="M{_n(run[0][0])} {bottom} L{line} L{_n(run[-1][0])} {bottom} Z"/>'
        yield _path(run, "sm-line")


def _hints(frame: Frame, samples: Sequence[Sample], unit: str) -> Iterator[str]:
    """What is said when a pointer rests on a place."""
    slot = (frame.width - _LEFT) / len(samples)
    for each in samples:
        x = _n(frame.x(each.at) - slot / 2)
        text = escape(f"{clock(each.at)} UTC: {short(each.value)}{unit if each.value is not None else ''}")
        yield (
            f'<rect class="sm-hint" x="{x}" y="0" width="{_n(slot)}" height="{_n(frame.height - _BOTTOM)}">'
            f"<title>{text}</title></rect>"
        )


def _runs(places: Sequence[tuple[float, float] | None]) -> Iterator[list[tuple[float, float]]]:
    run: list[tuple[float, float]] = []
    for place in places:
        if place is not None:
            run.append(place)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _path(run: Sequence[tuple[float, float]], name: str) -> str:
    if len(run) == 1:
        return f'<circle class="sm-dot" cx="{_n(run[0][0])}" cy="{_n(run[0][1])}" r="1.5"/>'
    return f'<path class="{name}" d="M{" L".join(f"{_n(x)} {_n(y)}" for x, y in run)}"/>'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
