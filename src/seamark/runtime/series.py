"""The recent past of connectors, in memory: a figure per ten seconds for an hour, in arrays that never grow.

A thousand connectors with all figures take about 17 MB. A figure that a connector has never had takes nothing: the
array of the lags of a source, or of the errors of a connector without any, does not exist.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

STEP_S: Final = 10
STEP_MS: Final = STEP_S * 1000
STEPS: Final = 360
"""An hour."""
MEASURES: Final = ("records_per_second", "bytes_per_second", "lag", "batch_ms", "commit_ms", "errors")
_NAN: Final = math.nan
# What a step has that nothing was written for: nothing happened, or nothing is known.
_DEFAULTS: Final = {"records_per_second": 0.0, "bytes_per_second": 0.0, "errors": 0.0}


@dataclass(frozen=True, slots=True)
class Sums:
    """What the tasks of a connector have done since they were first seen, all together."""

    records: int = 0
    bytes: int = 0
    batches: int = 0
    batch_ms: float = 0.0
    commits: int = 0
    commit_ms: float = 0.0
    errors: int = 0


class Ring:
    """The figures of one connector. A step is a number that grows by one every `STEP_S`."""

    __slots__ = ("_arrays", "first", "last")

    def __init__(self, first: int) -> None:
        self.first, self.last = first, first - 1
        self._arrays: dict[str, array[float]] = {}

    def put(self, step: int, figures: Mapping[str, float | None]) -> None:
        """Write a step; those that were left out since the last one are unknown."""
        if step <= self.last:
            return
        missed = range(max(self.last + 1, step - STEPS + 1), step)
        for name in MEASURES:
            value, default = figures.get(name), _DEFAULTS.get(name, _NAN)
            known = self._arrays.get(name)
            if known is None:
                if (value is None or value == default) and not missed:
                    continue
                known = self._arrays[name] = array("d", [default]) * STEPS
            for each in missed:
                known[each % STEPS] = _NAN
            known[step % STEPS] = _NAN if value is None else round(value, 3)
        self.last = step

    def values(self, name: str, count: int, until: int | None = None) -> list[float | None]:
        """The last `count` steps of a figure, up to `until`, the newest last; None where nothing is known."""
        known = self._arrays.get(name)
        end = self.last if until is None else until
        # Steps of which there is something: from `begin`, up to but without `stop`.
        begin = max(end - count + 1, self.first, self.last - STEPS + 1)
        stop = max(begin, min(end, self.last) + 1)
        found: list[float | None]
        if known is None:
            found = [_DEFAULTS.get(name)] * (stop - begin)
        else:
            at, size = begin % STEPS, stop - begin
            there = known[at : at + size]
            there += known[: size - len(there)]
            found = [None if value != value else value for value in there]  # only NaN differs from itself
        before = min(count, max(0, begin - (end - count + 1)))
        return [None] * before + found + [None] * (count - before - len(found))

    def points(self, count: int) -> list[dict[str, Any]]:
        """The last `count` steps that there are, the oldest first, as REST shows them."""
        count = min(count, STEPS, self.last - self.first + 1)
        columns = [self.values(name, count) for name in MEASURES]
        begin = self.last - count + 1
        return [
            {"at": (begin + number + 1) * STEP_MS, **dict(zip(MEASURES, row, strict=True))}
            for number, row in enumerate(zip(*columns, strict=True))
        ]

    @property
    def size(self) -> int:
        """Bytes of its arrays."""
        return sum(each.itemsize * len(each) for each in self._arrays.values())


@dataclass(slots=True)
class _Connector:
    ring: Ring
    sums: Sums
    at: float


@dataclass
class SeriesBook:
    """The rings of all connectors of a worker. Thread-safe."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _connectors: dict[str, _Connector] = field(default_factory=dict)
    step: int = -1
    """The last one that was written."""

    def is_due(self, now_s: float) -> bool:
        """Whether a step has ended since the last one was written."""
        return int(now_s // STEP_S) - 1 > self.step

    def take(self, now_s: float, sums: Mapping[str, Sums], lags: Mapping[str, int]) -> None:
        """Write the step that has ended, of the connectors that are there; others are forgotten."""
        step = int(now_s // STEP_S) - 1
        with self._lock:
            for name in self._connectors.keys() - sums.keys():
                del self._connectors[name]
            for name, now in sums.items():
                known = self._connectors.get(name)
                if known is None:  # what it did before it was seen is of no known time
                    known = self._connectors[name] = _Connector(Ring(step), now, now_s)
                    figures: dict[str, float | None] = {}
                else:
                    figures = _figures(known.sums, now, now_s - known.at)
                figures["lag"] = lags.get(name)
                known.ring.put(step, figures)
                known.sums, known.at = now, now_s
            self.step = step

    def rate(self, name: str, sums: Sums, now_s: float) -> float:
        """Records per second: since the last step if that says enough, else in the last step."""
        with self._lock:
            known = self._connectors.get(name)
            if known is None:
                return 0.0
            elapsed = now_s - known.at
            if elapsed >= STEP_S / 3:
                return round(max(0, sums.records - known.sums.records) / elapsed, 1)
            return known.ring.values("records_per_second", 1)[0] or 0.0

    def recent(self, name: str, count: int) -> tuple[list[float | None], list[float | None]]:
        """Rates and lags of the last steps, the newest last."""
        with self._lock:
            known = self._connectors.get(name)
            if known is None:
                return [None] * count, [None] * count
            ring = known.ring
            return tuple(ring.values(what, count, self.step) for what in ("records_per_second", "lag"))  # type: ignore[return-value]

    def points(self, name: str, count: int) -> list[dict[str, Any]]:
        """As `GET /connectors/{connector}/series` shows them."""
        with self._lock:
            known = self._connectors.get(name)
            return [] if known is None else known.ring.points(count)

    @property
    def size(self) -> int:
        """Bytes of all arrays."""
        with self._lock:
            return sum(each.ring.size for each in self._connectors.values())


def _figures(before: Sums, now: Sums, seconds: float) -> dict[str, float | None]:
    seconds = max(seconds, 0.001)
    batches, commits = now.batches - before.batches, now.commits - before.commits
    return {
        "records_per_second": max(0, now.records - before.records) / seconds,
        "bytes_per_second": max(0, now.bytes - before.bytes) / seconds,
        "batch_ms": (now.batch_ms - before.batch_ms) / batches if batches > 0 else None,
        "commit_ms": (now.commit_ms - before.commit_ms) / commits if commits > 0 else None,
        "errors": float(max(0, now.errors - before.errors)),
    }
