"""Figures as they come, and as a table at the end."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field


@dataclass(slots=True)
class Results:
    """What was measured, in order."""

    rows: list[tuple[str, str]] = field(default_factory=list)

    def add(self, what: str, value: float | str, unit: str = "") -> None:
        if isinstance(value, float):
            text = f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"
        else:
            text = f"{value:,d}" if isinstance(value, int) else value
        self.rows.append((what, f"{text} {unit}".strip()))
        print(f"{what}: {text} {unit}", file=sys.stderr, flush=True)

    def table(self) -> str:
        return "\n".join(["| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in self.rows)])
