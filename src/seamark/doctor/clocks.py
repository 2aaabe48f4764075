"""How far this machine's clock is from another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from seamark.doctor.findings import Finding, ok, warning

CHECK: Final = "clock"
TOLERATED_MS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Skew:
    """How many milliseconds the other clock is ahead: at least `lowest`, at most `highest`."""

    lowest_ms: int
    highest_ms: int

    @classmethod
    def of(cls, before_ms: int, after_ms: int, told_ms: int, resolution_ms: int = 1) -> Skew:
        """What follows from a time that was told between two looks at our own clock, in steps of some size."""
        return cls(told_ms - after_ms, told_ms + resolution_ms - 1 - before_ms)

    @property
    def certain_ms(self) -> int:
        """What the clocks differ by at least; negative if the other one is behind."""
        if self.lowest_ms > 0:
            return self.lowest_ms
        return min(self.highest_ms, 0)


def judge_skew(whose: str, skew: Skew) -> Finding:
    """The clock of a broker or a worker."""
    apart = skew.certain_ms
    if abs(apart) <= TOLERATED_MS:
        return ok(CHECK, f"The clock of {whose} and this machine's agree, to what can be told.")
    direction = "ahead of" if apart > 0 else "behind"
    return warning(
        CHECK,
        f"The clock of {whose} is {abs(apart) / 1000:.1f} s {direction} this machine's: rewinding to a time, and the "
        "ages of records, are off by as much.",
        "Let both follow a time server: `timedatectl set-ntp true`.",
    )
