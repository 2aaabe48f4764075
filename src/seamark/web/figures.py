"""How numbers and times are written on the page. Times are in UTC, as in the API and the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

UNKNOWN: Final = "-"
_SIZES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_AGES: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def number(value: float | None) -> str:
    """In full, with separators: 1,234,567."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def short(value: float | None) -> str:
    """In few characters: 0, 0.25, 9.5, 950, 1.2k, 34M."""
    if value is None:
        return UNKNOWN
    for size, letter in _SIZES:
        if abs(value) >= size * 0.9995:  # what would be rounded up to the next unit is written in it
            return f"{_few(value / size)}{letter}"
    return _few(value)


def _few(value: float) -> str:
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 1 else 2
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(value: int, one: str, many: str | None = None) -> str:
    """With its noun: 1 record, 2 records."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def moment(at_ms: float | None) -> str:
    """A time in full: 2026-05-01 12:00:00 UTC."""
    if at_ms is None:
        return UNKNOWN
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(at_ms: float) -> str:
    """The time of day: 12:00:00."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S")


def rfc3339(at_ms: float) -> str:
    """As a position is written: 2026-05-01T12:00:00.000Z."""
    text = datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{int(at_ms % 1000):03d}Z"


def ago(at_ms: float | None, now_ms: float) -> str:
    """How long ago, in its two largest units: 2 h 5 min ago."""
    if at_ms is None:
        return UNKNOWN
    return f"{span(now_ms - at_ms)} ago" if now_ms - at_ms >= 1_000 else "just now"


def span(length_ms: float) -> str:
    """A length of time, in its two largest units."""
    left, parts = int(length_ms), []
    for size, unit in _AGES:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(parts[:2]) or f"{int(length_ms)} ms"
