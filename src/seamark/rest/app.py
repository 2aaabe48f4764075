"""The REST API as a FastAPI application over a herder.

FastAPI routes and documents; the rules that a Java worker has on top of it (which targets, content types and methods
are refused, and how) are in `seamark.rest.middleware` and `seamark.rest.media`. Endpoints run in threads of their own,
since a herder blocks: the event loop is never held up, and `/health` is answered while all other threads wait.
"""

from __future__ import annotations

import asyncio
import functools
import http
import json
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from seamark.config.rest_keys import parse_header_rules
from seamark.config.worker import WorkerConfig
from seamark.engine.tracing import request_span
from seamark.errors import ConnectError
from seamark.rest import (
    connectors,
    loggers,
    media,
    mirrors,
    observation,
    offset_views,
    openapi,
    operations,
    page_access,
    plugins,
    root,
    uris,
    whoami,
)
from seamark.rest.access import Access, Admitted, Refused, refusal_for
from seamark.rest.answers import Answer, Call, error_answer
from seamark.rest.audit import Audit, is_audited
from seamark.rest.endpoints import Endpoint
from seamark.rest.forward import Forwarder, forward
from seamark.rest.identity import UNKNOWN, Identity, Role
from seamark.rest.middleware import CrossOrigin, Methods, ResponseHeaders, Targets, headers_of, refused, response
from seamark.rest.pool import DaemonPool
from seamark.rest.rate_limit import RateLimit
from seamark.runtime.herder import HEALTH_TIMEOUT_S, REQUEST_TIMEOUT_S, ForwardError, Herder, status_of

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
    access: Access | None = None,
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
        access: lets requests in; by default as the config says.
    """
    access = access or Access(config, herder)
    found = [
        *root.endpoints(health_timeout_s, render_metrics),
        *whoami.endpoints(),
        *connectors.endpoints(config),
        *plugins.endpoints(),
        *mirrors.endpoints(),
        *(observation.endpoints() if herder.observation is not None else ()),
        *(operations.endpoints() if herder.operations is not None else ()),
        *(offset_views.endpoints() if herder.offset_views is not None else ()),
    ]
    if config["admin.listeners"] is None:
        found += loggers.endpoints()
    if access.is_on:
        found += page_access.endpoints(access)
    requests = _Requests(herder, config, access, forwarder, observe, request_timeout_s)
    app = _app(found, requests, is_documented=True)
    # The last one added comes first. Targets that are refused get no other headers, as in a Java worker.
    rules = parse_header_rules(config["response.http.headers.config"] or "")
    if rules:
        app.add_middleware(ResponseHeaders, rules=rules)
    origins = config["access.control.allow.origin"] or ""
    if origins.strip():
        methods, headers = config["access.control.allow.methods"] or "", "Content-Type"
        if access.is_on:
            headers += ",Authorization"
        app.add_middleware(CrossOrigin, origins=origins, methods=methods, headers=headers)
    app.add_middleware(Targets)
    _limit(app, config)
    return app


def _limit(app: FastAPI, config: WorkerConfig) -> None:
    """Before everything else, for what is too much shall cost nothing."""
    if config["seamark.rest.requests.per.second"]:
        app.add_middleware(RateLimit, per_second=int(config["seamark.rest.requests.per.second"]))


def create_admin_app(
    herder: Herder,
    config: WorkerConfig,
    *,
    observe: Observer | None = None,
    request_timeout_s: float = REQUEST_TIMEOUT_S,
    access: Access | None = None,
) -> FastAPI:
    """`/admin/loggers` alone, for `admin.listeners`."""
    access = access or Access(config, herder)
    requests = _Requests(herder, config, access, None, observe, request_timeout_s)
    app = _app(loggers.endpoints(), requests, is_documented=False)
    app.add_middleware(Targets)
    _limit(app, config)
    return app


def _app(found: Sequence[Endpoint], requests: _Requests, *, is_documented: bool) -> FastAPI:
    app = FastAPI(
        title="Seamark",
        summary="Kafka Connect's REST API, and a few things more",
        version=metadata.version("seamark"),
        openapi_url="/openapi.json" if is_documented and not requests.is_guarded else None,
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

        async def document(request: Request) -> Response:
            return JSONResponse(app.openapi())

        app.add_api_route("/docs", requests.guarded(docs), methods=["GET"], include_in_schema=False)
        if requests.is_guarded:
            app.add_api_route("/openapi.json", requests.guarded(document), methods=["GET"], include_in_schema=False)
    app.add_middleware(Methods, methods=functools.partial(_methods, app))
    return app


def _methods(app: FastAPI, path: str) -> set[str]:
    routes = [route for route in app.routes if isinstance(route, Route) and route.path_regex.match(path)]
    return {method for route in routes for method in route.methods or ()}


async def _routing_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return response(error_answer(status, f"HTTP {status} {http.HTTPStatus(status).phrase}", None))


@dataclass(slots=True)
class _Asked:
    """What is known of a request when it is answered.

    Attributes:
        is_sent_on: whether another worker has answered it, and so told of it.
        more: for the line that tells of it.
    """

    identity: Identity = UNKNOWN
    client: str = ""
    request_id: str = ""
    is_sent_on: bool = False
    more: dict[str, Any] = field(default_factory=dict)


class _Requests:
    """Turns HTTP requests into calls of endpoints, and what they raise into answers."""

    def __init__(
        self,
        herder: Herder,
        config: WorkerConfig,
        access: Access,
        forwarder: Forwarder | None,
        observe: Observer | None,
        timeout_s: float,
    ) -> None:
        self._access, self._audit = access, Audit(herder)
        self._herder, self._forwarder, self._observe, self._timeout_s = herder, forwarder, observe, timeout_s
        self._max_bytes = int(config["seamark.rest.max.request.bytes"])
        self._pool = DaemonPool("rest", MAX_THREADS)
        self._light_pool = DaemonPool("rest-light", MAX_LIGHT_THREADS)

    def handler(self, endpoint: Endpoint) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What FastAPI calls for this endpoint."""

        async def handle(request: Request) -> Response:
            started = time.perf_counter()
            asked = _Asked()
            with request_span(endpoint.method, endpoint.path, request.headers) as span:
                answer = await self._answer(endpoint, request, asked)
                span.answered(answer.status)
            if self._observe is not None:
                self._observe(endpoint.method, endpoint.path, answer.status, time.perf_counter() - started)
            if is_audited(endpoint) and asked.request_id and not asked.is_sent_on:
                self._tell(endpoint, request, asked, answer)
            return response(answer)

        return handle

    @property
    def is_guarded(self) -> bool:
        """Whether users are asked who they are."""
        return self._access.is_on

    def guarded(
        self, handler: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What is no endpoint but for viewers, too."""

        async def handle(request: Request) -> Response:
            found = await self._admit(Role.VIEWER, request, headers_of(request.scope))
            return response(found.answer) if isinstance(found, Refused) else await handler(request)

        return handle

    async def _admit(self, needs: Role, request: Request, headers: Mapping[str, str]) -> Admitted | Refused:
        target, query = request.scope["raw_path"].decode("ascii"), request.scope["query_string"].decode("latin-1")
        client = request.client.host if request.client is not None else ""
        return await self._access.admit(
            needs, request.method, f"{target}?{query}" if query else target, headers, client
        )

    def _tell(self, endpoint: Endpoint, request: Request, asked: _Asked, answer: Answer) -> None:
        path = request.scope["path"]
        if "connector" in request.path_params:
            asked.more.setdefault("connector", request.path_params["connector"])
        elif endpoint.path == "/connectors" and answer.status == 201:
            asked.more.setdefault("connector", json.loads(answer.content)["name"])
        self._audit.note(
            asked.identity, asked.client, asked.request_id, endpoint.method, path, answer.status, asked.more
        )

    async def _answer(self, endpoint: Endpoint, request: Request, asked: _Asked) -> Answer:
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
        needs = self._access.role_for(endpoint)
        admitted = await self._admit(needs, request, headers)
        asked.identity, asked.request_id = admitted.identity, admitted.request_id
        asked.client = admitted.client
        if isinstance(admitted, Refused):
            return admitted.answer
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
        target = request.scope["raw_path"].decode("ascii")
        if admitted.sent_on is not None and not admitted.sent_on.is_about(body):
            return error_answer(403, "The request was signed with another body")
        call = Call(
            self._herder,
            request.path_params,
            uris.parse_query(request.scope["query_string"]),
            headers,
            body,
            _base_url(request.scope, headers),
            request.client.host if request.client is not None else "",
            admitted.client,
            admitted.identity,
            asked.request_id,
            self._signing(admitted),
            asked.more,
        )
        if not self._access.is_on and call.forward is not None:
            asked.client = headers.get("x-forwarded-for", asked.client)  # nobody proves who they are, workers neither
        if endpoint.role_of is not None:
            # What a request needs may be in its body; one that cannot be read is refused by the endpoint itself.
            refusal = refusal_for(admitted.identity, endpoint.role_of(call), endpoint.method, target)
            if refusal is not None:
                return refusal
        pool = self._light_pool if endpoint.is_light else self._pool
        try:
            run = pool.run(lambda: self._run(endpoint, call, target, asked))
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

    def _signing(self, admitted: Admitted) -> Callable[[str, str, bytes], Mapping[str, str]]:
        """Makes the headers that tell another worker who asks; none while nobody is asked."""
        if not self._access.is_on:
            return lambda method, url, body: {}
        return functools.partial(self._access.signed.headers, admitted.identity, admitted.client, admitted.request_id)

    def _run(self, endpoint: Endpoint, call: Call, target: str, asked: _Asked) -> Answer:
        try:
            try:
                return endpoint.handle(call)
            except ForwardError as error:
                answer = forward(error, call, endpoint.method, target, self._forwarder)
                asked.is_sent_on = True
                return answer
        except TimeoutError:
            return _timed_out(endpoint, self._herder)
        except ConnectError as error:
            log.debug("%s %s failed", endpoint.method, target, exc_info=True)
            return error_answer(status_of(error), error.message)
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
