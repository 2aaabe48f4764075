"""A line over time as SVG."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 220, 60, 30, 30


def plot(title: str, minutes: Sequence[float], values: Sequence[float]) -> str:
    """One line, from zero up."""
    top = max(values) * 1.1 or 1.0
    last = minutes[-1] or 1.0

    def x(at: float) -> float:
        return LEFT + (WIDTH - LEFT - 10) * at / last

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top

    points = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in zip(minutes, values, strict=True))
    lines = [
        f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#ccc"/>'
        f'<text x="{LEFT - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:,.4g}</text>'
        for v in (0.0, top / 2, top)
    ]
    labels = [
        f'<text x="{x(at):.1f}" y="{HEIGHT - 10}" text-anchor="middle">{at:.0f} min</text>'
        for at in (0.0, last / 2, last)
    ]
    head = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11"'
    frame = (
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/><text x="{LEFT}" y="18" font-size="13">{title}</text>'
    )
    curve = f'<polyline points="{points}" fill="none" stroke="#1565c0" stroke-width="1.5"/>'
    return f"<svg {head}>{frame}{''.join(lines)}{''.join(labels)}{curve}</svg>\n"
