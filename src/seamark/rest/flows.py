"""One address for the workers of several flows: ``/<source>/<target>/...`` is the REST API of that flow's worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from seamark.rest.access import Access, Refused
from seamark.rest.answers import NOT_FOUND, Answer, error_answer, json_answer
from seamark.rest.identity import Role
from seamark.rest.middleware import headers_of, response

Flow = tuple[str, str]


def flow_path(source: str, target: str) -> str:
    """Where a flow's API is, below the server's address; aliases may hold any character."""
    return f"/{quote(source, safe='')}/{quote(target, safe='')}"


class FlowsApp:
    """Hands each request to the application of the flow that its path names.

    ``/`` lists the flows, ``/health`` and ``/ready`` say whether all are well, ``/mirrors`` shows how far each is,
    ``/ui`` leads to the web page of the first.
    """

    def __init__(
        self,
        apps: Mapping[Flow, ASGIApp],
        problems: Callable[[], Mapping[str, str]],
        mirrors: Callable[[], object],
        access: Access | None = None,
    ) -> None:
        """`problems` says what is wrong with which flow, `mirrors` how far each is; `access` lets users in."""
        self._apps, self._problems, self._mirrors, self._access = dict(apps), problems, mirrors, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] not in ("http", "websocket"):
            return
        raw: bytes = scope["raw_path"]
        parts = raw.decode("latin-1").split("/", 3)
        if len(parts) > 2 and parts[2]:
            source, target = unquote(parts[1]), unquote(parts[2])
            app = self._apps.get((source, target))
            if app is not None:
                rest = "/" + (parts[3] if len(parts) > 3 else "")
                await app({**scope, "path": unquote(rest), "raw_path": rest.encode("latin-1")}, receive, send)
                return
            if scope["type"] == "websocket":
                await send({"type": "websocket.close"})
                return
            answer = error_answer(404, f"No replication flow found for source '{source}' and target '{target}'")
        elif parts[1] == "ui":
            await RedirectResponse(f"{flow_path(*min(self._apps))}/ui/")(scope, receive, send)
            return
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        else:
            answer = await self._refusal(parts[1], scope) or await self._own(parts[1])
        await response(answer)(scope, receive, send)

    async def _refusal(self, name: str, scope: Scope) -> Answer | None:
        if self._access is None or name in ("health", "ready"):
            return None
        client = scope["client"][0] if scope.get("client") else ""
        found = await self._access.admit(Role.VIEWER, scope["method"], f"/{name}", headers_of(scope), client)
        return found.answer if isinstance(found, Refused) else None

    async def _own(self, name: str) -> Answer:
        if name == "mirrors":
            return json_answer(await run_in_threadpool(self._mirrors))
        if name in ("health", "ready"):
            problems = await run_in_threadpool(self._problems)
            status = "unhealthy" if problems else "healthy"
            message = "; ".join(f"{flow}: {problem}" for flow, problem in problems.items()) or (
                "All flows have their workers."
            )
            if name == "ready":
                status = "not ready" if problems else "ready"
            return json_answer({"status": status, "message": message}, 503 if problems else 200)
        if not name:
            return json_answer(
                {
                    "flows": [
                        {"source": source, "target": target, "path": flow_path(source, target)}
                        for source, target in sorted(self._apps)
                    ]
                },
            )
        return error_answer(404, NOT_FOUND)
