"""The worker's HTTP server: listeners, and the thread in which they are served."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from seamark.config.rest_keys import PROTOCOLS, Listener, parse_listener
from seamark.config.tls import ADMIN_PREFIX, LISTENERS_PREFIX, Tls
from seamark.config.worker import WorkerConfig
from seamark.errors import ConnectError
from seamark.rest.access import Access
from seamark.rest.app import Observer, create_admin_app, create_app
from seamark.rest.forward import Forwarder
from seamark.rest.listeners import advertised_address, host_and_port, open_listener
from seamark.rest.page_access import PageSessions
from seamark.runtime.herder import HEALTH_TIMEOUT_S, REQUEST_TIMEOUT_S, Herder

log = logging.getLogger(__name__)

STOP_TIMEOUT_S: Final = 60.0
_START_TIMEOUT_S: Final = 30.0
_KEEP_ALIVE_S: Final = 75  # longer than clients keep a connection: whoever closes it may do so in the face of a request


class RestServer:
    """Serves the REST API in a thread of this process.

    A herder has to know its worker's address, and the server a herder: so first `bind`, then make the herder with
    `worker_id` and `advertised_url`, then `start`.

    ::

        server = RestServer(config)
        server.bind()
        herder = make_herder(config, server.worker_id, server.advertised_url)
        server.start(herder)
        ...
        server.stop()
    """

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._listeners = [parse_listener(text) for text in config["listeners"]]
        self._admin_listeners = [parse_listener(text, "admin.listeners") for text in config["admin.listeners"] or ()]
        self._tls: Tls | None = None
        self._contexts: dict[str, ssl.SSLContext | None] = {}
        self._make_contexts()
        self._sockets: list[socket.socket] = []
        self._admin_sockets: list[socket.socket] = []
        self._servers: list[uvicorn.Server] = []
        self.sessions: PageSessions | None = None
        """Of users of the web page, from the start on; None if nobody has to log in."""
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def bind(self) -> None:
        """Take the listeners' addresses; from now on they are known.

        Raises:
            ConnectError: one is taken; none is held then.
        """
        try:
            for listener in self._listeners:
                self._sockets.append(open_listener(listener))
            for listener in self._admin_listeners:
                self._admin_sockets.append(open_listener(listener))
        except ConnectError:
            self._close()
            raise

    @property
    def ports(self) -> list[int]:
        """The ports of `listeners`, in order."""
        return [int(each.getsockname()[1]) for each in self._bound(self._sockets)]

    @property
    def admin_ports(self) -> list[int]:
        """The ports of `admin.listeners`, in order."""
        return [int(each.getsockname()[1]) for each in self._admin_sockets]

    @property
    def worker_id(self) -> str:
        """``host:port`` of the advertised address."""
        return host_and_port(*advertised_address(self._config, list(zip(self._listeners, self.ports, strict=True))))

    @property
    def advertised_url(self) -> str:
        """What other workers are told, with a slash at its end as a Java worker has it."""
        return f"{self._config.advertised_protocol}://{self.worker_id}/"

    @property
    def url(self) -> str:
        """For a client on this machine."""
        return _local_url(self._listeners[0], self.ports[0])

    @property
    def own_context(self) -> ssl.SSLContext | None:
        """For requests of this process to `url`, if that has https: they are for this worker, whatever its names."""
        return None if self._tls is None or self._listeners[0].protocol == "http" else self._tls.own_context()

    @property
    def admin_url(self) -> str | None:
        """Where `/admin/loggers` is, for a client on this machine; None if nowhere."""
        if self._config["admin.listeners"] is None:
            return self.url
        if not self._admin_listeners:
            return None
        return _local_url(self._admin_listeners[0], self.admin_ports[0])

    def start(
        self,
        herder: Herder,
        *,
        forwarder: Forwarder | None = None,
        render_metrics: Callable[[], bytes] | None = None,
        observe: Observer | None = None,
        request_timeout_s: float = REQUEST_TIMEOUT_S,
        health_timeout_s: float = HEALTH_TIMEOUT_S,
        page: Callable[[ASGIApp], ASGIApp] | None = None,
    ) -> None:
        """Serve requests; returns when they are. `page` adds a web page; other arguments are those of `create_app`.

        Raises:
            ConnectError: `bind` was not called, or the server did not start.
            ConfigError: what says who may use it is wrong.
        """
        access = Access(self._config, herder)
        self.sessions = PageSessions(access) if access.is_on else None
        app = create_app(
            herder,
            self._config,
            forwarder=forwarder,
            render_metrics=render_metrics,
            observe=observe,
            request_timeout_s=request_timeout_s,
            health_timeout_s=health_timeout_s,
            access=access,
        )
        admin = None
        if self._admin_sockets:
            admin = create_admin_app(
                herder,
                self._config,
                observe=observe,
                request_timeout_s=request_timeout_s,
                access=access,
            )
        self.serve(app if page is None else page(app), admin)

    def serve(self, app: ASGIApp, admin: ASGIApp | None = None) -> None:
        """Serve an application on `listeners`, and another one on `admin.listeners`; returns when they are served.

        Raises:
            ConnectError: `bind` was not called, or the server did not start.
        """
        if self._thread is not None:
            raise ConnectError("The REST server runs already")
        served = self._served(app, self._listeners, self._bound(self._sockets), LISTENERS_PREFIX)
        if admin is not None:
            served += self._served(admin, self._admin_listeners, self._admin_sockets, ADMIN_PREFIX)
        self._servers = [server for server, _ in served]
        is_started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(served, is_started), name="rest-server", daemon=True)
        self._thread.start()
        if not is_started.wait(_START_TIMEOUT_S) or self._failure is not None:
            self.stop(0)
            raise ConnectError(f"The REST server did not start: {self._failure or 'no reason known'}")
        log.info("REST API at %s, advertised as %s", self.url, self.advertised_url)

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Take no more requests, let those that are being answered end, for `timeout_s` at the longest."""
        thread, self._thread = self._thread, None
        for server in self._servers:
            server.config.timeout_graceful_shutdown = timeout_s  # type: ignore[assignment]  # a float will do
            server.should_exit = True
        if thread is not None:
            thread.join(timeout_s + 5)
        self._servers = []
        self._close()

    def _make_contexts(self) -> None:
        """Raises ConfigError if the settings of TLS are wrong; nothing is held yet."""
        if any(each.protocol == "https" for each in self._listeners):
            self._tls = Tls(self._config.raw)
            self._contexts[LISTENERS_PREFIX] = self._tls.server_context()
        if any(each.protocol == "https" for each in self._admin_listeners):
            self._contexts[ADMIN_PREFIX] = Tls(self._config.raw, ADMIN_PREFIX).server_context()

    def _served(
        self, app: ASGIApp, listeners: Sequence[Listener], sockets: Sequence[socket.socket], prefix: str
    ) -> list[tuple[uvicorn.Server, list[socket.socket]]]:
        """A server for each protocol that the listeners have."""
        found = []
        for protocol in PROTOCOLS:
            own = [each for listener, each in zip(listeners, sockets, strict=True) if listener.protocol == protocol]
            if own:
                found.append((_server(app, self._contexts[prefix] if protocol == "https" else None), own))
        return found

    def _run(self, served: Sequence[tuple[uvicorn.Server, list[socket.socket]]], is_started: threading.Event) -> None:
        async def serve() -> None:
            tasks = [asyncio.ensure_future(server.serve(sockets=sockets)) for server, sockets in served]
            while not all(server.started for server, _ in served) and not any(task.done() for task in tasks):
                await asyncio.sleep(0.005)
            is_started.set()
            await asyncio.gather(*tasks)

        try:
            asyncio.run(serve())
        except BaseException as error:  # also SystemExit, which uvicorn raises
            self._failure = error
            log.exception("The REST server ended")
        finally:
            is_started.set()

    def _bound(self, sockets: list[socket.socket]) -> list[socket.socket]:
        if not sockets:
            raise ConnectError("The REST server has no address yet: call bind first")
        return sockets

    def _close(self) -> None:
        for each in [*self._sockets, *self._admin_sockets]:
            each.close()
        self._sockets, self._admin_sockets = [], []


def _websocket(**settings: Any) -> asyncio.Protocol:
    """What serves a WebSocket, which only the web page has; loaded for the first one."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    return WebSocketsSansIOProtocol(**settings)


def _server(app: ASGIApp, tls: ssl.SSLContext | None = None) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http="httptools",
            ws=_websocket,  # type: ignore[arg-type]  # all that is asked of a class is to be called
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            server_header=False,
            proxy_headers=False,
            ssl_context_factory=None if tls is None else lambda config, default: tls,
        )
    )


def _local_url(listener: Listener, port: int) -> str:
    host = "127.0.0.1" if listener.host in ("", "0.0.0.0", "::") else listener.host  # noqa: S104
    return f"{listener.protocol}://{host_and_port(host, port)}"
