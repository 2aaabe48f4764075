"""How many requests one address may send: `seamark.rest.requests.per.second`, off by default.

Each address has a bucket that holds as many requests as it may send in `BURST_S` seconds, and is filled steadily.
Probes (`/health`, `/ready`) always get through: a worker under load must not be taken for dead.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from seamark.rest.answers import Answer, error_answer
from seamark.rest.middleware import response

BURST_S: Final = 2.0
MOST_ADDRESSES: Final = 10_000
_OPEN: Final = frozenset({"/health", "/ready"})


class Buckets:
    """Of all addresses; used in one thread."""

    def __init__(self, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = per_second, clock
        self._size = max(1.0, per_second * BURST_S)
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_s(self, address: str) -> float:
        """Take a request out of the address's bucket; 0 if there was one, else how long until there will be."""
        now = self._clock()
        left, at = self._buckets.get(address, (self._size, now))
        left = min(self._size, left + (now - at) * self._rate)
        waits = 0.0 if left >= 1 else (1 - left) / self._rate
        self._buckets[address] = (left if waits else left - 1, now)
        if len(self._buckets) > MOST_ADDRESSES:
            self._forget(now)
        return waits

    def _forget(self, now: float) -> None:
        """Drop full buckets, which are as good as none; if that is not enough, those that were used least lately."""
        kept = {
            key: found for key, found in self._buckets.items() if found[0] + (now - found[1]) * self._rate < self._size
        }
        latest = sorted(kept.items(), key=lambda item: item[1][1])[-MOST_ADDRESSES // 2 :]
        self._buckets = dict(latest)


class RateLimit:
    """Answers with 429 what is too much."""

    def __init__(self, app: ASGIApp, per_second: int) -> None:
        self._app, self._buckets, self._per_second = app, Buckets(per_second), per_second

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _OPEN:
            waits = self._buckets.wait_s(scope["client"][0] if scope.get("client") else "")
            if waits:
                said = error_answer(
                    429,
                    f"More than {self._per_second} requests a second from this address; the worker's "
                    "seamark.rest.requests.per.second sets the limit",
                )
                headers = {"Retry-After": str(math.ceil(waits))}
                await response(Answer(said.status, said.content, headers=headers))(scope, receive, send)
                return
        await self._app(scope, receive, send)
