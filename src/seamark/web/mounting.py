"""Puts the page below ``/ui`` of a worker's application.

NiceGUI is one application for the whole process, and lives on the event loop that it was started on. So of several
workers in one process those on one loop share it, each with its own data; one on another loop says where the page is.
"""

from __future__ import annotations

import asyncio
import hashlib
import html
import re
import threading
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seamark.web.access import LOGIN, login_page
from seamark.web.site import ROOT, SCOPE_KEY, USER_KEY, Site, User

SESSION_PATH: Final = f"{ROOT}/session"
"""Logs in and out; belongs to the REST API."""
_SOCKET: Final = f"{ROOT}/_nicegui_ws/"
_ASSETS: Final = (f"{ROOT}/_nicegui/", f"{ROOT}/assets/", LOGIN, f"{ROOT}/favicon.ico")
_FOREIGN: Final = "This page can only be used from its own address"
# NiceGUI compiles what it shows in the browser, and has scripts in its pages.
_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)
# A slash inside a connector's name must not look like one of the path: pages get these two as they were sent.
_KEPT: Final = re.compile(r"(%2[Ff]|%25)")


class PageApp:
    """An application with the page below ``/ui``; the rest is handed on."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app, self._site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] in ("http", "websocket") and is_of_page(scope["path"]):
            await self._page(scope, receive, _guarded(send))
        else:
            await self._app(scope, receive, send)

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path == ROOT:
            await RedirectResponse(f"{self._site.root}/")(scope, receive, send)
            return
        user = self._user(scope)
        is_socket = path.startswith(_SOCKET)
        if (is_socket or not _is_plain_read(scope)) and _is_foreign(scope):
            await _refuse(scope, receive, send, 403, _FOREIGN)
            return
        if user is None and not path.startswith(_ASSETS):
            if is_socket:
                await _refuse(scope, receive, send, 401, "Not logged in")
            else:
                await RedirectResponse(login_address(self._site, scope), 303)(scope, receive, send)
            return
        if path == LOGIN:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            page = login_page(self._site, query.get("next", [""])[0])
            await HTMLResponse(page, headers={"Cache-Control": "no-store"})(scope, receive, send)
            return
        app = await _running.application(self._site)
        if isinstance(app, str):
            await _elsewhere(app)(scope, receive, send)
            return
        raw = scope.get("raw_path") or path.encode()
        inner = {
            **scope,
            "path": self._site.prefix + _decoded(raw.partition(b"?")[0].decode("latin-1")),
            "root_path": self._site.root,
            SCOPE_KEY: self._site,
            USER_KEY: user or User(role="viewer"),  # of assets, which are for everybody
        }
        await app(inner, receive, send)

    def _user(self, scope: Scope) -> User | None:
        sessions = self._site.sessions
        if sessions is None:
            return User()
        cookies = _header(scope, b"cookie")
        found = sessions.user_of(cookies)
        return None if found is None else User(*found, session=_session_mark(cookies))


def is_of_page(path: str) -> bool:
    """Whether a path is one of the page's."""
    return (path == ROOT or path.startswith(f"{ROOT}/")) and path != SESSION_PATH


def login_address(site: Site, scope: Scope) -> str:
    """Where a user logs in, who is then sent on to where he wanted to be."""
    raw = (scope.get("raw_path") or b"").partition(b"?")[0].decode("latin-1")
    wanted = raw.removeprefix(ROOT).lstrip("/")
    return f"{site.root}/login" + (f"?next={quote(wanted)}" if wanted else "")


class _Running:
    """NiceGUI, once in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._address = ""
        self._starting: asyncio.Task[Any] | None = None

    async def application(self, site: Site) -> ASGIApp | str:
        """The application; or, if it runs on another loop, the address at which it is."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._loop is None or self._loop.is_closed():
                self._loop, self._address = loop, f"{site.url}{ROOT}/"
                self._starting = loop.create_task(_start())
            if self._loop is not loop or self._starting is None:
                return self._address
        app: ASGIApp = await asyncio.shield(self._starting)
        return app


_running = _Running()


async def _start() -> ASGIApp:
    # Importing takes 0.4 s, in which the worker shall go on answering.
    starting = await asyncio.to_thread(_import)
    app: ASGIApp = await starting.start()
    return app


def _import() -> Any:
    from seamark.web import starting

    return starting


def _elsewhere(address: str) -> HTMLResponse:
    link = html.escape(address)
    text = (
        f'This process runs several workers, and its page is served by another one of them: <a href="{link}">{link}</a>'
    )
    return HTMLResponse(f"<!doctype html><title>Seamark</title><p>{text}</p>", 503)


def _guarded(send: Send) -> Send:
    """Browsers are told to load nothing from elsewhere, and not to show the page inside one of another site."""

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await send(message)

    return with_headers


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
    else:
        await PlainTextResponse(reason, status)(scope, receive, send)


def _is_plain_read(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in ("GET", "HEAD")


def _session_mark(cookies: str) -> str:
    own = "".join(part.strip() for part in cookies.split(";") if part.strip().startswith("seamark_session="))
    return hashlib.sha256(own.encode()).hexdigest()[:16]


def _is_foreign(scope: Scope) -> bool:
    """Whether a page of another site opens the connection: browsers do not stop it, and send our cookies along."""
    origin = _header(scope, b"origin")
    try:
        return bool(origin) and urlsplit(origin).netloc.lower() != _header(scope, b"host").lower()
    except ValueError:  # it is no address at all
        return True


def _header(scope: Scope, wanted: bytes) -> str:
    return "; ".join(value.decode("latin-1") for name, value in scope["headers"] if name == wanted)


def _decoded(raw: str) -> str:
    return "".join(part if _KEPT.fullmatch(part) else unquote(part) for part in _KEPT.split(raw))
