"""Requests at a fixed rate, whatever the answers take."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

_CONNECTIONS = 64


@dataclass(slots=True)
class Latencies:
    """What requests took, from when each was due: one that waits for its turn is slow, too."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def sent(self) -> int:
        return len(self.seconds)

    def quantile(self, part: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def paced(urls: Sequence[str], paths: Sequence[str], per_second: float, seconds: float, seed: int = 1) -> Latencies:
    """GET paths, drawn at random, at workers in turn."""
    return asyncio.run(_paced(urls, paths, per_second, seconds, seed))


async def _paced(urls: Sequence[str], paths: Sequence[str], per_second: float, seconds: float, seed: int) -> Latencies:
    found, draw = Latencies(), random.Random(seed)
    limits = httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS)

    async def ask(client: httpx.AsyncClient, url: str, due: float) -> None:
        try:
            answer = await client.get(url)
            what = None if answer.is_success else f"{answer.status_code}"
        except httpx.HTTPError as error:
            what = type(error).__name__
        found.seconds.append(time.monotonic() - due)
        if what is not None:
            found.failed += 1
            found.failures[what] = found.failures.get(what, 0) + 1

    async with httpx.AsyncClient(timeout=60, limits=limits) as client, asyncio.TaskGroup() as group:
        began = time.monotonic()
        for number in range(int(per_second * seconds)):
            due = began + number / per_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            group.create_task(ask(client, urls[number % len(urls)] + draw.choice(paths), due))
    return found
