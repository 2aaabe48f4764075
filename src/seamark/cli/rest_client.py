"""A worker's REST API for commands: answers as values, refusals as errors that say what the worker said."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from seamark.errors import ConnectError

if TYPE_CHECKING:
    import httpx

DEFAULT_URL: Final = "http://localhost:8083"
TIMEOUT_S: Final = 100.0
SETTLE_S: Final = 60.0
_CONFLICT: Final = 409
_FAILED: Final = 400
_RETRY_S: Final = 0.5
_STALE: Final = ("rebalance", "stale configuration", "conflicting operation")


class CommandError(ConnectError):
    """A command cannot be carried out; `hint` says what would help."""

    def __init__(self, message: str, hint: str | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.hint, self.status = hint, status


class RestClient:
    """Asks one worker. A request that is refused because of a rebalance is repeated, as Connect clients do."""

    def __init__(self, url: str) -> None:
        import httpx

        from seamark.cli import certificates, credentials

        self.url = url.rstrip("/")
        given = credentials.of_command_line() or credentials.of_environment() or credentials.Credentials()
        headers = {} if given.token is None else {"Authorization": f"Bearer {given.token}"}
        trusted = certificates.of_command_line() or certificates.of_environment()
        self._http: httpx.Client = httpx.Client(
            timeout=TIMEOUT_S, auth=given.auth, headers=headers, verify=trusted.verify()
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def get(self, path: str) -> Any:
        """Raises CommandError."""
        return self.ask("GET", path)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's JSON, None if there is none.

        Raises:
            CommandError: the worker is not there, or refuses; then with its status.
        """
        import httpx

        deadline = time.monotonic() + SETTLE_S
        while True:
            try:
                answer = self._http.request(method, self.url + path, json=body)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise CommandError(
                    f"No worker answers at {self.url}: {error}", "Name the REST address of a worker with --url."
                ) from error
            if answer.status_code < _FAILED:
                return answer.json() if answer.content else None
            message = _message(answer)
            is_passing = answer.status_code == _CONFLICT and any(word in message for word in _STALE)
            if not is_passing or time.monotonic() > deadline:
                raise CommandError(message, status=answer.status_code)
            time.sleep(_RETRY_S)


def connector_path(name: str, below: str = "") -> str:
    """The path of a connector, or of something below it."""
    return f"/connectors/{quote(name, safe='')}{below}"


def mirror_path(name: str, below: str = "") -> str:
    """The path of a mirror, or of something below it."""
    return f"/mirrors/{quote(name, safe='')}{below}"


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.request.method} {answer.request.url} was answered with {answer.status_code}"
