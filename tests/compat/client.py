"""A thin client of Connect's REST API, and how answers are judged."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx

from compat.differences import DIFFERENCES
from compat.targets import Target
from seamark.testing.waiting import eventually, patience

TIMEOUT_S: Final = 100.0
STALE: Final = (
    "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)"
)
NO_LEADER: Final = (
    "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
)
# What a worker says while its group rebalances: nothing has been done, and the request can be repeated.
_REBALANCING: Final = (STALE, NO_LEADER, "Request cannot be completed because a rebalance is expected")
RETRY: Final = "this operation can be safely retried"
# Made once: loading the certificates costs more than most requests.
_NO_TLS: Final = ssl.create_default_context()
NOT_FOUND: Final = "HTTP 404 Not Found"

Text = str | re.Pattern[str] | Sequence[str]


def path_of(name: str, *more: object) -> str:
    """`/connectors/{name}`, encoded, and what follows."""
    return "/".join(["/connectors", urllib.parse.quote(name, safe=""), *map(str, more)])


def in_order(offsets: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of offsets by partition."""
    return sorted(map(dict, offsets), key=lambda row: json.dumps(row["partition"], sort_keys=True))


class Connect:
    """Talks to one worker of a target.

    A request that a worker refuses because of a rebalance is repeated, as every Connect client does, unless `settle` is
    false.
    """

    def __init__(self, target: Target, worker: int = 0) -> None:
        self.target = target
        self.url = target.urls[worker % len(target.urls)]
        # A server may close a connection after an error, and a request on it would then fail: none is used twice.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._http = httpx.Client(base_url=self.url, timeout=TIMEOUT_S, verify=_NO_TLS, limits=limits)

    def close(self) -> None:
        self._http.close()

    # requests

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        settle: bool = True,
    ) -> httpx.Response:
        """One request; `body` is sent as JSON, `content` as it is (as JSON too unless `headers` say otherwise)."""
        if body is not None:
            content = json.dumps(body)
        sent = {"Content-Type": "application/json"} if content is not None and headers is None else dict(headers or {})
        deadline = time.monotonic() + patience(60)
        while True:
            response = self._http.request(method, path, content=content, headers=sent)
            is_refused = response.is_error and any(text in response.text for text in _REBALANCING)
            if not settle or not is_refused or time.monotonic() > deadline:
                return response
            time.sleep(0.05)

    def get(self, path: str) -> httpx.Response:
        return self.call("GET", path)

    def put(self, path: str, body: Any = None) -> httpx.Response:
        return self.call("PUT", path, body)

    def post(self, path: str, body: Any = None) -> httpx.Response:
        return self.call("POST", path, body)

    def patch(self, path: str, body: Any = None) -> httpx.Response:
        return self.call("PATCH", path, body)

    def delete(self, path: str) -> httpx.Response:
        return self.call("DELETE", path)

    def raw(self, method: str, path: str) -> tuple[int, str, bytes]:
        """A request whose path is sent as it is: status, content type and body."""
        host = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(str(host.hostname), host.port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response.status, response.headers.get("Content-Type", ""), response.read()
        finally:
            connection.close()

    # connectors

    def create(self, name: str, config: Mapping[str, Any], initial_state: str | None = None) -> dict[str, Any]:
        """Create a connector and wait until this worker knows it."""
        body: dict[str, Any] = {"name": name, "config": dict(config)}
        if initial_state is not None:
            body["initial_state"] = initial_state
        created: dict[str, Any] = expect(self.post("/connectors", body), 201)
        eventually(lambda: self.get(path_of(name)).status_code == httpx.codes.OK, 60, f"{name} is not known")
        return created

    def status(self, name: str) -> dict[str, Any]:
        """Its status, empty while there is none."""
        response = self.get(path_of(name, "status"))
        return dict(response.json()) if response.status_code == httpx.codes.OK else {}

    def await_state(self, name: str, state: str, tasks: Sequence[str] | None = None) -> dict[str, Any]:
        """Wait for a state of the connector and, in order, of its tasks (by default one, or none when STOPPED)."""
        wanted = list(tasks) if tasks is not None else ([] if state == "STOPPED" else [state])

        def is_there() -> dict[str, Any]:
            status = self.status(name)
            assert status, "there is no status"
            states = status["connector"]["state"], [task["state"] for task in status["tasks"]]
            assert states == (state, wanted), f"it is {states}"
            return status

        return eventually(is_there, 60, f"{name} is not {state} with tasks {wanted}")

    def stop(self, name: str) -> None:
        """Stop a connector and wait until its tasks are gone, for every endpoint that offsets depend on."""
        assert self.put(path_of(name, "stop")).status_code == httpx.codes.NO_CONTENT
        self.await_state(name, "STOPPED")
        eventually(lambda: self.get(path_of(name, "tasks")).json() == [], 60, f"{name} still has tasks")

    def pause(self, name: str, tasks: Sequence[str] | None = None) -> None:
        assert self.put(path_of(name, "pause")).status_code == httpx.codes.ACCEPTED
        self.await_state(name, "PAUSED", tasks)

    def resume(self, name: str, tasks: Sequence[str] | None = None) -> None:
        assert self.put(path_of(name, "resume")).status_code == httpx.codes.ACCEPTED
        self.await_state(name, "RUNNING", tasks)

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """Its offsets, in an order that does not depend on the worker."""
        answer = expect(self.get(path_of(name, "offsets")), 200)
        assert set(answer) == {"offsets"}
        return in_order(answer["offsets"])

    def alter(self, name: str, *offsets: tuple[Any, Any]) -> httpx.Response:
        """Change offsets, again while former tasks still hold the consumer group."""
        body = {"offsets": [{"partition": partition, "offset": offset} for partition, offset in offsets]}
        return self._patiently("PATCH", name, body)

    def reset(self, name: str) -> httpx.Response:
        """Reset all offsets, again while former tasks still hold the consumer group."""
        return self._patiently("DELETE", name, None)

    def _patiently(self, method: str, name: str, body: Any) -> httpx.Response:
        deadline = time.monotonic() + patience(30)
        while True:
            response = self.call(method, path_of(name, "offsets"), body)
            if RETRY not in response.text or time.monotonic() > deadline:
                return response
            time.sleep(0.1)

    # judgements

    def refuses(self, response: httpx.Response, status: int, message: Text, case: str | None = None) -> None:
        """Fail unless the answer is this error in Connect's shape, or the difference that is listed for `case`."""
        difference = DIFFERENCES.get(case) if case is not None and self.target.is_seamark else None
        if difference is not None:
            status = difference.status or status
            message = difference.message or message
        text = f"{response.request.method} {response.request.url} -> {response.status_code} {response.text}"
        assert response.status_code == status, text
        answer = response.json()
        assert set(answer) == {"error_code", "message"}, text
        assert answer["error_code"] == status, text
        assert isinstance(answer["message"], str), text
        if isinstance(message, str):
            assert answer["message"] == message, text
        elif isinstance(message, re.Pattern):
            assert message.fullmatch(answer["message"]), text
        else:
            missing = [part for part in message if part not in answer["message"]]
            assert not missing, f"{text}: no {missing}"


def expect(response: httpx.Response, status: int) -> Any:
    """Fail unless the answer has this status; its JSON, None when it is empty."""
    text = f"{response.request.method} {response.request.url} -> {response.status_code} {response.text}"
    assert response.status_code == status, text
    if not response.content:
        return None
    assert response.headers["content-type"] == "application/json", text
    return response.json()
