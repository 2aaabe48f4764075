"""Requests to the API server: the few that an operator needs, over httpx.

::

    KubeError           `status` of the answer, None if there was none
    ├── Missing         404
    ├── Exists          409 on creation
    ├── EditConflict    409 and 422 where a precondition (a tested value, a uid) no longer holds
    ├── Denied          403
    └── Away            no answer

Kubernetes' own Python client was not taken: it is ten times the size of the rest of the operator, and JSON patches need
control over the bytes (see `_json`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import httpx
import kopf

from seamark.errors import ConnectError
from seamark.operator.credentials import tls_of
from seamark.operator.kinds import CONFIG_MAP, EVENT, MANAGER, Kind, Resource

_log = logging.getLogger(__name__)
_TIMEOUT_S: Final = 30.0
_PAGE: Final = "500"


class KubeError(ConnectError):
    """The API server did not do it."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Missing(KubeError):
    """There is no such object."""


class Exists(KubeError):
    """The object is there already."""


class EditConflict(KubeError):
    """The object is not what it was expected to be."""


class Denied(KubeError):
    """The operator may not do that."""


class Away(KubeError):
    """There was no answer."""


class Kube:
    """The API server.

    Args:
        log_in: gives credentials; called again when they are refused, for tokens of pods change.
    """

    def __init__(self, log_in: Callable[[], kopf.ConnectionInfo]) -> None:
        self._log_in = log_in
        self._http: httpx.AsyncClient | None = None
        self.served: dict[str, str] = {}
        """The version that is used of kinds, where it is not the best one."""

    async def aclose(self) -> None:
        """Let go of connections."""
        if self._http is not None:
            await self._http.aclose()

    # objects

    async def find(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """An object, None if there is none."""
        try:
            return await self.get(kind, namespace, name)
        except Missing:
            return None

    async def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        """An object.

        Raises:
            Missing: there is none.
        """
        found: dict[str, Any] = await self._ask("GET", self._path(kind, namespace, name))
        return found

    async def all(self, kind: Kind, namespace: str | None = None, selector: str = "") -> list[dict[str, Any]]:
        """All objects, of one namespace or of all."""
        found: list[dict[str, Any]] = []
        query = {"limit": _PAGE, **({"labelSelector": selector} if selector else {})}
        while True:
            page = await self._ask("GET", self._path(kind, namespace), query=query)
            found += page.get("items") or []
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return found
            query["continue"] = token

    async def create(self, kind: Kind, namespace: str, body: Resource) -> dict[str, Any]:
        """Make an object.

        Raises:
            Exists: it is there.
        """
        query = {"fieldManager": MANAGER}
        try:
            made: dict[str, Any] = await self._ask("POST", self._path(kind, namespace), body, query=query)
        except EditConflict as error:
            raise Exists(error.message, error.status) from error
        return made

    async def merge(
        self, kind: Kind, namespace: str, name: str, change: Mapping[str, Any], *, below: str = ""
    ) -> dict[str, Any]:
        """Change what is named, None to remove it; `below` is ``/status`` for a status."""
        path, query = self._path(kind, namespace, name, below), {"fieldManager": MANAGER}
        changed: dict[str, Any] = await self._ask("PATCH", path, change, "application/merge-patch+json", query)
        return changed

    async def edit(self, kind: Kind, namespace: str, name: str, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A JSON patch.

        Raises:
            EditConflict: a tested value is another one.
        """
        path, query = self._path(kind, namespace, name), {"fieldManager": MANAGER}
        changed: dict[str, Any] = await self._ask("PATCH", path, list(steps), "application/json-patch+json", query)
        return changed

    async def apply(self, kind: Kind, namespace: str, body: Resource) -> dict[str, Any]:
        """Make or change an object so that it has what `body` says (server-side apply)."""
        path = self._path(kind, namespace, str(body["metadata"]["name"]))
        query = {"fieldManager": MANAGER, "force": "true"}
        made: dict[str, Any] = await self._ask("PATCH", path, body, "application/apply-patch+yaml", query)
        return made

    async def replace(self, kind: Kind, namespace: str, name: str, body: Resource) -> dict[str, Any]:
        """Put an object in the place of the one that was read.

        Raises:
            EditConflict: it was changed since.
        """
        query = {"fieldManager": MANAGER}
        made: dict[str, Any] = await self._ask("PUT", self._path(kind, namespace, name), body, query=query)
        return made

    async def delete(self, kind: Kind, namespace: str, name: str, version: str | None = None) -> None:
        """Delete an object, if a version is named only that; one that is not there is no error."""
        body = None if version is None else {"preconditions": {"resourceVersion": version}}
        try:
            await self._ask("DELETE", self._path(kind, namespace, name), body)
        except Missing:
            return

    async def versions(self, group: str) -> list[str]:
        """The versions of a group of APIs that are served, none if there is no such group."""
        try:
            found = await self._ask("GET", f"/apis/{group}")
        except Missing:
            return []
        return [str(each["version"]) for each in found.get("versions") or []]

    async def plurals(self, group: str, version: str) -> frozenset[str]:
        """The resources of a version that are served, by their names in URLs."""
        try:
            found = await self._ask("GET", f"/apis/{group}/{version}")
        except Missing:
            return frozenset()
        return frozenset(str(each["name"]) for each in found.get("resources") or [])

    # what is often needed

    async def set_entry(self, namespace: str, name: str, key: str, value: str, template: Resource) -> bool:
        """Set one entry of a ConfigMap and leave everything else of it; make it of `template` if it is not there.

        Returns:
            Whether it was made.
        """
        for _ in range(3):
            try:
                await self.merge(CONFIG_MAP, namespace, name, {"data": {key: value}})
                return False
            except Missing:
                try:
                    await self.create(CONFIG_MAP, namespace, {**template, "data": {key: value}})
                    return True
                except Exists:  # somebody was quicker
                    continue
        raise EditConflict(f"ConfigMap {namespace}/{name} comes and goes", HTTPStatus.CONFLICT)

    async def tell(self, about: Resource, kind: str, reason: str, message: str, *, now: str) -> None:
        """An event, as `kubectl describe` shows it. That it cannot be written is no reason to fail."""
        meta = about["metadata"]
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{meta['name'][:200]}.", "namespace": meta["namespace"]},
            "involvedObject": {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                "name": meta["name"],
                "namespace": meta["namespace"],
                "uid": meta["uid"],
            },
            "type": kind,
            "reason": reason,
            "message": message[:1000],
            "source": {"component": MANAGER},
            "reportingComponent": MANAGER,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            await self._ask("POST", self._path(EVENT, meta["namespace"]), body)
        except KubeError as error:
            _log.warning("An event on %s %s could not be written: %s", about["kind"], meta["name"], error)

    # inside

    def _path(self, kind: Kind, namespace: str | None, name: str = "", below: str = "") -> str:
        return kind.path(namespace, name, below, self.served.get(kind.kind))

    def _client(self) -> httpx.AsyncClient:
        if self._http is None:
            info = self._log_in()
            headers = info.as_http_headers()
            self._http = httpx.AsyncClient(
                base_url=info.server, verify=tls_of(info), headers=headers, timeout=_TIMEOUT_S, trust_env=False
            )
        return self._http

    async def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Any:
        content = None if body is None else _json(body)
        headers = {"Accept": "application/json", **({"Content-Type": content_type} if content is not None else {})}
        for is_last in (False, True):
            client = self._client()
            try:
                answer = await client.request(method, path, content=content, headers=headers, params=query)
            except httpx.HTTPError as error:
                raise Away(f"The API server does not answer: {error!r}") from error
            if answer.status_code != HTTPStatus.UNAUTHORIZED or is_last:
                break
            self._http = None  # a token has run out
            await client.aclose()
        if answer.is_success:
            return answer.json()
        raise _refusal(answer)


def _json(body: Any) -> bytes:
    # A `test` of a JSON patch compares texts with what Go has written, which escapes these three: `->` is never found
    # otherwise (seen with 1.32).
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").encode()


def _refusal(answer: httpx.Response) -> KubeError:
    try:
        message = str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        message = f"{answer.request.method} {answer.request.url.path} was answered with {answer.status_code}"
    status = answer.status_code
    if status == HTTPStatus.NOT_FOUND:
        return Missing(message, status)
    if status == HTTPStatus.FORBIDDEN:
        return Denied(message, status)
    if status == HTTPStatus.CONFLICT:
        return EditConflict(message, status)
    if status == HTTPStatus.UNPROCESSABLE_ENTITY and "json-patch" in str(
        answer.request.headers.get("Content-Type", "")
    ):
        return EditConflict(message, status)
    return KubeError(message, status)
