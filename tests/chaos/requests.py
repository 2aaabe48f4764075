"""Requests to whichever worker, each noted with what is certain about its effect."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from chaos.history import Event, History, Outcome
from compat.client import path_of

TIMEOUT_S = 12.0
PAUSE_S = 0.1


class Requests:
    """Requests of one client."""

    def __init__(self, who: str, urls: Sequence[str], history: History, stopped: threading.Event) -> None:
        self._who, self._urls, self._history, self._stopped = who, list(urls), history, stopped
        self._http = httpx.Client(timeout=TIMEOUT_S, limits=httpx.Limits(max_keepalive_connections=0))
        self._turn = 0

    def close(self) -> None:
        self._http.close()

    def at(self, worker: int) -> None:
        """Begin with this worker."""
        self._turn = worker

    def once(self, what: str, method: str, path: str, body: Any = None, **details: Any) -> Event:
        """One request to the next worker."""
        url = self._urls[self._turn % len(self._urls)]
        began = time.time()
        outcome, found = self._send(method, url + path, body)
        if outcome is not Outcome.DONE:
            self._turn += 1
        return self._history.add(self._who, what, began, outcome, at=url, **details, **found)

    def insist(
        self,
        what: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        also: str | None = None,
        within_s: float,
        **details: Any,
    ) -> Event:
        """The same again until it is done; after one without an answer, a refusal with this text says so, too."""
        deadline, is_open = time.monotonic() + within_s, False
        while True:
            event = self.once(what, method, path, body, **details)
            if (
                event.outcome is Outcome.REFUSED
                and is_open
                and also is not None
                and also in str(event.details.get("answer"))
            ):
                return self._history.add(self._who, what, event.began, Outcome.DONE, **event.details)
            is_open = is_open or event.outcome is Outcome.UNKNOWN
            if event.outcome is Outcome.DONE or time.monotonic() > deadline or self._stopped.wait(PAUSE_S):
                return event

    def look(self, path: str) -> tuple[int, Any]:
        """Read something, at the next worker that answers; not noted. Status 0 if none does."""
        for _ in self._urls:
            self._turn += 1
            with contextlib.suppress(httpx.HTTPError, ValueError):
                answer = self._http.get(self._urls[self._turn % len(self._urls)] + path)
                return answer.status_code, answer.json()
        return 0, None

    def _send(self, method: str, url: str, body: Any) -> tuple[Outcome, Mapping[str, Any]]:
        content = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"} if content is not None else {}
        try:
            answer = self._http.request(method, url, content=content, headers=headers)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return Outcome.REFUSED, {"error": repr(error)}  # nobody was there
        except httpx.HTTPError as error:
            return Outcome.UNKNOWN, {"error": repr(error)}
        found: dict[str, Any] = {"status": answer.status_code}
        with contextlib.suppress(ValueError):
            found["answer"] = answer.json() if answer.content else None
        if answer.is_success:
            return Outcome.DONE, found
        return (Outcome.REFUSED if answer.is_client_error else Outcome.UNKNOWN), found


def state_of(status: Any) -> tuple[str, list[str]]:
    """State of the connector and its tasks from an answer."""
    return status["connector"]["state"], [task["state"] for task in status["tasks"]]


__all__ = ["Requests", "path_of", "state_of"]
