"""What happens to every request before and after routing: refused targets, HEAD and OPTIONS, CORS, response headers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seamark.config.java_regex import PatternSyntaxError, compile_pattern
from seamark.config.rest_keys import HeaderRule, split_csv
from seamark.rest import media, uris
from seamark.rest.answers import NOT_FOUND, Answer, error_answer

# The order in which a Java worker lists them.
_METHODS: Final = ("HEAD", "DELETE", "POST", "GET", "OPTIONS", "PUT", "PATCH")
_NO_CACHE: Final = "must-revalidate,no-cache,no-store"
_PREFLIGHT_S: Final = 60


def response(answer: Answer) -> Response:
    """The answer as Starlette sends it: no Content-Type unless there is one, and none with a charset added."""
    headers = dict(answer.headers)
    if answer.media_type is not None:
        headers["Content-Type"] = answer.media_type
    return Response(answer.content, answer.status, headers)


def headers_of(scope: Scope) -> dict[str, str]:
    """The request's headers, by lower-case name; of several with one name, all in one."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        found[key] = f"{found[key]},{text}" if key in found else text
    return found


class Targets:
    """Refuses bad targets; what is behind routes by the decoded path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                scope = {**scope, "path": uris.decode_path(scope["raw_path"])}
            except uris.BadTargetError as error:
                await response(refused(scope["method"], str(error)))(scope, receive, send)
                return
        await self._app(scope, receive, send)


class Methods:
    """Answers HEAD as GET without a body, and OPTIONS with the methods that a path has."""

    def __init__(self, app: ASGIApp, methods: Callable[[str], set[str]]) -> None:
        self._app, self._methods = app, methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"] if scope["type"] == "http" else None
        if method == "OPTIONS":
            await self._options(scope["path"], headers_of(scope))(scope, receive, send)
        elif method == "HEAD":
            await self._app({**scope, "method": "GET"}, receive, _without_body(send))
        else:
            await self._app(scope, receive, send)

    def _options(self, path: str, headers: Mapping[str, str]) -> Response:
        methods = self._methods(path)
        if not methods:
            return response(error_answer(404, NOT_FOUND, None))
        methods |= {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
        allowed = [method for method in _METHODS if method in methods]
        allow = {"Allow": ",".join(allowed)}
        if media.accepts(headers, "text/plain"):
            return response(Answer(200, ", ".join(allowed).encode(), "text/plain", allow))
        return response(Answer(200, b"", "/".join(media.accepted(headers)[0]), allow))


def refused(method: str, message: str) -> Answer:
    """The answer to a request that HTTP servers do not agree about: not in the shape of other errors."""
    headers = {"Cache-Control": _NO_CACHE, "Connection": "close"}
    if method in ("GET", "POST", "HEAD"):
        content = b"" if method == "HEAD" else uris.error_page(message)
        return Answer(400, content, "text/html;charset=iso-8859-1", headers)
    return Answer(400, b"", None, headers)


def _without_body(send: Send) -> Send:
    async def only_headers(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return only_headers


class OriginPatterns:
    """The origins of `access.control.allow.origin`: each is a Java pattern, or ``*``."""

    def __init__(self, origins: str) -> None:
        items = [origin for origin in split_csv(origins) if origin]
        self._is_any = "*" in items
        self._patterns = [_pattern(origin) for origin in items if origin != "*"]

    def allows(self, origin: str) -> bool:
        """Whether one matches."""
        return self._is_any or any(pattern.fullmatch(each) for each in origin.split() for pattern in self._patterns)


class CrossOrigin:
    """Lets browsers use the API from pages of other origins; `headers` are those that their requests may have."""

    def __init__(self, app: ASGIApp, origins: str, methods: str, headers: str = "Content-Type") -> None:
        self._app, self._origins, self._allowed_headers = app, OriginPatterns(origins), headers
        self._allowed_methods = ",".join(split_csv(methods)) or "GET,POST,HEAD"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = headers_of(scope)
        origin = request.get("origin")
        added = {"Vary": "Origin"}
        if origin is not None and self._origins.allows(origin):
            added["Access-Control-Allow-Origin"] = origin
            if scope["method"] == "OPTIONS" and "access-control-request-method" in request:
                added["Access-Control-Allow-Methods"] = self._allowed_methods
                added["Access-Control-Allow-Headers"] = self._allowed_headers
                added["Access-Control-Max-Age"] = str(_PREFLIGHT_S)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in added.items():
                    headers.append(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


def _pattern(origin: str) -> re.Pattern[str]:
    try:
        return compile_pattern(origin)
    except PatternSyntaxError:
        return re.compile(re.escape(origin))


class ResponseHeaders:
    """Adds the headers of `response.http.headers.config`; the answer's own win."""

    def __init__(self, app: ASGIApp, rules: Sequence[HeaderRule]) -> None:
        self._app, self._rules = app, tuple(rules)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                own = {name.lower() for name in headers}
                for rule in self._rules:
                    if rule.name.lower() not in own:
                        _apply(rule, headers)
            await send(message)

        await self._app(scope, receive, with_headers)


def _apply(rule: HeaderRule, headers: MutableHeaders) -> None:
    value = rule.value
    if rule.action.endswith("Date"):
        value = formatdate(time.time() + int(value) / 1000, usegmt=True)
    if rule.action.startswith("set"):
        headers[rule.name] = value
    else:
        headers.append(rule.name, value)
