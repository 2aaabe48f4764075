"""What both clients share: settings, when to repeat a request, and what an answer means."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import httpx

from seamark.client.decoding import DecodingError
from seamark.client.errors import ClientError, StateNotReached, UnexpectedAnswer, Unreachable, refusal
from seamark.client.models import ConnectorStatus
from seamark.client.operations import Operation
from seamark.errors import cause_of

T = TypeVar("T")

DEFAULT_URL: Final = "http://localhost:8083"
LOOK_S: Final = 0.5
STALE_S: Final = 5.0
"""How long a status may still be that of before a change: FAILED is believed only then."""
_REDIRECTED: Final = 300
_FAILED: Final = 400


@dataclass(frozen=True, slots=True)
class Retry:
    """How a request is repeated that the worker cannot carry out while its group rebalances.

    Attributes:
        deadline_s: after which the refusal is raised; 0 to repeat nothing.
        first_s: the first pause; each one is twice the one before.
        longest_s: the longest pause.
    """

    deadline_s: float = 60.0
    first_s: float = 0.2
    longest_s: float = 3.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How to reach a worker.

    Attributes:
        url: of its REST API; a path in front of it is kept.
        timeout_s: for one answer. Longer than the 90 s after which a worker itself gives up, with better words.
        retry: of requests that a rebalance is in the way of.
        auth: user and password, or any authentication of httpx.
        token: a bearer token, instead of `auth`.
        headers: sent with every request.
        verify: whether the certificate is checked, or against what.
        uses_environment: whether proxies of the environment are used.
    """

    url: str = DEFAULT_URL
    timeout_s: float = 100.0
    retry: Retry = field(default_factory=Retry)
    auth: tuple[str, str] | httpx.Auth | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    verify: ssl.SSLContext | bool = True
    uses_environment: bool = True
    token: str | None = field(default=None, repr=False)

    def http_options(self) -> dict[str, Any]:
        """Arguments of httpx's clients."""
        return {
            "timeout": self.timeout_s,
            "auth": self.auth,
            "headers": {"Accept": "application/json", **self._bearer(), **self.headers},
            # Without TLS there is nothing to check, and reading all certificates takes longer than a request.
            "verify": self.verify if not self.url.startswith("http://") else False,
            "trust_env": self.uses_environment,
            # A worker may close a connection after an error without saying so. A request on it would fail, and could
            # not be repeated, for nobody knows whether it was carried out: no connection is used twice.
            "limits": httpx.Limits(max_keepalive_connections=0),
        }

    def _bearer(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def request(self, operation: Operation[Any]) -> dict[str, Any]:
        """Arguments of httpx's `request`."""
        url = self.url.rstrip("/") + operation.path
        return {"method": operation.method, "url": url, "params": operation.query or None, "json": operation.body}

    def unreachable(self, error: Exception) -> Unreachable:
        """The error for a request without an answer."""
        if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
            return Unreachable(f"The worker at {shown_url(self.url)} did not answer within {self.timeout_s:g} s")
        return Unreachable(f"No worker answers at {shown_url(self.url)}: {error}")


def shown_url(url: str) -> str:
    """An address as messages have it: without a password."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return url
    return str(parsed.copy_with(userinfo=b"")) if parsed.userinfo else url


class Attempts:
    """When to ask again."""

    def __init__(self, retry: Retry) -> None:
        self._deadline = time.monotonic() + retry.deadline_s
        self._pause, self._longest = retry.first_s, retry.longest_s

    def pause_after(self, error: ClientError) -> float:
        """Seconds to wait before the next attempt; raises the error if there shall be none."""
        left = self._deadline - time.monotonic()
        if not error.retriable or left <= 0:
            raise error
        pause = min(self._pause, left)
        self._pause = min(self._pause * 2, self._longest)
        return pause


def result_of(operation: Operation[T], answer: httpx.Response) -> T | ClientError:
    """What an answer means: the result, or the error that it stands for."""
    status = answer.status_code
    try:
        content = answer.json() if answer.content else None
    except (ValueError, RecursionError):
        content = _NoJson()
    if status >= _FAILED and status not in operation.also_fine:
        return refusal(status, _message_of(answer, content), is_addition=operation.is_addition)
    try:
        if _REDIRECTED <= status < _FAILED:
            raise DecodingError(f"it is {status}, and sends us to {answer.headers.get('location', 'nowhere')}")
        if isinstance(content, _NoJson) and status < _FAILED:
            raise DecodingError("it is not JSON")
        return operation.read(status, content)
    except (DecodingError, KeyError, RecursionError) as error:
        asked = f"{answer.request.method} {answer.request.url}"
        return UnexpectedAnswer(
            f"The answer to {asked} is not that of a Kafka Connect worker: {error}", status=answer.status_code
        )


class Waiting:
    """For a connector to get into a state."""

    def __init__(self, name: str, state: str, timeout_s: float) -> None:
        self._name, self._state, self._timeout_s = name, state, timeout_s
        self._began = time.monotonic()

    def is_over(self, status: ConnectorStatus | None) -> bool:
        """Whether it is in the state; when that is STOPPED, whether its tasks are gone, too.

        Raises:
            StateNotReached: it has failed and so never will be, or it takes too long.
        """
        found, tasks = ("UNASSIGNED", 0) if status is None else (status.connector.state, len(status.tasks))
        if found == self._state and (found != "STOPPED" or not tasks):
            return True
        waited_s = time.monotonic() - self._began
        if status is not None and found == "FAILED" and self._state == "RUNNING" and waited_s >= STALE_S:
            raise StateNotReached(f"Connector {self._name} has failed: {cause_of(status.connector.trace or '')}")
        if waited_s >= self._timeout_s:
            raise StateNotReached(
                f"Connector {self._name} is {found} with {tasks} tasks after {self._timeout_s:g} s, "
                f"and should be {self._state}"
            )
        return False


class _NoJson:
    """Stands for a body that is no JSON."""


def _message_of(answer: httpx.Response, content: Any) -> str:
    message = content.get("message") if isinstance(content, dict) else None
    if isinstance(message, str) and message:
        return message
    asked = f"{answer.request.method} {answer.request.url}"
    return f"{asked} was answered with {answer.status_code} {answer.reason_phrase}".rstrip()
