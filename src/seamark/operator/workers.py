"""Workers, as the operator reaches them: one client per address, and one change at a time per cluster of workers."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import quote

from seamark.client import AsyncConnectClient, Retry, Settings
from seamark.operator.kinds import CONNECT_URL, Resource, annotations_of, name_of, namespace_of

PORT: Final = 8083
# Long enough for a rebalance to pass; what takes longer is tried again in the next pass.
_RETRY: Final = Retry(deadline_s=10.0)


class Workers:
    """All workers that resources name.

    Args:
        settings: what every client trusts and shows.
        trusted: patterns of addresses, with ``*``, that get our credentials. Whoever may write a resource decides
            where it points to, so others do not.
    """

    def __init__(self, settings: Settings | None = None, trusted: Sequence[str] = ()) -> None:
        self._settings, self._trusted = settings or Settings(), tuple(trusted)
        self._clients: dict[str, AsyncConnectClient] = {}
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    def at(self, url: str) -> AsyncConnectClient:
        """The client of a worker."""
        if url not in self._clients:
            auth = self._settings.auth if self._is_trusted(url) else None
            self._clients[url] = AsyncConnectClient(replace(self._settings, url=url, retry=_RETRY, auth=auth))
        return self._clients[url]

    def _is_trusted(self, url: str) -> bool:
        return any(fnmatchcase(url, pattern) for pattern in self._trusted)

    def lock(self, url: str, connector: str = "") -> asyncio.Lock:
        """Held by whoever decides on and changes the state of a connector, or what is known of all of them."""
        return self._locks[url, connector]

    async def aclose(self) -> None:
        """Let go of connections."""
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()


def given_url(resource: Resource) -> str | None:
    """Where a worker is that the operator did not start, as an annotation says."""
    return annotations_of(resource).get(CONNECT_URL, "").strip().rstrip("/") or None


def service_url(resource: Resource, component: str) -> str:
    """Where the workers are that the operator started."""
    return f"http://{name_of(resource)}-{component}-api.{namespace_of(resource)}.svc:{PORT}"


def connector_path(connector: str, below: str = "") -> str:
    """The path of a connector, for answers that shall be kept as they are."""
    return f"/connectors/{quote(connector, safe='')}{below}"


async def raw_offsets(client: AsyncConnectClient, connector: str) -> dict[str, Any]:
    """A connector's offsets as the worker answers."""
    answer = await client.request("GET", connector_path(connector, "/offsets"))
    return answer if isinstance(answer, dict) else {"offsets": []}


async def raw_status(client: AsyncConnectClient, connector: str) -> dict[str, Any]:
    """A connector's status as the worker answers."""
    answer = await client.request("GET", connector_path(connector, "/status"))
    return answer if isinstance(answer, dict) else {}
