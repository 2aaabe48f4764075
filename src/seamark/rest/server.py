"""The worker's HTTP server: listeners, and the thread in which they are served."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from seamark.config.rest_keys import parse_listener
from seamark.config.worker import WorkerConfig
from seamark.errors import ConnectError
from seamark.rest.app import Observer, create_admin_app, create_app
from seamark.rest.forward import Forwarder
from seamark.rest.listeners import advertised_address, host_and_port, open_listener
from seamark.runtime.herder import HEALTH_TIMEOUT_S, REQUEST_TIMEOUT_S, Herder

log = logging.getLogger(__name__)

STOP_TIMEOUT_S: Final = 60.0
_START_TIMEOUT_S: Final = 30.0


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
        self._sockets: list[socket.socket] = []
        self._admin_sockets: list[socket.socket] = []
        self._servers: list[uvicorn.Server] = []
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
        return f"http://{self.worker_id}/"

    @property
    def url(self) -> str:
        """For a client on this machine."""
        return _local_url(self._listeners[0].host, self.ports[0])

    @property
    def admin_url(self) -> str | None:
        """Where `/admin/loggers` is, for a client on this machine; None if nowhere."""
        if self._config["admin.listeners"] is None:
            return self.url
        if not self._admin_listeners:
            return None
        return _local_url(self._admin_listeners[0].host, self.admin_ports[0])

    def start(
        self,
        herder: Herder,
        *,
        forwarder: Forwarder | None = None,
        render_metrics: Callable[[], bytes] | None = None,
        observe: Observer | None = None,
        request_timeout_s: float = REQUEST_TIMEOUT_S,
        health_timeout_s: float = HEALTH_TIMEOUT_S,
    ) -> None:
        """Serve requests; returns when they are. The arguments are those of `create_app`.

        Raises:
            ConnectError: `bind` was not called, or the server did not start.
        """
        app = create_app(
            herder,
            self._config,
            forwarder=forwarder,
            render_metrics=render_metrics,
            observe=observe,
            request_timeout_s=request_timeout_s,
            health_timeout_s=health_timeout_s,
        )
        admin = None
        if self._admin_sockets:
            admin = create_admin_app(herder, self._config, observe=observe, request_timeout_s=request_timeout_s)
        self.serve(app, admin)

    def serve(self, app: ASGIApp, admin: ASGIApp | None = None) -> None:
        """Serve an application on `listeners`, and another one on `admin.listeners`; returns when they are served.

        Raises:
            ConnectError: `bind` was not called, or the server did not start.
        """
        if self._thread is not None:
            raise ConnectError("The REST server runs already")
        served = [(_server(app), self._bound(self._sockets))]
        if admin is not None:
            served.append((_server(admin), self._admin_sockets))
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


def _server(app: ASGIApp) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http="httptools",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
    )


def _local_url(host: str, port: int) -> str:
    return f"http://{host_and_port('127.0.0.1' if host in ('', '0.0.0.0', '::') else host, port)}"  # noqa: S104
