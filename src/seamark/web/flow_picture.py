"""A picture of clusters and the flows between them, as SVG: what goes where, in which state, and how far behind.

Colours come from the page's theme by classes. Everything in it is also in the table beside it, as text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from seamark.client import MirrorSummary
from seamark.web.figures import short, span
from seamark.web.states import SHAPES, STATES

_BOX: Final = (150.0, 56.0)
_LABEL: Final = 46.0
_BEND: Final = 90.0
_NARROW_BEND: Final = 110.0
_LONGEST: Final = 18


@dataclass(frozen=True, slots=True)
class Edge:
    """A flow as it is drawn; mirrors with the same two clusters are one."""

    source: str
    target: str
    kind: str
    title: str
    note: str
    href: str


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the picture."""

    x: float
    y: float


def edges(mirrors: Sequence[MirrorSummary], href: Callable[..., str]) -> list[Edge]:
    """The flows of some mirrors."""
    flows: dict[tuple[str, str], list[MirrorSummary]] = {}
    for mirror in mirrors:
        flows.setdefault((mirror.source, mirror.target), []).append(mirror)
    return [_edge(found, href) for _, found in sorted(flows.items())]


def _edge(mirrors: Sequence[MirrorSummary], href: Callable[..., str]) -> Edge:
    worst = min(mirrors, key=lambda each: ("bad", "warn", "wait", "off", "ok").index(kind_of(each)))
    lags = [each.lag for each in mirrors]
    known = [lag for lag in lags if lag is not None]
    behind = "lag unknown" if len(known) < len(lags) else f"{short(sum(known))} behind" if sum(known) else "up to date"
    ages = [each.lag_ms for each in mirrors if each.lag_ms]
    title = state_of(worst) if len(mirrors) == 1 else f"{len(mirrors)} mirrors, {state_of(worst)}"
    return Edge(
        worst.source,
        worst.target,
        kind_of(worst),
        title,
        f"{behind}, {span(max(ages))}" if ages and known and sum(known) else behind,
        href("mirrors", worst.connector),
    )


def state_of(mirror: MirrorSummary) -> str:
    """The state that counts."""
    if mirror.state == "FAILED" or mirror.tasks.get("FAILED"):
        return "FAILED"
    return mirror.state if mirror.enabled else "NOT ENABLED"


def kind_of(mirror: MirrorSummary) -> str:
    """How the state is coloured."""
    if mirror.error and state_of(mirror) == "RUNNING":
        return "warn"
    return STATES.get(state_of(mirror), "off")


def picture(flows: Sequence[Edge], *, is_narrow: bool = False) -> str:
    """The clusters and flows. Two clusters are beside each other, or above in a narrow picture; more in a circle."""
    names = sorted({name for flow in flows for name in (flow.source, flow.target)})
    places, width, height = _places(names, is_narrow)
    bend = _NARROW_BEND if is_narrow and len(names) <= 2 else _BEND
    parts = [_flow(flow, places, bend) for flow in flows]
    parts += [_cluster(name, places[name]) for name in names]
    told = "; ".join(f"{flow.source} to {flow.target}: {flow.title}, {flow.note}" for flow in flows)
    form = "sm-flows-narrow" if is_narrow else "sm-flows-wide"
    return (
        f'<svg class="sm-flows {form}" viewBox="0 0 {width:g} {height:g}"'
        f' role="group" aria-label="Flows: {escape(told)}" style="max-width:{width:g}px">{"".join(parts)}</svg>'
    )


def _places(names: Sequence[str], is_narrow: bool) -> tuple[dict[str, Point], float, float]:
    if len(names) <= 2:
        if is_narrow:
            return (
                {name: Point(170, 46 + 230 * at) for at, name in enumerate(names)},
                340,
                46 * 2 + 230 * (len(names) - 1),
            )
        return {name: Point(100 + 560 * at, 85) for at, name in enumerate(names)}, 760, 170
    across = max(250.0, 62.0 * len(names))
    down = max(150.0, 40.0 * len(names))
    middle = Point(across + 100, down + 46)
    angle = 2 * math.pi / len(names)
    places = {
        name: Point(middle.x + across * math.sin(angle * at), middle.y - down * math.cos(angle * at))
        for at, name in enumerate(names)
    }
    return places, 2 * middle.x, 2 * middle.y


def _cluster(name: str, at: Point) -> str:
    width, height = _BOX
    text = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return (
        f'<g class="sm-cluster"><title>{escape(name)}</title>'
        f'<rect x="{at.x - width / 2:g}" y="{at.y - height / 2:g}" width="{width:g}" height="{height:g}" rx="8"/>'
        f'<text x="{at.x:g}" y="{at.y - 4:g}">{escape(text)}</text>'
        f'<text class="sm-cluster-note" x="{at.x:g}" y="{at.y + 15:g}">Kafka cluster</text></g>'
    )


def _flow(flow: Edge, places: dict[str, Point], strength: float) -> str:
    if flow.source == flow.target:
        return ""
    start, end = places[flow.source], places[flow.target]
    dx, dy = end.x - start.x, end.y - start.y
    # To its right, so that a flow and its reverse do not lie on each other.
    share = strength / math.hypot(dx, dy)
    bend = Point((start.x + end.x) / 2 + dy * share, (start.y + end.y) / 2 - dx * share)
    begin, tip = _edge_of_box(start, bend), _edge_of_box(end, bend)
    middle = Point((begin.x + 2 * bend.x + tip.x) / 4, (begin.y + 2 * bend.y + tip.y) / 4)
    width = max(len(flow.title) + 3, len(flow.note)) * 7.8 + 22
    label = (
        f'<rect class="sm-flow-label" x="{middle.x - width / 2:g}" y="{middle.y - _LABEL / 2:g}" width="{width:g}"'
        f' height="{_LABEL:g}" rx="6"/>'
        f'<text class="sm-flow-state" x="{middle.x:g}" y="{middle.y - 4:g}">{SHAPES[flow.kind]} '
        f"{escape(flow.title)}</text>"
        f'<text x="{middle.x:g}" y="{middle.y + 14:g}">{escape(flow.note)}</text>'
    )
    told = f"{flow.source} to {flow.target}: {flow.title}, {flow.note}"
    line = f"M{begin.x:.1f} {begin.y:.1f}Q{bend.x:.1f} {bend.y:.1f} {tip.x:.1f} {tip.y:.1f}"
    return (
        f'<a class="sm-flow sm-{flow.kind}" href="{escape(flow.href)}" aria-label="{escape(told)}">'
        f'<path class="sm-flow-line" d="{line}"/>{_arrow(bend, tip)}{label}</a>'
    )


def _edge_of_box(box: Point, towards: Point) -> Point:
    """Where a line from the middle of a cluster's box leaves it, and a little further."""
    width, height = _BOX[0] / 2 + 5, _BOX[1] / 2 + 5
    dx, dy = towards.x - box.x, towards.y - box.y
    share = min(width / abs(dx) if dx else math.inf, height / abs(dy) if dy else math.inf)
    return Point(box.x + dx * share, box.y + dy * share)


def _arrow(before: Point, tip: Point) -> str:
    angle = math.atan2(tip.y - before.y, tip.x - before.x)
    corners = [
        (tip.x + size * math.cos(angle + turn), tip.y + size * math.sin(angle + turn))
        for size, turn in ((0, 0), (13, math.pi - 0.4), (13, math.pi + 0.4))
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon class="sm-flow-tip" points="{points}"/>'
