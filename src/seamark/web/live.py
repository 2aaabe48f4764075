"""What pages show and keep up to date: each thing is asked for once for all pages that look at it, while any does."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final, Generic, TypeVar

from seamark.client import ClientError, Unreachable

log = logging.getLogger(__name__)

T = TypeVar("T")
TIMEOUT_S: Final = 15.0
"""For one answer: a page shows that a worker hangs, instead of hanging itself."""
FRESH: Final = 2.0
"""Intervals after which what is known is too old to show."""


Fetch = Callable[[], Awaitable[T]]
Watcher = Callable[["Feed[T]"], None]


class Feed(Generic[T]):
    """One thing that is asked for again and again while somebody looks.

    Attributes:
        value: the newest answer, None before there is one.
        error: why there is no newer one, None if the last attempt went well.
        at: when `value` came, in seconds since 1970.
    """

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s
        self.value: T | None = None
        self.error: ClientError | None = None
        self.at = 0.0
        self._watchers: dict[Watcher[T], Fetch[T]] = {}
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._news = asyncio.Event()

    @property
    def is_watched(self) -> bool:
        """Whether anybody looks."""
        return bool(self._watchers)

    @property
    def is_fresh(self) -> bool:
        """Whether the value is recent."""
        return self.error is None and time.time() - self.at < FRESH * self.interval_s

    def watch(self, watcher: Watcher[T], fetch: Fetch[T]) -> None:
        """Call the watcher after every attempt; `fetch` asks, in turn with those of others, while it looks."""
        self._watchers[watcher] = fetch
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def unwatch(self, watcher: Watcher[T]) -> None:
        """Call the watcher no more; nothing is asked for without one."""
        self._watchers.pop(watcher, None)
        if not self._watchers and self._task is not None:
            self._task.cancel()
            self._task = None

    def refresh(self) -> None:
        """Ask now: something was changed."""
        self._wake.set()

    async def first(self, timeout_s: float) -> None:
        """Wait for an attempt to end, unless the value is fresh."""
        if self.is_fresh:
            return
        try:
            await asyncio.wait_for(self._news.wait(), timeout_s)
        except TimeoutError:
            return

    async def _run(self) -> None:
        while self._watchers:
            self._wake.clear()
            await self._ask()
            self._news.set()
            self._news = asyncio.Event()
            for watcher in list(self._watchers):
                try:
                    watcher(self)
                except Exception:
                    log.exception("A page could not show what is new")
            try:
                await asyncio.wait_for(self._wake.wait(), self.interval_s)
            except TimeoutError:
                continue

    async def _ask(self) -> None:
        try:
            fetch = next(iter(self._watchers.values()))
            self.value = await asyncio.wait_for(fetch(), TIMEOUT_S)
            self.error, self.at = None, time.time()
        except TimeoutError:
            self.error = Unreachable(f"The worker did not answer within {TIMEOUT_S:g} s")
        except ClientError as error:
            self.error = error
        except Exception as error:
            log.exception("A page could not ask for what is new")
            self.error = ClientError(str(error))


class Live:
    """The feeds of a worker's pages."""

    def __init__(self) -> None:
        self._feeds: dict[Hashable, Feed[Any]] = {}

    def feed(self, key: Hashable, interval_s: float) -> Feed[Any]:
        """The feed with this key; made if there is none."""
        for old in [each for each, feed in self._feeds.items() if not feed.is_watched and not feed.is_fresh]:
            del self._feeds[old]
        if key not in self._feeds:
            self._feeds[key] = Feed(interval_s)
        return self._feeds[key]
