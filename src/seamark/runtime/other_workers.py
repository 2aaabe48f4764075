"""Questions to the other workers of a cluster, all at once, with little patience.

What a worker said a moment ago is good enough: it is answered at once, and asked for anew meanwhile. So a worker that
is slow, or away, delays those who look only the first time.
"""

from __future__ import annotations

import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final

import httpx

log = logging.getLogger(__name__)

PATIENCE_S: Final = 2.0
FRESH_S: Final = 1.0
USABLE_S: Final = 15.0
KEPT: Final = 64
Headers = Callable[[str], Mapping[str, str]]
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class Said:
    """What a worker has answered."""

    content: Any = None
    error: str | None = None
    """Why there is no answer."""


class OtherWorkers:
    """Asks other workers. Thread-safe; nothing is held before the first question."""

    def __init__(self, patience_s: float = PATIENCE_S, tls: ssl.SSLContext | None = None) -> None:
        self._patience_s, self._tls = patience_s, tls
        self._lock = threading.Lock()
        self._http: httpx.Client | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._said: dict[tuple[str, str], tuple[float, Said]] = {}
        self._asking: dict[tuple[str, str], Future[Said]] = {}

    def ask(self, urls: Collection[str], path: str, headers: Headers) -> dict[str, Said]:
        """What they answer to a GET, by URL; those that take too long have an error.

        Args:
            urls: of the workers.
            path: with its query; begins with a slash.
            headers: say who asks, for a whole URL.
        """
        found: dict[str, Said] = {}
        awaited: dict[str, Future[Said]] = {}
        now = time.monotonic()
        for url in urls:
            at, said = self._said.get((url, path), (float("-inf"), None))
            if said is None or now - at >= FRESH_S:
                asking = self._begin(url, path, headers)
                if said is None or now - at >= USABLE_S:
                    awaited[url] = asking
                    continue
            found[url] = said
        if awaited:
            wait(awaited.values(), self._patience_s)
        late = Said(error=f"no answer within {self._patience_s:g} s")
        return found | {url: asking.result() if asking.done() else late for url, asking in awaited.items()}

    def close(self) -> None:
        """Ask no more."""
        with self._lock:
            http, pool, self._http, self._pool = self._http, self._pool, None, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
        if http is not None:
            http.close()

    def _begin(self, url: str, path: str, headers: Headers) -> Future[Said]:
        key, target = (url, path), f"{url.rstrip('/')}{path}"
        with self._lock:
            asking = self._asking.get(key)
            if asking is None:
                if self._http is None or self._pool is None:
                    timeout = httpx.Timeout(self._patience_s, connect=self._patience_s / 2)
                    self._http = httpx.Client(timeout=timeout, trust_env=False, verify=self._tls or True)
                    self._pool = ThreadPoolExecutor(16, thread_name_prefix="ask-worker")
                asking = self._asking[key] = self._pool.submit(self._ask, self._http, key, target, headers(target))
            return asking

    def _ask(self, http: httpx.Client, key: tuple[str, str], target: str, headers: Mapping[str, str]) -> Said:
        try:
            answer = http.get(target, headers=headers)
            if answer.status_code == _OK:
                said = Said(json.loads(answer.content))
            else:
                said = Said(error=f"it answered {answer.status_code}: {answer.text[:200]}")
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RuntimeError) as error:
            said = Said(error=str(error) or type(error).__name__)
        with self._lock:
            self._said.pop(key, None)
            self._said[key] = time.monotonic(), said
            while len(self._said) > KEPT:
                del self._said[next(iter(self._said))]
            self._asking.pop(key, None)
        return said
