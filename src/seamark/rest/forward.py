"""Requests that another worker has to answer.

A client's request may be sent on twice: to the worker that this one takes for the right one, and from there once more
if that was out of date. Each sends ``forward``: true if the receiver may send it on, false if it must not.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping
from typing import Protocol

from seamark.rest import uris
from seamark.rest.answers import Answer, Call, empty_answer, error_answer
from seamark.rest.connectors import SIGNATURE, SIGNATURE_ALGORITHM
from seamark.rest.sessions import TOKEN_PREFIX
from seamark.runtime.herder import CONFLICT, NO_LEADER, ForwardError, RestError

_COPIED = ("authorization", SIGNATURE, SIGNATURE_ALGORITHM)


class Forwarder(Protocol):
    """Sends a request to another worker."""

    def __call__(self, method: str, url: str, body: bytes, headers: Mapping[str, str], /) -> tuple[int, bytes]:
        """The status and the body of the answer.

        Raises:
            RestError: there was none.
        """


def forward(error: ForwardError, call: Call, method: str, target: str, forwarder: Forwarder | None) -> Answer:
    """The answer of the worker that `error` names.

    Args:
        error: says where to.
        call: the request.
        method: of the request.
        target: its path, as it was sent.
        forwarder: does it.

    Raises:
        RestError: nobody knows where to, it was sent on too often, or there was no answer.
    """
    if call.forward is False:
        raise RestError(409, CONFLICT)
    if error.url is None:
        raise RestError(409, NO_LEADER)
    if forwarder is None:
        raise RestError(500, f"Error trying to forward REST request: this worker cannot reach {error.url}")
    query = [(name, value) for name, values in call.query.items() for value in values if name != "forward"]
    query.append(("forward", "true" if call.forward is None else "false"))
    url = f"{error.url.rstrip('/')}{target}?{urllib.parse.urlencode(query)}"
    headers = {**identity_headers(call), **call.sign(method, url, call.body)}
    if call.body:
        headers["content-type"] = "application/json"
    return _relayed(call, *forwarder(method, url, call.body, headers))


def identity_headers(call: Call) -> dict[str, str]:
    """What tells another worker who asks."""
    headers = {name: call.headers[name] for name in _COPIED if name in call.headers}
    if headers.get("authorization", "").startswith(f"Bearer {TOKEN_PREFIX}"):
        del headers["authorization"]  # counts in this process alone, and is nobody else's business
    if client := call.headers.get("x-forwarded-for") or call.client:
        headers["x-forwarded-for"] = client
    return headers


def _relayed(call: Call, status: int, content: bytes) -> Answer:
    if not 200 <= status < 300 and status < 400:
        return error_answer(500, f"Unexpected status code when handling forwarded request: {status}")
    if not content:
        return empty_answer(status)
    headers = {}
    if status == 201:
        headers["Location"] = call.base_url + uris.connector_path(json.loads(content)["name"])
    elif status == 202 and "id" in (begun := json.loads(content)):
        headers["Location"] = f"{call.base_url}/operations/{begun['id']}"
    return Answer(status, content, headers=headers)
