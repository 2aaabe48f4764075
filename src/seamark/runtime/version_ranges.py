"""Ranges of plugin versions, in the notation that Kafka Connect takes for `plugin.version` keys.

``4.2`` is that version only, ``[4.0,5.0)`` a range, ``(,4.0],[5.0,)`` several; ``latest`` is any.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest

from seamark.errors import ConfigError

_PART = re.compile(r"[0-9]+|[a-zA-Z]+")
_TOO_LONG = re.compile(r"[0-9]{19}")


def _compare(one: str, other: str) -> int:
    """Negative, zero or positive; ``4.2`` equals ``4.2.0``, and ``4.2-rc`` comes before both."""
    ours, theirs = (_PART.findall(version.lower()) for version in (one, other))
    for left, right in zip_longest(ours, theirs, fillvalue="0"):
        first, second = (int(part) if part.isdigit() else -1 for part in (left, right))
        if first != second:
            return first - second
        if first == -1 and left != right:
            return 1 if left > right else -1
    return 0


@dataclass(frozen=True, slots=True)
class _Bounds:
    low: str
    high: str
    has_low: bool
    has_high: bool

    def contains(self, version: str) -> bool:
        if self.low:
            above = _compare(version, self.low)
            if above < 0 or (above == 0 and not self.has_low):
                return False
        if self.high:
            below = _compare(version, self.high)
            if below > 0 or (below == 0 and not self.has_high):
                return False
        return True

    def __str__(self) -> str:
        return f"{'[' if self.has_low else '('}{self.low},{self.high}{']' if self.has_high else ')'}"


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions that are acceptable."""

    bounds: tuple[_Bounds, ...]
    exact: bool = False
    """Whether one version was named: then even a version that is no number has to be just that."""

    @classmethod
    def parse(cls, text: str) -> VersionRange | None:
        """The range that a text describes; None for ``latest``.

        Raises:
            ConfigError: it does not describe one.
        """
        text = text.strip()
        if _TOO_LONG.search(text):
            raise ConfigError(f"A number in it has more than 18 digits: {text[:100]}")
        if text.lower() == "latest":
            return None
        if not text.startswith(("[", "(")):
            return cls((_Bounds(text, text, has_low=True, has_high=True),), exact=True)
        bounds, rest = [], text
        while rest.startswith(("[", "(")):
            ends = [at for at in (rest.find(")"), rest.find("]")) if at >= 0]
            if not ends:
                raise ConfigError(f"Unbounded range: {text}")
            bounds.append(cls._bounds(rest[: min(ends) + 1]))
            rest = rest[min(ends) + 1 :].strip().removeprefix(",").strip()
        if rest:
            raise ConfigError(f"Only fully-qualified sets allowed in multiple set scenario: {text}")
        return cls(tuple(bounds))

    @staticmethod
    def _bounds(part: str) -> _Bounds:
        inner = part[1:-1].strip()
        low, comma, high = (piece.strip() for piece in inner.partition(","))
        has_low, has_high = part[0] == "[", part[-1] == "]"
        if not comma:
            if not (has_low and has_high):
                raise ConfigError(f"Single version must be surrounded by []: {part}")
            return _Bounds(low, low, has_low, has_high)
        if low and low == high:
            raise ConfigError(f"Range cannot have identical boundaries: {part}")
        if low and high and _compare(high, low) < 0:
            raise ConfigError(f"Range defies version ordering: {part}")
        return _Bounds(low, high, has_low, has_high)

    def contains(self, version: str) -> bool:
        """Whether a version is acceptable."""
        if self.exact and not self.bounds[0].low:
            return False
        return any(bounds.contains(version) for bounds in self.bounds)

    def __str__(self) -> str:
        return ",".join(str(bounds) for bounds in self.bounds)
