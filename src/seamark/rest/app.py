"""The REST API as a FastAPI application over a herder.

FastAPI routes and documents; the rules that a Java worker has on top of it (which targets, content types and methods
are refused, and how) are in `seamark.rest.middleware` and `seamark.rest.media`. Endpoints run in threads of their own,
since a herder blocks: the event loop is never held up, and `/health` is answered while all other threads wait.
"""

from __future__ import annotations

import asyncio
import functools
import http
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from importlib import metadata
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from seamark.config.rest_keys import parse_header_rules
from seamark.config.worker import WorkerConfig
from seamark.errors import ConnectError
from seamark.rest import answers, connectors, loggers, media, mirrors, openapi, plugins, root, uris
from seamark.rest.answers import Answer, Call, error_answer
from seamark.rest.endpoints import Endpoint
from seamark.rest.forward import Forwarder, forward
from seamark.rest.middleware import CrossOrigin, Methods, ResponseHeaders, Targets, headers_of, refused, response
from seamark.rest.pool import DaemonPool
from seamark.runtime.herder import HEALTH_TIMEOUT_S, REQUEST_TIMEOUT_S, ForwardError, Herder

log = logging.getLogger(__name__)

Observer = Callable[[str, str, int, float], None]
"""Told of every request that an endpoint has answered: method, path with its parameters' names, status, seconds."""

MAX_THREADS: Final = 64
MAX_LIGHT_THREADS: Final = 8
# The herder and the worker that a request was sent on to give up first, with better words.
_PATIENCE: Final = 1.05


def create_app(
    herder: Herder,
    config: WorkerConfig,
    *,
    forwarder: Forwarder | None = None,
    render_metrics: Callable[[], bytes] | None = None,
    observe: Observer | None = None,
    request_timeout_s: float = REQUEST_TIMEOUT_S,
    health_timeout_s: float = HEALTH_TIMEOUT_S,
) -> FastAPI:
    """The whole API; without `/admin/loggers` if `admin.listeners` is set.

    Args:
        herder: answers.
        config: of the worker.
        forwarder: reaches other workers; standalone needs none.
        render_metrics: all metrics as Prometheus reads them; without it there is no `/metrics`.
        observe: told of every request, for metrics.
        request_timeout_s: after which a request is answered with an error.
        health_timeout_s: the same for `/health`.
    """
    found = [
        *root.endpoints(health_timeout_s, render_metrics),
        *connectors.endpoints(config),
        *plugins.endpoints(),
        *mirrors.endpoints(),
    ]
    if config["admin.listeners"] is None:
        found += loggers.endpoints()
    app = _app(found, _Requests(herder, config, forwarder, observe, request_timeout_s), is_documented=True)
    # The last one added comes first. Targets that are refused get no other headers, as in a Java worker.
    rules = parse_header_rules(config["response.http.headers.config"] or "")
    if rules:
        app.add_middleware(ResponseHeaders, rules=rules)
    origins = config["access.control.allow.origin"] or ""
    if origins.strip():
        app.add_middleware(CrossOrigin, origins=origins, methods=config["access.control.allow.methods"] or "")
    app.add_middleware(Targets)
    return app


def create_admin_app(
    herder: Herder,
    config: WorkerConfig,
    *,
    observe: Observer | None = None,
    request_timeout_s: float = REQUEST_TIMEOUT_S,
) -> FastAPI:
    """`/admin/loggers` alone, for `admin.listeners`."""
    requests = _Requests(herder, config, None, observe, request_timeout_s)
    app = _app(loggers.endpoints(), requests, is_documented=False)
    app.add_middleware(Targets)
    return app


def _app(found: Sequence[Endpoint], requests: _Requests, *, is_documented: bool) -> FastAPI:
    app = FastAPI(
        title="Seamark",
        summary="Kafka Connect's REST API, and a few things more",
        version=metadata.version("seamark"),
        openapi_url="/openapi.json" if is_documented else None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={HTTPException: _routing_error},
    )
    app.router.route_class = openapi.EndpointRoute
    for endpoint in found:
        openapi.add_route(app, endpoint, requests.handler(endpoint))
    if is_documented:

        async def docs(request: Request) -> Response:
            return HTMLResponse(openapi.page(app.openapi()))

        app.add_api_route("/docs", docs, methods=["GET"], include_in_schema=False)
    app.add_middleware(Methods, methods=functools.partial(_methods, app))
    return app


def _methods(app: FastAPI, path: str) -> set[str]:
    routes = [route for route in app.routes if isinstance(route, Route) and route.path_regex.match(path)]
    return {method for route in routes for method in route.methods or ()}


async def _routing_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return response(error_answer(status, f"HTTP {status} {http.HTTPStatus(status).phrase}", None))


class _Requests:
    """Turns HTTP requests into calls of endpoints, and what they raise into answers."""

    def __init__(
        self,
        herder: Herder,
        config: WorkerConfig,
        forwarder: Forwarder | None,
        observe: Observer | None,
        timeout_s: float,
    ) -> None:
        self._herder, self._forwarder, self._observe, self._timeout_s = herder, forwarder, observe, timeout_s
        self._max_bytes = int(config["seamark.rest.max.request.bytes"])
        self._pool = DaemonPool("rest", MAX_THREADS)
        self._light_pool = DaemonPool("rest-light", MAX_LIGHT_THREADS)

    def handler(self, endpoint: Endpoint) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What FastAPI calls for this endpoint."""

        async def handle(request: Request) -> Response:
            started = time.perf_counter()
            answer = await self._answer(endpoint, request)
            if self._observe is not None:
                self._observe(endpoint.method, endpoint.path, answer.status, time.perf_counter() - started)
            return response(answer)

        return handle

    async def _answer(self, endpoint: Endpoint, request: Request) -> Answer:
        headers = headers_of(request.scope)
        try:
            refusal = media.check_headers(
                headers,
                checks_content_type=endpoint.checks_content_type,
                checks_accept=endpoint.checks_accept,
            )
        except uris.BadTargetError as error:
            refusal = refused(endpoint.method, str(error))
        if refusal is not None:
            return refusal
        body = b""
        # A fence has no body to parse, but its signature is over the bytes.
        if endpoint.body is not None or endpoint.tag == "internal":
            try:
                body = await asyncio.wait_for(self._read(request), self._timeout_s)
            except TimeoutError:
                return error_answer(408, "The request's body did not arrive in time")
            except ClientDisconnect:
                return error_answer(400, "The client went away before the end of the request's body")
            if len(body) > self._max_bytes:
                return error_answer(
                    413,
                    f"The request's body is longer than {self._max_bytes} bytes; "
                    "the worker's seamark.rest.max.request.bytes sets the limit",
                )
            refusal = media.check_body(headers, body) if endpoint.checks_content_type else None
            if refusal is not None:
                return refusal
        call = Call(
            self._herder,
            request.path_params,
            uris.parse_query(request.scope["query_string"]),
            headers,
            body,
            _base_url(request.scope, headers),
        )
        target = request.scope["raw_path"].decode("ascii")
        pool = self._light_pool if endpoint.is_light else self._pool
        try:
            run = pool.run(lambda: self._run(endpoint, call, target))
            return await asyncio.wait_for(run, self._timeout_s * _PATIENCE)
        except TimeoutError:
            return _timed_out(endpoint, self._herder)

    async def _read(self, request: Request) -> bytes:
        """The body; of one that is too long, a little more than is allowed."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._max_bytes:
                break
        return bytes(body)

    def _run(self, endpoint: Endpoint, call: Call, target: str) -> Answer:
        try:
            try:
                return endpoint.handle(call)
            except ForwardError as error:
                return forward(error, call, endpoint.method, target, self._forwarder)
        except TimeoutError:
            return _timed_out(endpoint, self._herder)
        except ConnectError as error:
            log.debug("%s %s failed", endpoint.method, target, exc_info=True)
            return error_answer(answers.status_of(error), error.message)
        except Exception as error:
            log.exception("%s %s failed unexpectedly", endpoint.method, target)
            return error_answer(500, str(error) or type(error).__name__)


def _timed_out(endpoint: Endpoint, herder: Herder) -> Answer:
    stage = herder.stage()
    message = "Request timed out" if not stage else f"Request timed out. {stage}"
    # One endpoint of the Java worker has the sentence without its full stop.
    return error_answer(500, message.removesuffix(".") if endpoint.path.endswith("/validate") else message)


def _base_url(scope: Any, headers: Mapping[str, str]) -> str:
    host = headers.get("host")
    if not host:
        address, port = scope["server"] or ("localhost", None)
        host = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    return f"{scope['scheme']}://{host}"
