"""Requests to other workers over their REST API.

`RestClient` sends a client's request on to the worker that can answer it (the hops are counted by the REST layer), and
signed requests of this worker's own. What the other worker answers is passed on as it is, errors included; that it
could not be reached becomes an error with Kafka Connect's words.
"""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import Mapping
from typing import Any, Final

import httpx

from seamark.runtime.herder import REQUEST_TIMEOUT_S, RestError
from seamark.runtime.internal_requests import InternalRequests
from seamark.storage.config_records import SessionKey

CONNECT_TIMEOUT_S: Final = 5.0
ANSWER_TIMEOUT_S: Final = REQUEST_TIMEOUT_S + 10.0
"""Longer than the other worker takes to say that it timed out."""
KEPT_S: Final = 15.0
"""For an unused connection: shorter than any worker keeps it (Kafka Connect 30 s), or a request would meet its end."""
USER_AGENT: Final = "seamark"

_LOG: Final = logging.getLogger(__name__)
_SERVER_ERROR: Final = 500
_UNAVAILABLE: Final = 503


class RestClient:
    """Reaches other workers. Thread-safe; connections are kept and shared.

    Args:
        connect_timeout_s: how long a worker may take to accept a connection.
        answer_timeout_s: how long it may take to answer.
        tls: trusted certificates and identity for workers with an ``https`` address; by default the system's.
    """

    def __init__(
        self,
        *,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._client = httpx.Client(
            timeout=httpx.Timeout(answer_timeout_s, connect=connect_timeout_s),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEPT_S),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json"},
            follow_redirects=False,
            trust_env=False,  # workers talk to each other directly, whatever proxy the machine has
            verify=True if tls is None else tls,
        )

    def __call__(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Send a request to another worker; the status and the body of its answer, whatever they are.

        Args:
            method: of the request.
            url: with path and query.
            body: empty for none.
            headers: to send besides the usual ones.

        Raises:
            RestError: 500, there was no answer.
        """
        try:
            response = self._send(method, url, body, headers)
        except httpx.HTTPError as error:
            _LOG.error("No answer from another worker to %s %s: %r", method, url, error)
            raise RestError(_SERVER_ERROR, f"IO Error trying to forward REST request: {_text(error, url)}") from error
        except (httpx.InvalidURL, ValueError) as error:
            raise RestError(_SERVER_ERROR, f"Error trying to forward REST request: {error}") from error
        return response.status_code, response.content

    def internal(self, method: str, url: str, body: object | None, signing: InternalRequests, key: SessionKey) -> Any:
        """Send a signed request of this worker's own; the JSON of the answer, None if it is empty.

        Args:
            method: of the request.
            url: of the other worker's internal endpoint.
            body: is sent as JSON; None for no body.
            signing: how to sign.
            key: the session key.

        Raises:
            RestError: with the other worker's status and message, or 500 if there was no proper answer.
        """
        content = b"" if body is None else json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        headers = {**signing.sign(content, key), **({"Content-Type": "application/json"} if content else {})}
        status, answer = self(method, url, content, headers)
        if httpx.codes.is_success(status):
            return _json(answer) if answer else None
        if httpx.codes.is_error(status):
            problem = _json(answer)
            message = problem.get("message") if isinstance(problem, dict) else None
            raise RestError(status, answer.decode(errors="replace") if message is None else str(message))
        raise RestError(_SERVER_ERROR, f"Unexpected status code when handling forwarded request: {status}")

    def close(self) -> None:
        """Release the connections."""
        self._client.close()

    def _send(self, method: str, url: str, body: bytes, headers: Mapping[str, str]) -> httpx.Response:
        if self._client.is_closed:
            raise RestError(_UNAVAILABLE, "This worker is shutting down; ask another one.")
        request = self._client.build_request(method, url, content=body or None, headers=dict(headers))
        try:
            return self._client.send(request)
        except RuntimeError as error:  # it was closed meanwhile
            raise RestError(_UNAVAILABLE, "This worker is shutting down; ask another one.") from error


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError as error:
        shown = content[:200].decode(errors="replace")
        raise RestError(
            _SERVER_ERROR, f"IO Error trying to forward REST request: the answer is no JSON ({error}): {shown!r}"
        ) from error


def _text(error: httpx.HTTPError, url: str) -> str:
    host = httpx.URL(url).netloc.decode()
    return f"{type(error).__name__}: {error}" if str(error) else f"{type(error).__name__} from {host}"
