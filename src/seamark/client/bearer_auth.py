"""A bearer token that is asked for anew with each request: those in files are renewed while a client lives."""

from __future__ import annotations

from collections.abc import Callable, Generator

import httpx


class BearerAuth(httpx.Auth):
    """Authentication with a token, for `Settings.auth`.

    Args:
        token: has the token as it is now.
    """

    def __init__(self, token: Callable[[], str]) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._token()}"
        yield request
