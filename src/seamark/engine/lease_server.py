"""The worker's side of leases: a small signed HTTP service that tasks on executors talk to.

========================================== ============================================================================
``POST /internal/leases/{id}/acquire``     begin to work; answers the directive
``POST /internal/leases/{id}/renew``       progress up, directive down; held back until there is news or `wait_ms` is
over ``POST /internal/leases/{id}/offsets``     committed source offsets, read to the end of the store ``POST
/internal/leases/{id}/commit``      store source offsets (at-least-once, or the secondary store) ``POST
/internal/leases/{id}/commit-sink`` commit consumer-group offsets ``POST /internal/leases/{id}/release``     the task
has ended, and how
========================================== ============================================================================

Every request is signed with a key that only this worker and its Spark tasks know. 403: not genuine; 410: the lease is
lost; 500: the worker could not do it, with the reason.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from seamark.engine.leases import Directive, Epoch, Lease, LeaseTable
from seamark.engine.signatures import SIGNATURE_HEADER, is_genuine
from seamark.engine.stage import TaskProgress
from seamark.errors import ConnectError, LeaseLostError

if TYPE_CHECKING:
    from seamark.config.key_stores import KeyPair

KEEP_ALIVE_S = 60  # for connections on which nothing is asked; a task that has only to renew its lease has one more
MAX_WAIT_S = 5.0  # a renewal is never held back longer, whatever the task asks for

Body = dict[str, Any]
Action = Callable[[str, Body], Awaitable[Body]]


class LeaseServer:
    """Serves one worker's leases from a thread of its own."""

    def __init__(self, host: str = "127.0.0.1", advertised_host: str | None = None, has_tls: bool = False) -> None:
        """`has_tls`: over https, with a certificate that tasks are told of along with the key."""
        self.table = LeaseTable()
        self.key = secrets.token_bytes(32)
        self._identity: KeyPair | None = None
        if has_tls:
            from seamark.config.key_stores import new_identity

            self._identity = new_identity()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((host, 0))
        self._advertised_host = advertised_host or host
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: dict[str, asyncio.Event] = {}
        self._ready = threading.Event()
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=self._serve, name="leases", daemon=True)

    @property
    def url(self) -> str:
        """Where tasks reach this server."""
        protocol = "http" if self._identity is None else "https"
        return f"{protocol}://{self._advertised_host}:{self._socket.getsockname()[1]}"

    @property
    def certificate(self) -> str | None:
        """The one that this server shows and tasks expect, as PEM; None without TLS."""
        return None if self._identity is None else self._identity.certificate_pem

    def start(self) -> None:
        """Serve; returns when requests are answered."""
        self._thread.start()
        self._ready.wait(30)

    def stop(self) -> None:
        """Stop serving; tasks that still work lose their leases."""
        if self._server is not None:
            self._server.should_exit = True
            self._thread.join(10)
        self._socket.close()

    def open(self, epoch: Epoch) -> None:
        """Begin an epoch."""
        epoch.on_stop = lambda: self._announce(epoch.id)
        self.table.open(epoch)

    def close(self, epoch: Epoch) -> None:
        """End an epoch; its leases are void."""
        self.table.close(epoch)
        self._announce(epoch.id)
        self._news.pop(epoch.id, None)

    def close_unless_held(self, epoch: Epoch) -> bool:
        """End an epoch if none of its tasks works or has been lost sight of; returns whether it has ended."""
        if not self.table.close_unless_held(epoch):
            return False
        self._announce(epoch.id)
        return True

    def _announce(self, epoch_id: str) -> None:
        event, loop = self._news.get(epoch_id), self._loop
        if event is not None and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(event.set)

    def _serve(self) -> None:
        routes = [
            Route("/internal/leases/{lease}/acquire", self._endpoint(self._acquire), methods=["POST"]),
            Route("/internal/leases/{lease}/renew", self._endpoint(self._renew), methods=["POST"]),
            Route("/internal/leases/{lease}/offsets", self._endpoint(self._offsets), methods=["POST"]),
            Route("/internal/leases/{lease}/commit", self._endpoint(self._commit), methods=["POST"]),
            Route("/internal/leases/{lease}/commit-sink", self._endpoint(self._commit_sink), methods=["POST"]),
            Route("/internal/leases/{lease}/release", self._endpoint(self._release), methods=["POST"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=2,
            ssl_context_factory=None if self._identity is None else lambda config, default: self._context(),
        )
        self._server = uvicorn.Server(config)
        asyncio.run(self._main())

    def _context(self) -> ssl.SSLContext:
        assert self._identity is not None  # noqa: S101 - asked for only then
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._identity.load_into(context)
        return context

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket.listen(512)
        self._ready.set()
        assert self._server is not None  # noqa: S101 - set by _serve
        await self._server.serve(sockets=[self._socket])

    def _endpoint(self, action: Action) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            raw = await request.body()
            if not is_genuine(self.key, request.url.path, raw, request.headers.get(SIGNATURE_HEADER)):
                return JSONResponse({"error": "the signature does not match"}, status_code=403)
            try:
                return JSONResponse(await action(request.path_params["lease"], json.loads(raw)))
            except LeaseLostError as error:
                return JSONResponse({"error": str(error)}, status_code=410)
            except ConnectError as error:
                return JSONResponse({"error": str(error), "retriable": error.retriable}, status_code=500)

        return endpoint

    def _held(self, lease_id: str, body: Body) -> tuple[Epoch, Lease]:
        return self.table.check(lease_id, body["attempt"], body["channel"], body["sequence"], time.monotonic())

    def _directive(self, epoch: Epoch) -> Directive:
        now = time.monotonic()
        return epoch.decide(now, self.table.is_starving(now))

    async def _acquire(self, lease_id: str, body: Body) -> Body:
        epoch, _ = self.table.acquire(lease_id, body["attempt"], time.monotonic())
        return {"directive": self._directive(epoch).value}

    async def _renew(self, lease_id: str, body: Body) -> Body:
        epoch, lease = self._held(lease_id, body)
        self.table.renew(lease, TaskProgress(**body["progress"]), body["idle_ms"], time.monotonic())
        directive = self._directive(epoch)
        if directive is Directive.CONTINUE:
            news = self._news.setdefault(epoch.id, asyncio.Event())
            try:
                await asyncio.wait_for(news.wait(), min(body["wait_ms"] / 1000, MAX_WAIT_S))
            except TimeoutError:
                pass  # no news; but time has passed, and a stop may have come before anybody listened
            directive = self._directive(epoch)
        return {"directive": directive.value, **epoch.news_for(lease.task, body.get("config_version", 0))}

    async def _offsets(self, lease_id: str, body: Body) -> Body:
        epoch, _ = self._held(lease_id, body)
        return await run_in_threadpool(epoch.services.read_offsets)

    async def _commit(self, lease_id: str, body: Body) -> Body:
        epoch, lease = self._held(lease_id, body)
        await run_in_threadpool(epoch.services.write_offsets, lease.task, body)
        return {}

    async def _commit_sink(self, lease_id: str, body: Body) -> Body:
        epoch, lease = self._held(lease_id, body)
        await run_in_threadpool(epoch.services.commit_sink, lease.task, body)
        return {}

    async def _release(self, lease_id: str, body: Body) -> Body:
        _, lease = self._held(lease_id, body)
        self.table.renew(lease, TaskProgress(**body["progress"]), 0, time.monotonic())
        self.table.release(lease, body["result"], body.get("error"), bool(body.get("retriable")))
        return {}
